"""Opponents for a training loop of one's own, in PyTorch or anything else whose weights are names and arrays.

    manager = OpponentManager(PolicyNet, save_dir="opponent_data", total_steps=5_000_000)
    manager.load_pool(), manager.load_shadow()              # what an interrupted run left, if anything
    ...
    opponent = manager.sample_opponent(policy, step)        # a frozen module; now and then the policy itself
    manager.report(opponent, won=3, lost=1)                 # after the games
    manager.step(policy, step)                              # after each update

It is a face of the league of this library (one learner, one block, results read at once), so samplers, schedules,
ratings, eviction, gates and the curriculum are the same. It loads no JAX, and PyTorch only to hand out tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sparring.bridges import opponent_files as files
from sparring.bridges import together as stacking
from sparring.bridges.handed import Handed
from sparring.bridges.opponent_rules import rules_of, shares_of
from sparring.bridges.weights import Weights, begun, check_alike, copied, entries, towards
from sparring.core.errors import ConfigError, RunError, unknown
from sparring.league.blocks import Draw
from sparring.league.book import POOLED
from sparring.league.events import Event, Evicted, Snapshot
from sparring.league.league import League
from sparring.league.members import Member
from sparring.league.player import Player, shadow_of
from sparring.league.score import Score


class OpponentManager:
    """The current policy, its slow shadow, a pool of its past versions, and bots if there are any.

    A policy is a PyTorch module, or a flat mapping of names to arrays (NumPy, JAX, tensors). Opponents come back in
    kind: modules in eval mode that need no gradients, or mappings. All versions must have the same names and shapes.

    Args:
        policy_class: makes a network to load weights into; None: a copy of the policy that is passed.
        save_dir: folder to which versions are written when they join the pool; None: only `save` writes.
        max_pool_size: most past versions kept, 10 by default. `max_history` is another word for it.
        device: where opponents are put; None: where the policy is.
        use_shadow, use_pool: whether there is a shadow; whether past versions are drawn.
        shadow_tau: share of the newest weights that the shadow takes at each update, in (0, 1].
        initial_history_weight, shadow_weight: a mixture without the current policy, in which the past fades from
            the first weight to 0 and the shadow goes from the second to 1. Without both: current policy, shadow and
            past alike, or the shares that `settings` name.
        total_steps: length of the run, over which schedules go from their first to their last value.
        bots: opponents by name that are handed out as they are, the weakest first.
        seed: of all draws; they also follow the order of calls, and nothing else.
        settings: anything of OpponentsConfig, CurriculumConfig and GateConfig, and snapshot_every, snapshot_mark
            and eviction of PoolConfig, such as sampler="pfsp_hard" or history="0.5 -> 0.2".
    """

    def __init__(
        self,
        policy_class: Callable[[], Any] | None = None,
        save_dir: str | Path | None = "opponent_data",
        max_pool_size: int | None = None,
        device: Any = None,
        *,
        max_history: int | None = None,
        use_shadow: bool = True,
        use_pool: bool = True,
        shadow_tau: float = 0.01,
        initial_history_weight: float | None = None,
        shadow_weight: float | None = None,
        total_steps: int = 1_000_000,
        bots: Mapping[str, Any] | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        if max_pool_size is not None and max_history is not None:
            raise ConfigError("max_pool_size and max_history are one thing, found both. Leave one out.")
        size = next((size for size in (max_pool_size, max_history) if size is not None), 10)
        self.save_dir = None if save_dir is None else Path(save_dir)
        self.use_shadow, self.shadow_tau = use_shadow, _checked_tau(shadow_tau)
        self.total_steps, self._bots = total_steps, dict(bots or {})
        shares = shares_of(
            settings, history_weight=initial_history_weight, shadow_weight=shadow_weight, use_shadow=use_shadow,
            use_pool=use_pool, bots=bool(self._bots),
        )  # fmt: skip
        self._rules = rules_of(
            size=size, shares=shares, settings=settings, bots=tuple(self._bots), seed=seed, total_steps=total_steps,
            shadow=use_shadow,
        )  # fmt: skip
        self._league = League.begin(self._rules)
        self._learner = self._rules.players[0]
        self._shadow_player = shadow_of(self._learner)
        self._step = 0
        self._current: Any = None
        self._weights: dict[Player, Weights] = {}
        self._nobody_handed = partial(Handed, policy_class, device, size)
        self._handed = self._nobody_handed()
        self._written: set[Player] = set()
        self._owns_folder = False

    # The policy as it learns.

    def add_to_pool(self, policy: Any, step: int) -> None:
        """Keep a copy of the policy as the version of a step. If the pool is full, somebody leaves by the rule of
        `eviction`: by default the one least missed among ages on a log scale, so that the pool spans the whole run."""
        weights = self._seen(policy, step)
        if self._step in self._steps():
            raise ConfigError(f"The pool already has a version of step {step}. Give each version a step of its own.")
        self._carry_out(self._league.keep(self._progress, self._step, certainly=True), weights)

    def update_history(self, policy: Any) -> None:
        """`add_to_pool` for loops that count no steps: one step after the last that was named."""
        self.add_to_pool(policy, self._step + 1)

    def update_shadow(self, policy: Any, tau: float | None = None) -> None:
        """Move the shadow by the share `tau` (by default `shadow_tau`) towards the policy, and write it to `save_dir`.
        The first call makes it a copy. Whole numbers and truths, such as counters of batch norm, are copied."""
        if not self.use_shadow:
            raise ConfigError("update_shadow needs a shadow, found use_shadow=False. Leave that out.")
        self._follow(self._seen(policy), self.shadow_tau if tau is None else _checked_tau(tau))
        if self.save_dir is not None:
            files.write_weights(self.save_dir / files.SHADOW, self._weights[self._shadow_player])

    def step(self, policy: Any, step: int | None = None) -> None:
        """After each update: move the shadow, and keep a copy when one is due: the first time, every `snapshot_every`
        steps (by default a fiftieth of `total_steps`), and when `snapshot_mark` or a gate say so. Without `step`, each
        call is one. The shadow is written to `save_dir` when a copy is."""
        weights = self._seen(policy, self._step + 1 if step is None else step)
        if self.use_shadow:
            self._follow(weights, self.shadow_tau)
        first = not self._league.state.pool.players
        if first or self._step not in self._steps():
            self._carry_out(self._league.keep(self._progress, self._step, certainly=first), weights)

    # Opponents.

    def sample_opponent(self, policy: Any = None, step: int | None = None) -> Any:
        """Draw an opponent by the shares and the sampler. Where nobody of the past is there yet, the policy itself or
        its shadow takes the place, so that training can begin with an empty pool."""
        return self.sample_opponents(1, policy, step)[0]

    def sample_opponents(self, count: int, policy: Any = None, step: int | None = None) -> list[Any]:
        """Several at once, whose kinds differ from the shares by less than one. One policy may come more than once."""
        if count < 1:
            raise ConfigError(f"sample_opponents draws at least 1, found {count}.")
        self._notice(policy, step)
        return [self._hand(self._present(draw)) for draw in self._league.draw(self._progress, count)]

    def get_opponents(self, use_shadow: bool = True, use_pool: bool = True, policy: Any = None) -> dict[str, Any]:
        """One of each kind: `current` (the policy that was passed last), `shadow` and `pool` (drawn by the sampler),
        None where not asked for. Where the pool is still empty, the shadow or the policy takes its place."""
        self._notice(policy, None)
        if self._current is None:
            raise ConfigError("get_opponents needs the current policy, found none so far. Pass policy=.")
        return {
            "current": self._hand(Draw(self._learner)),
            "shadow": self._hand(self._present(Draw(self._shadow_player))) if use_shadow and self.use_shadow else None,
            "pool": self._hand(self._present(*self._league.draw(self._progress, only="history"))) if use_pool else None,
        }

    def together(self, opponents: Sequence[Any], method: str = "forward") -> Callable[..., Any]:
        """A function that evaluates several modules in one call, each on its own observations: see
        `sparring.bridges.together`."""
        return stacking.together(opponents, method)

    def draw_of(self, opponent: Any) -> Draw:
        """How an opponent that was handed out was drawn last: who it is, with which probability, and the temperature
        and share of random actions with which it shall play (1 and 0 but where settings weaken opponents)."""
        drawn = self._handed.draw_of(opponent)
        if drawn is not None:
            return drawn
        if isinstance(opponent, str):
            for player in self._league.players:
                if player.name == opponent:
                    return Draw(player)
            raise ConfigError(unknown("opponent", opponent, [player.name for player in self._league.players]))
        if opponent is None or opponent is not self._current:
            raise ConfigError(
                f"Expected an opponent that this manager handed out, or its name, found {type(opponent).__name__}. "
                "Pass what sample_opponent returned."
            )
        return Draw(self._learner)

    # Results.

    def report(self, opponent: Any, won: int = 0, drawn: int = 0, lost: int = 0) -> None:
        """Count games of the policy against an opponent (or its name): they move ratings, and what samplers by results
        know. Games against the policy itself, or one that has left the pool, say nothing and are passed over."""
        if any(type(games) is bool or int(games) != games or games < 0 for games in (won, drawn, lost)):
            raise ConfigError(f"Games must be whole numbers from 0, found won={won}, drawn={drawn}, lost={lost}.")
        self._league.learn(self.draw_of(opponent), Score(int(won), int(drawn), int(lost)))

    def members(self) -> tuple[Member, ...]:
        """Shadow, pool and bots: games, the policy's rate against each with its interval, and the rating."""
        return self._league.members()

    @property
    def rating(self) -> float:
        """Of the policy, by Elo; everybody begins at 0, and a past version at the policy's rating."""
        return float(self._league.state.book.rating_M[0])

    def shares(self) -> dict[str, float]:
        """Of current policy, shadow, history and bots, at this step."""
        names = [branch.name for branch in self._rules.roles[0].branches]
        return dict(zip(names, self._league.shares_at(self._progress).tolist(), strict=True))

    def set_shares(self, **shares: float) -> None:
        """Fix shares by hand from now on; the others keep their proportions."""
        self._league.set_shares(shares, self._progress)

    @property
    def pool(self) -> list[tuple[int, str]]:
        """Step and name of the past versions, the oldest first."""
        return [(player.born, player.name) for player in self._league.state.pool.players]

    # Interruptions.

    def save(self, folder: str | Path | None = None) -> Path:
        """Write shadow, pool and results to a folder, by default `save_dir`. A manager that loads it draws on as this
        one would. Call it where the loop saves its own checkpoint."""
        target = self._folder(folder)
        mine = target == self.save_dir
        players = self._league.state.pool.players
        for player in players:
            path = files.pool_file(target, player.born)
            if not (mine and player in self._written and path.is_file()):
                files.write_weights(path, self._weights[player])
        if self._shadow_player in self._weights:
            files.write_weights(target / files.SHADOW, self._weights[self._shadow_player])
        files.write_state(target, {"step": self._step, "league": self._league.saved()})
        files.remove_others(target, {player.born for player in players})
        if mine:
            self._written, self._owns_folder = set(players), True
        return target

    def load(self, folder: str | Path | None = None) -> None:
        """Take up what `save` wrote. Settings are those of this manager."""
        target = self._folder(folder)
        self._load_state(target)
        if not self._load_shadow(target):
            self._weights.pop(self._shadow_player, None)

    def load_pool(self) -> int:
        """Take up pool and results from `save_dir`; how many versions there are. 0 where nothing was saved."""
        target = self._folder(None)
        if files.holds_state(target):
            self._load_state(target)
        return len(self._league.state.pool.players)

    def load_shadow(self) -> bool:
        """Take up the shadow from `save_dir`; whether there is one. If not, it begins as the first policy it sees."""
        return self._load_shadow(self._folder(None))

    def _load_state(self, folder: Path) -> None:
        record = files.read_state(folder)
        try:
            league = League.begin(self._rules).restored(record["league"])
            step = int(record["step"])
            if tuple(player for player in league.players if player.kind not in POOLED) != self._rules.players:
                raise ValueError("it was saved with another use_shadow")
        except (ValueError, KeyError, TypeError) as error:
            wrong = f"{folder / files.STATE} does not fit this manager: {error}"
            raise RunError(f"{wrong}. Use the same settings, or restore the file from a copy.") from error
        past = league.state.pool.players
        weights = {player: files.read_weights(files.pool_file(folder, player.born)) for player in past}
        for player, found in weights.items():
            check_alike(next(iter(weights.values())), found, player.name)
        shadow = {player: found for player, found in self._weights.items() if player == self._shadow_player}
        self._handed = self._nobody_handed()
        self._league, self._step, self._weights = league, step, {**weights, **shadow}
        self._written = set(past) if folder == self.save_dir else set()
        self._owns_folder |= folder == self.save_dir

    def _load_shadow(self, folder: Path) -> bool:
        path = folder / files.SHADOW
        if not self.use_shadow or not path.is_file():
            return False
        found = files.read_weights(path)
        for known in list(self._weights.values())[:1]:
            check_alike(known, found, "The shadow")
        self._set_shadow(found)
        return True

    def _folder(self, folder: str | Path | None) -> Path:
        found = self.save_dir if folder is None else Path(folder)
        if found is None:
            raise ConfigError("There is no folder to use: save_dir=None. Name one.")
        return found

    # The parts.

    @property
    def _progress(self) -> float:
        return min(1.0, self._step / self.total_steps)

    def _steps(self) -> set[int]:
        return {player.born for player in self._league.state.pool.players}

    def _notice(self, policy: Any, step: int | None) -> None:
        """See how far the run is, and the policy as it is now. The shadow begins as the first policy that is seen."""
        if step is not None:
            if isinstance(step, bool) or int(step) != step or step < 0:
                raise ConfigError(f"step must be a whole number from 0, found {step!r}.")
            self._step = int(step)
        if policy is None:
            return
        self._check_folder()
        known = next(iter(self._weights.values()), None)
        if known is not None:
            check_alike(known, entries(policy), "The policy")
        if self.use_shadow and self._shadow_player not in self._weights:
            self._set_shadow(begun(copied(policy)))
        self._current = policy
        if not self._league.rules.mirror_B[0]:
            self._league.reseat((True,), (True,))

    def _check_folder(self) -> None:
        if self.save_dir is not None and not self._owns_folder and files.holds_state(self.save_dir):
            raise RunError(
                f"{self.save_dir} holds opponents of an earlier run, which would be lost. Call load_pool() to go on "
                "with them, or choose another save_dir."
            )
        self._owns_folder = True

    def _seen(self, policy: Any, step: int | None = None) -> Weights:
        """A copy of a policy that is noticed. What is wrong with it is said before anything has changed."""
        weights = copied(policy)
        self._notice(policy, step)
        return weights

    def _follow(self, weights: Weights, tau: float) -> None:
        self._set_shadow(towards(self._weights[self._shadow_player], weights, tau))

    def _set_shadow(self, weights: Weights) -> None:
        self._weights[self._shadow_player] = weights
        self._handed.moved(self._shadow_player, weights)

    def _carry_out(self, events: Sequence[Event], weights: Weights) -> None:
        """What the league decided: copy the policy, forget those who left; then write it down."""
        for event in events:
            if isinstance(event, Snapshot):
                self._weights[event.player] = weights
            elif isinstance(event, Evicted):
                self._weights.pop(event.player, None)
                self._handed.left(event.player)
        if self.save_dir is not None and any(isinstance(event, Snapshot | Evicted) for event in events):
            self.save()

    def _present(self, draw: Draw) -> Draw:
        """The draw, or who takes the place of one that has no weights yet: the policy itself, or the newest version."""
        player = draw.player
        here = (
            player in self._weights or player.kind == "bot" or (player == self._learner and self._current is not None)
        )
        if here:
            return draw
        past = self._league.state.pool.players
        if self._current is None and not past:
            raise ConfigError("There is nobody to meet: no policy was passed and the pool is empty. Pass the policy.")
        return Draw(self._learner if self._current is not None else past[-1])

    def _hand(self, draw: Draw) -> Any:
        player = draw.player
        if player == self._learner:
            opponent = self._current
        elif player.kind == "bot":
            opponent = self._bots[player.name]
        else:
            opponent = self._handed.opponent(player, self._weights[player], self._current)
        self._handed.remember(opponent, draw)
        return opponent


def _checked_tau(tau: float) -> float:
    if not 0.0 < tau <= 1.0:
        raise ConfigError(f"tau must be above 0 and at most 1, found {tau}. Usual: 0.005 to 0.01.")
    return float(tau)
