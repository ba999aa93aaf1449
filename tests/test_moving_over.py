"""The page for people who come from another library says what `core/words` says, word for word."""

import json
import re
from pathlib import Path

from sparring.core.settings import from_dict
from sparring.core.words import _CALLED, called_here
from sparring.players.from_torch import TorchCard

PAGE = (Path(__file__).parent.parent / "docs" / "guide" / "moving-over.md").read_text()


def rows() -> dict[str, set[str]]:
    """For each flag of the table all names that others have for it."""
    lines = re.findall(r"^\| `--([a-z-]+)` \|(.*)\|$", PAGE, re.MULTILINE)
    found = {flag.replace("-", "_"): set(re.findall(r"`(\w+)`", cells)) for flag, cells in lines}
    assert len(found) == len(lines)
    return found


def test_the_table_has_every_word_that_flags_answer_to_and_no_other():
    assert {name.strip("_"): set(words.split()) for name, words in _CALLED.items()} == {
        ours: {word for word in words if word != ours} for ours, words in rows().items()
    }
    assert called_here("gamma")[0] == "discount"


def test_the_card_on_the_page_is_one_and_every_key_is_explained():
    (text,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    card = from_dict(TorchCard, json.loads(text), where="the page")
    assert card.layers == ("actor.0", "actor.2") and card.head == "actor.4"
    explained = PAGE.partition("| key | meaning |")[2].partition("\n\n")[0]
    assert all(f"`{key}`" in explained for key in TorchCard.__dataclass_fields__)
