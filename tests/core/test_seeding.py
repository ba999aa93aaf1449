import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.seeding import Seed, name_word


def test_a_path_is_a_tag_and_a_word_for_each_step():
    assert (Seed.of(7) / "weights" / 3).words == (1, 7, 2, name_word("weights"), 1, 3)


def test_the_word_of_a_name_is_its_crc32():
    assert name_word("123456789") == 0xCBF43926  # the check value of CRC-32
    assert name_word("") == 0


def test_equal_paths_give_equal_numbers_and_a_second_generator_starts_again():
    first, second = Seed.of(7) / "play", Seed.of(7) / "play"
    assert first == second
    assert hash(first) == hash(second)
    np.testing.assert_array_equal(first.generator().random(5), second.generator().random(5))
    np.testing.assert_array_equal(first.generator().random(5), first.generator().random(5))


def test_streams_of_different_paths_differ_also_where_numpy_pads_with_zeros():
    seeds = [
        Seed.of(7),
        Seed.of(7) / 0,
        Seed.of(7) / 0 / 0,
        Seed.of(0) / 7,
        Seed.of(7) / "0",
        Seed.of(7) / "",
        Seed.of(70),
    ]
    seeds += [Seed.of(7) / 3, Seed.of(7) / "3", Seed.of(7) / "a" / "b", Seed.of(7) / "b" / "a", Seed.of(7) / "ab"]
    assert np.array_equal(*(np.random.SeedSequence(words).generate_state(4) for words in [(7,), (7, 0)]))  # the trap
    for one, other in combinations(seeds, 2):
        assert one.word() != other.word(), (one, other)
        assert not np.array_equal(one.generator().random(4), other.generator().random(4)), (one, other)


def test_a_word_has_32_bits_and_is_the_same_in_another_process():
    code = "from sparring.core.seeding import Seed; print((Seed.of(7) / 'weights').word())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(other.stdout) == (Seed.of(7) / "weights").word()
    assert all(0 <= (Seed.of(7) / step).word() < 2**32 for step in range(100))


def test_numbers_of_numpy_count_as_numbers():
    assert Seed.of(7) / np.int64(3) == Seed.of(7) / 3
    assert all(type(word) is int for word in (Seed.of(7) / np.int64(3)).words)


@pytest.mark.parametrize("step", [-1, 2**32, 1.0, True, None])
def test_what_is_no_seed_is_refused(step):
    with pytest.raises(ConfigError, match="found"):
        Seed.of(step)
