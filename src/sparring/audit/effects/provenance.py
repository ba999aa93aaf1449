"""Which code is really used: files behind names, copies of them elsewhere, and which of their functions are called."""

import ast
import hashlib
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import jax

import sparring
from sparring.core import code
from sparring.setup.config import RunConfig
from sparring.setup.own_code import named_code
from sparring.store.manifest import manifest_facts

FLAGS = ("jax_enable_x64", "jax_default_prng_impl", "jax_default_matmul_precision", "jax_threefry_partitionable")
"""Settings of JAX that change numbers."""


def files_of(configs: Iterable[RunConfig]) -> dict[str, str]:
    """By the file that was really loaded, the name that the settings have for it."""
    found = {}
    for text in dict.fromkeys(text for config in configs for text in named_code(config)):
        with suppress(Exception):  # what cannot be loaded is refused where it is used
            found[file_of(code.load(text))] = text
    return {file: text for file, text in found.items() if file}


def facts() -> dict[str, str]:
    """Versions and flags that decide numbers."""
    packages = manifest_facts()["packages"]
    flags = {flag: str(getattr(jax.config, flag, None)) for flag in FLAGS}
    return {**{name: str(version) for name, version in packages.items()}, **flags}


def second_copies(files: dict[str, str]) -> list[str]:
    """A sentence for each file that is used where another one of the same name is at hand, and differs."""
    found = [copy for own in files for copy in _shadowed_imports(Path(own))]
    for own, text in files.items():
        source = getattr(code.reference(text), "source", "")
        meant = Path(source) if source.endswith(".py") else Path(*source.split(".")).with_suffix(".py")
        found += _unlike(source, Path(own), [meant, Path("src") / meant])
    package = Path(sparring.__file__)
    found += _unlike("sparring", package, [Path("sparring/__init__.py"), Path("src/sparring/__init__.py")])
    return list(dict.fromkeys(found))


def _unlike(name: str, used: Path, others: Iterable[Path]) -> Iterator[str]:
    for other in others:
        if other.is_file() and other.resolve() != used.resolve():
            same = digest(other) == digest(used) and other.name != "__init__.py"
            yield f"{name} is loaded from {shown(used)}, not from {other}" + (", an equal copy" if same else "")


def _shadowed_imports(own: Path) -> Iterator[str]:
    """Modules that stand beside a file, are imported by it, and came from somewhere else."""
    for node in ast.walk(ast.parse(own.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
        for name in names:
            beside = own.parent / Path(*name.split(".")).with_suffix(".py")
            loaded = getattr(sys.modules.get(name), "__file__", None)
            if beside.is_file() and loaded:
                yield from _unlike(name, Path(loaded), [beside])


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def shown(path: Path) -> str:
    """A path below the working folder as people name it; elsewhere its last parts, since the rest is a machine's."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(Path("...", *path.parts[-3:]))


@contextmanager
def called_functions(files: Iterable[str]) -> Iterator[Counter[tuple[str, str]]]:
    """How often each function of these files is called meanwhile, by file and name. In a program that is compiled that
    is once for each time it is traced, however often it then runs."""
    wanted, found = frozenset(files), Counter()

    def look(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename in wanted:
            found[frame.f_code.co_filename, frame.f_code.co_qualname] += 1

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(before)


def methods_of(kind: type) -> list[str]:
    """The methods that a class defines itself, as profiles name them; special ones are left out."""
    own = [name for name, value in vars(kind).items() if not name.startswith("_") and callable(value)]
    return [f"{kind.__qualname__}.{name}" for name in own]


def file_of(kind: Any) -> str:
    """The file of the module that a class or a function was loaded from."""
    return getattr(sys.modules.get(getattr(kind, "__module__", "")), "__file__", None) or ""
