"""F1: a node of the job goes down as it ends; against nodes drained later or elsewhere, GPU faults and crashes."""

from __future__ import annotations

from datetime import timedelta

from evals.scenarios.cases import Variant
from evals.scenarios.endings import attempt_before, crash, node_state, raised, time_limit
from evals.scenarios.faults import activity, blind, counter, frozen, named, no_launches, only, sound, xid
from evals.scenarios.plan import Gpu, Plan, healthy
from evals.scenarios.settings import placed, unseen
from evals.scorers.base import Expected
from store.rows import SlurmNodeState


def _lost(seed: int, gpus: int = 16, minutes: float | None = None) -> tuple[Plan, str, float]:
    plan = healthy(seed, gpus=gpus, minutes=minutes)
    node = plan.rng.choice(plan.nodes)
    minute = plan.rng.uniform(0.3, 0.9) * plan.minutes
    plan.stop("NODE_FAIL", minute=minute, exit_signal=0)
    plan.progress_until = minute - 1.0
    return plan, node, minute


def _down(node: str) -> Expected:
    return Expected(("F1",), None, "infrastructure", extra={"culprit": {"node": node}})


def _not_responding(seed: int) -> tuple[Plan, Expected]:
    plan, node, minute = _lost(seed, (16, 32)[seed % 2])
    node_state(plan, node, minute - 0.3, "DOWN", "Not responding", "NOT_RESPONDING")
    plan.slurm["failed_node"] = node
    return plan, _down(node)


def _states_only(seed: int) -> tuple[Plan, Expected]:
    plan, node, minute = _lost(seed)
    node_state(plan, node, minute - 0.5, "DOWN", "Node unexpectedly rebooted")
    return plan, _down(node)


def _as_failed(seed: int) -> tuple[Plan, Expected]:
    plan, node, minute = _lost(seed)
    plan.stop("FAILED", minute=minute, exit_code=1)
    node_state(plan, node, minute - 0.4, "DOWN", "Not responding")
    plan.slurm["failed_node"] = node
    return plan, _down(node)


def _unnamed(seed: int) -> tuple[Plan, Expected]:
    """Accounting does not name the node."""
    plan, expected = _as_failed(seed)
    del plan.slurm["failed_node"]
    return plan, expected


def _peers_complain(seed: int) -> tuple[Plan, Expected]:
    plan, node, minute = _lost(seed)
    node_state(plan, node, minute - 0.3, "DOWN", "Not responding")
    plan.slurm["failed_node"] = node
    raised(
        plan,
        minute - 0.2,
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2021, remote process exited or there was a network error, NCCL version 2.21.5",
    )
    return plan, _down(node)


def _single(seed: int) -> tuple[Plan, Expected]:
    plan, node, minute = _lost(seed, 8)
    node_state(plan, node, minute - 0.3, "DOWN", "Not responding", "NOT_RESPONDING")
    plan.say(minute, f"srun: error: Node failure on {node}")
    return plan, _down(node)


def _drained_after(seed: int) -> tuple[Plan, Expected]:
    plan, _, minute = crash(seed, gpus=16)
    raised(plan, minute, "KeyError: 'attention_mask'")
    node_state(plan, plan.nodes[0], plan.minutes + 45, "DRAINED", "maintenance", "DRAIN")
    return plan, Expected(("A3",), None, "job")


def _elsewhere(seed: int) -> tuple[Plan, Expected]:
    plan, _, minute = crash(seed, gpus=16)
    raised(plan, minute, "TypeError: 'NoneType' object is not subscriptable")
    plan.extra.append(
        SlurmNodeState(
            cluster=plan.cluster,
            node="far001",
            ts=plan.at(minute),
            state="DOWN",
            reason="Not responding",
            observed=True,
        )
    )
    return plan, Expected(("A3",), None, "job")


def _gpu(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, minute = crash(seed, gpus=16)
    plan.extra.append(xid(plan, gpu, 79, minute, "GPU has fallen off the bus."))
    plan.extra.append(
        SlurmNodeState(
            cluster=plan.cluster,
            node=gpu.node,
            ts=plan.end + timedelta(minutes=6),
            state="DRAINED",
            state_flags="DRAIN",
            reason="gpu check failed",
            observed=True,
        )
    )
    return plan, Expected(("B2",), None, "infrastructure", extra=named(gpu))


def _maintenance(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=16)
    node_state(plan, plan.nodes[0], plan.minutes * 0.7, "DRAINING", "kernel update", "DRAIN")
    return plan, sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _, minute = _lost(seed)
    plan.stop("FAILED", minute=minute, exit_code=1)
    return plan.without("slurm_node_state"), blind("slurm_node_state")


def _hung(seed: int) -> tuple[Plan, Expected]:
    """A node dies, the job is not ended, its other ranks hang to the wall."""
    plan = healthy(seed, gpus=32, minutes=90)
    node, at = plan.rng.choice(plan.nodes), 40.0
    plan.progress_until = at

    def lost(gpu: Gpu) -> bool:
        return gpu.node == node

    plan.gpu_changes += [activity(plan, 0.995, 0.04, lambda g: not lost(g), at), activity(plan, 0.0, 0.0, lost, at)]
    plan.cuda_changes.append(no_launches(lambda _: True, at))
    plan.nccl_changes.append(frozen(None, at))
    node_state(plan, node, at + 1.0, "DOWN", "Not responding", "NOT_RESPONDING")
    time_limit(plan)
    return plan, Expected(
        ("F1",), None, "infrastructure",
        extra={"culprit": {"node": node}, "timeline": (r"Slurm: started", rf"{node}: DOWN", r"ended, TIMEOUT")},
    )  # fmt: skip


def _twice(seed: int) -> tuple[Plan, Expected]:
    """The same node was lost under the first attempt, and is lost again."""
    plan, node, minute = _lost(seed)
    plan.slurm["failed_node"] = node
    attempt_before(plan, "NODE_FAIL", None, failed_node=node)
    before = (plan.attempts[0]["end_ts"] - plan.start).total_seconds() / 60
    for at in (before - 0.3, minute - 0.3):
        node_state(plan, node, at, "DOWN", "Not responding", "NOT_RESPONDING")
    return plan, Expected(
        ("F1",), None, "infrastructure", extra={"culprit": {"node": node}, "warning": "earlier attempt"}
    )


def _many(seed: int) -> tuple[Plan, Expected]:
    """One node of 128."""
    plan, node, minute = _lost(seed, 1024, 30)
    node_state(plan, node, minute - 0.3, "DOWN", "Not responding", "NOT_RESPONDING")
    plan.slurm["failed_node"] = node
    return plan, _down(node)


def _latent_too(seed: int) -> tuple[Plan, Expected]:
    plan, node, minute = _lost(seed)
    node_state(plan, node, minute - 0.3, "DOWN", "Not responding", "NOT_RESPONDING")
    plan.slurm["failed_node"] = node
    plan.gpu_changes.append(counter("ecc_dbe_total", 1e9, 0, only(plan.gpus[0]), before=2))
    return plan, Expected(("F1",), None, "infrastructure", extra={"culprit": {"node": node}, "warning": "Latent"})


def _own_first(seed: int) -> tuple[Plan, Expected]:
    """The program had failed by itself when one of its nodes fell."""
    plan, _, minute = crash(seed, gpus=16)
    raised(plan, minute, "KeyError: 'attention_mask'", "data_collator.py")
    node_state(plan, plan.nodes[0], plan.minutes - 0.2, "DOWN", "Not responding", "NOT_RESPONDING")
    return plan, Expected(("A3",), None, "job")


VARIANTS = (
    Variant("silent-node", "fault", _not_responding, 2),
    Variant("states", "fault", _states_only),
    Variant("failed", "fault", _as_failed),
    Variant("peers", "fault", _peers_complain),
    Variant("single", "fault", _single),
    Variant("later", "twin", _drained_after),
    Variant("elsewhere", "twin", _elsewhere),
    Variant("gpu", "twin", _gpu),
    Variant("maintenance", "healthy", _maintenance),
    Variant("gone", "blind", _gone),
    Variant("hung", "fault", _hung),
    Variant("twice", "fault", _twice),
    Variant("many", "fault", _many),
    Variant("latent", "fault", _latent_too),
    *placed("silent-node", _not_responding, "exporter", "array", "coarse"),
    *placed("failed", _as_failed, "exporter", "coarse"),
    *placed("later", _drained_after, "exporter", "array", kind="twin"),
    *placed("maintenance", _maintenance, "coarse", "exporter", kind="healthy"),
    *unseen("failed", _unnamed, "slurm_node_state", "slurm_node_state", ways=("lost", "bare")),
    Variant("own-first", "twin", _own_first),
)
