"""How much can be won from a run's policies: exactly where the game allows it, else by trained responses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from sparring.core.errors import ConfigError
from sparring.evaluation.best_response import BestResponse, check_answerable
from sparring.evaluation.exploited import Answer, Exploited
from sparring.evaluation.scoring import MIXTURE
from sparring.games import answers
from sparring.games.game import Game
from sparring.nets.minds import listens
from sparring.play.mixed import Mixture
from sparring.play.roster import split
from sparring.players.checkpointed import (
    SHADOW,
    checkpoint_of,
    leaders_of,
    learners_of,
    meta_strategy_of,
    policies_of,
    seed_row,
    seeds_of,
)
from sparring.players.named import Source, from_run
from sparring.setup.config import RunConfig
from sparring.setup.line_up import line_up
from sparring.setup.needs import stored_config
from sparring.statistics.intervals import mean_of
from sparring.store.checkpoints import Checkpoint
from sparring.store.run_dir import RunDir
from sparring.studies.exploit import exploit
from sparring.training.own_evaluation import probabilities_of


@dataclass(frozen=True)
class Target:
    """Who is to be exploited."""

    player: str
    """As the run names it; where sides are unlike, the players of all sides."""
    seed: int
    iteration: int
    steps: int
    policy_K: tuple[Any, ...]
    """Who drives each side."""
    sides: tuple[int | None, ...]
    """Those on which a response is sought; None: on any, since they are alike."""


def targets_of(source: Source, game: Game) -> list[Target]:
    """The player that is named; without a name all that a run may deploy, and without a seed those of every seed."""
    run = RunDir.open(source.place)
    config, checkpoint = stored_config(run), checkpoint_of(run, source.iteration)
    seeds = seeds_of(checkpoint) if source.seed is None else [source.seed]
    found = []
    for seed in seeds:
        of_seed = replace(source, seed=seed)
        if game.spec.exchangeable_sides:
            names = [source.player] if source.player else candidates(checkpoint, seed, config)
            found += [alike(replace(of_seed, player=name), game, checkpoint) for name in names]
        else:
            found += unlike(of_seed, game, checkpoint, config)
    return found


def candidates(checkpoint: Checkpoint, seed: int, config: RunConfig) -> list[str]:
    """What somebody might deploy: the learner that the run's own evaluation shows, its shadow, PSRO's mixture."""
    place = seed_row(checkpoint, seed)
    leaders, known = leaders_of(checkpoint), policies_of(checkpoint, place)
    own = list(learners_of(checkpoint))[leaders[place] if leaders else 0]
    names = [own, *([own + SHADOW] if own + SHADOW in known else [])]
    return [*names, *([MIXTURE] if config.roles.oracles and meta_strategy_of(checkpoint, place) else [])]


def alike(source: Source, game: Game, checkpoint: Checkpoint) -> Target:
    one = from_run(source, game)
    assert one.meta is not None and source.seed is not None
    policy_K = (one.policy,) * game.spec.sides
    return Target(one.meta.player, source.seed, checkpoint.iteration, one.meta.steps, policy_K, (None,))


def unlike(source: Source, game: Game, checkpoint: Checkpoint, config: RunConfig) -> list[Target]:
    """Of a run whose sides have learners of their own: all of them, then their shadows; with a name, that one beside
    the newest of the others, and responses on the other sides alone."""
    assert source.seed is not None
    lineup = line_up(game.spec, config)
    if len(lineup.seating.seats_of_side) != game.spec.sides or len(lineup.player_of_side()) != game.spec.sides:
        raise ConfigError("Every side must have one learner of its own, or all seats one. Train with --share side.")
    newest_K = [lineup.player_of_side()[side] for side in range(game.spec.sides)]
    known = policies_of(checkpoint, seed_row(checkpoint, source.seed))
    teams = [newest_K, *([[name + SHADOW for name in newest_K]] if newest_K[0] + SHADOW in known else [])]
    sides: tuple[int | None, ...] = tuple(range(game.spec.sides))
    if source.player:
        own = from_run(source, game).sides
        teams = [[source.player if side in own else name for side, name in enumerate(newest_K)]]
        sides = tuple(side for side in range(game.spec.sides) if side not in own)
    found = []
    for names_K in teams:
        players = [from_run(replace(source, player=name), game) for name in names_K]
        steps = max(one.meta.steps for one in players if one.meta is not None)
        name = source.player or " + ".join(names_K)
        policy_K = tuple(one.policy for one in players)
        found.append(Target(name, source.seed, checkpoint.iteration, steps, policy_K, sides))
    return found


def exactly(game: Game, target: Target) -> Exploited | None:
    """Where the game is solved and policies have no memory; else None."""
    policy_K, spec = target.policy_K, game.spec
    if any(has_memory(policy) for policy in policy_K):
        return None
    gains: Sequence[float] = ()
    if isinstance(policy_K[0], Mixture):
        mixture, measure = policy_K[0], answers.mixture_exploitability_of(game)
        if measure is None:
            return None
        members = [probabilities_of(member) for member in split(mixture.members, len(mixture.weight_M))]
        value = measure(game, members, np.asarray(mixture.weight_M, float))
    else:
        said = [probabilities_of(policy) for policy in policy_K]
        by_seat, measure = answers.gains_of(game), answers.exploitability_of(game)
        if measure is None:
            return None
        asked: Callable = lambda seat, *seen: said[spec.side_of_seat[seat]](seat, *seen)  # noqa: E731
        gains = () if by_seat is None else tuple(float(gain) for gain in by_seat(game, asked))
        value = float(np.mean(gains)) if gains else measure(game, asked)
    if value is None:
        return None
    return Exploited(
        player=target.player, seed=target.seed, iteration=target.iteration, steps=target.steps, by="exact",
        exploitability=float(value), gains=tuple(gains),
    )  # fmt: skip


def has_memory(policy: Any) -> bool:
    return listens(policy) or bool(
        jax.tree.leaves((policy.members if isinstance(policy, Mixture) else policy).initial(1))
    )


def by_responses(
    game: Game,
    target: Target,
    config: RunConfig,
    *,
    games: int,
    seed: int,
    on_stage: Callable[[int], None] = lambda _: None,
) -> Exploited:
    """What learners of the config win, one for each of its seeds, on every side in turn: a lower bound."""
    check_answerable(game.spec, target.sides[0])
    found = []
    for side in target.sides:
        answered, own = (
            target.policy_K[0 if side is None else 1 - side],
            None if side is None else target.policy_K[side],
        )
        found.append(
            exploit(answered, config, side=side, own=own, game=game, games=games, seed=seed, on_stage=on_stage)
        )
    gains = [response.gain for response in found if response.gain is not None]
    gain = mean_of(gains)
    return Exploited(
        player=target.player, seed=target.seed, iteration=target.iteration, steps=target.steps, by="response",
        exploitability=gain.mean, low=gain.low, high=gain.high, gains=tuple(one.mean for one in gains),
        budget=config.total_steps, attempts=config.seeds, games=found[0].games, answers=tuple(map(answer, found)),
    )  # fmt: skip


def answer(found: BestResponse) -> Answer:
    assert found.present is not None
    return Answer(
        side=found.side, mean_return=found.mean_return, present=found.present, points=found.points,
        found_after=found.steps, curve=tuple((point.steps, point.returns) for point in found.curve),
    )  # fmt: skip
