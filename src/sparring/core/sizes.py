"""How large a setting may be. Memory is another matter: `setup/memory` knows what a whole run needs."""

from sparring.core.errors import ConfigError

LARGEST = 2**31 - 1
"""Of any size: devices count in 32 bits, and a larger number would silently become a negative one."""
MANY = 10_000
"""Of what Python keeps one by one: seeds, blocks, learners, members of a pool. More would take hours to begin."""


def check_size(name: str, value: int, least: int = 0, most: int = LARGEST) -> None:
    """Raise unless a whole number lies in its range."""
    if value < least:
        raise ConfigError(f"{name} must be at least {least}, found {value}.")
    if value > most:
        raise ConfigError(f"{name} must be at most {most:,}, found {value:,}. Choose a smaller one.")
