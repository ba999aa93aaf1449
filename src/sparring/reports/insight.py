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
    "own": "told what its mind thinks", "oracle": "told what they are truly after",
    "shuffled": "told what is thought in another world", "zero": "told zeros", "forgetful": "without earlier games",
}  # fmt: skip
FAR = ("top1", "top1_nearest", "nll", "spatial_error")
MEANING = (
    "skill: 1 - NLL / NLL of knowing only how often the co-player takes each action; 0 is no better than that, its own "
    "rule is the best there is. Steps without a choice are left out.",
    "goal: the one that is reached next in the game (hindsight); steps after the last one have none. By its word: what "
    "a bot says it heads for now.",
    "more than told ...: differences of the return in the same worlds, the interval of 95 % above 0 where it is sure.",
)


def tables(found: Told) -> dict[str, tuple[list[str], list[list[str]]]]:
    """By title, header and rows."""
    against: Mapping[str, Told] = found["against"]
    goals = {name: one["goals"] for name, one in against.items() if "goals" in one}
    made = {
        "What they do next": (
            ["co-player", "met", "skill", "of its rule", "right", "by habit", "as before", "any legal", "NLL",
             "NLL legal", "choices"],
            [_actions(name, one) for name, one in against.items()],
        ),
        "What they are after": (
            ["co-player", "right", "nearest", "base rate", "by its word", "NLL", "NLL any open", "Brier", "ECE",
             "90 % after", "never", "astray", "known"],
            [_goals(name, one) for name, one in goals.items()],
        ),
        "By steps to the goal": (
            ["co-player", "steps", "how often", "right", "nearest", "NLL", "astray"],
            [
                [name, far, f"{row['steps']:,}", *(_text(row[key]) for key in FAR)]
                for name, one in goals.items()
                for far, row in one["by_distance"].items()
            ],
        ),
        "What it earns": (
            ["co-player", *CONTROLS.values(), *(f"more than {text}" for text in list(CONTROLS.values())[1:])],
            [[name, *(_text(one["return"][c][0]) for c in CONTROLS), *(_bounds(one["gained"][c]) for c in
              list(CONTROLS)[1:])] for name, one in against.items()],
        ),
        "Game after game with the same co-players": (
            ["co-player", "met", "remembers", *(f"game {k + 1}" for k in range(found["games"]))],
            [[name, _met(one), "earlier games" if kept == "own" else "nothing", *map(_bounds, rows)]
             for name, one in against.items() for kept, rows in one["return_by_game"].items()],
        ),
    }  # fmt: skip
    if "learned" in found:
        made["Goals learned from these games alone, judged in other worlds"] = _learned(found["learned"])
    return {title: content for title, content in made.items() if content[1]}


def _met(one: Told) -> str:
    return "in training" if one["seen_in_training"] else "never"


def _actions(name: str, one: Told) -> list[str]:
    a = one["actions"]
    keys = ("skill", "skill_of_rule", "accuracy", "accuracy_habit", "accuracy_again", "accuracy_uniform", "nll",
            "nll_uniform", "choices")  # fmt: skip
    return [name, _met(one), *(_text(a[key]) for key in keys)]


def _goals(name: str, goals: Told) -> list[str]:
    keys = ("top1", "top1_nearest", "top1_base", "top1_by_its_word", "nll", "nll_open", "brier", "ece", "steps_to_90",
            "never_90", "spatial_error", "known")  # fmt: skip
    return [name, *(_text(goals.get(key, float("nan"))) for key in keys)]


def _learned(one: Told) -> tuple[list[str], list[list[str]]]:
    rows = {
        "spatial pointer names the goal (supervised)": "spatial_top1", "linear probe of OMG's subgoal": "probe_goal",
        "linear probe of what is seen": "probe_state", "linear probe of the last states": "probe_history",
        "subgoals that are really visited (hit ratio)": "hit_ratio",
    }  # fmt: skip
    return ["measure", "share of steps"], [[text, _text(one[key])] for text, key in rows.items()]


def _text(value: float) -> str:
    if isnan(value):
        return "-"
    return f"{value:.2f}" if isfinite(value) else "never"


def _bounds(values: Sequence[float]) -> str:
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
