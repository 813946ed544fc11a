"""Made-up jobs: the same from the same seed, believable, neutral; and a slice of the standing cases is judged right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evals.asking import Settings
from evals.scenarios import healthy
from evals.scenarios.build import rows
from evals.scenarios.cases import drawn, made, standing, stems, variants
from evals.scenarios.faults import frozen
from evals.suite import run_one
from store.rows import GpuSample, NcclSample

SLICE = (
    "a2_signal_kill/cgroup", "b1_cuda_oom/low-peak", "b2_gpu_fault/ecc", "b2_gpu_fault/latent", "b3_clock_throttle/thermal",
    "c1_rendezvous_hang/no-log", "c2_collective_hang/lost-peer", "c2_collective_hang/gone", "c3_idle_gpu/never", "d1_under_utilization/severe", "d1_under_utilization/stalls",
    "d2_throughput_bound/slow-net", "d3_straggler/strong", "e1_loss_divergence/flat", "e1_loss_divergence/gone",
    "a2_signal_kill/hung-peers", "a3_midrun_crash/evicted", "b2_gpu_fault/twice", "c2_collective_hang/stack",
    "f1_node_down/hung", "g1_healthy/neighbour", "g1_healthy/any-uuids",
    "e2_silent_restart/flag", "f1_node_down/states", "g1_healthy/any",
)  # fmt: skip


@pytest.mark.parametrize("name", SLICE)
def test_a_slice_of_the_standing_cases_is_judged_right(name: str) -> None:
    case = next(c for c in standing() if str(c).startswith(f"{name}/"))
    outcome = run_one(case)
    assert outcome.right, (outcome.error, outcome.family, outcome.confidence, outcome.failures)


@pytest.mark.parametrize(
    "name",
    ["b2_gpu_fault/ecc", "b3_clock_throttle/thermal", "c2_collective_hang/lost-peer",
     "d3_straggler/strong", "f1_node_down/twice", "f2_requeue/", "g1_healthy/neighbour"],
)  # fmt: skip
def test_the_files_of_other_tools_lead_to_the_same_verdict(name: str) -> None:
    case = next(c for c in standing() if str(c).startswith(name))
    outcome = run_one(case, Settings(as_files=True))
    assert outcome.right, (outcome.error, outcome.family, outcome.confidence, outcome.failures)


def test_a_seed_makes_the_same_job_again(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert rows(healthy(5, gpus=2, minutes=20), tmp_path / "a") == rows(healthy(5, gpus=2, minutes=20), tmp_path / "b")


def test_fresh_draws_are_other_jobs_than_the_standing_ones_and_differ_by_seed() -> None:
    assert not set(map(str, standing())) & set(map(str, drawn(2, 1)))
    assert not set(map(str, drawn(2, 1))) & set(map(str, drawn(2, 2)))


@pytest.mark.parametrize("stem", stems())
def test_nothing_that_is_seen_names_the_variant_or_the_family(stem: str, tmp_path: Path) -> None:
    """No name, path or text of a job tells what was planted in it."""
    case = next(c for c in standing() if c.stem == stem)
    _, plan, _ = made(case)
    text = " ".join(map(str, (plan.name, plan.user, plan.cluster, plan.partition, *plan.nodes)))
    words = {*stem.split("_")[1:], *(w for v in variants(stem) for w in v.name.split("-"))} - {"gpu", "node", "run"}
    assert not [w for w in words if len(w) > 3 and re.search(rf"\b{w}\b", text, re.I)]


def test_telemetry_has_gaps_and_arrives_out_of_order(tmp_path: Path) -> None:
    found = [r.ts for r in rows(healthy(3, gpus=8, minutes=60), tmp_path) if isinstance(r, GpuSample) and r.ts]
    assert found != sorted(found)


def test_a_job_of_1024_gpus_is_sampled_coarsely_enough_to_be_built(tmp_path: Path) -> None:
    plan = healthy(1, gpus=1024, minutes=45).without("cuda_sample", "nccl_sample")
    found = [r for r in rows(plan, tmp_path) if isinstance(r, GpuSample)]
    assert len({(r.node, r.gpu) for r in found}) == 1024
    assert len(found) < 1024 * 60


def test_every_folder_of_cases_has_faults_twins_a_healthy_one_and_a_blind_one() -> None:
    for stem in stems():
        assert {v.kind for v in variants(stem)} == {"fault", "twin", "healthy", "blind"}, stem
        assert sum(v.draws for v in variants(stem) if v.kind == "fault") >= 8, stem
        assert len({v.name for v in variants(stem)}) == len(variants(stem)), stem


def test_the_standing_set_has_six_hundred_cases_and_more_shapes_than_seeds() -> None:
    cases = standing()
    assert len(cases) >= 600
    assert len({(c.stem, c.variant) for c in cases}) > 0.8 * len(cases)


def test_ranks_go_through_the_same_collectives_until_one_does_not(tmp_path: Path) -> None:
    """Sequence numbers are in lock-step; frozen, the culprit stands one back and has nothing in flight."""
    plan = healthy(3, gpus=4, minutes=40)
    plan.nccl_changes.append(frozen(plan.gpus[2], 20.0))
    found = [r for r in rows(plan, tmp_path) if isinstance(r, NcclSample)]
    last = {rank: max((r for r in found if r.rank == rank), key=lambda r: r.ts or plan.start) for rank in range(4)}
    assert {r.in_flight for rank, r in last.items() if rank != 2} == {1}
    assert last[2].in_flight == 0
    assert {r.seq for rank, r in last.items() if rank != 2} == {(last[2].seq or 0) + 1}
