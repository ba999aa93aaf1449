"""Which environment plays which game. A game has a token, drawn with its start; the token is the seed of the
environment, so that a run is the same however many workers there are. No JAX.

An environment belongs to a game from the first look at it until it is over. A game that is not known any more, since
its worker ended, is lost: its reward is NaN, and the trainer leaves it out.
"""

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from statistics import median

import numpy as np

from sparring.core.errors import GameError
from sparring.workers.buffers import MOST
from sparring.workers.messages import RESET, STEP
from sparring.workers.pool import Pool
from sparring.workers.source import Source

SEEN = ("features", "legal", "present", "acting")
STEPPED = (*SEEN, "reward", "left", "over", "cut", "outcome", "count")


class Leases:
    """All games of one environment that are under way. Called from within compiled programs: NumPy alone."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.slot_of: OrderedDict[int, int] = OrderedDict()
        self.stepped: set[int] = set()
        self.over: set[int] | None = None
        """Where every game is played once, those that are over."""
        self.free: list[int] = []
        self.made = 0
        self.lock = threading.Lock()
        self.calls: list[tuple[float, float]] = []

    def staff(self, count: int, timeout: float) -> None:
        """So many workers, each with so much time for an answer. With another number all games are lost."""
        with self.lock:
            self.pool.timeout = timeout
            if count != len(self.pool.workers):
                self.slot_of.clear()
                self.stepped.clear()
                self.free, self.made = [], 0
                self.pool.staff(count)

    def look(self, token_VX: np.ndarray, fresh_V: np.ndarray) -> dict[str, np.ndarray]:
        """What is seen of games that begin; rows of others are blank. Looking twice shows the same."""
        with self.lock:
            began, tokens = time.perf_counter(), tokens_of(token_VX)
            wanted = [i for i in np.flatnonzero(fresh_V).tolist() if tokens[i] not in (self.over or ())]
            new = [i for i in wanted if tokens[i] not in self.slot_of or tokens[i] in self.stepped]
            self.begin([tokens[i] for i in new])
            found = self.blank(len(tokens), SEEN)
            self.fill(found, wanted, tokens)
            self.calls.append((began, time.perf_counter()))
            return found

    def step(self, token_VX: np.ndarray, discrete: np.ndarray, continuous: np.ndarray) -> dict[str, np.ndarray]:
        """One step of every game that is under way."""
        with self.lock:
            began, tokens = time.perf_counter(), tokens_of(token_VX)
            playing = [i for i, token in enumerate(tokens) if token in self.slot_of]
            slots = np.asarray([self.slot_of[tokens[i]] for i in playing], np.int32)
            rows = self.pool.rows
            rows["discrete"][slots], rows["continuous"][slots] = discrete[playing], continuous[playing]
            if self.pool.trouble is None and len(slots):
                self.forget(self.pool.play(STEP, slots))
            self.stepped.update(tokens[i] for i in playing)
            found = self.blank(len(tokens), STEPPED)
            self.fill(found, [i for i in playing if tokens[i] in self.slot_of], tokens)
            known = self.slot_of.keys() | (self.over or set())
            lost = [i for i, token in enumerate(tokens) if token not in known]
            found["reward"][lost] = np.nan
            for i in np.flatnonzero(found["over"] | found["cut"]):
                self.finish(tokens[i])
            self.calls.append((began, time.perf_counter()))
            return found

    def begin(self, tokens: list[int]) -> None:
        """Environments for games that begin. One that is lost with its worker is tried once more in the next."""
        for _ in range(2):
            if self.pool.trouble is not None or not tokens:
                return
            for token in tokens:
                if token not in self.slot_of:
                    self.slot_of[token] = self.new_slot()
                self.stepped.discard(token)
            slots = np.asarray([self.slot_of[token] for token in tokens], np.int32)
            self.pool.rows["seed"][slots] = np.asarray([token % 2**64 for token in tokens], np.uint64)
            lost = set(self.forget(self.pool.play(RESET, slots)))
            tokens = [token for token in tokens if token in lost]
        if tokens:
            self.pool.trouble = self.pool.trouble or GameError(
                f"{self.pool.source}: a worker ended twice in reset(). Reset the environment by itself to see why."
            )

    def new_slot(self) -> int:
        """A row that nobody uses; the one whose game was looked at longest ago where there is none left."""
        if self.free:
            return self.free.pop()
        if self.made < MOST:
            self.made += 1
            return self.made - 1
        token, slot = self.slot_of.popitem(last=False)
        self.stepped.discard(token)
        return slot

    def forget(self, lost: np.ndarray) -> list[int]:
        """Games of rows that were lost, and all others in the same workers."""
        if not len(lost):
            return []
        count = max(1, len(self.pool.workers))
        gone = {int(slot) % count for slot in lost}
        tokens = [token for token, slot in self.slot_of.items() if slot % count in gone]
        for token in tokens:
            self.free.append(self.slot_of.pop(token))
            self.stepped.discard(token)
        return tokens

    def finish(self, token: int) -> None:
        slot = self.slot_of.pop(token)
        self.free.append(slot)
        self.stepped.discard(token)
        if self.over is not None:
            self.over.add(token)
        self.pool.workers[slot % len(self.pool.workers)].failures = 0

    def blank(self, count: int, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        """Rows in which nobody is there; entry 0 of each head is legal, as everywhere."""
        rows = {name: np.zeros((count, *self.pool.rows[name].shape[1:]), self.pool.rows[name].dtype) for name in names}
        heads = self.pool.found.heads
        rows["legal"][..., np.cumsum([0, *heads])[: len(heads)]] = True
        return rows

    def fill(self, found: dict[str, np.ndarray], where: list[int], tokens: list[int]) -> None:
        where = [i for i in where if tokens[i] in self.slot_of]
        slots = [self.slot_of[tokens[i]] for i in where]
        for name, array in found.items():
            array[where] = self.pool.rows[name][slots]

    @contextmanager
    def once(self) -> Iterator[None]:
        """Within, a game that is over is not played again. Evaluations look at the first game of each world, and go on
        from the start they had until the longest is over: that costs nothing then."""
        self.over = set()
        try:
            yield
        finally:
            self.over = None

    def news(self) -> list[str]:
        """What happened to workers since somebody last asked."""
        events = self.pool.events
        return [events.pop(0) for _ in range(len(events))]

    def clocks(self, seconds: float) -> dict[str, float]:
        """Where the time of an iteration went, and the memory of each worker in MiB; counted anew from then on.

        Environments ran for `step`; `wait` is the rest of what calls took: messages, copies, a busy machine. Between
        two calls of a rollout the policies decide; the one long pause is the update.
        """
        with self.lock:
            calls, self.calls = self.calls, self.calls[-1:]
            busy, self.pool.busy = float(self.pool.busy), 0.0
            inside = sum(end - begin for begin, end in calls[1:])
            gaps = [later[0] - earlier[1] for earlier, later in pairwise(calls)]
            infer = median(gaps) * len(gaps) if gaps else 0.0
            memory = {f"memory/{w}": float(worker.memory) / 2**20 for w, worker in enumerate(self.pool.workers)}
        rest = max(0.0, seconds - inside - infer)
        return {"step": busy, "wait": max(0.0, inside - busy), "infer": infer, "update": rest, **memory}


def tokens_of(token_VX: np.ndarray) -> list[int]:
    """A number for each game. Where several games of a call have one start, as mirrored ones have, the second is larger
    by 2**64, the third by twice that: their seed is the same."""
    tokens = ((token_VX[:, 0].astype(np.uint64) << np.uint64(32)) | token_VX[:, 1]).tolist()
    if len(set(tokens)) < len(tokens):
        counted: Counter[int] = Counter()
        for i, token in enumerate(tokens):
            tokens[i] += counted[token] << 64
            counted[token] += 1
    return tokens


_LEASES: dict[Source, Leases] = {}


def leases_of(source: Source) -> Leases:
    """The games of an environment: one pool of workers for all who ask in this process."""
    if source not in _LEASES:
        _LEASES[source] = Leases(Pool(source))
    return _LEASES[source]


def closed(source: Source) -> None:
    """End the workers of an environment; who asks again gets new ones."""
    leases = _LEASES.pop(source, None)
    if leases is not None:
        leases.pool.close()
