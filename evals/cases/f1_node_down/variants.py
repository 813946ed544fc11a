"""F1: a node of the job goes down as it ends; against nodes drained later or elsewhere, GPU faults and crashes."""

from __future__ import annotations

from datetime import timedelta

from evals.scenarios.cases import Variant
from evals.scenarios.endings import crash, raised
from evals.scenarios.faults import blind, named, sound, xid
from evals.scenarios.plan import Plan, healthy
from evals.scorers.base import Expected
from store.rows import SlurmNodeState


def _state(plan: Plan, node: str, minute: float, state: str, reason: str | None, flags: str | None = None) -> None:
    plan.extra.append(
        SlurmNodeState(
            cluster=plan.cluster,
            node=node,
            ts=plan.at(minute),
            state=state,
            state_flags=flags,
            reason=reason,
            observed=True,
        )
    )


def _lost(seed: int, gpus: int = 16) -> tuple[Plan, str, float]:
    plan = healthy(seed, gpus=gpus)
    node = plan.rng.choice(plan.nodes)
    minute = plan.rng.uniform(0.3, 0.9) * plan.minutes
    plan.stop("NODE_FAIL", minute=minute, exit_signal=0)
    plan.progress_until = minute - 1.0
    return plan, node, minute


def _down(node: str) -> Expected:
    return Expected(("F1",), None, "infrastructure", extra={"culprit": {"node": node}})


def _not_responding(seed: int) -> tuple[Plan, Expected]:
    plan, node, minute = _lost(seed, (16, 32)[seed % 2])
    _state(plan, node, minute - 0.3, "DOWN", "Not responding", "NOT_RESPONDING")
    plan.slurm["failed_node"] = node
    return plan, _down(node)


def _states_only(seed: int) -> tuple[Plan, Expected]:
    plan, node, minute = _lost(seed)
    _state(plan, node, minute - 0.5, "DOWN", "Node unexpectedly rebooted")
    return plan, _down(node)


def _as_failed(seed: int) -> tuple[Plan, Expected]:
    plan, node, minute = _lost(seed)
    plan.stop("FAILED", minute=minute, exit_code=1)
    _state(plan, node, minute - 0.4, "DOWN", "Not responding")
    plan.slurm["failed_node"] = node
    return plan, _down(node)


def _peers_complain(seed: int) -> tuple[Plan, Expected]:
    plan, node, minute = _lost(seed)
    _state(plan, node, minute - 0.3, "DOWN", "Not responding")
    plan.slurm["failed_node"] = node
    raised(
        plan,
        minute - 0.2,
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2021, remote process exited or there was a network error, NCCL version 2.21.5",
    )
    return plan, _down(node)


def _single(seed: int) -> tuple[Plan, Expected]:
    plan, node, minute = _lost(seed, 8)
    _state(plan, node, minute - 0.3, "DOWN", "Not responding", "NOT_RESPONDING")
    plan.say(minute, f"srun: error: Node failure on {node}")
    return plan, _down(node)


def _drained_after(seed: int) -> tuple[Plan, Expected]:
    plan, _, minute = crash(seed, gpus=16)
    raised(plan, minute, "KeyError: 'attention_mask'")
    _state(plan, plan.nodes[0], plan.minutes + 45, "DRAINED", "maintenance", "DRAIN")
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
    _state(plan, plan.nodes[0], plan.minutes * 0.7, "DRAINING", "kernel update", "DRAIN")
    return plan, sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _, minute = _lost(seed)
    plan.stop("FAILED", minute=minute, exit_code=1)
    return plan.without("slurm_node_state"), blind("slurm_node_state")


VARIANTS = (
    Variant("silent-node", "fault", _not_responding, 3),
    Variant("states", "fault", _states_only, 2),
    Variant("failed", "fault", _as_failed, 2),
    Variant("peers", "fault", _peers_complain, 2),
    Variant("single", "fault", _single, 2),
    Variant("later", "twin", _drained_after, 2),
    Variant("elsewhere", "twin", _elsewhere, 2),
    Variant("gpu", "twin", _gpu, 2),
    Variant("maintenance", "healthy", _maintenance, 2),
    Variant("gone", "blind", _gone, 2),
)
