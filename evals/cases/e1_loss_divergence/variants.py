"""E1: sound hardware and a loss that goes wrong, by its shape; against noise, warm-up, short runs and losses that may rise."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.cases import Variant
from evals.scenarios.endings import at_start, attempt_before, cancelled, raised, time_limit
from evals.scenarios.faults import blind, sound
from evals.scenarios.plan import Plan, healthy
from evals.scenarios.settings import placed, unseen
from evals.scorers.base import Expected

NAN = float("nan")


def _shape(
    mode: str, loss: Callable[[Plan], Callable[[float], float]], grad: float | None = None
) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed)
        plan.loss = loss(plan)
        if grad is not None:
            low = grad
            plan.grad = lambda share: low
        return plan, Expected(("E1",), mode, "job")

    return make


def _nan(at: float) -> Callable[[Plan], Callable[[float], float]]:
    def curve(plan: Plan) -> Callable[[float], float]:
        good = plan.loss
        return lambda share: good(share) if share < at else NAN

    return curve


def _plateau(plan: Plan) -> Callable[[float], float]:
    good = plan.loss
    level = good(0.0) * 1.05
    # Outputs that no longer depend on the input hardly differ between batches.
    plan.noise = lambda share: 0.012 if share < 0.3 else 0.001
    return lambda share: good(share) if share < 0.3 else level


def _small_plateau(plan: Plan) -> Callable[[float], float]:
    """Little had been learnt when it went dead: the leap is no larger than that of another stage of the data."""
    plan.noise = lambda share: 0.012 if share < 0.3 else 0.001
    return lambda share: 2.6 + 1.5 * 2.718 ** (-6 * share) if share < 0.3 else 4.2


def _spike(plan: Plan) -> Callable[[float], float]:
    good = plan.loss
    return lambda share: good(share) if share < 0.6 else good(0.0) * (1.5 + 2 * share)


def _level(plan: Plan) -> Callable[[float], float]:
    start = plan.loss(0.0)
    return lambda share: start


def _flat(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    plan.loss = _level(plan)
    plan.grad = lambda share: 0.0
    plan.rate = lambda share: 0.0
    return plan, Expected(("E1",), "flat", "job")


def _warm_up(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    good = plan.loss
    plan.loss = lambda share: good(share) * (1.4 if 0.02 < share < 0.06 else 1.0)
    plan.rate = lambda share: 1e-4 * min(1.0, share / 0.1)
    return plan, sound()


def _recovered(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    good = plan.loss
    plan.loss = lambda share: NAN if 0.30 < share < 0.32 else good(share)
    return plan, sound()


def _bump(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    good = plan.loss
    plan.loss = lambda share: good(share) * (1.6 if 0.50 < share < 0.53 else 1.0)
    return plan, sound()


def _few(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, minutes=15)
    plan.steps, plan.stride, plan.saves_every = 3, 1, None
    plan.loss = lambda share: 9.0 + share
    return plan, Expected(("E3",), None, "job")


def _noisy(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    good, rng = plan.loss, plan.rng
    plan.loss = lambda share: good(share) * (1 + rng.gauss(0, 0.06))
    return plan, sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _ = _shape("plateau", _plateau, 0.0)(seed)
    return plan.without("log_line"), blind("log_line")


def _to_the_wall(seed: int) -> tuple[Plan, Expected]:
    """Not finite from its middle on, and the wall at the end."""
    plan, _ = _shape("non_finite", _nan(0.3))(seed)
    time_limit(plan)
    return plan, Expected(
        ("E1",), "non_finite", "job", extra={"timeline": (r"not finite|[Ll]ast training report", r"ended, TIMEOUT")}
    )


def _cancelled(seed: int) -> tuple[Plan, Expected]:
    """Somebody saw it and cancelled."""
    plan, _ = _shape("non_finite", _nan(0.2))(seed)
    plan.progress_until = None
    cancelled(plan, plan.user, plan.minutes * 0.9)
    return plan, Expected(("E1",), "non_finite", "job")


def _resumed(seed: int) -> tuple[Plan, Expected]:
    plan, _ = _shape("plateau", _plateau, 0.001)(seed)
    attempt_before(plan, "PREEMPTED", "preempted")
    return plan, Expected(("E1",), "plateau", "job", extra={"warning": "preempted"})


def _rising_reward(seed: int) -> tuple[Plan, Expected]:
    """A preference loss that starts low and moves little is no failure to learn."""
    plan = healthy(seed, style="trainer")
    rng = plan.rng
    plan.loss = lambda share: 0.69 - 0.35 * share + rng.gauss(0, 0.01)
    return plan, sound()


def _policy(seed: int, reward: Callable[[float], float], kl: Callable[[float], float]) -> Plan:
    """Reinforcement learning as a Trainer prints it: the loss is a penalty for leaving the old policy."""
    plan = healthy(seed, style="trainer", minutes=90)
    plan.silent, rng = True, plan.rng
    for n in range(1, 81):
        share = n / 80
        plan.say(
            plan.setup_min + (plan.minutes - plan.setup_min - 1) * share,
            f"{{'loss': {0.0004 + 0.06 * share**2 + rng.gauss(0, 0.0004):.4f}, 'grad_norm': {rng.uniform(0.2, 0.4):.4f}, "
            f"'learning_rate': 1e-06, 'completions/mean_length': {180 + 90 * share:.1f}, "
            f"'reward': {max(0.0, reward(share) + rng.gauss(0, 0.02) * min(1, 5 * reward(share))):.4f}, "
            f"'kl': {kl(share):.4f}, 'epoch': {share:.3f}}}",
        )
    plan.say(
        plan.minutes - 0.2,
        f"{{'train_runtime': {plan.minutes * 60:.1f}, 'train_samples_per_second': 1.4, 'train_steps_per_second': 0.015, "
        "'train_loss': 0.021, 'epoch': 1.0}",
    )
    return plan


def _rl(seed: int) -> tuple[Plan, Expected]:
    """The loss rises while the reward does."""
    return _policy(seed, lambda share: 0.2 + 0.5 * share, lambda share: 0.01 + 1.5 * share**2), sound()


def _rl_lost(seed: int) -> tuple[Plan, Expected]:
    """The reward rises, and falls to nothing while the policy runs away from the model that it began as."""
    fall = healthy(seed).rng.uniform(0.4, 0.7)
    plan = _policy(
        seed,
        lambda share: 0.2 + 0.6 * share if share < fall else 0.004,
        lambda share: 0.01 + 0.02 * share if share < fall else 6.0 + share,
    )
    return plan, Expected(("E1",), "plateau", "job")


def _rl_dip(seed: int) -> tuple[Plan, Expected]:
    """The reward falls to nothing for some reports and comes back."""
    dip = healthy(seed).rng.uniform(0.4, 0.6)
    plan = _policy(
        seed,
        lambda share: 0.004 if dip < share < dip + 0.2 else 0.2 + 0.5 * share,
        lambda share: 0.01 + 1.5 * share**2,
    )
    return plan, sound()


def _window(seed: int) -> tuple[Plan, Expected]:
    """After a resume every tenth step is logged as it is, and no longer the mean of fifty: the level moves, the learning does not."""
    plan = healthy(seed, style="plain", minutes=100)
    plan.setup_min, plan.stride, plan.steps, good = 52.0, 10, 400, plan.loss
    plan.first_step, level = 2000, good(0.5)
    for n in range(1, 41):
        minute = 2 + 1.2 * n
        plan.say(
            minute,
            f"{plan.at(minute):%Y-%m-%d %H:%M:%S},100 INFO train: step {n * 50}/2400 loss {good(n / 80):.4f} grad_norm 0.700 "
            "lr 1.000e-04 1.440 s/it",
        )
    plan.say(51.0, f"{plan.at(51.0):%Y-%m-%d %H:%M:%S},000 INFO setup: resumed from step 2000")
    plan.loss = lambda share: level * (1.45 - 0.03 * share)
    plan.noise = lambda share: 0.05
    return plan, sound()


def _drawn(seed: int) -> tuple[Plan, Expected]:
    """A loop that reports nothing, until a distribution refuses the NaN that its policy gives out."""
    plan = at_start(seed)
    raised(
        plan,
        plan.minutes - 0.2,
        "ValueError: Expected parameter loc (Tensor of shape (512, 6)) of distribution Normal(loc: torch.Size([512, 6]), scale: "
        "torch.Size([512, 6])) to satisfy the constraint Real(), but found invalid values:",
        "policy.py",
    )
    return plan, Expected(("E1",), "non_finite", "job", facts=("ValueError",))


VARIANTS = (
    Variant("late-nan", "fault", _shape("non_finite", _nan(0.6))),
    Variant("early-nan", "fault", _shape("non_finite", _nan(0.15))),
    Variant("plateau", "fault", _shape("plateau", _plateau, 0.001), 2),
    Variant("small-plateau", "fault", _shape("plateau", _small_plateau, 0.001)),
    Variant("spike", "fault", _shape("spike", _spike)),
    Variant("flat", "fault", _flat),
    Variant("warm-up", "twin", _warm_up),
    Variant("recovered", "twin", _recovered),
    Variant("bump", "twin", _bump),
    Variant("few", "twin", _few),
    Variant("noisy", "healthy", _noisy),
    Variant("gone", "blind", _gone),
    Variant("wall", "fault", _to_the_wall),
    Variant("cancelled", "fault", _cancelled),
    Variant("evicted", "fault", _resumed),
    Variant("preference", "twin", _rising_reward),
    Variant("policy", "twin", _rl),
    Variant("policy-dip", "twin", _rl_dip),
    Variant("policy-lost", "fault", _rl_lost),
    Variant("window", "twin", _window),
    *placed("late-nan", _shape("non_finite", _nan(0.6)), "printed", "exporter", "array", "latent", "beside"),
    *placed("plateau", _shape("plateau", _plateau, 0.001), "printed", "shared", "coarse"),
    *placed("spike", _shape("spike", _spike), "printed", "delayed"),
    *placed("flat", _flat, "printed"),
    *placed("recovered", _recovered, "printed", kind="twin"),
    *placed("noisy", _noisy, "printed", "latent", kind="healthy"),
    *unseen("late-nan", _shape("non_finite", _nan(0.6)), "log_line", "log_line"),
    *placed("late-nan", _shape("non_finite", _nan(0.6)), "unaccounted"),
    Variant("drawn", "fault", _drawn),
)
