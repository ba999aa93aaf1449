"""sparring shares RUN: see how often the learner meets whom, and change it, also while the run trains."""

import json as json_text
from dataclasses import dataclass, field

from sparring.cli.flags import RunFolder, parse
from sparring.cli.own_code import CodeConfig, admit
from sparring.core.errors import ConfigError
from sparring.league.config import SHARES

EXAMPLES = ("sparring shares runs/first", "sparring shares runs/first --history 0.4 --bots 0.1")


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Show the shares of opponents, or set them by hand; what is not set keeps its proportions in the rest."""

    run: RunFolder
    """Folder of the run."""
    own: CodeConfig = field(default_factory=CodeConfig)
    current: float | None = None
    """Share of blocks against the current self."""
    shadow: float | None = None
    """Share of blocks against the shadow."""
    history: float | None = None
    """Share of blocks against past selves and guests."""
    bots: float | None = None
    """Share of blocks against bots."""
    set: tuple[str, ...] = ()
    """Shares of a league of roles by the names of its branches, as pfsp=0.6."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Shares, words, command="shares", examples=EXAMPLES)
    from sparring.store.commands import drop, is_training
    from sparring.store.run_dir import RunDir
    from sparring.training.control import check_shares, last_known

    run = RunDir.open(arguments.run)
    admit(arguments.own, arguments.run)
    known = last_known(run)
    progress = known.opposition.built.progress(known.iteration)
    league = known.opposition.leagues[0]
    wanted = {kind: share for kind in SHARES if (share := getattr(arguments, kind)) is not None}
    wanted |= dict(map(named_share, arguments.set))
    if wanted:
        check_shares(league, wanted, progress)
        number = drop(run, {"do": "shares", "shares": wanted})
        tell(f"Command {number}", {"command": number, "training": is_training(run)}, arguments.json)
        return
    branches = league.rules.roles[0].branches
    found = dict(zip((branch.name for branch in branches), map(float, league.shares_at(progress)), strict=True))
    if arguments.json:
        print(json_text.dumps({"run": str(arguments.run), "iteration": known.iteration, "shares": found}))
        return
    listed = ", ".join(f"{kind} {share:.3g}" for kind, share in found.items())
    how = "by the schedules" if league.state.careers[0].by_hand is None else "by hand"
    print(f"Before iteration {known.iteration}, {how}: {listed}.")


def named_share(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise ConfigError(f"A share is written name=number, found {text!r}. For example pfsp=0.6.") from None


def tell(what: str, facts: dict, as_json: bool) -> None:
    """When a command will be obeyed."""
    if as_json:
        print(json_text.dumps(facts))
        return
    when = (
        "the run trains, and obeys before one of its next iterations"
        if facts["training"]
        else ("the run is not training, and obeys when it is resumed")
    )
    print(f"{what}: {when}.")
