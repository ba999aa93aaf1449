"""Code of one's own, by name: where a setting takes a name, it takes "file.py:function" or "package.module:function".

Code that is loaded can do anything, so nothing is loaded unless somebody has named its file or module in this process:
on the command line, or by `admit` in Python. A run directory or a package names code, and never makes it run.
"""

import ast
import hashlib
import re
import sys
import traceback
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from sparring.core.errors import ConfigError
from sparring.core.names import near_names

Code = str
"""Among the types of a setting: a name may also be code, file.py:function or package.module:function."""
PREFIX = "sparring_own_"
"""Modules made of files are called so, and never stand in the way of an installed one."""
LONGEST = 200
"""Signs of a name: as many as a player package keeps."""

_FILE = re.compile(r"(?P<source>.+\.py):(?P<name>\w+)", re.DOTALL)
_MODULE = re.compile(r"(?P<source>[^\W\d]\w*(\.\w+)*):(?P<name>[^\W\d]\w*)")
_admitted: dict[str, str] = {}
"""The files and modules that may be loaded, by the last part of their path: a file may have been moved since."""
_loaded: dict[str, ModuleType] = {}
"""Modules made of files, by resolved path."""


class Reference(NamedTuple):
    """A name that is code, taken apart."""

    source: str
    """A file *.py, or a module."""
    name: str

    @property
    def label(self) -> str:
        """What stays the same when a file is moved."""
        return f"{last_part(self.source)}:{self.name}"

    @property
    def plain(self) -> str:
        """As part of the name of a file."""
        stem = last_part(self.source).removesuffix(".py")
        return stem if stem == self.name else f"{stem}-{self.name}"


def reference(text: str) -> Reference | None:
    """The text as a reference to code; None where it is none."""
    found = _FILE.fullmatch(text) or _MODULE.fullmatch(text)
    if found is None:
        return None
    if len(text) > LONGEST:
        raise ConfigError(
            f"A name of code has at most {LONGEST} characters, found {len(text)}. Start in a folder nearer to it."
        )
    return Reference(found["source"], found["name"])


def name_in(text: str) -> str:
    """The function that a reference names; other names are what they are."""
    found = reference(text)
    return text if found is None else found.name


def is_code(text: str) -> bool:
    """Whether a text is the name of a file, there or not, or of a module that is there. This loads nothing."""
    found = reference(text)
    if found is None or found.source.endswith(".py"):
        return found is not None
    top, dot, _ = found.source.partition(".")
    try:
        spec = find_spec(top)
    except ValueError:  # a module that was made by hand
        return top in sys.modules
    if spec is not None and (dot or spec.origin is not None):  # a folder alone is no module
        return True
    return Path(f"{top}.py").is_file() or (bool(dot) and Path(top).is_dir())  # in the working folder


def label(text: str) -> str:
    """The same for the same code wherever its file is; other names are what they are."""
    found = reference(text)
    return text if found is None else found.label


def admit(*texts: str | Path) -> None:
    """Let code be loaded: a file, a module, or a function of one. Other texts do nothing."""
    for text in map(str, texts):
        found = reference(text)
        source = text if found is None else found.source
        if source.endswith(".py") or _MODULE.fullmatch(f"{source}:x"):
            _admitted[source] = _admitted[last_part(source)] = source


def is_admitted(text: str) -> bool:
    found = reference(text)
    return found is not None and _place(found.source) is not None


def admitted() -> tuple[str, ...]:
    """All that may be loaded, as it was named."""
    return tuple(dict.fromkeys(_admitted.values()))


def load(text: str) -> Any:
    """What a reference names; a ConfigError says what is missing, what went wrong, or that nobody let it be loaded."""
    found = reference(text)
    if found is None:
        raise ConfigError(f"Code is named file.py:function or package.module:function, found {text!r}.")
    source = _place(found.source)
    if source is None:
        raise ConfigError(
            f"{text} is code, and code runs only when you name it yourself. If you know it, add --code "
            f"{found.source}, or --trust where you know all that is named here (in Python: "
            f"sparring.trust({found.source!r}))."
        )
    module = _module_of_file(Path(source)) if source.endswith(".py") else _installed_module(source)
    if not hasattr(module, found.name):
        own = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        near = near_names(found.name, own)
        here = [name for name in own if getattr(vars(module)[name], "__module__", "") == module.__name__]
        hint = f"Did you mean {near[0]!r}?" if near else f"It has {', '.join(here) or 'none'}."
        raise ConfigError(f"{source} has no function {found.name!r}. {hint}")
    value = getattr(module, found.name)
    if not callable(value):
        raise ConfigError(f"{source}:{found.name} is a {type(value).__name__}, expected a function. Name a function.")
    return value


def functions_of(path: Path) -> list[str]:
    """The functions that a file defines, in its order; it is read, not run."""
    try:
        parsed = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return []
    return [one.name for one in parsed.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]


def digest(text: str) -> str | None:
    """The SHA-256 of the source of a reference that may be loaded; None where there is none to read."""
    found = reference(text)
    source = _place(found.source) if found else None
    if source is None:
        return None
    try:
        if not source.endswith(".py"):
            _see_working_folder()
            spec = find_spec(source)  # this imports the packages that the module is in
            source = (spec.origin if spec else None) or ""
        return hashlib.sha256(Path(source).read_bytes()).hexdigest()
    except (OSError, ImportError, ValueError):
        return None


def line_at_fault(error: BaseException) -> str:
    """Where in code of one's own an error was raised, such as "line 3 of race.py"; empty where in none."""
    files = {module.__file__: Path(source).name for source, module in _loaded.items()}
    files |= {getattr(sys.modules.get(name), "__file__", None): name for name in admitted() if not name.endswith(".py")}
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    return f"line {own[-1].lineno} of {files[own[-1].filename]}" if own else ""


def last_part(source: str) -> str:
    return re.split(r"[/\\]", source)[-1]


def sources(texts: Iterable[str]) -> tuple[str, ...]:
    """The files and modules that these references name."""
    return tuple(dict.fromkeys(found.source for text in texts if (found := reference(text)) is not None))


def naming(facts: Mapping[str, Any]) -> str:
    """What a command on a run needs besides, by the facts of its manifest: " --code FILE ...", or nothing. Games of
    installed packages, which stand there by their own name, need not be named."""
    named = [_place(source) or source for source in facts.get("code") or () if source != facts.get("game")]
    return " ".join(["", "--code", *named] if named else [])


def _place(source: str) -> str | None:
    """Where somebody said that this file or module is; None where nobody did."""
    return _admitted.get(source, _admitted.get(last_part(source)))


def _module_of_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigError(f"There is no file {path}. Check the path, or say where it is now: --code PATH/{path.name}")
    place = str(path.resolve())
    if place in _loaded:
        return _loaded[place]
    name = f"{PREFIX}{path.stem}_{hashlib.sha256(place.encode()).hexdigest()[:8]}"
    spec = spec_from_file_location(name, place)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    if str(Path(place).parent) not in sys.path:
        sys.path.append(str(Path(place).parent))  # last: a file beside it never stands in for an installed module
    sys.modules[name] = _loaded[place] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        fault = line_at_fault(error)
        if isinstance(error, SyntaxError):
            fault = f"line {error.lineno} of {Path(error.filename or path).name}"
        del sys.modules[name], _loaded[place]
        raise _broken(str(path), fault, error) from error
    return module


def _see_working_folder() -> None:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # as `python -m` sees it, though last


def _installed_module(name: str) -> ModuleType:
    _see_working_folder()
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _broken(name, line_at_fault(error), error) from error
        raise ConfigError(
            f"There is no module {name!r}. Install its package, or name a file: path/to/file.py:function"
        ) from None
    except Exception as error:
        raise _broken(name, line_at_fault(error), error) from error


def _broken(source: str, fault: str, error: Exception) -> ConfigError:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    said = f"{type(error).__name__}: {text.partition(chr(10))[0]}".rstrip(".")
    return ConfigError(f"{source} cannot be loaded: {said}{fault and f', in {fault}'}. Correct it there.")
