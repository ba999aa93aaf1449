"""Planning: before it chooses, a learner with a mind plays the game on in thought (HOP, arXiv:2406.08002).

What the others are after is drawn from what is believed of them, several times. Each draw has a search tree of its own
(`search`), grown by PUCT; what the trees find of each action is averaged, and the better is the likelier. All trees of
all seats and worlds are one batch. Letters: T trees of a decision, O the other seats, A entries of the one head.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.errors import ConfigError
from sparring.games.game import Game
from sparring.nets.actor_critic import Actor, Critic
from sparring.nets.distributions import IMPOSSIBLE, Distribution
from sparring.nets.minds import Searcher, Told
from sparring.opponent_models.config import PlanningConfig
from sparring.opponent_models.search import Node, Rules, first_node
from sparring.play.branches import only_when
from sparring.play.witness import Ahead

TIE = 1e-3
"""Weight of how likely the policy finds an action beside what it is worth: it decides between equals alone."""
LOTS = 2**23
"""Numbers that a lot can be."""


class Planner(Searcher):
    """A policy that looks ahead. Its memory is that of the policy it improves on."""

    policy: Any
    """What plays where nobody plans: an actor, which may explore."""
    critic: Critic
    game: Game
    discount: Array
    heard: Array | None
    """Whether it looks ahead at all; None: always."""
    config: PlanningConfig = eqx.field(static=True)
    cut_ends: bool = eqx.field(static=True, default=False)
    """Nothing follows a time limit, as its critic learned."""

    @classmethod
    def make(
        cls, policy: Any, critic: Critic, game: Game, discount: Array | float, config: PlanningConfig,
        heard: Array | None = None, *, cut_ends: bool = False,
    ) -> "Planner":  # fmt: skip
        return cls(policy, critic, game, jnp.asarray(discount), heard, config, cut_ends)

    @property
    def actor(self) -> Actor:
        policy = self.policy
        while not isinstance(policy, Actor):
            policy = policy.policy
        return policy

    def initial(self, *batch: int) -> Any:
        return self.policy.initial(*batch)

    def __call__(self, features_NF: Array, legal_NA: Array, memory: Any) -> tuple[Distribution, Any]:
        plain, later = self.policy(features_NF, legal_NA, memory)
        ahead = shown(memory)

        def planned() -> Array:
            log_p_NA = self.planned(plain.log_p_A, legal_NA, ahead)
            return log_p_NA if self.heard is None else jnp.where(self.heard, log_p_NA, plain.log_p_A)

        log_p_NA = planned() if self.heard is None else only_when(self.heard, planned, lambda: plain.log_p_A)
        return Distribution(plain.action, log_p_NA, plain.mean_C, plain.log_std_C), later

    def planned(self, log_p_NA: Array, legal_NA: Array, ahead: Ahead) -> Array:
        """log_p_NA after a search, of a policy that says `log_p_NA` without one."""
        rules = Rules(self.game, self.actor, self.critic, self.discount, self.cut_ends)
        key = jax.random.key((ahead.lot * LOTS).astype(jnp.uint32))

        def of_seat(
            number: Array, seat: Array, log_p_A: Array, legal_A: Array, log_b_OG: Array, lean_OK: Array
        ) -> Array:
            def of_tree(key: Array) -> tuple[Array, Array]:
                goals_key, tree_key = jax.random.split(key)
                goal_O = jax.random.categorical(goals_key, log_b_OG)
                root = first_node(ahead.state, goal_O, legal_A.size)
                return grown(rules, tree_key, seat, lean_OK, root, log_p_A, legal_A, self.config)

            keys_T = jax.random.split(jax.random.fold_in(key, number), self.config.plan_goals)
            return chosen(*jax.vmap(of_tree)(keys_T), log_p_A, legal_A, self.config.plan_sharpness)

        number_N = jnp.arange(legal_NA.shape[0])
        return jax.vmap(of_seat)(number_N, ahead.seat_N, log_p_NA, legal_NA, ahead.log_b_NOG, ahead.leaning_NOK)


def shown(memory: Any) -> Ahead:
    """The world, for a policy that looks ahead; refused where nobody shows it one."""
    if isinstance(memory, Told) and isinstance(memory.ahead, Ahead):
        return memory.ahead
    raise ConfigError(
        "This player looks ahead (planner), and nobody shows it the world here. Play it in a match (sparring eval, "
        "sparring tournament, sparring replay), or name it without +planner."
    )


def grown(
    rules: Rules, key: Array, seat: Array, leaning_OK: Array, root: Node, log_p_A: Array, legal_A: Array,
    config: PlanningConfig,
) -> tuple[Array, Array]:  # fmt: skip
    """One tree: what each action was found to be worth, and how often it was tried, [A].

    PUCT with the policy as prior, as in HOP, which averages the values of all actions: Gumbel MuZero, made for few
    simulations, would drop most of them early. No noise at the root: trees differ by what was drawn.
    """
    mctx = library()
    own_key, search_key = jax.random.split(key)
    arrived, root = rules.arrive(own_key, seat, leaning_OK, root)

    def recurrent(_: Any, key: Array, action_B: Array, node_B: Node) -> tuple[Any, Node]:
        node = jax.tree.map(lambda x: x[0], node_B)
        (reward, discount), found, later = rules.step(key, seat, leaning_OK, action_B[0], node)
        told = {"reward": reward, "discount": discount, "prior_logits": found.log_p_A, "value": found.value}
        return mctx.RecurrentFnOutput(**alone(told)), alone(later)

    start = mctx.RootFnOutput(**alone({"prior_logits": log_p_A, "value": arrived.value, "embedding": root}))
    found = mctx.muzero_policy(
        (), search_key, start, recurrent, config.plan_simulations, alone(~legal_A), config.plan_depth or None,
        dirichlet_fraction=0.0, pb_c_init=config.plan_exploration,
    ).search_tree.summary()  # fmt: skip
    return found.qvalues[0], found.visit_counts[0]


def chosen(q_TA: Array, visits_TA: Array, log_p_A: Array, legal_A: Array, sharpness: float) -> Array:
    """log_p_A of HOP's rule: by exp(sharpness x value), the value being the mean over trees. What one tree did not try
    counts there as the least it found, as PUCT takes it; what none tried is not chosen."""
    tried_TA = (visits_TA > 0) & legal_A
    least_T1 = jnp.where(tried_TA, q_TA, jnp.inf).min(-1, keepdims=True)
    q_A = jnp.where(tried_TA, q_TA, least_T1).mean(0)
    score_A = jnp.where(tried_TA.any(0), sharpness * q_A + TIE * jnp.exp(log_p_A), IMPOSSIBLE)
    return jnp.where(tried_TA.any(0), jax.nn.log_softmax(score_A), IMPOSSIBLE)


def alone(tree: Any) -> Any:
    """As a batch of one: batches are made by vmap, so that a tree is the same whoever is searched beside it."""
    return jax.tree.map(lambda x: x[None], tree)


def library() -> Any:
    """mctx, which grows trees; an extra."""
    try:
        import mctx
    except ImportError as error:
        raise ConfigError(
            f"A planner needs mctx, which is not there ({error}). Install it: pip install 'sparring[planning]'"
        ) from None
    return mctx
