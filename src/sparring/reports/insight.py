"""What learners understand of their co-players, for people: tables in the terminal, one page with pictures."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from io import BytesIO
from math import isfinite, isnan
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from rich.console import Group, RenderableType
from rich.markup import escape as unmarked
from rich.table import Table

from sparring.reports.page import STYLE, table

Told = Mapping[str, Any]
CONTROLS = {
    "own": "its own beliefs", "oracle": "the truth", "shuffled": "those of another world", "zero": "nothing",
    "forgetful": "its own, of this game alone",
}  # fmt: skip
ACTIONS = {
    "skill": "skill", "skill_of_rule": "its rule's skill", "accuracy": "right", "accuracy_habit": "by habit",
    "accuracy_again": "as before", "accuracy_uniform": "a guess", "nll": "NLL", "nll_uniform": "NLL of a guess",
}  # fmt: skip
GOALS = {
    "top1": "right", "top1_nearest": "the nearest", "top1_base": "the usual", "top1_by_its_word": "by its word",
    "known": "known",
}  # fmt: skip
SURENESS = {
    "nll": "NLL", "nll_open": "NLL of a guess", "brier": "Brier", "ece": "ECE", "steps_to_90": "90 % after",
    "never_90": "never", "spatial_error": "off by",
}  # fmt: skip
FAR = {"top1": "right", "top1_nearest": "the nearest", "nll": "NLL", "spatial_error": "off by"}
READ = {"told": "what the policy is told", "seen": "what it sees"}
LEARNED = {
    "spatial_top1": "spatial: a pointer names the goal (supervised)", "probe_goal": "linear probe of OMG's subgoal",
    "probe_state": "linear probe of what is seen", "probe_history": "linear probe of the last states",
    "hit_ratio": "subgoals that are really visited (hit ratio)",
}  # fmt: skip
MEANING = (
    "What they do next: skill is 1 - NLL / NLL of knowing only how often the co-player takes each action, so 0 is no "
    "better than that; nothing is better than its own rule. Right: share of steps in which the likeliest action is "
    "taken, beside always its most frequent one (by habit), the last one again (as before), and a guess among legal "
    "ones. Steps without a choice are left out. (met): in training.",
    "What they are after: the goal that is reached next in the game, known afterwards; known is the share of steps for "
    "which one was. Right: share of steps in which the belief names it, beside always naming the nearest goal or the "
    "most usual one; by its word: what a bot says it heads for. 90 % after: the median of steps until the belief in "
    "the goal is that sure and stays so. Off by: distance on the board. NLL, Brier, ECE: less is better.",
    "What it earns: how much more with its own beliefs than with what stands under told, in the same worlds, with 95 % "
    "intervals.",
)


def tables(found: Told) -> dict[str, tuple[list[str], list[list[str]]]]:
    """By title, header and rows."""
    against: Mapping[str, Told] = found["against"]
    shown = {name: f"{name} (met)" if one["seen_in_training"] else name for name, one in against.items()}
    actions = {shown[name]: one["actions"] for name, one in against.items()}
    goals = {shown[name]: one["goals"] for name, one in against.items() if "goals" in one}
    made = {
        "What they do next": _columns(actions, ACTIONS),
        "What they are after": _columns(goals, GOALS),
        "How sure it is of that": _columns(goals, SURENESS),
        "The goal that a linear probe reads off": _columns(
            {shown[name]: one["read"] for name, one in against.items() if "read" in one}, READ
        ),
        "By steps to the goal": (
            ["co-player", "steps", "how often", *FAR.values()],
            [
                [name, far, f"{row['steps']:,}", *(_text(row[key]) for key in FAR)]
                for name, one in goals.items()
                for far, row in one["by_distance"].items()
            ],
        ),
        "What it earns": (
            ["co-player", "told", "return", "its own earn more by"],
            [
                [shown[name], text, _bounds(one["return"][control]), _bounds(one["gained"].get(control, ()))]
                for name, one in against.items()
                for control, text in CONTROLS.items()
            ],
        ),
        "Game after game with the same co-players": (
            ["co-player", "remembers", *(f"game {k + 1}" for k in range(found["games"]))],
            [
                [shown[name], "all games" if kept == "own" else "this game", *(_text(row[0]) for row in rows)]
                for name, one in against.items()
                for kept, rows in one["return_by_game"].items()
            ],
        ),
    }
    if "learned" in found:
        rows = [[text, _text(found["learned"][key])] for key, text in LEARNED.items()]
        made["Goals learned from these games alone, judged in other worlds"] = (["measure", "share of steps"], rows)
    return {title: content for title, content in made.items() if content[1]}


def _columns(measured: Mapping[str, Told], names: Mapping[str, str]) -> tuple[list[str], list[list[str]]]:
    rows = [[name, *(_text(one.get(key, float("nan"))) for key in names)] for name, one in measured.items()]
    return ["co-player", *names.values()], rows


def _text(value: float) -> str:
    if isnan(value):
        return "-"
    return f"{value:.2f}" if isfinite(value) else "never"


def _bounds(values: Sequence[float]) -> str:
    if not values:
        return ""
    mean, low, high = values
    return _text(mean) if isnan(low) else f"{mean:.2f} [{low:.2f}, {high:.2f}]"


def terminal(found: Told) -> RenderableType:
    """Tables, what they mean, and the verdict last."""
    parts: list[RenderableType] = []
    for title, (header, rows) in tables(found).items():
        shown = Table(*header, title=title, title_justify="left", box=None)
        for row in rows:
            shown.add_row(*map(unmarked, row))
        parts += [shown, ""]
    parts += [f"[dim]{line}[/]" for line in MEANING]
    return Group(*parts, *map(unmarked, found["verdict"]["sentences"]))


def plain(found: Any) -> Any:
    """For JSON, which knows no numbers that are not finite: unknown and never are null."""
    if isinstance(found, Mapping):
        return {key: plain(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [plain(value) for value in found]
    return None if isinstance(found, float) and not isfinite(found) else found


def html(found: Told, name: str, command: str) -> str:
    title = escape(f"Insight of {name}")
    shown = "".join(
        f'<h2>{escape(text)}</h2><img alt="{escape(text)}" src="data:image/png;base64,{b64encode(png).decode()}">'
        for text, png in pictures(found).items()
    )
    body = "".join(f"<h2>{escape(text)}</h2>{table(*content)}" for text, content in tables(found).items())
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in found["verdict"]["sentences"])
    notes = "".join(f'<p class="note">{escape(line)}</p>' for line in MEANING)
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>{STYLE}</style></head>
<body><h1>{title}</h1>{said}{body}{notes}{shown}<p>Again: <code>{escape(command)}</code></p></body></html>
"""


def pictures(found: Told) -> dict[str, bytes]:
    """Reliability of beliefs, returns game after game, and the plane of learned goals."""
    against: Mapping[str, Told] = found["against"]
    made = {"Game after game": _game_after_game(against)}
    known = {
        name: one["goals"]["reliability"] for name, one in against.items() if one.get("goals", {}).get("reliability")
    }
    if known:
        made["How sure beliefs are, and how often right"] = _reliability(known)
    if found.get("learned", {}).get("picture", {}).get("x"):
        made["Learned goals: the plane in which they differ most, by the goal that was reached"] = _plane(
            found["learned"]["picture"]
        )
    return made


def _reliability(known: Mapping[str, Sequence[Sequence[float]]]) -> bytes:
    figure, axis = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
    axis.plot([0, 1], [0, 1], color="#888", linewidth=1)
    for name, rows in known.items():
        axis.plot([row[0] for row in rows], [row[1] for row in rows], ".-", label=name)
    axis.set_xlabel("how sure the belief is")
    axis.set_ylabel("share that is right")
    axis.legend(fontsize=8)
    return _png(figure)


def _game_after_game(against: Mapping[str, Told]) -> bytes:
    figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for place, (name, one) in enumerate(against.items()):
        for kept, style in (("own", "-"), ("forgetful", ":")):
            rows = one["return_by_game"][kept]
            at = [k + 1 for k in range(len(rows))]
            label = name if kept == "own" else None
            axis.plot(at, [row[0] for row in rows], style, color=f"C{place}", label=label)
    axis.set_xlabel("game with the same co-players (dotted: without memory of earlier games)")
    axis.set_ylabel("return")
    axis.legend(fontsize=8)
    return _png(figure)


def _plane(picture: Told) -> bytes:
    figure, axis = plt.subplots(figsize=(5, 4.2), layout="constrained")
    dots = axis.scatter(picture["x"], picture["y"], c=picture["label"], s=6, cmap="tab10")
    axis.legend(*dots.legend_elements(), title="goal", fontsize=8)
    return _png(figure)


def _png(figure: Figure) -> bytes:
    data = BytesIO()
    figure.savefig(data, dpi=110, format="png")
    plt.close(figure)
    return data.getvalue()
