"""The leagues of a checkpoint against the run's results: what a league believes must follow from what was played."""

from collections.abc import Iterable

from sparring.core.errors import RunError
from sparring.core.spec import GameSpec
from sparring.league.league import League
from sparring.league.recount import Difference, Row, differences
from sparring.league.score import counted
from sparring.players.checkpointed import believing
from sparring.store.results import ResultRow, read_results
from sparring.store.run_dir import RunDir
from sparring.training.opposition import Opposition


def results_lost(run: RunDir, done: int) -> bool:
    """Whether the file of results is gone, which is made before the first iteration. The checkpoint holds all that a
    league needs to go on; what is lost is the proof, and the games for reports."""
    return done > 0 and not run.results_path.exists()


def lost_before(run: RunDir) -> int:
    """Results of earlier iterations are gone: the run went on without them from this one. 0: all are there."""
    return run.read_manifest().get("results_from", 0)


def audited(run: RunDir, opposition: Opposition, done: int) -> int:
    """How many rows of results the leagues after `done` iterations follow from; refuses those that do not."""
    if not opposition.leagues or not done or lost_before(run):
        return 0
    if results_lost(run, done):
        raise RunError(
            f"{run.results_path} is gone, so nothing proves what the leagues of the checkpoint believe. Restore it "
            f"from a copy; or go on without the games before iteration {done}: sparring resume {run.path}"
        )
    rows = read_results(run.results_path, "train")
    rows = [row for row in rows if row.iteration < done]
    names = opposition.built.lineup.names
    for seed, league in zip(map(int, opposition.built.seeds_R), opposition.leagues, strict=True):
        with believing(run.checkpoints_path / f"{done:06d}"):
            found = differences(league, played(rows, seed, names, opposition.built.game.spec))
        if found:
            raise RunError(sentence(run, league, seed, names, done, found))
    return len(rows)


def played(rows: Iterable[ResultRow], seed: int, names: tuple[str, ...], spec: GameSpec) -> list[Row]:
    """The games of one seed that may say something about a player, as leagues count them."""
    place = {name: learner for learner, name in enumerate(names)}
    return [
        Row(
            row.iteration,
            place[row.player],
            row.opponent_id,
            *counted(spec, row.games, row.wins, row.draws, row.losses, row.return_sum),
        )
        for row in rows
        if row.seed == seed and row.player in place and not row.weakened
    ]


def sentence(run: RunDir, league: League, seed: int, names: tuple[str, ...], done: int, found: list[Difference]) -> str:
    """The first difference with both figures, how many there are, and what to do."""
    first, forget = found[0], league.rules.config.forget
    if first.score[0] != first.score[1]:
        counts, hint = [f"{won:g} won, {drawn:g} drawn, {lost:g} lost" for won, drawn, lost in first.score], ""
    else:
        counts = ["fading counts {:.7g}, {:.7g}, {:.7g}".format(*fading) for fading in first.fading]
        hint = f" If forget (now {forget:g}) was changed in {run.config_path}, put it back."
    more = f", and {len(found) - 1} more differ" if len(found) > 1 else ""
    return (
        f"The checkpoint of iteration {done} does not follow from {run.results_path}: seed {seed}, "
        f"{names[first.learner]} against {first.player.name}: the checkpoint has "
        f"{counts[0]}; the results give {counts[1]}{more}. One of the two was changed or lost.{hint} Restore both from "
        f"one copy; or move {run.results_path.name} away, and the run goes on with what the checkpoint has."
    )
