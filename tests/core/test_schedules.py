import pytest

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (3e-4, Schedule(3e-4, 3e-4, "constant")),
        (2, Schedule(2.0, 2.0, "constant")),
        ("3e-4", Schedule(3e-4, 3e-4, "constant")),
        ("3e-4 -> 0", Schedule(3e-4, 0.0, "linear")),
        ("3e-4->0", Schedule(3e-4, 0.0, "linear")),
        ("  -1->-.5linear ", Schedule(-1.0, -0.5, "linear")),
        ("0.05 -> 0.001 cosine", Schedule(0.05, 0.001, "cosine")),
        ("0.05->0.001cosine", Schedule(0.05, 0.001, "cosine")),
        (Schedule(1.0, 0.0, "cosine"), Schedule(1.0, 0.0, "cosine")),
    ],
)
def test_a_schedule_is_read_as_people_write_it(source, expected):
    assert Schedule.parse(source) == expected


@pytest.mark.parametrize("text", ["0.0003", "3e-05 -> 0", "0.05 -> 0.001 cosine", "-1 -> 1e+30", "0.1"])
def test_the_text_of_a_schedule_is_canonical_and_reads_back_equal(text):
    schedule = Schedule.parse(text)
    assert str(schedule) == text
    assert Schedule.parse(str(schedule)) == schedule


def test_a_linear_schedule_is_at_a_quarter_of_its_way_after_a_quarter_of_the_run():
    assert Schedule.parse("3e-4 -> 0").at(0.25) == pytest.approx(2.25e-4)


def test_a_cosine_schedule_has_lost_a_quarter_after_a_third_of_the_run():
    assert Schedule.parse("1 -> 0 cosine").at(1 / 3) == pytest.approx(0.75)  # (1 + cos 60 degrees) / 2


@pytest.mark.parametrize("text", ["0.4 -> 0.1", "0.2 -> 0.9 cosine", "0.3"])
def test_both_ends_are_met_exactly(text):
    schedule = Schedule.parse(text)  # start + (end - start) is not end for these, in floating point
    assert schedule.at(0.0) == schedule.start
    assert schedule.at(1.0) == schedule.end


def test_a_change_from_a_number_to_itself_is_that_number():
    assert Schedule.parse("0.1 -> 0.1 cosine") == Schedule.parse(0.1)
    assert hash(Schedule.parse("0.1 -> 0.1")) == hash(Schedule.parse("0.1"))
    assert Schedule.parse("0.1 -> 0.2") != Schedule.parse("0.1 -> 0.2 cosine")


@pytest.mark.parametrize(
    "source",
    [
        *("", "fast", "0.1 ->", "-> 0.1", "0.1 -> cosine", "0.1 -> 0 -> 1", "1e999", "nan", "0.1 cosine", "٣"),
        *(float("inf"), float("nan"), 10**400, True, None, [0.1]),
    ],
)
def test_what_is_not_a_schedule_is_refused_with_examples(source):
    with pytest.raises(ConfigError, match="3e-4 -> 0"):
        Schedule.parse(source)


def test_an_unknown_shape_names_the_nearest():
    with pytest.raises(ConfigError, match=r"'cosin'\. Did you mean 'cosine'"):
        Schedule.parse("1 -> 0 cosin")
    with pytest.raises(ConfigError, match="Did you mean 'linear'"):
        Schedule(1.0, 0.0, "linea")  # type: ignore[arg-type]


def test_a_constant_schedule_cannot_have_two_values():
    with pytest.raises(ConfigError, match="one value"):
        Schedule(1.0, 0.0, "constant")


@pytest.mark.parametrize("progress", [-0.01, 1.01, float("nan")])
def test_progress_outside_the_run_is_an_error_and_not_clamped(progress):
    with pytest.raises(ConfigError, match=r"\[0, 1\]"):
        Schedule.parse("1 -> 0").at(progress)
