"""Whether the settings of a run go together: asked once, when it is built. Making or loading a config asks nothing."""

from math import isqrt

from sparring.core.errors import ConfigError, unknown
from sparring.core.fields import check_ranges
from sparring.core.schedules import Schedule
from sparring.core.sizes import check_size
from sparring.core.spec import GameSpec
from sparring.league.config import check_opponents
from sparring.league.gates import check_gate
from sparring.league.population import HORIZONS, SHAPING, PopulationConfig, check_population
from sparring.league.roles import check_roles
from sparring.learn.config import COEFFICIENTS, NEUTRAL, PPOConfig, coefficient
from sparring.nets.config import NetConfig, check_net
from sparring.setup.config import RunConfig, WorkersConfig
from sparring.setup.imagining import check_imagination
from sparring.setup.needs import check_needs, check_win_rates

NONE = Schedule.parse(0.0)


def check(config: RunConfig, spec: GameSpec) -> None:
    """Refuse the first setting that is out of its range, contradicts another one, does nothing or does not suit the
    game. Ranges come first, so that rules may rely on them."""
    check_ranges(config)
    if config.seed + config.seeds > 2**32:
        raise ConfigError(f"seed must leave room for all seeds below 2**32, found {config.seed}. Choose a smaller one.")
    check_learner(config, spec)
    check_opponents(config.opponents, config.pool, config.curriculum)
    check_league(config)
    check_met(config)
    check_needs(config)
    check_win_rates(spec, config)
    check_outside(spec, config)


def check_learner(config: RunConfig, spec: GameSpec) -> None:
    """What holds for every learner by itself."""
    check_net(config.net)
    check_learning(config.ppo, config.net)
    check_generated(config)
    check_choices(spec, config)
    check_lasting(config)
    check_mind(spec, config)
    check_imagination(spec, config)
    check_rows(config)


def check_outside(spec: GameSpec, config: RunConfig) -> None:
    """What needs the state of a world, where worlds are kept elsewhere; and workers where there are none."""
    if not spec.outside and config.workers != WorkersConfig():
        raise ConfigError(
            f"num_workers, envs_per_worker and worker_timeout are for environments of other people, and {config.game} "
            "runs inside the program. Leave them out."
        )
    if not spec.outside:
        return
    kept = f"{config.game} keeps its worlds in processes of its own"
    if config.defeats.defeat_share:
        raise ConfigError(f"defeat_share starts games from old states, and {kept}. Set it to 0.")
    if config.stages:
        raise ConfigError(f"stages change the rules of a world, and {kept}. Leave them out.")


def check_learning(ppo: PPOConfig, net: NetConfig) -> None:
    """Options of one learner that need each other."""
    if ppo.on("shadow_half_life") and ppo.on("shadow_tau"):
        raise ConfigError("shadow_half_life and shadow_tau say the same in two ways, found both. Leave one out.")
    if ppo.on("shadow_half_life") and min(ppo.shadow_half_life.start, ppo.shadow_half_life.end) <= 0:
        raise ConfigError(f"shadow_half_life must be above 0 all the time, found {ppo.shadow_half_life}.")
    for name in ("anchor", "anchor_price"):
        if ppo.on(name) and not ppo.has_shadow:
            raise ConfigError(
                f"{name} holds the policy near its shadow, and this run keeps no shadow. Add --shadow-half-life 30, or "
                f"set {name} to 0."
            )
    if ppo.kl_min.start > ppo.kl_max.start or ppo.kl_min.end > ppo.kl_max.end:
        raise ConfigError(f"kl_min must not exceed kl_max, found {ppo.kl_min} and {ppo.kl_max}.")
    if ppo.on("advantage_noise") and ppo.normalise_advantage not in ("batch", "side"):
        raise ConfigError(
            "advantage_noise is a share of advantages of deviation 1, found "
            f"normalise_advantage={ppo.normalise_advantage}. Use batch or side."
        )
    if ppo.on("value_noise") and net.trunk == "shared":
        raise ConfigError("value_noise adds to what the critic sees, and a shared trunk sees for both. Use separate.")


def check_generated(config: RunConfig) -> None:
    """Terms of the loss that would be 0 whatever is learned are refused with the reason."""
    net, ppo = config.net, config.ppo
    if ppo.on("smooth") and net.hyper == "none":
        raise ConfigError(
            f"smooth={ppo.smooth} would do nothing: it needs a hypernetwork. Set --hyper residual, or leave smooth out."
        )
    if ppo.on("smooth") and net.hyper != "recurrent" and net.hyper_sees == "nothing":
        raise ConfigError(
            "smooth counts how weights change from step to step, and weights generated from the seat alone "
            "(hyper_sees=nothing) never do: it would always be 0. Use --hyper-sees own, or set smooth to 0."
        )
    if ppo.on("smooth") and net.hyper != "recurrent" and not net.hyper_history:
        raise ConfigError(
            "smooth compares weights with those of the step before, which hyper_history=0 does not remember. Use "
            "--hyper-history 1 or more, or set smooth to 0."
        )
    if ppo.on("align_old") and ppo.epochs * ppo.minibatches == 1:
        raise ConfigError(
            "align_old holds the policy to the one that played, which it still is in the only gradient step of an "
            "iteration (epochs=1, minibatches=1): its gradient would always be 0. Use more of them, an anchor "
            "(--anchor 0.05 --shadow-half-life 30), or set align_old to 0."
        )
    if net.hyper_critic and ppo.value_norm == "popart":
        raise ConfigError(
            "value_norm=popart corrects the critic's output layer, and hyper_critic generates a part of it. Use "
            "--value-norm running, or leave hyper_critic out."
        )
    if ppo.behaviour == "shadow" and (not ppo.has_shadow or ppo.recompute_old):
        raise ConfigError(
            "behaviour=shadow lets the shadow play: it needs one (--shadow-tau 1 --shadow-every 10) and the "
            "probabilities with which it played, so no recompute_old."
        )


def check_choices(spec: GameSpec, config: RunConfig) -> None:
    """What a critic that judges choices asks of game, view and scale."""
    if config.ppo.advantage != "expected":
        return
    if len(spec.action.heads) != 1 or spec.action.dimensions:
        raise ConfigError(
            "advantage=expected judges every entry of one discrete head, found "
            f"{len(spec.action.heads)} heads and {spec.action.dimensions} dimensions in {config.game}. Use gae."
        )
    if config.net.critic == "central" and spec.central.kind != "seat":
        raise ConfigError(
            f"advantage=expected needs a view for each seat, and in {config.game} the central one is of the "
            f"{spec.central.kind}: it cannot say whose choice is judged. Use critic=local, or gae."
        )
    if config.net.trunk == "shared" and not spec.in_turn:
        raise ConfigError(
            "advantage=expected tells the critic what others choose at the same moment, and a shared trunk would tell "
            "the actor. Use trunk=separate, or gae."
        )
    if config.ppo.normalise_advantage not in ("batch", "none"):
        raise ConfigError(
            "advantage=expected scales all choices by one number, found "
            f"normalise_advantage={config.ppo.normalise_advantage}. Use batch or none."
        )


def check_lasting(config: RunConfig) -> None:
    """Memory that outlasts a game is of co-players that do so too."""
    if config.net.memory_games > 1 and config.changing:
        raise ConfigError(
            f"memory_games={config.net.memory_games} remembers earlier games, and here co-players change between them. "
            "Leave shares of shadow, history and bots out (--self-play naive), or name one --opponent."
        )


def check_mind(spec: GameSpec, config: RunConfig) -> None:
    """What a mind needs to have something to watch, and to know whom it watches."""
    mind = config.mind
    if not mind.on:
        return
    if spec.seats < 2:
        raise ConfigError(f"mind={mind.mind} models other seats, and {config.game} has one. Use --mind none.")
    if not spec.action.heads or spec.action.dimensions:
        raise ConfigError(
            f"mind={mind.mind} foresees choices of other seats among discrete actions; in {config.game} each chooses "
            f"{len(spec.action.heads)} of those and {spec.action.dimensions} numbers. Use discrete actions where the "
            "game has an option for them (particles: leave continuous=true out), or --mind none."
        )
    if mind.mind_goals == "listed" and not spec.goals:
        raise ConfigError(
            f"mind_goals=listed asks which of the game's goals the others are after, and {config.game} lists none. Use "
            "--mind-goals combined, which learns some, or none: actions are then foreseen without."
        )
    if mind.mind_goals != "listed" and mind.mind == "spatial":
        raise ConfigError(
            f"mind=spatial infers goals that lie somewhere, found mind_goals={mind.mind_goals}. Use --mind belief, or "
            "--mind-goals listed."
        )
    if mind.mind_goals == "none" and mind.mind_tells == "goals":
        raise ConfigError("mind_goals=none knows no goals that mind_tells=goals could tell. Use --mind-tells actions.")
    if mind.mind_gate and mind.mind_models == "apart":
        raise ConfigError(
            "mind_gate asks one model about what is near to any of the others, found mind_models=apart. Use shared, or "
            "set mind_gate to 0."
        )
    if mind.mind_replies and len(spec.action.heads) != 1:
        raise ConfigError(
            f"mind_replies weighs every own choice, and in {config.game} a choice has {len(spec.action.heads)} parts. "
            "Leave it out."
        )
    if config.changing:
        raise ConfigError(
            f"mind={mind.mind} remembers what the others did in earlier games, and here they change from game to game. "
            "Leave shares of shadow, history and bots out (--self-play naive), or name one --opponent."
        )


def check_league(config: RunConfig) -> None:
    """Where learners have roles, these alone say who meets whom."""
    check_roles(config.roles)
    check_gate(config.gates)
    if config.roles.oracles and (config.pool.guests or config.gates.gate != "none"):
        raise ConfigError(
            "Oracles answer a meta-strategy over all past players: guests, whose payoffs nobody measured, and gates "
            "have no place there. Leave them out."
        )
    if config.gates.gate != "none":
        check_gated(config)
    check_population(config.population)
    if config.population.population:
        check_members(config)
    if not config.roles.active:
        return
    if config.opponents.history != NONE or config.opponents.history_floor:
        raise ConfigError(
            "Roles say by themselves how often the past is met: history and history_floor have no place beside them. "
            "Leave them out, or set mains and oracles to 0."
        )
    if not config.pool.pool_size:
        raise ConfigError("A league of roles keeps past players in memory, found pool_size=0. Raise it.")
    if config.ppo.on("imitation"):
        raise ConfigError("imitation learns in the opponent's place, and roles never play there. Leave it out.")
    if config.roles.oracles and config.stages:
        raise ConfigError(
            "Payoffs between past players hold for the rules under which they were measured, and stages change "
            "those. Leave stages or oracles out."
        )


def check_gated(config: RunConfig) -> None:
    """A gate judges by games of training: whoever it asks about must be met."""
    gates, opponents = config.gates, config.opponents
    if (opponents.history == NONE and not config.roles.mains) or config.pool.pool_size < 2:
        raise ConfigError(
            "A gate lets the learner into a pool of past champions, which needs a share and two rows or more. "
            "Set --history 1 and a larger --pool-size."
        )
    if opponents.history_epsilon != NONE or opponents.history_temperature != Schedule.parse(1.0):
        raise ConfigError(
            "A gate goes by games against champions at full strength. Leave history_epsilon and history_temperature "
            "out."
        )
    if gates.gate_floor and "latest" in (opponents.sampler, opponents.late_sampler):
        raise ConfigError("gate_floor asks about all past champions, and sampler=latest meets one. Use pfsp_hard.")
    if gates.gate_anchor_floor and opponents.bots == NONE and not opponents.bot_floor:
        raise ConfigError("gate_anchor_floor asks about bots, which have no share. Set --bots 0.2.")


def check_members(config: RunConfig) -> None:
    """What a population can be combined with."""
    check_explored(config.population, config.ppo, config.shaping)
    if config.roles.oracles:
        raise ConfigError("Oracles respond to a mixture one after another, and copy nobody. Leave population out.")
    if config.roles.active and config.roles.mains != config.population.population:
        raise ConfigError(
            f"In a league of roles the mains are the members of the population: found mains={config.roles.mains} and "
            f"population={config.population.population}. Make them equal, or leave one at 0."
        )
    if config.stages:
        raise ConfigError(
            "Members of a population are compared under the game's own rules, and stages change those. Leave one out."
        )


def check_explored(population: PopulationConfig, ppo: PPOConfig, shaping: tuple[str, ...]) -> None:
    """Coefficients that exist and act: a factor on one that is 0, off or at its bound would do nothing."""
    terms = {SHAPING + text.partition("=")[0].strip(): text for text in shaping}
    for knob in population.pbt_knobs:
        if knob in terms:
            continue
        if knob not in COEFFICIENTS:
            raise ConfigError(f"pbt_knobs: {unknown('coefficient', knob, (*COEFFICIENTS, *terms))}")
        schedule = coefficient(ppo, knob)
        off = knob in NEUTRAL and not ppo.on(knob)
        if off or schedule.start == 0 or (knob in HORIZONS and schedule.start == 1):
            raise ConfigError(
                f"pbt_knobs names {knob}, which is {schedule}: a factor would change nothing. Give it another value, "
                "or leave it out."
            )


def check_met(config: RunConfig) -> None:
    """Whoever has a share, is weakened, or is learned from must be there."""
    if config.opponents.shadow != NONE and not config.ppo.has_shadow:
        raise ConfigError(
            "--shadow asks for games against the shadow, and this run keeps no shadow. Add --shadow-half-life 30 or "
            "--shadow-tau 0.02, or leave --shadow out."
        )
    if config.pool.pool_size == 1 and not config.ppo.has_shadow and config.opponents.history != NONE:
        raise ConfigError("A pool of one is at times empty, and then the shadow steps in. Set shadow_half_life.")
    led = config.curriculum.curriculum and config.curriculum.weaken_levels > 0
    if led and not config.ppo.has_shadow and config.pool.pool_size == 0:
        raise ConfigError(
            "A curriculum weakens the shadow or past selves, and there is neither. "
            "Set shadow_half_life, raise pool_size, or set weaken_levels to 0."
        )
    if config.defeats.defeat_share and not config.changing:
        raise ConfigError("defeat_share replays defeats by others than the current self. Give others a share.")
    if config.ppo.on("imitation") and not config.defeats.defeat_share:
        raise ConfigError("imitation learns from the winners of lost games, and needs defeat_share above 0.")


def check_rows(config: RunConfig) -> None:
    """A rollout must fall into whole sequences, and those into whole minibatches."""
    steps, worlds, parts = config.play.steps, config.play.worlds, config.ppo.minibatches
    length = config.sequence
    if steps % length:
        raise ConfigError(
            f"sequence={length} does not divide the {steps} steps of a rollout. "
            f"Nearest that does: {nearest_divisor(steps, length)}."
        )
    burn_in = config.ppo.burn_in
    if burn_in and not config.net.by_sequences:
        raise ConfigError(
            f"burn_in={burn_in} warms up a memory, found none. Use --memory gru or lstm, or leave it out."
        )
    if burn_in and length % burn_in:
        raise ConfigError(
            f"burn_in={burn_in} does not divide the sequence of {length} steps. "
            f"Nearest that does: {nearest_divisor(length, burn_in)}."
        )
    rows = steps // length * worlds
    check_size("steps x worlds, the rows of a rollout,", rows)
    if rows % parts:
        what = f"{steps} steps x {worlds} worlds" + (f" / sequences of {length}" if length > 1 else "")
        raise ConfigError(
            f"minibatches={parts} does not divide the {rows} rows of a rollout ({what}). "
            f"Nearest that does: {nearest_divisor(rows, parts)}."
        )


def nearest_divisor(number: int, wanted: int) -> int:
    small = [d for d in range(1, isqrt(number) + 1) if number % d == 0]
    return min((*small, *(number // d for d in small)), key=lambda d: (abs(d - wanted), d))
