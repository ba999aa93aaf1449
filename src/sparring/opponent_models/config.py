"""The settings of opponent models. `docs/guide/opponent-models.md` says of each what it does and when to touch it."""

from dataclasses import dataclass
from typing import Literal

from sparring.core.fields import setting
from sparring.core.settings import explained
from sparring.core.sizes import LARGEST


@explained
@dataclass(frozen=True, kw_only=True)
class PlanningConfig:
    """How a learner with a mind looks ahead before it chooses, where it is to: in a stage play=planner, or as a player
    RUN+planner."""

    plan_simulations: int = setting(200, least=1, most=10_000)
    """Paths that are tried in each tree, as many as in HOP. With one it does what its policy finds likeliest."""
    plan_goals: int = setting(5, least=1, most=1_000)
    """Trees: in each the others are after goals drawn from what is believed of them."""
    plan_depth: int = setting(0, least=0, most=10_000)
    """Steps that are looked ahead at most; 0: as far as the simulations come."""
    plan_exploration: float = setting(1.0, above=0, most=1_000)
    """How much a path is tried because the policy likes it, against what was found: c of PUCT (HOP: 1 in the stag hunt,
    15 in the snowdrift)."""
    plan_sharpness: float = setting(2.0, least=0, most=1_000)
    """How much likelier the better action is chosen: by exp(sharpness x its value, mean over trees)."""


@explained
@dataclass(frozen=True, kw_only=True)
class MindConfig:
    """All off by default. A mind reads the others at every step, and is fitted after each rollout."""

    mind: Literal["none", "belief", "spatial"] = "none"
    """How a learner infers what the others are after: not at all, by beliefs that follow what they do (HOP), or by a
    network that sees how they were placed to each goal in the last steps."""
    mind_goals: Literal["listed", "ending", "segment", "combined", "subgoal", "none"] = "listed"
    """What they may be after: what the game lists as goals; learned codes of the states in which their pieces of play
    end, of the means of such pieces, or of end, length and pay together; a learned guess of a state to come (OMG); or
    nothing, which leaves a plain model of their actions."""
    mind_codes: int = setting(8, least=2, most=64)
    """How many goals are learned as codes."""
    mind_ahead: int = setting(5, least=1, most=64)
    """States to come of which a subgoal is one."""
    mind_chooses: Literal["optimistic", "conservative"] = "optimistic"
    """Which of them it is in hindsight: the one worth most to the learner, for common interests, or least, for
    conflicts."""
    mind_anneal: int = setting(2000, least=1, most=LARGEST)
    """Gradient steps after which models learn from the guessed subgoal alone; at first half are those of hindsight."""
    mind_prior: Literal["learned", "uniform"] = "learned"
    """What tells what they are after beside what they do: how near each goal is, to them and to rivals, as goals that
    looked like this were reached before; or nothing, all of a kind being alike at first, as in HOP."""
    mind_discount: float = setting(0.98, least=0, below=1)
    """Share of what the others were after in earlier games that one more goal leaves, in [0, 1); 0: forget it."""
    mind_switch: float = setting(0.02, least=0, below=1)
    """Probability with which one of them gives up its goal for another at any step, in [0, 1)."""
    mind_recall: int = setting(4, least=1, most=64)
    """Steps that mind=spatial and the guess of a subgoal see, the present one among them."""
    mind_gate: float = setting(0.0, least=0)
    """Goals farther than so many steps from whom they concern are not asked about; 0: all are."""
    mind_room: float = setting(0.5, above=0, most=1)
    """With a gate, share of all goals that there is room to ask about in a step: what is computed follows from it."""
    mind_tells: Literal["both", "goals", "actions", "nothing"] = "both"
    """What the policy is told: what the others are after, what they will do next, both, or nothing."""
    mind_control: Literal["none", "shuffled", "zero"] = "none"
    """For comparison: tell each world what is believed in another one, or tell zeros."""
    mind_fusion: Literal["film", "projection"] = "film"
    """How it joins the policy's features: as gains and shifts of each, or by a layer that sees both in equal widths."""
    mind_models: Literal["shared", "apart"] = "shared"
    """One model of actions that is told whose they are, or one for each of the others."""
    mind_features: bool = True
    """Show the model of actions what the learner itself sees, beside what the goal looks like from the other."""
    mind_replies: bool = False
    """Also model what each of the others does next, given what everybody did now: it tells how much own actions move
    them, which `influence` pays for."""
    mind_size: int = setting(32, least=2, most=LARGEST)
    """Width of the hidden layers of the models, and of what FiLM makes of what they say."""
    mind_rate: float = setting(1e-3, above=0)
    """Step size of the models."""
    mind_updates: int = setting(8, least=1, most=LARGEST)
    """Gradient steps of the models after each rollout."""
    mind_batch: int = setting(256, least=1, most=LARGEST)
    """Rows in each of them: steps of a world as one seat saw them."""
    mind_buffer: int = setting(8192, least=1, most=LARGEST)
    """Rows that are kept to be learned from, the newest; each rollout brings a quarter of that at most."""
    imagine: Literal["none", "learned", "oracle"] = "none"
    """Go on from moments of each rollout in imagination and learn from that too: not at all, through a learned model
    of the world, or through the game itself, which is as good as a model can get."""
    imagine_share: float = setting(0.3, above=0, most=0.5)
    """Largest share of imagined rows in an update, in (0, 0.5]: how many branches begin follows from it."""
    imagine_gate: float = setting(0.5, least=0, most=1)
    """Imagine only while the model errs less than this share of what a guess errs, on rows it has not learned from."""
    imagine_members: int = setting(3, least=1, most=64)
    """Models of the world that are learned side by side; where they disagree nobody knows."""
    imagine_size: int = setting(64, least=2, most=LARGEST)
    """Width of their hidden layers."""
    imagine_rate: float = setting(1e-3, above=0)
    """Their step size."""
    imagine_updates: int = setting(8, least=1, most=LARGEST)
    """Their gradient steps after each rollout, on as many rows as those of the mind."""

    @property
    def on(self) -> bool:
        return self.mind != "none"

    @property
    def told(self) -> bool:
        """Whether the policy is told anything."""
        return self.on and self.mind_tells != "nothing"

    @property
    def imagines(self) -> bool:
        return self.on and self.imagine != "none"

    @property
    def learns_world(self) -> bool:
        return self.on and self.imagine == "learned"


def branches(share: float, steps: int, rows: int, moments: int, minibatches: int) -> int:
    """How many branches of so many steps may be imagined beside so many real rows: a share of all rows at most, in
    equal parts for each minibatch. `moments`: at which play can go on in another way."""
    most = min(int(share / (1 - share) * rows / steps), moments)
    return most // minibatches * minibatches
