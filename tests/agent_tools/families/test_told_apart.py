"""Several families see the same job: which one is the verdict, and which ones are its consequences."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.differential import assess_all, primary_of
from store.rows import GpuEvent, GpuSample
from tests.agent_tools.families.world import T, World

NAN = float("nan")
RNG = random.Random(11)
FALLING = [3 + 7 * 0.95**i + RNG.gauss(0, 0.05) for i in range(60)]
LIMIT = "*** JOB 4812 ON n1 CANCELLED AT 2026-03-01T12:00:00 DUE TO TIME LIMIT ***"
CANCEL = "*** JOB 4812 ON n1 CANCELLED AT 2026-03-01T12:00:00 ***"

CASES: dict[str, tuple[str, Callable[[World], World]]] = {
    "a healthy run": ("G1", lambda w: w.job().train(FALLING, total_steps=600)),
    "healthy infrastructure and a loss of NaN": ("E1", lambda w: w.job().train([*FALLING, *[NAN] * 20], total_steps=800)),
    "a NaN loss that its user cancelled": (
        "E1", lambda w: w.job("CANCELLED", cancelled_by="ada").train([*FALLING, *[NAN] * 20])),
    "a NaN loss that hit the wall": ("E1", lambda w: w.job("TIMEOUT", 120).train([*FALLING, *[NAN] * 60], every_s=60)),
    "one step": ("E3", lambda w: w.job().train([11.0], stride=1, total_steps=1)),
    "a wall in full progress": ("F3", lambda w: w.job("TIMEOUT", 61).train(FALLING, every_s=60).say("slurm", "time_limit", LIMIT)),
    "SIGTERM lines after the wall": (
        "F3",
        lambda w: w.job("TIMEOUT", 61).train(FALLING, every_s=60).say("slurm", "time_limit", LIMIT)
        .say("launcher_event", "death_signal", "Received 15 death signal", signal=15)
        .say("launcher_summary", "child_failed", "exitcode: -15", signal=15, exit_code=-15)),
    "a lost node, with the other ranks' errors": (
        "F1",
        lambda w: w.job("NODE_FAIL", 61, failed_node="n2").train(FALLING, every_s=60)
        .say("nccl_error", "remote", "ncclRemoteError: remote process exited", severity="error")
        .say("exception", "torch.distributed.DistBackendError", "NCCL error: remote process exited or there was a network error")),
    "a preempted run that completed": (
        "F2",
        lambda w: w.job("PREEMPTED", 30, exit_code=0).job("COMPLETED", 60, attempt=2, restarts=1, start_ts=T + timedelta(minutes=33))
        .train(FALLING, total_steps=600)),
    "a node failure and its requeue, which completed": ("F2", lambda w: w.job("NODE_FAIL", 30).job("COMPLETED", 60, attempt=2, restarts=1).train(FALLING)),
    "a cancel by its user": ("F4", lambda w: w.job("CANCELLED", 61, cancelled_by="ada").train(FALLING, every_s=60).say("slurm", "cancelled", CANCEL)),
    "a cancel that only cleans up after an exception": (
        "A3", lambda w: w.job("FAILED", 61).train(FALLING, every_s=60).say("exception", "KeyError", "'labels'").say("slurm", "cancelled", CANCEL)),
    "a job that waits": ("A4", lambda w: w.job("PENDING", start_ts=None, state_reason="Resources")),
    "a dependency that failed, and the job was cancelled for it": (
        "F4", lambda w: w.job("CANCELLED", start_ts=None, state_reason="DependencyNeverSatisfied")),
    "a checkpoint that does not fit": (
        "E2",
        lambda w: w.job("FAILED", 1, submit_line="sbatch train.sh --resume out/checkpoint-500")
        .say("exception", "RuntimeError", "Error(s) in loading state_dict for GPT: size mismatch for wte.weight")),
    "memory that ran out after a NaN": (
        "B1",
        lambda w: w.job("FAILED", 5).train([NAN, NAN])
        .say("exception", "torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB")
        .say("cuda_oom", "OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB", requested_bytes=2**31)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_cause_is_named_and_not_its_consequence(tmp_path: Path, name: str) -> None:
    expected, build = CASES[name]
    notes: list[str] = []
    assessed = assess_all(build(World(tmp_path)).facts(), notes)
    assert not notes
    live = {c: (a.status, a.confidence) for c, a in assessed.items() if a.status in ("confirmed", "suspected")}
    assert primary_of(assessed) == expected, live


def test_only_what_the_verdict_explains_is_said_to_be_explained_by_it(tmp_path: Path) -> None:
    """A GPU that failed long before, beside an error of the program, is a finding of its own."""
    world = World(tmp_path).job("FAILED", 90, gpus=8, node_list="n1", node_count=1)
    world.train([2.0 - 0.01 * i for i in range(40)], every_s=120.0).say("exception", "KeyError", "'label'")
    world.add(
        GpuEvent(node="n1", gpu=2, ts=T + timedelta(minutes=20), event="xid", xid=48, message="NVRM: Xid 48"),
        GpuSample(node="n1", gpu=0, ts=T, engine_active=0.9),
    )
    draft = differential.draft(world.facts())
    told = {r.family: r.text for r in draft.ruled_out if r.status == "secondary"}
    assert draft.family == "A3" and told["B2"].startswith("Suspected, and no part of the verdict: ")
    assert "explained" not in told["B2"]

    lost = world.node("n1", "DOWN", 89.9, reason="Not responding").without(GpuEvent)
    lost.rows[0] = World(tmp_path).job("NODE_FAIL", 90, gpus=8, node_list="n1", node_count=1).rows[0]
    draft = differential.draft(lost.facts())
    assert draft.family == "F1"
    assert any("explained by the verdict: " in r.text for r in draft.ruled_out if r.status == "secondary"), (
        draft.ruled_out
    )
