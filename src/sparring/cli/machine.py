"""Which device and how many threads, set before JAX starts; and where compiled programs are kept."""

import gc
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sparring.core.errors import ConfigError
from sparring.core.fields import check_ranges, setting


@dataclass(frozen=True, kw_only=True)
class MachineConfig:
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """Where programs run; auto takes an accelerator where there is one."""
    threads: int = setting(0, least=0)
    """CPU threads that compute; 0: as many as this process has cores."""
    precision: Literal["fast", "exact"] = "fast"
    """Products of matrices on an accelerator: fast rounds to its short format (ratios before the first step are 1
    within about 1e-3), exact keeps 32 bits. A CPU is always exact."""
    compile_cache: bool = True
    """Keep compiled programs in the user's cache folder, so that the next start is quick."""


def prepare(machine: MachineConfig) -> None:
    """Must run before the first JAX computation."""
    check_ranges(machine)
    if machine.threads:
        os.environ["NPROC"] = str(machine.threads)  # read by XLA when it makes its thread pool
    # Tracing makes objects by the million and hardly a cycle: searching them for garbage as often as Python does by
    # itself takes a tenth of the time of a short command.
    gc.set_threshold(100_000, 20, 50)
    # XLA asks for a bug report wherever a program takes two minutes to compile; what really fails is raised as well.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import jax

    if machine.device == "cpu":
        jax.config.update("jax_platforms", "cpu")
    if machine.precision == "exact":
        jax.config.update("jax_default_matmul_precision", "float32")
    use_cache(machine.compile_cache)
    platform = jax.default_backend()
    if machine.device == "gpu" and platform not in ("gpu", "cuda", "rocm"):
        raise ConfigError(
            f"device=gpu, but JAX finds only {platform}. Install an accelerator's JAX (pip install 'sparring[cuda]') "
            "or use --device cpu."
        )


def use_cache(wanted: bool) -> None:
    """Without a folder that can be written, JAX would warn at every program: then there is no cache."""
    import jax

    jax.config.update("jax_enable_compilation_cache", wanted and writable(cache_folder()))
    jax.config.update("jax_compilation_cache_dir", str(cache_folder()))
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def cache_folder() -> Path:
    """Where compiled programs stay; SPARRING_CACHE moves it, and so does JAX's own variable."""
    chosen = os.environ.get("SPARRING_CACHE") or os.environ.get("JAX_COMPILATION_CACHE_DIR")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(chosen) if chosen else home / "sparring" / "programs"


def writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
