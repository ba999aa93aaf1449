"""The front door: picks the command, and turns every error into one sentence and an exit code."""

import json
import os
import sys
from importlib import import_module
from importlib.metadata import version
from signal import SIGINT

from sparring.core.code import line_at_fault
from sparring.core.errors import ConfigError, SparringError, unknown
from sparring.core.frames import roomy

COMMANDS = {
    "train": "train by self-play, or against a bot",
    "resume": "continue a run from its newest checkpoint",
    "runs": "list runs with what they learned, or describe one",
    "metrics": "look at what a run recorded, in the terminal",
    "eval": "play complete games with a run's learners and print the table",
    "exploit": "say how much can be won from a run's policy, exactly or by training against it",
    "insight": "say how well a run's learners understand their co-players, and whether it helps",
    "tournament": "let runs, packages and bots meet each other, and rank them",
    "compare": "train several kinds of self-play with one budget, let all meet, and say which helps",
    "sweep": "search for good settings: many trainings, each guided by those before (Optuna)",
    "pool": "list whom a run's learner meets, add guests, remove members",
    "shares": "show or set how often a run's learner meets whom",
    "defeats": "list the defeats that a run tries again, and draw one as a GIF",
    "replay": "play one game with a run's learners and draw it as a GIF",
    "export": "write a policy for programs without Sparring: safetensors, PyTorch, ONNX",
    "games": "list the games, or describe one; check a game of your own",
    "new-game": "write a commented game to start from, with a test",
    "audit": "find out whether a seat is favoured, a module does anything, a run is healthy",
    "bench": "measure steps per second: the game alone, and training",
    "doctor": "check the installation, and the records of a run",
}
"""Each is a function `command(arguments)` of the module of its name, which may return an exit code: nothing heavy is
loaded to print this list."""

INTERRUPTIBLE = ("eval", "exploit", "insight", "tournament", "replay", "audit", "bench")
"""Commands that compile and have nothing to save: Ctrl-C ends them at once."""
FAILED, STOPPED, INTERRUPTED, PIPE_CLOSED = 70, 75, 130, 141
"""Exit codes beside those of errors: a fault of ours; a run that a signal stopped, which `resume` goes on with; Ctrl-C,
or a second signal; and a reader such as `head` that had enough."""


@roomy
def main(argv: list[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug, as_json = "--debug" in arguments, "--json" in arguments
    try:
        code = run([word for word in arguments if word != "--debug"])
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # tyro has printed the help, or what is wrong with the flags
        return told(int(stop.code or 0), as_json=as_json)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it flushes at exit
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return complain("interrupted", INTERRUPTED, as_json=as_json)
    except Exception as error:
        if debug:
            raise
        return complain(*sentence(error), as_json=as_json)


def sentence(error: Exception) -> tuple[str, int]:
    """What to tell about an error, and the exit code."""
    if isinstance(error, SparringError):
        return str(error), error.exit_code
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error):
        return (
            "The device does not have enough memory for this. Use fewer --worlds, --steps, --seeds or --eval-games.",
            FAILED,
        )
    if isinstance(error, OSError):
        return f"The system refused: {error}.", FAILED
    text = f"{type(error).__name__}: {error}".rstrip(".")
    if fault := line_at_fault(error):
        return f"{text.partition(chr(10))[0]}, in {fault}. Correct it there; --debug shows how it came about.", FAILED
    return f"{text}. This is a bug in sparring; run again with --debug to see where.", FAILED


def run(arguments: list[str]) -> int:
    if len(arguments) > 1 and arguments[0] == "help":
        return run([arguments[1], "--help", *arguments[2:]])
    if not arguments or arguments[0] in ("--help", "-h", "help"):
        print(usage())
        return 0
    if arguments[0] == "--version":
        print(version("sparring"))
        return 0
    command, *rest = arguments
    if command not in COMMANDS:
        raise ConfigError(unknown("command", command, COMMANDS) + " See: sparring --help")
    module = command.replace("-", "_")
    act = import_module(f"sparring.cli.{module}").command
    if command not in INTERRUPTIBLE:
        return act(rest) or 0
    from sparring.cli.signals import Interruptions, listening

    with listening(Interruptions("--json" in rest), [SIGINT]):
        return act(rest) or 0


def usage() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {line}" for name, line in COMMANDS.items()]
    return "\n".join(
        [
            "usage: sparring COMMAND [options]     (sparring COMMAND --help explains a command)",
            "",
            *lines,
            "",
            "every command takes --json (one JSON object on standard output) and --debug (tracebacks).",
            "first steps:",
            "  sparring games",
            "  sparring train particles:tag --total-steps 300000 --name first",
            "  sparring runs",
        ]
    )


def complain(sentence: str, code: int, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"error": sentence, "exit_code": code}))
    print(f"sparring: {sentence}", file=sys.stderr)
    return code


def told(code: int, *, as_json: bool) -> int:
    """An end that was explained on standard error already; a script that reads JSON gets its object all the same."""
    if code and as_json:
        print(json.dumps({"error": "The flags are wrong; standard error says how.", "exit_code": code}))
    return code
