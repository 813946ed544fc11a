"""C1: ranks that never find each other: cold GPUs everywhere, a banner, then silence or a time-out; against other starts."""

from __future__ import annotations

from evals.scenarios.cases import Variant
from evals.scenarios.endings import at_start, attempt_before, cancelled, raised, time_limit
from evals.scenarios.faults import activity, blind, everyone, no_launches, sound
from evals.scenarios.plan import Plan, healthy
from evals.scenarios.settings import placed, unseen
from evals.scorers.base import Expected


def _cold(seed: int, gpus: int = 16, *, silent: bool = False, exact: bool = False) -> Plan:
    plan = healthy(seed, gpus=gpus if exact else (gpus, 32)[seed % 2])
    plan.progress_until = 0.0
    plan.silent = silent
    plan.gpu_changes.append(activity(plan, 0.0, 0.0, everyone, 0.0))
    plan.gpu_changes.append(lambda v, g, m: v.update(fb_used_bytes=600 << 20))
    plan.cuda_changes.append(no_launches(everyone, 0.0))
    plan.nccl_changes.append(lambda v, g, m: v.update(gone=True))
    if not silent:
        plan.say(
            0.5,
            *(
                f"[{plan.at(0.5):%Y-%m-%d %H:%M:%S}] distributed init (rank {g.rank}): tcp://{plan.nodes[0]}:29500"
                for g in plan.gpus[:4]
            ),
        )
        plan.say(0.5, "> initializing torch distributed ...")
    return plan


def _silent(seed: int) -> tuple[Plan, Expected]:
    return time_limit(_cold(seed)), Expected(("C1",))


def _cancelled(seed: int) -> tuple[Plan, Expected]:
    plan = _cold(seed)
    return cancelled(plan, plan.user), Expected(("C1",))


def _no_log(seed: int) -> tuple[Plan, Expected]:
    return time_limit(_cold(seed, silent=True)), Expected(("C1",))


def _timed_out(text: str, seed: int) -> tuple[Plan, Expected]:
    plan = _cold(seed)
    plan.stop("FAILED", minute=30.2, exit_code=1)
    raised(plan, 30.0, text)
    return plan, Expected(("C1",))


def _store(seed: int) -> tuple[Plan, Expected]:
    return _timed_out(
        "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 8/16 clients joined.", seed
    )


def _refused(seed: int) -> tuple[Plan, Expected]:
    return _timed_out(
        "torch.distributed.DistNetworkError: The client socket has timed out after 1800000ms while trying to connect to (10.1.0.4, 29500).",
        seed,
    )


def _one_host(seed: int) -> tuple[Plan, Expected]:
    plan = at_start(seed, gpus=16)
    raised(plan, 0.4, "ImportError: libcudart.so.13: cannot open shared object file: No such file or directory")
    return plan, Expected(("A1",), "env", "job")


def _loading(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=16, minutes=80)
    plan.setup_min = 15.0
    return plan, sound()


def _noisy(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=16)
    plan.say(
        0.4,
        "[W socket.cpp:464] [c10d] The server socket cannot be initialized on [::]:29500 (errno: 97 - Address family not supported by protocol).",
    )
    return plan, sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan = _cold(seed, silent=True)
    time_limit(plan)
    return plan.without("gpu_sample", "cuda_sample", "nccl_sample", "log_line"), blind("gpu_sample")


def _one_silent(seed: int) -> tuple[Plan, Expected]:
    """Half of the clients joined; the store gave up on the others."""
    return _timed_out(
        "torch.distributed.DistStoreError: wait timeout after 1800000ms, keys: /default_pg/0//worker_count", seed
    )


def _unresolved(seed: int) -> tuple[Plan, Expected]:
    return _timed_out(
        "torch.distributed.DistNetworkError: The IPv6 network addresses of (head-node, 29500) cannot be retrieved (gai error: -2 - Name or service not known).",
        seed,
    )


def _again(seed: int) -> tuple[Plan, Expected]:
    """Trained in the first attempt; after the requeue its ranks never meet."""
    plan = _cold(seed)
    attempt_before(plan, "PREEMPTED", "preempted")
    return time_limit(plan), Expected(("C1",), extra={"warning": "preempted"})


def _met_late(seed: int) -> tuple[Plan, Expected]:
    """Clients tried again until the store was there, and then it trained."""
    plan = healthy(seed, gpus=16, minutes=80)
    plan.setup_min = 6.0
    plan.say(
        1.0,
        f"[W socket.cpp:663] [c10d] The client socket has failed to connect to [{plan.nodes[0]}]:29500 (errno: 111 - Connection refused).",
        "[I socket.cpp:787] [c10d] The client socket will attempt to connect again.",
    )
    return plan, sound()


def _one_exits(seed: int) -> tuple[Plan, Expected]:
    """One host fails at its start, and the others wait for it in vain."""
    plan = at_start(seed, gpus=16)
    plan.stop("FAILED", minute=31.0, exit_code=1)
    raised(plan, 0.4, "ModuleNotFoundError: No module named 'flash_attn'")
    raised(
        plan,
        30.5,
        "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 8/16 clients joined.",
    )
    return plan, Expected(("A1",), "env", "job")


VARIANTS = (
    Variant("banner", "fault", _silent, 2),
    Variant("cancelled", "fault", _cancelled),
    Variant("no-log", "fault", _no_log),
    Variant("store", "fault", _store),
    Variant("refused", "fault", _refused),
    Variant("one-host", "twin", _one_host),
    Variant("loading", "twin", _loading),
    Variant("noisy", "healthy", _noisy),
    Variant("gone", "blind", _gone),
    Variant("wide", "fault", lambda seed: (time_limit(_cold(seed, 256, exact=True)), Expected(("C1",)))),
    Variant("joined", "fault", _one_silent),
    Variant("unresolved", "fault", _unresolved),
    Variant("again", "fault", _again),
    *placed("banner", _silent, "coarse", "uuids", "indices", "array", "latent", "shared", "exporter"),
    *placed("store", _store, "printed"),
    *placed("loading", _loading, "coarse", "exporter", kind="twin"),
    *placed("noisy", _noisy, "latent", kind="healthy"),
    *unseen("no-log", _no_log, "gpu_sample", "gpu_sample", "cuda_sample", "nccl_sample", ways=("lost", "bare")),
    Variant("met-late", "healthy", _met_late),
    Variant("one-exits", "twin", _one_exits),
)
