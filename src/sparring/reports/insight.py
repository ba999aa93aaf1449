"""What learners understand of their co-players, for people: tables in the terminal, one page with pictures."""

from collections.abc import Mapping, Sequence
from html import escape
from math import isfinite, isnan
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from rich.console import Group, RenderableType
from rich.markup import escape as unmarked
from rich.table import Column, Table

from sparring.reports.html import command as copied
from sparring.reports.html import definitions, document, marked, picture, png, table

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
    "top1_of_its_word": "word kept", "known": "known",
}  # fmt: skip
SURENESS = {
    "nll": "NLL", "nll_open": "NLL of a guess", "brier": "Brier", "ece": "ECE", "steps_to_90": "90 % after",
    "never_90": "never", "spatial_error": "off by",
}  # fmt: skip
FAR = {"top1": "right", "top1_nearest": "the nearest", "nll": "NLL", "spatial_error": "off by"}
READ = {"told": "what the policy is shown", "seen": "what it sees"}
LEARNED = {
    "spatial_top1": "spatial: a pointer names the goal (supervised)", "probe_goal": "linear probe of OMG's subgoal",
    "probe_state": "linear probe of what is seen", "probe_history": "linear probe of the last states",
    "hit_ratio": "subgoals that are really visited (hit ratio)",
}  # fmt: skip
MEANING = {
    "What they do next": "Skill is 1 - NLL / NLL of knowing only how often the co-player takes each action: 0 is no "
    "better than that, and nothing is better than its own rule. NLL is minus the logarithm of the probability that was "
    "given to what happened. Right: share of steps in which the likeliest action is taken, beside always its most "
    "frequent one (by habit), the last one again (as before), and a guess among legal ones. Steps without a choice are "
    "left out. Skill is far below 0 of who nearly always does the same, since that alone foresees nearly all. (met): "
    "it was met in training.",
    "What they are after": "The goal that is reached next in the game, known afterwards; known is the share of steps "
    "for which one was. Right: share of steps in which the belief names it, beside always naming the nearest goal or "
    "the most usual one; by its word: what a bot says it heads for; word kept: how often it "
    "reaches that next, rather than somebody else or another goal.",
    "How sure it is of that": "Less is better: NLL; Brier, the mean square by which probabilities miss; ECE, how far "
    "how sure it is lies from how often it is right. 90 % after: the median of steps until the belief in the goal is "
    "that sure and stays so, and in how many games it never is. Off by: distance on the board.",
    "What it earns": "How much more with its own beliefs than with what its policy is shown in their place, in the "
    "same worlds, with 95 % intervals.",
}
"""By the title of a table."""
BESIDE: dict[str, Any] = {"fontsize": 8, "loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
"""A legend that covers no curve."""
LEAST = -99.0
"""A skill below it only says that the co-player hardly ever does anything else."""


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
            ["co-player", "its policy is shown", "return", "its own earn more by"],
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
    return (
        ("never" if value > 0 else "-")
        if not isfinite(value)
        else f"{value:z.2f}"
        if value > LEAST
        else f"< {LEAST:z.0f}"
    )


def _bounds(values: Sequence[float]) -> str:
    if not values:
        return ""
    mean, low, high = values
    return _text(mean) if isnan(low) else f"{mean:z.2f} [{low:z.2f}, {high:z.2f}]"


def terminal(found: Told) -> RenderableType:
    """Tables, what they mean, and the verdict last."""
    parts: list[RenderableType] = []
    for title, (header, rows) in tables(found).items():
        shown = Table(Column(header[0], no_wrap=True), *header[1:], title=title, title_justify="left", box=None)
        for row in rows:
            shown.add_row(*map(unmarked, row))
        parts += [shown, ""]
    parts += [f"[dim]{title}: {text}[/]" for title, text in MEANING.items()]
    return Group(*parts, *map(unmarked, found["verdict"]["sentences"]))


def html(found: Told, name: str, command: str) -> str:
    shown = "".join(f"<h2>{escape(text)}</h2>{picture(text, png)}" for text, png in pictures(found).items())
    body = "".join(
        f'<h2>{escape(title)}</h2><p class="note">{escape(MEANING.get(title, ""))}</p>{table(*content)}'
        for title, content in tables(found).items()
    )
    said = "".join(f"<p>{marked(sentence)}</p>" for sentence in found["verdict"]["sentences"])
    verdict = definitions([("What it understands, and whether that helps", said)])
    return document(f"Insight of {name}", f"{verdict}{shown}{body}<p>Again:</p>{copied(command)}")


def pictures(found: Told) -> dict[str, bytes]:
    """Reliability of beliefs, returns game after game, and the plane of learned goals."""
    against: Mapping[str, Told] = found["against"]
    made = {"Game after game": _game_after_game(against)}
    known = {name: one.get("goals", {}).get("reliability") or () for name, one in against.items()}
    if any(known.values()):
        made["How sure beliefs are, and how often right"] = _reliability(known)
    if found.get("learned", {}).get("picture", {}).get("x"):
        made["Learned goals: the plane in which they differ most, by the goal that was reached"] = _plane(
            found["learned"]["picture"]
        )
    return made


def _reliability(known: Mapping[str, Sequence[Sequence[float]]]) -> bytes:
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axis = figure.subplots()
    axis.plot([0, 1], [0, 1], color="#888", linewidth=1, label="as often right as sure")
    for place, (name, rows) in enumerate(known.items()):
        if rows:  # who has none keeps a colour, so that everybody has the same in all pictures
            axis.plot([row[0] for row in rows], [row[1] for row in rows], ".-", color=f"C{place}", label=name)
    axis.set_xlabel("how sure the belief is")
    axis.set_ylabel("share that is right")
    axis.legend(**BESIDE)
    return png(figure)


def _game_after_game(against: Mapping[str, Told]) -> bytes:
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axis = figure.subplots()
    for place, (name, one) in enumerate(against.items()):
        for kept, style in (("own", "-"), ("forgetful", ":")):
            rows = one["return_by_game"][kept]
            at = [k + 1 for k in range(len(rows))]
            label = name if kept == "own" else None
            axis.plot(at, [row[0] for row in rows], style, color=f"C{place}", label=label)
            if kept == "own":  # without it chance from game to game looks like adapting
                axis.fill_between(at, [row[1] for row in rows], [row[2] for row in rows], color=f"C{place}", alpha=0.15)
    axis.set_xlabel("game with the same co-players (dotted: without memory of earlier games; bands: 95 %)")
    axis.set_ylabel("return")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.legend(**BESIDE)
    return png(figure)


def _plane(picture: Told) -> bytes:
    figure = Figure(figsize=(6, 4.2), layout="constrained")
    axis = figure.subplots()
    dots = axis.scatter(picture["x"], picture["y"], c=picture["label"], s=6, cmap="tab10")
    axis.set(xlabel="where codes differ most", ylabel="where they differ most beside that")
    axis.legend(*dots.legend_elements(), title="goal", **BESIDE)
    return png(figure)
