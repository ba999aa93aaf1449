"""Hooks for a training loop of one's own in PyTorch: what its modules do in each phase, whether gradients reach them,
whether an optimiser holds and moves them, and which files were imported. `sparring audit effects --watched` judges it.

    log = EffectLog({"hyper": policy.hyper, "actor": policy.actor}, [optimiser], settings=vars(args))
    with log.phase("collect"): ...
    with log.phase("update"): ...            # the optimisers' own steps are seen by themselves
    log.record({"loss": loss.item()})        # once an update: what two runs with one seed are compared by
    log.save("effects.json")
"""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

OUTSIDE = "outside of any phase"
WAYS = ("zeros", "noise", "shuffle")
"""What the output of a module is replaced by to see whether anybody uses it."""


class EffectLog:
    """Counts what happens to modules; it changes nothing, but where `mute` and `influence` are asked to."""

    def __init__(
        self, modules: Mapping[str, Any], optimisers: Iterable[Any], *, settings: Mapping[str, Any] | None = None,
        phases: Iterable[str] = ("collect", "update"), root: str | Path = ".", frozen: Iterable[str] = (),
    ) -> None:  # fmt: skip
        """`phases`: those in which every module should be called; `root`: the folder of the project; `frozen`: modules
        that are meant to stay as they are."""
        self.modules, self.optimisers = dict(modules), list(optimisers)
        self.settings, self.phases, self.root = dict(settings or {}), tuple(phases), Path(root).resolve()
        self.frozen = tuple(frozen)
        self.calls: dict[str, Counter[str]] = {name: Counter() for name in self.modules}
        self.reached: dict[str, set[str]] = {name: set() for name in self.modules}
        self.influences: dict[str, dict[str, float]] = {}
        self.metrics: list[dict[str, float]] = []
        self.steps, self.now = 0, OUTSIDE
        self.first = {name: _copies(module) for name, module in self.modules.items()}
        for name, module in self.modules.items():
            module.register_forward_hook(self._counting(name))
        for optimiser in self.optimisers:
            optimiser.register_step_pre_hook(self._stepping)

    def _counting(self, name: str) -> Callable[..., None]:
        def called(*_: Any) -> None:
            self.calls[name][self.now] += 1

        return called

    def _stepping(self, optimiser: Any, *_: Any) -> None:
        """Before an optimiser's step: which of its parameters have a gradient that is not zero."""
        self.steps += 1
        held = {id(x) for group in optimiser.param_groups for x in group["params"]}
        for name, module in self.modules.items():
            for part, weight in module.named_parameters():
                if id(weight) in held and weight.grad is not None and bool((weight.grad != 0).any()):
                    self.reached[name].add(part)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        before, self.now = self.now, name
        try:
            yield
        finally:
            self.now = before

    def record(self, metrics: Mapping[str, float]) -> None:
        self.metrics.append({name: float(value) for name, value in metrics.items()})

    @contextmanager
    def mute(self, name: str, way: str = "zeros") -> Iterator[None]:
        """Meanwhile the module computes and draws as ever, and others see zeros, noise or another row's output."""
        import torch  # pyright: ignore[reportMissingImports]

        def replaced(_: Any, __: Any, output: Any) -> Any:
            def other(x: Any) -> Any:
                if not torch.is_tensor(x):
                    return x
                if way == "shuffle":
                    return x.roll(1, 0) if x.dim() else x
                return torch.zeros_like(x) if way == "zeros" else _noise(x)

            if isinstance(output, tuple | list):
                return type(output)(other(x) for x in output)
            return other(output)

        handle = self.modules[name].register_forward_hook(replaced)
        try:
            yield
        finally:
            handle.remove()

    def influence(self, policy: Callable[[], Any]) -> None:
        """How far the logits (or values) that `policy()` returns change when each module's output is replaced, as a
        share of the largest. It must give the same twice: pass a fixed batch, in eval mode where there is dropout."""
        import torch  # pyright: ignore[reportMissingImports]

        with torch.no_grad(), self.phase("influence"):
            before = policy()
            size = max(float(before.abs().max()), 1e-12)
            for name in self.modules:
                self.influences[name] = {}
                for way in WAYS:
                    with self.mute(name, way):
                        self.influences[name][way] = float((policy() - before).abs().max()) / size

    def report(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": "effect log",
            "phases": list(self.phases),
            "steps": self.steps,
            "arguments": sys.argv[1:],
            "settings": {name: str(value) for name, value in self.settings.items()},
            "texts": [name for name, value in self.settings.items() if isinstance(value, str)],
            "frozen": list(self.frozen),
            "metrics": len(self.metrics),
            "fingerprint": fingerprint(self.metrics) if self.metrics else "",
            "modules": {name: self._of(name, module) for name, module in self.modules.items()},
            "imports": imported_files(self.root),
        }

    def save(self, path: str | Path) -> None:
        Path(path).write_text(json.dumps(self.report(), indent=1))

    def _of(self, name: str, module: Any) -> dict[str, Any]:
        held = Counter(id(x) for opt in self.optimisers for group in opt.param_groups for x in group["params"])
        parts = dict(module.named_parameters())
        first = self.first[name]
        return {
            "class": type(module).__name__,
            "parameters": {part: int(weight.numel()) for part, weight in parts.items()},
            "frozen": [part for part, weight in parts.items() if not weight.requires_grad],
            "calls": dict(self.calls[name]),
            "optimisers": {part: held[id(weight)] for part, weight in parts.items()},
            "gradient": sorted(self.reached[name]),
            "moved": {part: _distance(first[part], weight) for part, weight in parts.items() if part in first},
            "influence": self.influences.get(name, {}),
        }


@contextmanager
def own_chance(seed: int) -> Iterator[None]:
    """Random numbers drawn meanwhile, such as the first weights of a module, move nobody else's."""
    import torch  # pyright: ignore[reportMissingImports]

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def fingerprint(metrics: Iterable[Mapping[str, float]]) -> str:
    """Equal for two runs whose numbers are equal to the last digit."""
    text = json.dumps([dict(sorted(line.items())) for line in metrics])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def imported_files(root: Path) -> dict[str, dict[str, str]]:
    """Modules of the project that were imported: where from, a hash, and another file of that name in the project."""
    found, here = {}, {path.stem for path in root.iterdir()}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        installed = "site-packages" in str(file)
        known = name.partition(".")[0] in here or (str(file).startswith(str(root)) and not installed)
        if not known or not file or not file.endswith(".py") or name == "__main__" or not Path(file).is_file():
            continue
        path, parts = Path(file).resolve(), name.split(".")
        places = [root.joinpath(*parts).with_suffix(".py"), root.joinpath(*parts, "__init__.py")]
        copy = next((str(x.relative_to(root)) for x in places if x.is_file() and x != path), "")
        inside = root in path.parents and "site-packages" not in path.parts
        if inside or copy:
            shown = str(path.relative_to(root)) if inside else str(Path("...", *path.parts[-3:]))
            digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
            found[name] = {"file": shown, "sha256": digest, "other": copy}
    return found


def _copies(module: Any) -> dict[str, Any]:
    return {part: weight.detach().clone() for part, weight in module.named_parameters()}


def _distance(before: Any, now: Any) -> float:
    return float((now.detach() - before).norm() / max(float(before.norm()), 1e-12))


def _noise(x: Any) -> Any:
    """The same noise each time, drawn from nobody's stream."""
    import torch  # pyright: ignore[reportMissingImports]

    generator = torch.Generator(device=x.device).manual_seed(0)
    scale = x.std() if x.numel() > 1 else torch.ones((), device=x.device)
    return (torch.randn(x.shape, generator=generator, device=x.device) * (scale + 1.0)).to(x.dtype)
