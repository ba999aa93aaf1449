"""A way of one's own to draw past selves: the two oldest, and now and then the newest.

sparring train kuhn --self-play pool --sampler examples/own/sampler.py:oldest
"""

import numpy as np


def oldest(field, config) -> np.ndarray:
    """A weight for each member, [..., M], in the order of their births. `field` says what is known of them: who can be
    drawn (`who`), their `rank` by age, the learner's `rate` of winning, ratings (see league/sampling.Field); `config`
    holds the settings of opponents. What cannot be drawn is left out afterwards."""
    del config
    return np.where(field.rank <= 2, 1.0, 0.0) + np.where(field.rank == field.members, 0.2, 0.0)
