"""Modules of one's own in a learner: parameters, buffers, and what each does in every phase of learning.

begin   before the epochs of an iteration: may change the rollout, such as its rewards
loss    in every minibatch: a number that is added to the objective; gradients reach the parameters of the module, and
        those of actor and critic where it uses them
end     after the epochs: may change buffers, and parameters that no gradient moves

Every phase is traced under a scope of its name, and has a key made of the name of the module: switching one on moves no
random number of anybody else. A loss term is a module without parameters.
"""

from collections.abc import Callable, Iterable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core import code
from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.core.seeding import Seed
from sparring.core.spec import GameSpec
from sparring.learn.learner import Learner
from sparring.play.chance import stream
from sparring.play.rollout import Rollout


class Module(eqx.Module):
    """Subclass it; fields that are arrays are its parameters. Every phase may be left out."""

    def buffers(self, worlds: int, seats: int) -> Any:
        """What it remembers from iteration to iteration, blank: any arrays. `worlds` and `seats` are those in which the
        learner plays."""
        del worlds, seats
        return ()

    def begin(self, buffers: Any, rollout: Rollout, key: Array) -> tuple[Any, Rollout]:
        """Before the epochs, without gradient."""
        del key
        return buffers, rollout

    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array | None:
        """Of a minibatch: `model` is the ActorCritic, `batch` the rows (learn/batch.Batch), `found` what the policy
        gives on them (learn/batch.Evaluation)."""
        del model, batch, found, key
        return None

    def end(self, buffers: Any, rollout: Rollout, key: Array) -> tuple["Module", Any]:
        """After the epochs, without gradient."""
        del rollout, key
        return self, buffers

    def measures(self, buffers: Any) -> dict[str, Array]:
        """Numbers for the metrics, as own/MODULE/NAME."""
        del buffers
        return {}


class LossTerm(Module):
    """A loss term that is a function of (model, batch, found)."""

    function: Callable[[Any, Any, Any], Array] = eqx.field(static=True)

    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array:
        del key
        return self.function(model, batch, found)


def weights_of(losses: Iterable[str], modules: Iterable[str]) -> dict[str, tuple[str, Schedule]]:
    """By the name of each module its code and its weight over the run; a loss term must have one, a module may."""
    found: dict[str, tuple[str, Schedule]] = {}
    for kind, texts in (("losses", losses), ("modules", modules)):
        for text in texts:
            source, equals, weight = text.partition("=")
            named = code.reference(source.strip())
            if named is None or (kind == "losses" and not equals):
                example = "mine.py:term=0.1" if kind == "losses" else "mine.py:model, or mine.py:model=0.1 -> 0"
                raise ConfigError(f"{kind} are written like {example}, found {text!r}.")
            if named.name in found:
                raise ConfigError(f"Two losses or modules are called {named.name}. Give one another name.")
            found[named.name] = source.strip(), Schedule.parse(weight.strip() if equals else 1.0)
    return found


def modules_of(
    losses: tuple[str, ...], modules: tuple[str, ...], seed: Seed, spec: GameSpec
) -> dict[str, Module] | None:
    """The modules of a new learner; None where there are none."""
    found: dict[str, Module] = {}
    for name, (text, _) in weights_of(losses, modules).items():
        function = code.load(text)
        if any(text == one.partition("=")[0].strip() for one in losses):
            found[name] = LossTerm(function)
            continue
        module = function(seed / "module" / name, spec)
        if not isinstance(module, Module):
            raise ConfigError(f"{text} returned a {type(module).__name__}, expected a sparring.Module. Return one.")
        for path, leaf in jax.tree_util.tree_leaves_with_path(module):
            if not jnp.issubdtype(jnp.asarray(leaf).dtype, jnp.floating):
                where = jax.tree_util.keystr(path, simple=True, separator=".")
                raise ConfigError(
                    f"{where} of {text} holds {jnp.asarray(leaf).dtype}, and parameters are floats. Keep counters in "
                    "buffers(), and settings in fields with eqx.field(static=True)."
                )
        found[name] = jax.tree.map(lambda leaf: leaf.astype(np.float32), module)
    return found or None


def losses_of(
    modules: dict[str, Module], weight_M: Array, given: tuple[Any, Any, Any], key: Array
) -> tuple[Array, dict[str, Array]]:
    """The sum of all losses by their weights, and each by name."""
    total, found = jnp.zeros(()), {}
    for place, (name, module) in enumerate(modules.items()):
        with jax.named_scope(f"module.{name}.loss"):
            loss = module.loss(*given, stream(key, name))
        if loss is None:
            continue
        if jnp.shape(loss) != ():
            raise ConfigError(f"The loss of {name} must be one number, found shape {jnp.shape(loss)}. Take the mean.")
        total, found[f"{name}/loss"] = total + weight_M[place] * loss, jnp.asarray(loss)
    return total, found


def begun(learner: Learner, rollout: Rollout, key: Array) -> tuple[Learner, Rollout]:
    """The learner and its rollout after the first phase of every module."""
    if learner.model.modules is None or learner.buffers is None:
        return learner, rollout
    later = {}
    for name, module in learner.model.modules.items():
        with jax.named_scope(f"module.{name}.begin"):
            own = stream(stream(key, "begin"), name)
            later[name], rollout = module.begin(learner.buffers[name], rollout, own)
    return learner._replace(buffers=later), rollout


def ended(learner: Learner, rollout: Rollout, losses: Any, key: Array) -> tuple[Learner, Any]:
    """The learner after the last phase of every module, and what there is to tell: `losses` by name are those of all
    minibatches."""
    if learner.model.modules is None or learner.buffers is None:
        return learner, ()
    modules, later, found = {}, {}, {name: x.mean() for name, x in losses.items()}
    for name, module in learner.model.modules.items():
        with jax.named_scope(f"module.{name}.end"):
            own = stream(stream(key, "end"), name)
            modules[name], later[name] = module.end(learner.buffers[name], rollout, own)
            found |= {f"{name}/{what}": x for what, x in modules[name].measures(later[name]).items()}
    model = eqx.tree_at(lambda model: model.modules, learner.model, modules)
    return learner._replace(model=model, buffers=later), found
