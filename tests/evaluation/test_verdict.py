"""What a run learned, in words: each sentence follows from figures that are made up here."""

from dataclasses import replace

from sparring.evaluation.findings import Findings, Opposed, listed
from sparring.evaluation.scoring import LEARNED, UNTRAINED, SideScore
from sparring.evaluation.standing import falls, standings
from sparring.evaluation.verdict import verdict
from sparring.statistics.intervals import Interval, Moments
from sparring.training.trends import fall_notices

DUEL = {"game": "duel", "sides": ["red", "blue"], "score": "outcome", "alike": True, "seeds": 1}
TEAM = {"game": "team", "sides": ["team"], "score": "return", "seeds": 1}


def points(opponent: str, share: float, *, games: int = 100, side: int = 0, team: str = LEARNED) -> SideScore:
    wins = round(share * games)
    won = Moments(share, share * (1 - share), games)
    return SideScore(side, team, opponent, games, wins, 0, games - wins, 10.0, (Moments(0.0, 1.0, games),), (won,))


def both(opponent: str, share: float, games: int = 100) -> list[SideScore]:
    return [points(opponent, share, games=games, side=side) for side in (0, 1)]


def earned(team: str, mean: float, opponent: str = "", side: int = 0) -> SideScore:
    """A mean return with a deviation of 1 over 100 games: known within 0.2."""
    return SideScore(side, team, opponent, 100, 0, 0, 0, 10.0, (Moments(mean, 1.0, 100),))


def duel(**found) -> Findings:
    return Findings(run="runs/x", facts=DUEL, steps=1000, **found)


def test_a_duel_names_the_bots_it_beats_loses_to_and_cannot_be_told_from():
    scores = [*both("weak", 0.9), *both("ace", 0.1), *both("equal", 0.5)]
    said = verdict(duel(scores=scores, before=[*both("weak", 0.5), *both("ace", 0.1), *both("equal", 0.48)]))
    assert said.gain == "better"
    assert said.learned == (
        "Better than before training, against 1 of 3 opponents. Beats weak; loses to ace; undecided against equal."
    )
    assert said.short == "better; beats 1 of 3 bots, behind 1"
    assert said.next == "It is behind ace: train longer, or meet bots in training (--bots 0.3)."
    assert said.command == "sparring resume runs/x --total-steps 2000"
    assert "100 games of each line-up" in said.sure and "One seed" in said.sure


def test_a_run_of_few_updates_is_told_to_be_much_longer_and_any_other_twice_as_long():
    scores = both("ace", 0.1)
    few, many = (replace(duel(scores=scores), facts={**DUEL, "iterations": count}) for count in (19, 20))
    assert verdict(few).command.endswith("--total-steps 10000") and verdict(many).command.endswith("--total-steps 2000")
    same = both("ace", 0.5)
    few, many = (replace(duel(scores=same, before=same), facts={**DUEL, "iterations": count}) for count in (2, 20))
    assert verdict(few).gain == verdict(many).gain == "unclear"
    assert verdict(few).next == "It has hardly begun, after 2 updates: train longer.", "more games would not help"
    assert verdict(many).command == "sparring eval runs/x --games 400"


def test_a_run_far_shorter_than_suits_its_game_is_told_how_long_that_is():
    scores = both("ace", 0.9)
    for steps, wanted in (
        (2_000, "2,000 steps suit this game: train longer."),
        (1_999, "Find out whether that was luck"),
    ):
        said = verdict(replace(duel(scores=scores), facts={**DUEL, "suited_steps": steps}))
        assert said.next.startswith(wanted)
    assert said.command != verdict(replace(duel(scores=scores), facts={**DUEL, "suited_steps": 2_000})).command


def test_a_contest_judged_by_return_is_won_by_earning_more_than_nothing():
    """Kuhn's sides are two positions: what is lost in one and won in the other counts together."""
    facts = {**DUEL, "score": "return", "zero_sum": True, "alike": False}
    scores = [earned(LEARNED, -0.1, "bot", 0), earned(LEARNED, 0.9, "bot", 1)]
    (place,) = standings(scores, (), (), facts)
    assert place.duel and place.above == ["bot"] and abs(place.leads["bot"].mean - 0.4) < 1e-9


def test_where_nobody_is_fought_bots_are_tried_in_the_same_place():
    scores = [earned(LEARNED, 1.0), earned("random", 0.0), earned("good", 3.0), earned("same", 1.1)]
    said = verdict(Findings(run="r", facts=TEAM, scores=scores, before=[earned(LEARNED, 2.0)]))
    assert said.gain == "worse"
    assert said.learned == (
        "Worse than before training. Better than random; worse than good; not clearly different from same."
    )
    assert "--bots" not in said.next


def test_unlike_sides_each_have_a_sentence_and_only_places_that_were_tried_with_both_count():
    facts = {**TEAM, "sides": ["hunter", "prey"]}
    scores = [
        earned(LEARNED, 2.0, "flee", 0), earned("chase", 1.0, "flee", 0), earned("chase", 9.0, LEARNED, 0),
        earned(LEARNED, 0.0, "chase", 1), earned("flee", 2.0, "chase", 1),
    ]  # fmt: skip
    said = verdict(Findings(run="r", facts=facts, scores=scores)).learned
    assert "hunter: better than chase. prey: worse than flee. Each was compared with the bots in its own place." in said


def test_an_exact_figure_stands_beside_the_start_and_the_best_bot_and_decides_on_the_gain():
    exact = {LEARNED: 0.25, "shadow": 0.125, "random": 0.5, "careful": 0.375}
    said = verdict(duel(scores=both("random", 0.5), before=both("random", 0.9), exact=exact, exact_before=0.5))
    assert said.gain == "better"
    assert said.learned.endswith(
        "A perfect opponent would win 0.250 of return per game from it, 0.125 from its shadow, 0.500 from the policy "
        "before training and 0.375 from the best bot (careful)."
    )
    assert said.short.startswith("better; exploitability 0.250 (was 0.500)")
    assert verdict(duel(scores=both("random", 0.5), exact=exact, exact_before=0.25)).gain == "worse"


def test_of_psro_the_mixture_is_judged_since_its_oracles_are_easily_answered():
    said = verdict(duel(scores=both("random", 0.5), exact={LEARNED: 0.99, "mixture": 0.25}, exact_before=0.5))
    assert (
        said.gain == "better"
        and "0.250 of return per game from its mixture, 0.990 from its newest policy" in said.learned
    )


def test_where_random_play_is_an_equilibrium_nothing_is_called_a_loss():
    said = verdict(duel(scores=both("random", 0.5), exact={LEARNED: 0.02, "random": 0.0}, exact_before=0.001))
    assert said.gain == "unclear" and said.learned.startswith("Random play is an equilibrium of this game")
    nearer = duel(scores=both("random", 0.5), exact={LEARNED: 0.02, "random": 0.0}, exact_half={LEARNED: 0.05})
    assert "longer" not in verdict(nearer).next and verdict(nearer).command.startswith("sparring compare ")


def test_without_an_exact_figure_what_trained_opponents_won_is_told():
    bounds = {LEARNED: Interval(0.3, 0.25, 0.35, 3)}
    assert "won 0.300 [0.250, 0.350] of return per game from it" in verdict(duel(bounds=bounds)).learned


def test_what_to_do_next_follows_from_what_is_missing():
    done = duel(scores=both("weak", 0.9), before=both("weak", 0.5))
    assert verdict(replace(done, finished=False)).command == "sparring resume runs/x"
    assert verdict(duel()).command == "sparring eval runs/x" and verdict(duel()).gain == "unknown"
    assert "--learning-rate" in verdict(replace(done, notices=("kl", "no_gain"))).next
    rising = verdict(replace(done, half=both("weak", 0.6)))
    assert rising.next.startswith("It was still getting better") and "--total-steps 2000" in rising.command
    assert "--seeds 3 --name x-seeds" in verdict(replace(done, half=both("weak", 0.9))).command
    three = replace(done, facts={**DUEL, "seeds": 3})
    assert verdict(three).command == "sparring exploit runs/x"
    assert verdict(replace(three, exact={LEARNED: 0.1}, exact_half={LEARNED: 0.11})).command == "sparring compare duel"
    assert "--total-steps" in verdict(replace(three, exact={LEARNED: 0.1}, exact_half={LEARNED: 0.5})).command


def test_who_is_far_easier_to_exploit_than_a_bot_has_much_left_to_learn():
    """The worst bot loses 1.0: from a tenth of it on there is much left, unless no bot does much better."""
    found = duel(scores=both("weak", 0.9), exact={LEARNED: 0.2, "weak": 1.0, "solid": 0.05})
    said = verdict(found)
    assert (
        said.next == "A bot is much harder to exploit. Train with a magnet, which lets the newest policy come to rest."
    )
    assert said.command == "sparring train --config runs/x/config.toml --self-play magnet --name x-magnet"
    held = verdict(replace(found, opposed=replace(found.opposed, magnet=True)))
    assert held.next.endswith("train longer.") and held.command == "sparring resume runs/x --total-steps 2000"
    assert "--seeds 3" in verdict(replace(found, exact={LEARNED: 0.2, "weak": 1.0, "solid": 0.15})).command
    assert "--seeds 3" in verdict(replace(found, exact={LEARNED: 0.05, "weak": 1.0, "solid": 0.0})).command


def test_no_interval_no_claim():
    """One game, or one of two seeds, says nothing about chance."""
    said = verdict(Findings(run="r", facts=TEAM, scores=[replace(earned(LEARNED, 5.0), returns=(Moments(5.0, 0, 1),))]))
    assert said.gain == "unknown" and "etter" not in said.learned


def test_many_names_are_cut_with_a_count_and_a_text_keeps_commands_whole():
    assert listed("ab") == "a and b" and listed("abc") == "a, b and c" and listed(["a"]) == "a"
    assert listed("abcdefgh") == "a, b, c, d, e, f and 2 more"
    text = verdict(duel(scores=both("weak", 0.9))).text(60)
    assert [line[:9].strip() for line in text.splitlines() if line[0] != " "] == ["learned", "sure", "next"]
    assert any(line.strip().startswith("sparring train --config runs/x/config.toml") for line in text.splitlines())


RPS = {"game": "rps", "sides": ["a", "b"], "score": "return", "alike": True, "seeds": 1}
"""Nobody said that one side gains what the other loses."""


def against_random(mean: float) -> list[SideScore]:
    return [earned(LEARNED, mean, "random", side) for side in (0, 1)] + [
        earned("random", 0.0, "random", side) for side in (0, 1)
    ]


def test_a_run_that_was_better_earlier_is_not_told_to_train_longer():
    """A return of deviation 1 over 200 games: the mean is known to within 0.14, a fall of 0.7 is ten deviations."""
    seen = {UNTRAINED: against_random(0.0), 1: against_random(0.3), 9: against_random(-0.4)}
    lost = falls(seen, RPS)
    assert [(fall.opponent, fall.iteration) for fall in lost] == [("random", 1)]
    found = Findings(
        run="runs/rps", facts=RPS, steps=1000, scores=seen[9], before=seen[UNTRAINED], falls=lost, per_iteration=100
    )
    said = verdict(found)
    assert "against random 0.30 after 200 steps, -0.40 now. The policy of then was not kept." in said.learned
    assert said.learned.count("random") == 3 and "'a'" not in said.learned  # alike sides are one
    assert "longer" not in said.next and "circling" in said.next and "sparring exploit runs/rps" in said.next
    assert said.command == "sparring train --config runs/rps/config.toml --self-play magnet --name rps-magnet"
    held = verdict(replace(found, opposed=Opposed(magnet=True, bots=True)))
    assert "--self-play" not in held.command and "--bots" not in held.next and "--anchor 1" in held.command
    long = verdict(replace(found, opposed=Opposed(long=True)))  # as a fight in the air: skill before balance
    assert "--self-play pool" in long.command and "magnet" not in long.next
    assert "--target-kl 0.01" in verdict(replace(found, opposed=Opposed(long=True, past=True))).command


def test_a_loss_beside_gains_names_the_policy_that_was_kept():
    facts = {**DUEL, "alike": True}
    seen = {UNTRAINED: both("ace", 0.1) + both("weak", 0.4), 4: both("ace", 0.75) + both("weak", 0.9)}
    seen[9] = both("ace", 0.5) + both("weak", 0.95)
    found = duel(scores=seen[9], before=seen[UNTRAINED], falls=falls(seen, facts), per_iteration=100)
    kept = replace(found, kept={510: "runs/x:past-510", 1000: "runs/x@10"})
    said = verdict(kept)
    assert "against ace 0.75 after 500 steps, 0.50 now. The policy nearest to then is runs/x:past-510." in said.learned
    assert said.command == "sparring tournament runs/x runs/x:past-510 ace"
    assert "smaller steps" in verdict(found).next and "meet ace" in verdict(found).next


def test_what_chance_or_a_weak_opponent_explains_is_no_fall():
    """In a contest nobody who is still surely ahead has lost anything: settling down means to exploit less."""
    assert not falls({0: both("ace", 0.58), 9: both("ace", 0.5)}, DUEL)
    assert not falls({0: both("weak", 0.99), 9: both("weak", 0.75)}, DUEL)
    assert falls({0: both("weak", 0.99), 9: both("weak", 0.5)}, DUEL)
    assert not falls({9: both("weak", 0.5)}, DUEL) and not falls({}, DUEL)
    shared = {**RPS, "sides": ["hunter", "prey"], "alike": False}
    seen = {i: [earned(LEARNED, mean, "bot", 0), earned(LEARNED, 1.0, "bot", 1)] for i, mean in ((0, 2.0), (9, 1.0))}
    assert [(fall.side, fall.opponent) for fall in falls(seen, shared)] == [("hunter", "bot")]


def test_many_looks_make_one_difference_less_sure():
    """0.7 and 0.5 of 100 games on each side differ by 3.2 deviations: enough for one look, not for two hundred."""
    once = {0: both("ace", 0.66), 9: both("ace", 0.5)}
    assert falls(once, DUEL)
    often = {i: both("ace", 0.66) + [s for k in range(40) for s in both(f"bot {k}", 0.5)] for i in range(9)}
    often[9] = both("ace", 0.5) + [s for k in range(40) for s in both(f"bot {k}", 0.5)]
    assert not falls(often, DUEL)


def test_an_exploitability_that_rises_is_a_circle_and_one_that_rests_is_none():
    found = duel(scores=both("random", 0.5), exact={LEARNED: 0.9, "random": 0.3}, exact_before=0.3, per_iteration=10)
    said = verdict(replace(found, curve={0: 0.1, 1: 0.5}))
    assert "would have won 0.100 after 10 steps and wins 0.900 now" in said.learned and "magnet" in said.command
    (told,) = fall_notices(20, 0, replace(found, curve={0: 0.1, 1: 0.5}))
    assert told["text"].count("circl") == 1 and "magnet" in told["text"], "said once"
    rests = replace(found, exact={LEARNED: 0.02, "random": 0.3}, curve={0: 0.01, 1: 0.5})
    assert "circle" not in verdict(rests).learned and "circling" not in verdict(rests).next


def test_advice_of_a_notice_comes_with_its_command():
    done = duel(scores=both("weak", 0.9), before=both("weak", 0.5))
    assert verdict(replace(done, notices=("no_gain",))).command == "sparring resume runs/x --total-steps 2000"
    assert "--entropy 0.05 --name x-entropy" in verdict(replace(done, notices=("entropy",))).command


OPEN_BOARD = {
    "exact": {LEARNED: 0.996, "random": 0.96, "perfect": 0.0},
    "exact_before": 0.96,
    "notices": ("exploitable",),
}
"""A single fault loses every game to a perfect opponent: nearly the largest exploitability from the first move on."""


def test_where_exploitability_has_not_moved_games_tell_what_was_learned():
    before = [*both("random", 0.5), *both("perfect", 0.05)]
    found = duel(scores=[*both("random", 0.8), *both("perfect", 0.05)], before=before, **OPEN_BOARD)
    said = verdict(found)
    assert said.gain == "better" and said.short.startswith("better; still exploitability 0.996 (was 0.960)")
    assert said.learned.startswith(
        "Better than before training, against 1 of 2 opponents. What a perfect opponent would win has hardly changed."
    )
    assert "circl" not in said.learned + said.next and "magnet" not in said.next
    assert said.next.startswith("It is behind perfect: train longer")
    lower = verdict(replace(found, exact={**found.exact, LEARNED: 0.95}, scores=[*both("random", 0.2)]))
    assert lower.gain == "worse", "0.95 and 0.96 are as good as the same, and games say worse"
    mixed = verdict(replace(found, scores=[*both("random", 0.8), *both("perfect", 0.0)]))
    assert mixed.gain == "mixed" and "against random, and worse against perfect" in mixed.learned
    assert verdict(replace(found, before=())).gain == "worse", "no games before training, so by the exact figure"


def test_an_exploitability_that_moved_counts_more_than_games():
    """0.3 of 1.0 more than before is no small thing; 0.03 instead of 0.06 is half."""
    found = duel(scores=both("random", 0.9), before=both("random", 0.5), exact_before=0.5)
    risen = verdict(replace(found, exact={LEARNED: 0.8, "random": 1.0}))
    assert risen.gain == "worse" and "circling" in risen.next and "still" not in risen.short
    halved = replace(found, scores=both("random", 0.3), exact={LEARNED: 0.03, "random": 1.0}, exact_before=0.06)
    assert verdict(halved).gain == "better"


def test_what_is_lost_against_bots_is_told_where_exploitability_has_not_moved():
    seen = {UNTRAINED: both("ace", 0.2), 4: both("ace", 0.75), 9: both("ace", 0.4)}
    found = duel(
        scores=seen[9], before=seen[UNTRAINED], falls=falls(seen, DUEL), per_iteration=100,
        curve={4: 0.97}, **OPEN_BOARD,
    )  # fmt: skip
    said = verdict(found)
    assert said.gain == "better" and "It was better earlier: against ace 0.75 after 500 steps" in said.learned
    assert "circl" not in said.learned + said.next and "--target-kl 0.01" in said.command
    (told,) = fall_notices(9, 0, found)
    assert "against ace" in told["text"] and "magnet" not in told["text"] and "circl" not in told["text"]


def test_what_one_would_deploy_must_still_fall_for_a_run_to_be_told_to_go_on():
    """Of the largest exploitability, 1.0, what is below 0.01 is next to nothing."""
    bots = {"random": 1.0, "weak": 0.5}
    done = replace(duel(scores=both("weak", 0.9), exact_half={LEARNED: 0.4, "shadow": 0.3}), facts={**DUEL, "seeds": 3})

    def told(*since, **now) -> bool:
        return verdict(replace(done, exact={**now, **bots}, exact_since=since)).next.startswith("It was still")

    assert told(learned=0.2) and told({LEARNED: 0.25}, learned=0.2) and told({}, learned=0.2)
    assert not told({LEARNED: 0.2}, {LEARNED: 0.3}, learned=0.2), "it was as low before"
    assert not told({LEARNED: 0.3, "shadow": 0.1}, learned=0.2, shadow=0.15), "its shadow was lower"
    assert told({LEARNED: 0.1, "shadow": 0.1}, learned=0.2, shadow=0.05), "its shadow is what one would deploy"
    assert not told(learned=0.35, shadow=0.29), "less than a fifth of what the shadow was"
    assert not told(learned=0.02, shadow=0.009), "nothing is left"


def test_a_run_of_less_than_an_iteration_is_told_to_do_more_than_was_done():
    facts = {**DUEL, "iterations": 1}
    found = replace(duel(scores=both("ace", 0.1), per_iteration=1024), facts=facts, steps=10)
    assert verdict(found).command == "sparring resume runs/x --total-steps 10240"


SHARED = {"game": "dilemma", "sides": ["a", "b"], "score": "return", "alike": True, "seeds": 1}


def test_who_is_less_exploitable_and_earns_less_among_its_own_kind_is_told_both():
    def among_own(mean):
        return [earned(LEARNED, mean, other, side) for other in (LEARNED, "random") for side in (0, 1)]

    found = Findings(run="r", facts=SHARED, scores=among_own(1.0), before=among_own(2.25), exact={LEARNED: 0.1})
    said = verdict(replace(found, exact_before=0.75))
    assert said.gain == "mixed" and said.short == "less exploitable, but earns less; exploitability 0.100 (was 0.750)"
    assert said.learned.startswith(
        "Less exploitable than before training. Among its own kind it earns less than it did: 1.00 (2.25 before "
        "training)."
    )
    chance = verdict(replace(found, scores=among_own(2.2), exact_before=0.75))
    assert chance.gain == "better" and "own kind" not in chance.learned, "0.05 of a figure known within 0.14"
    contest = replace(found, facts={**SHARED, "zero_sum": True}, exact_before=0.75)
    assert verdict(contest).gain == "better", "what one side gains the other loses"
    tag = replace(found, facts={**SHARED, "alike": False}, exact_before=0.75)
    shifted = [earned(LEARNED, 3.0, LEARNED, 0), earned(LEARNED, 1.0, LEARNED, 1)]
    assert "a 1.00 (2.25 before training); b 1.00" in verdict(tag).learned
    assert "own kind" not in verdict(replace(tag, scores=shifted)).learned, "what b lost, a has"


def test_of_many_bots_the_hardest_are_named():
    scores = [score for k in range(8) for score in both(f"bot {k}", 0.95 - 0.03 * k)]
    assert "Beats bot 7, bot 6, bot 5, bot 4, bot 3, bot 2 and 2 more." in verdict(duel(scores=scores)).learned


def test_an_exploitability_that_rounds_to_0_has_no_sign():
    said = verdict(duel(scores=both("weak", 0.9), exact={LEARNED: -1e-9}, exact_before=0.5))
    assert "-0.000" not in said.learned + said.short and "would win 0.000" in said.learned


def test_more_games_are_more_than_were_played():
    """--games is of a line-up and a seed."""
    same = both("ace", 0.5, games=6144)
    facts = {**DUEL, "seeds": 3, "iterations": 20}
    assert verdict(duel(scores=same, before=same)).command.endswith("--games 24576")
    assert verdict(replace(duel(scores=same, before=same), facts=facts)).command.endswith("--games 8192")


def test_a_notice_is_no_obstacle_where_next_to_nothing_is_left_to_be_won():
    """The prisoner's dilemma is settled early, and rightly."""
    found = duel(scores=both("weak", 0.9), before=both("weak", 0.5), exact_before=0.75, notices=("entropy",))
    rest = replace(found, exact={LEARNED: 0.0, "random": 0.75})
    assert "--entropy" not in verdict(rest).command and "notices" not in verdict(rest).next
    assert "--entropy" in verdict(replace(rest, exact={LEARNED: 0.01, "random": 0.75})).command


def test_who_is_held_by_a_magnet_and_comes_nearer_in_circles_is_told_to_go_on():
    """0.15 early, 0.34 half way, 0.22 now: the circles are getting smaller."""
    found = duel(
        scores=both("random", 0.5), exact={LEARNED: 0.22, "random": 0.33}, exact_before=0.33, per_iteration=10,
        curve={0: 0.15, 1: 0.34}, exact_half={LEARNED: 0.34}, opposed=Opposed(magnet=True),
    )  # fmt: skip
    assert verdict(found).next.startswith("It was still getting better") and "round" not in verdict(found).learned
    assert "circling" in verdict(replace(found, opposed=Opposed())).next
    assert "--anchor 1" in verdict(replace(found, exact_half={LEARNED: 0.2})).command
