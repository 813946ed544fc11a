"""A3: exceptions of the application after training began, by class; against hardware that failed at that moment."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.appended import appended, caught, ran_out
from evals.scenarios.cases import Variant
from evals.scenarios.endings import at_start, attempt_before, crash, launcher_summary, raised
from evals.scenarios.faults import blind, counter, named, only, sound, xid
from evals.scenarios.plan import Gpu, Plan, healthy
from evals.scenarios.settings import placed, unseen
from evals.scorers.base import Expected


def _raises(mode: str, text: str, frame: str = "train.py") -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan, gpu, minute = crash(seed)
        raised(plan, minute, text, frame)
        launcher_summary(plan, gpu, minute, 1)
        return plan, Expected(("A3",), mode, "job")

    return make


def _hardware(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, minute = crash(seed)
    plan.gpu_changes.append(counter("ecc_dbe_total", minute, 1, only(gpu)))
    plan.extra.append(xid(plan, gpu, 48, minute, "DBE (double bit error) ECC Error", gpu.pid))
    raised(plan, minute, "RuntimeError: CUDA error: unspecified launch failure")
    return plan, Expected(("B2",), None, "infrastructure", extra=named(gpu))


def _early(seed: int) -> tuple[Plan, Expected]:
    plan = at_start(seed)
    raised(plan, plan.minutes - 0.2, "KeyError: 'hidden_size'", "config.py")
    return plan, Expected(("A1",), None, "job")


def _handled(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    minute = plan.minutes * 0.4
    plan.say(
        minute,
        f"{plan.at(minute):%Y-%m-%d %H:%M:%S},009 WARNING data: skipped a broken record (UnicodeDecodeError), going on",
    )
    return plan, sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _, _ = crash(seed)
    return plan.without("log_line"), blind("log_line")


_REMOTE = (
    "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2021, remote process exited or there was a "
    "network error, NCCL version 2.21.5"
)


def _peers(gpus: int) -> Callable[[int], tuple[Plan, Expected]]:
    """One rank raises; the others' network errors come after it and are printed before it."""

    def make(seed: int) -> tuple[Plan, Expected]:
        plan, gpu, minute = crash(seed, gpus=gpus, minutes=50)
        for peer in [g for g in plan.gpus if g.rank != gpu.rank][:6]:
            plan.say(minute - 0.01, f"[rank{peer.rank}]: Traceback (most recent call last):")
            plan.say(minute - 0.01, f'[rank{peer.rank}]:   File "/home/{plan.user}/train.py", line 80, in step')
            plan.say(minute - 0.01, f"[rank{peer.rank}]:     loss.backward()", f"[rank{peer.rank}]: {_REMOTE}")
        raised(plan, minute, "KeyError: 'labels'", "data_collator.py")
        launcher_summary(plan, gpu, minute, 1)
        return plan, Expected(
            ("A3",), "data", "job", facts=("KeyError",), extra={"timeline": (r"KeyError", r"ended, FAILED")}
        )

    return make


def _timed_out(plan: Plan, gpu: Gpu, minute: float) -> None:
    """What the watchdogs of all ranks but this one say."""
    for peer in plan.gpus:
        if peer.rank != gpu.rank:
            plan.say(
                minute,
                f"[rank{peer.rank}]:[E ProcessGroupNCCL.cpp:632] [Rank {peer.rank}] Watchdog caught collective operation timeout: "
                "WorkNCCL(SeqNum=771, OpType=ALLREDUCE, NumelIn=512, NumelOut=512, Timeout(ms)=600000) ran for 600042 milliseconds before timing out.",
            )


def _logged(seed: int) -> tuple[Plan, Expected]:
    """A rank logs an error without a traceback, and its peers wait in vain: it never came back, so it was not caught."""
    plan, gpu, minute = crash(seed, gpus=8, minutes=80)
    plan.minutes += 10.3
    stamp = f"{plan.at(minute):%Y-%m-%d %H:%M:%S},000"
    text = "OSError: [Errno 5] Input/output error: '/scratch/corpus/shard_0193.arrow'"
    plan.say(minute, f"[rank{gpu.rank}]: {stamp} ERROR data: {text}")
    _timed_out(plan, gpu, minute + 10.1)
    plan.without("slurm_job", "slurm_step", "slurm_job_event", "slurm_node_state")
    return plan, Expected(("A3",), "storage", "infrastructure", facts=("OSError",), extra={"certainty": (0.6, 0.9)})


def _watchdog(seed: int) -> tuple[Plan, Expected]:
    """The peers of a rank that raised wait until their watchdog ends them."""
    plan, gpu, minute = crash(seed, gpus=8, minutes=80)
    plan.minutes += 10.3
    stamp = f"{plan.at(minute):%Y-%m-%d %H:%M:%S},000"
    plan.say(minute, f"{stamp} ERROR train: rank {gpu.rank} failed")
    raised(
        plan,
        minute,
        "RuntimeError: stack expects each tensor to be equal size, but got [4096] at entry 0 and [4095] at entry 3",
        "collate.py",
    )
    _timed_out(plan, gpu, minute + 10.1)
    return plan, Expected(("A3",), "data", "job", facts=("RuntimeError",))


def _resumed(seed: int) -> tuple[Plan, Expected]:
    """Preempted, and crashed in the attempt that went on."""
    plan, _, minute = crash(seed)
    attempt_before(plan, "PREEMPTED", "preempted")
    raised(plan, minute, "IndexError: list index out of range", "sampler.py")
    return plan, Expected(
        ("A3",),
        None,
        "job",
        extra={"warning": "preempted", "timeline": (r"preempted", r"IndexError", r"ended, FAILED")},
    )


def _third(seed: int) -> tuple[Plan, Expected]:
    """A node failed under the first attempt, the second was evicted, the third dies of its own."""
    plan, _, minute = crash(seed, gpus=16)
    attempt_before(plan, "PREEMPTED", "preempted")
    attempt_before(plan, "NODE_FAIL", None)
    raised(plan, minute, "ZeroDivisionError: float division by zero", "schedule.py")
    return plan, Expected(("A3",), "code", "job", extra={"warning": ("preempted", "node failed")})


def _contained(seed: int) -> tuple[Plan, Expected]:
    """An XID of the application's own beside it: a consequence."""
    plan, gpu, minute = crash(seed)
    plan.extra.append(xid(plan, gpu, 43, minute + 0.1, "Ch 00000010", gpu.pid))
    raised(plan, minute, "ValueError: Expected input batch_size (32) to match target batch_size (31).")
    return plan, Expected(("A3",), None, "job", extra={"warning": "43"})


def _hours(seed: int) -> tuple[Plan, Expected]:
    """What it cost: from the last save to the end."""
    plan, _, minute = crash(seed, gpus=8, minutes=100)
    plan.style, plan.saves_every = "plain", None
    saved = minute * 0.7
    plan.say(
        saved,
        f"{plan.at(saved):%Y-%m-%d %H:%M:%S},000 INFO train: saved checkpoint to /scratch/{plan.user}/step_100.pt",
    )
    raised(plan, minute, "KeyError: 'labels'", "data_collator.py")
    hours = {"held": plan.minutes / 60 * 8, "wasted": (plan.minutes - saved) / 60 * 8}
    return plan, Expected(("A3",), "data", "job", extra={"hours": hours})


VARIANTS = (
    Variant("key", "fault", _raises("data", "KeyError: 'labels'", "data_collator.py")),
    Variant("disk", "fault", _raises("storage", "OSError: [Errno 28] No space left on device"), 2),
    Variant("quota", "fault", _raises("storage", "OSError: [Errno 122] Disk quota exceeded: '/scratch/out/step_400.pt'")),
    Variant("shape", "fault", _raises("code", "RuntimeError: The size of tensor a (4096) must match the size of tensor b (4095) at non-singleton dimension 1", "model.py")),
    Variant("network", "fault", _raises("network", "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='hub.example.org', port=443): Max retries exceeded with url: /api (Caused by NewConnectionError('Failed to establish a new connection'))")),
    Variant("hardware", "twin", _hardware),
    Variant("early", "twin", _early),
    Variant("handled", "healthy", _handled),
    Variant("gone", "blind", _gone),
    Variant("peers", "fault", _peers(16)),
    Variant("peers-many", "fault", _peers(512)),
    Variant("watchdog", "fault", _watchdog),
    Variant("evicted", "fault", _resumed),
    Variant("third", "fault", _third),
    Variant("contained", "twin", _contained),
    Variant("hours", "fault", _hours),
    *placed("key", _raises("data", "KeyError: 'labels'", "data_collator.py"), "printed", "exporter", "array", "latent", "beside", "shared", "strangers"),
    *placed("hardware", _hardware, "uuids", "indices", "coarse", kind="twin"),
    *placed("handled", _handled, "latent", kind="healthy"),
    *unseen("key", _raises("data", "KeyError: 'labels'", "data_collator.py"), "log_line", "log_line"),
    *placed("key", _raises("data", "KeyError: 'labels'", "data_collator.py"), "unaccounted"),
    *appended("after-oom", ran_out, _raises("data", "KeyError: 'labels'", "data_collator.py"), "last", "all", "none"),
    Variant("caught-oom", "twin", caught(_raises("data", "KeyError: 'labels'", "data_collator.py"))),
    Variant("logged", "fault", _logged),
)  # fmt: skip
