import inspect
import subprocess
import sys

import pytest

from sparring.core.errors import ConfigError, GameError
from sparring.games import answers, registry
from sparring.games.matrix import MatrixGame, coordination

MAPS = ("2s3z", "3m", "3s5z", "8m", "25m", "MMM", "MMM2")


def battle(map: str, rounds: int = 1) -> MatrixGame:
    """Two armies fight.

    More about them.
    """
    return coordination(players=2 + MAPS.index(map), rounds=rounds)


def variant_line(variant: str) -> str:
    return f"The map {variant}."


@pytest.fixture
def battles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A family that one function makes, in a registry beside two other games."""
    known = {name: registry.GAMES[name] for name in ("kuhn", "particles:tag")}
    monkeypatch.setattr(registry, "GAMES", {f"battle:{map}": f"{__name__}:battle:{map}" for map in MAPS} | known)


def test_listing_games_loads_none_of_them_and_no_jax() -> None:
    code = (
        "import sys; from sparring.games.registry import available; assert len(available()) > 5; "
        "assert 'jax' not in sys.modules; assert 'sparring.games.matrix' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_game_is_answered_with_the_nearest() -> None:
    with pytest.raises(GameError, match=r"game 'petingzoo:mpe2.tag'\. Did you mean 'pettingzoo:mpe2.tag'\?"):
        registry.make("petingzoo:mpe2.tag")
    with pytest.raises(GameError, match=r"Unknown game 'gymnasium'\. Name one, such as 'gymnasium:CartPole-v1'\."):
        registry.make("gymnasium")
    with pytest.raises(GameError, match=r"Unknown game 'particles:spred'\. Did you mean 'particles:spread'"):
        registry.make("particles:spred")


def test_an_unknown_option_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"Unknown option 'agent' of particles:spread\. Did you mean 'agents'"):
        registry.make("particles:spread", agent=4)
    with pytest.raises(ConfigError, match="Did you mean 'continuous'"):
        registry.parse_options("particles:spread", ["continous=true"])


def test_words_become_options_of_the_types_of_the_signature() -> None:
    words = ["agents=4", "local_ratio=1", "continuous=True"]
    options = registry.parse_options("particles:spread", words)
    assert options == {"agents": 4, "local_ratio": 1.0, "continuous": True}
    assert [type(value) for value in options.values()] == [int, float, bool]
    assert registry.parse_options("kuhn", ["positions=fixed"]) == {"positions": "fixed"}


@pytest.mark.parametrize(
    ("game", "word", "sentence"),
    [
        ("particles:spread", "agents=many", "'agents' of game 'particles:spread' expects a whole number, found 'many'"),
        ("particles:spread", "agents=3.5", "expects a whole number, found '3.5'. Write for example agents=3."),
        ("particles:spread", "local_ratio=half", "expects a number, found 'half'. Write for example local_ratio=0.5."),
        ("particles:spread", "continuous=maybe", "expects true or false, found 'maybe'"),
        ("particles:spread", "continuous", "is written name=value, found 'continuous'"),
        ("kuhn", "positions=either", "expects 'random' or 'fixed', found 'either'"),
    ],
)
def test_a_word_of_the_wrong_type_says_what_was_expected(game: str, word: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        registry.parse_options(game, [word])


def test_an_option_given_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="given twice"):
        registry.parse_options("particles:spread", ["agents=3", "agents=4"])


@pytest.mark.parametrize(("option", "value"), [("agents", True), ("agents", 3.0), ("continuous", 1), ("steps", "25")])
def test_make_does_not_convert_types_in_silence(option: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"{option!r} of game 'particles:spread' expects"):
        registry.make("particles:spread", **{option: value})


def test_a_whole_number_may_stand_for_a_number() -> None:
    game = registry.make("particles:spread", local_ratio=1)
    assert game.rules.local_ratio == 1.0


@pytest.mark.parametrize(
    ("game", "options", "sentence"),
    [
        ("particles:spread", {"agents": 0}, "found agents=0"),
        ("particles:spread", {"local_ratio": 1.5}, "between 0 and 1, found 1.5"),
        ("particles:tag", {"prey": 0}, "found predators=3, prey=0"),
        ("matrix:chicken", {"rounds": 0}, "at least 1 round, found rounds=0"),
        ("matrix:coordination", {"players": 1}, "found 1 and 2"),
        ("matrix:coordination", {"choices": 1_000_000}, r"2,000,000,000,000 payoffs \(7,629,394 MiB\)"),
        ("matrix:coordination", {"players": 60}, "2 to 16 players"),
    ],
)
def test_options_out_of_range_are_refused_by_the_game(game: str, options: dict, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        registry.make(game, **options)


@pytest.mark.parametrize("name", registry.available())
def test_every_game_is_described_and_all_its_options_have_defaults(name: str) -> None:
    description = registry.describe(name)
    assert description.line.endswith(".")
    assert all(option.default is not inspect.Parameter.empty for option in description.options)
    assert str(description).startswith(f"{name}: {description.line}")


def test_a_description_shows_types_and_defaults() -> None:
    lines = str(registry.describe("particles:spread")).splitlines()
    assert lines[1:3] == ["  agents: a whole number = 3", "  steps: a whole number = 25"]


SOLVED = ("dark_hex", "goofspiel", "kuhn", "leduc", "liars_dice", "matrix", "phantom_tic_tac_toe", "tic_tac_toe")


def test_only_solved_games_have_an_exact_exploitability() -> None:
    measured = [name for name in registry.available() if answers.exploitability_of(registry.make(name))]
    assert measured == [name for name in registry.available() if name.startswith(SOLVED)]


@pytest.mark.usefixtures("battles")
def test_a_variant_is_given_to_the_function_of_its_family_and_is_no_option() -> None:
    described = registry.describe("battle:MMM2")
    assert described.line == "Two armies fight. The map MMM2."
    assert [option.name for option in described.options] == ["rounds"]
    made = registry.make("battle:3s5z", rounds=4).spec
    assert (made.seats, made.longest) == (4, 4), "the third map has 4 seats"
    assert registry.parse_options("battle:3m", ["rounds=2"]) == {"rounds": 2}
    with pytest.raises(ConfigError, match="Unknown option 'map' of battle:3m"):
        registry.make("battle:3m", map="8m")


@pytest.mark.usefixtures("battles")
def test_a_family_whose_module_says_nothing_of_its_variants_is_described_by_its_function(monkeypatch) -> None:
    monkeypatch.delattr(sys.modules[__name__], "variant_line")
    assert registry.describe("battle:3m").line == "Two armies fight."


@pytest.mark.usefixtures("battles")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("battle:MM2", "Unknown game 'battle:MM2'. Did you mean 'battle:MMM2' or 'battle:MMM'?"),
        ("battle:2m", "Unknown game 'battle:2m'. Did you mean 'battle:25m' or 'battle:3m' or 'battle:8m'?"),
        ("battle:corridor", "Unknown game 'battle:corridor'. Which battle? battle:25m, battle:2s3z, battle:3m, "),
        (
            "battle",
            "Which battle? battle:25m, battle:2s3z, battle:3m, battle:3s5z, battle:8m, battle:MMM, battle:MMM2.",
        ),
        ("batle:3m", "Unknown game 'batle:3m'. Did you mean 'battle:3m'?"),
    ],
)
def test_an_unknown_variant_is_answered_with_near_ones_of_its_family(name: str, told: str) -> None:
    with pytest.raises(GameError) as refusal:
        registry.make(name)
    assert str(refusal.value).startswith(told)


@pytest.mark.usefixtures("battles")
def test_many_variants_of_a_function_are_one_row_of_a_list_and_few_are_not(monkeypatch) -> None:
    maps = registry.variants("battle")
    assert len(maps) == 7
    assert registry.overview() == {"battle:MAP": maps, "kuhn": ("kuhn",), "particles:tag": ("particles:tag",)}
    monkeypatch.delitem(registry.GAMES, "battle:3m")
    assert list(registry.overview()) == list(registry.available())
