"""The front door: picks the command, and turns every error into one sentence and an exit code."""

import json
import sys
from importlib import import_module
from importlib.metadata import version

from sparring.core.errors import ConfigError, SparringError, unknown

COMMANDS = {
    "train": "train by self-play, or against a bot",
    "resume": "go on with a run from its newest checkpoint",
    "eval": "play complete games with a run's learners and print the table",
    "games": "list the games, or describe one",
    "bench": "measure steps per second: the game alone, and training",
    "doctor": "tell what this installation has and whether it works",
}
"""Each is a function `command(arguments)` of the module of its name: nothing heavy is loaded to print this list."""

FAILED, INTERRUPTED = 70, 130


def main(argv: list[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    arguments = [word for word in arguments if word != "--debug"]
    try:
        return run(arguments)
    except SparringError as error:
        if debug:
            raise
        return complain(str(error), error.exit_code, as_json="--json" in arguments)
    except KeyboardInterrupt:
        return complain("interrupted", INTERRUPTED, as_json="--json" in arguments)
    except Exception as error:
        if debug:
            raise
        text = f"{type(error).__name__}: {error}. This is a fault of sparring; run again with --debug to see where."
        return complain(text, FAILED, as_json="--json" in arguments)


def run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("--help", "-h", "help"):
        print(usage())
        return 0
    if arguments[0] == "--version":
        print(version("sparring"))
        return 0
    command, *rest = arguments
    if command not in COMMANDS:
        raise ConfigError(unknown("command", command, COMMANDS) + " See: sparring --help")
    import_module(f"sparring.cli.{command}").command(rest)
    return 0


def usage() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {line}" for name, line in COMMANDS.items()]
    return "\n".join(
        [
            "usage: sparring COMMAND [options]     (sparring COMMAND --help lists a command's options)",
            "",
            *lines,
            "",
            "every command takes --json (one JSON object on standard output) and --debug (tracebacks).",
            "first steps:",
            "  sparring games",
            "  sparring train particles:tag --total-steps 300000 --name first",
            "  sparring eval runs/first",
        ]
    )


def complain(sentence: str, code: int, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"error": sentence, "exit_code": code}))
    print(f"sparring: {sentence}", file=sys.stderr)
    return code
