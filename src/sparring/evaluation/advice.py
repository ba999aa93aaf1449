"""What to try next, by what was found: a sentence, and the command that does it where there is one."""

from collections.abc import Sequence

from sparring.core.code import naming
from sparring.core.names import counted
from sparring.evaluation.findings import FAR, Findings, Gain, Opposed, deployable, listed, rose, settled
from sparring.evaluation.scoring import LEARNED, SideScore
from sparring.evaluation.standing import Standing, is_contest

FEW, MUCH_LONGER, LONGER = 20, 10, 2
"""Updates below which little can be learned; times as many steps as that, and as any other run, to train longer."""
MORE = 4
"""Times as many games halve an interval."""
SMALLER = 0.8
"""An exploitability below this share of what it was half way is still falling."""
ADVICE = {
    "no_gain": "train longer or with larger steps (--learning-rate), or pay for what leads to the goal (--shaping)",
    "exploitable": "train with what settles (--self-play magnet), or longer",
    "by_time": "let games end sooner (--shaping, --curriculum) or last longer (--options)",
    "entropy": "let it explore longer, by a larger --entropy or a smaller --learning-rate",
    "blind_critic": "help the critic, by --value-norm popart, --critic-epochs 4 or --memory gru",
}
"""What to try, by the kind of a notice; the first counts."""
ANOTHER = {
    "exploitable": "--self-play magnet",
    "entropy": "--entropy 0.05",
    "blind_critic": "--value-norm popart",
}
"""Flags of another run that tries it."""
Step = tuple[str, str]


def next_step(found: Findings, gain: Gain, places: Sequence[Standing]) -> Step:
    """What to do, and the command that does it."""
    run, facts = found.run, found.facts
    times = MUCH_LONGER if facts.get("iterations", FEW) < FEW else LONGER
    longer = f"sparring resume {run} --total-steps {times * found.done}"
    below = dict.fromkeys(bot for place in places for bot in place.below)
    if not found.finished:
        return "It was stopped before its end; go on.", f"sparring resume {run}"
    if not found.scores:
        return "Evaluate it.", f"sparring eval {run}"
    if has_fallen(found, gain) and not (found.opposed.magnet and rising(found, places)):  # it comes nearer, in circles
        return after_a_fall(found, gain, places)
    gained = found.unmoved and gain in ("better", "mixed")  # then exploitability is not what is in its way
    told = [kind for kind in ADVICE if kind in found.notices and not (kind == "exploitable" and gained)]
    if told and not found.settled:
        kind = told[0]
        command = longer if kind == "no_gain" else another(found, ANOTHER[kind]) if kind in ANOTHER else ""
        return f"The notices say what is in its way. Try to {ADVICE[kind]}.", command
    if found.random_is_best:
        return "All that can be learned here is to come to rest: see which way to train does.", (
            f"sparring compare {facts['game']}"
        )
    if rising(found, places):
        return "It was still getting better: train longer.", longer
    if below:
        meet = ", or meet bots in training (--bots 0.3)" * places[0].duel
        return f"It is behind {listed(below)}: train longer{meet}.", longer
    bots = found.of_bots
    if found.own is not None and not gained and bots and found.own > FAR * max(bots) and found.own > 2 * min(bots):
        if found.opposed.magnet:
            return "A bot is much harder to exploit: train longer.", longer
        words, flags = settling(found.opposed)
        return f"A bot is much harder to exploit. {words}", another(found, flags)
    if (made := facts.get("iterations", FEW)) < FEW:
        return f"It has hardly begun, after {counted(made, 'update')}: train longer.", longer
    if (suited := facts.get("suited_steps", 0)) >= LONGER * found.done:
        return f"{suited:,} steps suit this game: train longer.", another(found, f"--total-steps {suited}")
    if gain == "unclear":
        games = more_games(found.scores, facts["seeds"])
        return "More games may show what these do not; else train longer.", f"sparring eval {run} --games {games}"
    if facts["seeds"] == 1:
        command = f"sparring train --config {run}/config.toml --seeds 3 --name {found.name}-seeds"
        return "Find out whether that was luck: train three seeds.", command
    if found.own is None and LEARNED not in found.bounds and places and places[0].duel:
        return "Find out what an opponent that trains against it can win.", f"sparring exploit {run}"
    return "Compare it with other ways to train.", f"sparring compare {facts['game']}"


def rising(found: Findings, places: Sequence[Standing]) -> bool:
    """Whether what one would deploy is still getting better since half way, with something left to get."""
    now, then = deployable(found.exact), deployable(found.exact_half)
    if now is None or found.unmoved:
        return any(place.rise.low > 0 for place in places if place.rise is not None)
    since = [value for exact in found.exact_since if (value := deployable(exact)) is not None]
    falling = then is not None and now < SMALLER * then and now < min(since, default=then)
    return falling and not settled(now, found.others)


def more_games(scores: Sequence[SideScore], seeds: int) -> int:
    """Of each line-up and seed, for an evaluation that is to show more than these did."""
    return MORE * max(score.games for score in scores) // seeds


def has_fallen(found: Findings, gain: Gain) -> bool:
    """Whether an earlier policy of the run was surely better: then more of the same is no advice."""
    by_games = found.own is None or found.unmoved
    return gain == "worse" or rose(found) is not None or (by_games and bool(found.falls))


def after_a_fall(found: Findings, gain: Gain, places: Sequence[Standing]) -> Step:
    """Where opponents change it may be circling, and a magnet is the first thing to try; where little was lost, an
    earlier policy may be the one to keep."""
    few = 2 * len(found.falls) <= sum(len(place.gains) for place in places)
    if (found.own is None or found.unmoved) and found.falls and gain not in ("worse", "mixed") and few:
        kept, lost = found.kept_near(found.falls[0].iteration), list(dict.fromkeys(f.opponent for f in found.falls))
        if kept:
            return "See which of the two policies is the better one, before it trains on.", (
                f"sparring tournament {found.run} {kept} {' '.join(lost)}"
            )
        meet = "" if found.opposed.bots else f", or meet {listed(lost)} in training (--bots 0.2)"
        return f"It loses as it gains: let it take smaller steps (--target-kl 0.01){meet}.", (
            another(found, "--target-kl 0.01")
        )
    if not may_circle(found):
        smaller = (
            "It was better earlier: take smaller steps (--target-kl 0.01), or let rates fall to 0 (--learning-rate)."
        )
        return smaller, another(found, "--target-kl 0.01")
    measured = "" if found.own is not None or LEARNED in found.bounds else (
        f" What can be won from it says: sparring exploit {found.run}{naming(found.facts)}."
    )  # fmt: skip
    words, flags = settling(found.opposed)
    return f"It was better earlier and may be circling, so more of the same would not help. {words}{measured}", (
        another(found, flags)
    )


def may_circle(found: Findings) -> bool:
    """Whether what was lost may be the way round of who answers an opponent that changes: not where what a perfect
    opponent would win is known and has not risen."""
    if found.unmoved and rose(found) is None:
        return False
    return is_contest(found.facts) or bool(found.facts.get("alike"))


def settling(opposed: Opposed) -> Step:
    """What lets a policy that circles come to rest, and flags for it, by what it has already.

    In long games, where skill comes first, a magnet costs speed, and past selves did best
    (docs/log/2026-11-18-does-a-league-help.md).
    """
    if opposed.long and not opposed.past:
        return "Let it meet its past selves.", "--self-play pool"
    if opposed.long and not opposed.magnet:
        bots = "" if opposed.bots else ", or let it meet bots (--bots 0.2)"
        return f"Take smaller steps (--target-kl 0.01){bots}.", "--target-kl 0.01"
    if not opposed.magnet:
        return "Train with a magnet, which lets the newest policy come to rest.", "--self-play magnet"
    bots = "" if opposed.bots else ", or let it meet bots (--bots 0.2)"
    return f"Hold it harder (--anchor 1), take smaller steps (--learning-rate){bots}.", "--anchor 1"


def another(found: Findings, flags: str) -> str:
    """The command of a run like it but for some flags."""
    word = flags.split()[0 if flags[-1].isdecimal() else -1].strip("-")
    return f"sparring train --config {found.run}/config.toml {flags} --name {found.name}-{word}"
