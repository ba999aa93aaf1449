from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pytest

from sparring.core.errors import ConfigError
from sparring.core.fields import setting
from sparring.core.schedules import Schedule
from sparring.core.settings import from_dict, load_toml, to_dict, to_toml

RATE = Schedule(3e-4, 3e-4, "constant")


@dataclass(frozen=True, kw_only=True)
class Shadow:
    decay: float = 0.99
    every: int | None = None


@dataclass(frozen=True, kw_only=True)
class Ppo:
    discount: float = setting(0.99, least=0, most=1)
    epochs: int = 4
    rate: Schedule = RATE
    shadow: Shadow = Shadow()
    anchor: Shadow | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    game: str
    ppo: Ppo = Ppo()
    slow: Ppo = field(default_factory=lambda: Ppo(discount=0.5))
    central: bool = False
    opponents: Literal["latest", "pool"] = "latest"
    sides: Literal[1, 2] = 1
    hidden: tuple[int, ...] = (64, 64)
    names: tuple[str, ...] = ()
    kinds: tuple[Literal["a", "b"], ...] = ()
    pairs: tuple[tuple[float, ...], ...] = ()
    limit: float | None = 1.0
    note: str | None = None
    total: int = field(default=0, init=False)


EVERYTHING = Run(
    game='stag "hunt" \\ \n\t\x00\x7f é 🙂',
    ppo=Ppo(discount=1.0, rate=Schedule.parse("3e-4 -> 0 cosine"), anchor=Shadow(every=3)),
    central=True,
    opponents="pool",
    sides=2,
    hidden=(),
    names=("a, b", "]", "'"),
    kinds=("b", "a"),
    pairs=((1e-30, float("inf")), (-0.1,)),
    limit=None,
    note="none of it",
)


def test_every_kind_of_setting_comes_back_from_toml_as_it_was():
    text = to_toml(EVERYTHING)
    assert tomllib.loads(text) == to_dict(EVERYTHING)
    assert from_dict(Run, tomllib.loads(text), where="test") == EVERYTHING
    assert from_dict(Run, tomllib.loads(to_toml(Run(game="x"))), where="test") == Run(game="x")


def test_the_text_of_a_config_is_tables_below_plain_settings():
    assert to_toml(Ppo(rate=Schedule.parse("1 -> 0"))) == (
        'discount = 0.99\nepochs = 4\nrate = "1 -> 0"\n\n[shadow]\ndecay = 0.99\n'
    )


def test_none_is_left_out_where_it_is_the_default_and_written_where_it_is_not():
    plain = to_dict(replace(EVERYTHING, note=None))
    assert "note" not in plain
    assert plain["limit"] == "none"
    assert to_dict(Run(game="x"))["limit"] == 1.0


def test_a_constant_schedule_is_a_number_and_a_whole_number_is_a_float():
    assert to_dict(Ppo())["rate"] == 3e-4
    config = from_dict(Ppo, {"discount": 1, "rate": 1}, where="test")
    assert (config.discount, type(config.discount)) == (1.0, float)
    assert config.rate == Schedule(1.0, 1.0, "constant")


def test_what_a_table_leaves_out_keeps_the_default_of_the_setting_that_holds_it():
    assert from_dict(Run, {"game": "x", "slow": {"epochs": 2}}, where="test").slow == Ppo(discount=0.5, epochs=2)


def test_what_a_file_leaves_out_keeps_the_value_of_its_base(tmp_path):
    (tmp_path / "few.toml").write_text("[ppo.shadow]\nevery = 5\n")
    config = load_toml(Run, tmp_path / "few.toml", base=EVERYTHING)
    assert config == replace(EVERYTHING, ppo=replace(EVERYTHING.ppo, shadow=Shadow(every=5)))


def refused(data: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        from_dict(Run, {"game": "x", **data}, where="my.toml")
    assert str(caught.value).startswith("my.toml: ")
    return str(caught.value)


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        ({"opponent": "pool"}, ["unknown setting 'opponent'", "Did you mean 'opponents'?"]),
        (
            {"ppo": {"shadow": {"deccay": 1}}},
            ["unknown setting 'ppo.shadow.deccay'", "Did you mean 'ppo.shadow.decay'?"],
        ),
        ({"epochs": 3}, ["unknown setting 'epochs'", "It belongs to [slow] in a file, to slow=Ppo(epochs=...)"]),
        ({"total": 3}, ["unknown setting 'total'"]),
        ({"zzzzzz": 3}, ["unknown setting 'zzzzzz'", "Known here:", "hidden"]),
    ],
)
def test_an_unknown_setting_is_named_by_its_path_with_the_nearest_known_one(data, parts):
    assert all(part in refused(data) for part in parts), refused(data)


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        ({"ppo": {"epochs": 4.0}}, ["ppo.epochs must be a whole number", "found the number 4.0", "epochs = 4"]),
        ({"ppo": {"epochs": True}}, ["must be a whole number, found true"]),
        ({"ppo": {"epochs": "4"}}, ['found the text "4"', "epochs = 4"]),
        ({"ppo": {"discount": "high"}}, ["must be a number", 'found the text "high"', "discount = 0.99"]),
        ({"ppo": {"discount": False}}, ["must be a number, found false"]),
        ({"ppo": {"discount": float("nan")}}, ["must be a number, found the number nan"]),
        ({"ppo": {"discount": 10**400}}, ["must be a number"]),
        ({"central": 1}, ["central must be true or false, found the whole number 1"]),
        ({"central": "False"}, ["central = false"]),
        ({"game": 3}, ["game must be a text in quotes", 'game = "3"']),
        ({"opponents": "pol"}, ['one of "latest", "pool"', 'opponents = "pool"']),
        ({"sides": True}, ["sides must be one of 1, 2, found true"]),
        ({"sides": 3}, ["one of 1, 2, found the whole number 3"]),
        ({"hidden": 64}, ["hidden must be a list", "hidden = [64]"]),
        ({"hidden": [64, "x"]}, ["hidden[1] must be a whole number"]),
        ({"kinds": ["a", "c"]}, ["kinds[1] must be one of"]),
        ({"ppo": 3}, ["ppo must be a table of settings", "[ppo]"]),
        ({"ppo": {"anchor": [1]}}, ["ppo.anchor must be a table of settings, found a list"]),
        ({"limit": {}}, ["limit must be a number, found a table"]),
        ({"ppo": {"rate": "1 to 0"}}, ["ppo.rate", "'1 to 0'", "3e-4 -> 0"]),
        ({"ppo": {"rate": True}}, ["ppo.rate", "a number or a text"]),
    ],
)
def test_a_wrong_type_says_what_was_expected_what_was_found_and_what_to_write(data, parts):
    assert all(part in refused(data) for part in parts), refused(data)


def test_a_value_out_of_its_range_is_named_with_its_table_and_the_file():
    assert refused({"ppo": {"discount": 2}}) == "my.toml: ppo.discount must be in [0, 1], found 2.0."


def test_a_setting_without_default_must_be_there():
    with pytest.raises(ConfigError, match="game is missing"):
        from_dict(Run, {}, where="my.toml")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"game = \n", "not valid TOML.*line 1"),
        (b"\xff\xfe", "UTF-8"),
        (b"a = " + b"[" * 5000, "not valid TOML"),
        (b"a = " + b"9" * 5000, "not valid TOML"),
    ],
)
def test_a_file_that_is_no_toml_is_one_sentence(tmp_path, content, sentence):
    (tmp_path / "bad.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=sentence) as caught:
        load_toml(Run, tmp_path / "bad.toml")
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_one_sentence(tmp_path):
    with pytest.raises(ConfigError, match=r"No file of settings at .*absent\.toml"):
        load_toml(Run, tmp_path / "absent.toml")
    with pytest.raises(ConfigError, match="Cannot read"):
        load_toml(Run, tmp_path)


@dataclass(frozen=True, kw_only=True)
class Foreign:
    where: dict[str, int] = field(default_factory=dict)


def test_a_type_that_toml_cannot_keep_is_refused_when_it_is_used():
    with pytest.raises(TypeError, match="where"):
        from_dict(Foreign, {"where": {}}, where="test")
    with pytest.raises(TypeError, match="where"):
        to_dict(Foreign())
