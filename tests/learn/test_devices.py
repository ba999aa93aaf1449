"""Means over a batch that lies on several devices are those of the whole batch."""

import subprocess
import sys

SCRIPT = """
import os
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from sparring.learn.losses import standardise

assert jax.device_count() == 4
generator = np.random.default_rng(0)
# Each device holds numbers of another size, and another share of seats that act: averages of averages would be wrong.
x = (generator.standard_normal((4, 100)) * [[1], [10], [100], [1000]] + [[0], [5], [50], [500]]).ravel().astype("f4")
mask = generator.random(400) < np.repeat([0.9, 0.6, 0.3, 0.1], 100)
where = NamedSharding(Mesh(np.array(jax.devices()), "w"), PartitionSpec("w"))
alone = jax.jit(standardise)(x, mask)
spread = jax.jit(standardise)(jax.device_put(x, where), jax.device_put(mask, where))
assert len(spread.x.sharding.device_set) == 4
np.testing.assert_allclose(spread.mean, x[mask].mean(), rtol=1e-5)
np.testing.assert_allclose(spread.std, x[mask].std(), rtol=1e-5)
np.testing.assert_allclose(spread.x, alone.x, rtol=1e-5, atol=1e-6)
"""


def test_advantages_are_scaled_by_the_numbers_of_all_devices():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
