"""b1_cuda_oom: whose GPU memory ran out, where samples of all of the job's GPUs are there."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families import b1_cuda_oom as b1
from agent_tools.gate.citations import plain
from store.rows import GpuSample, Process
from tests.agent_tools.families.test_kill_and_memory import GIB, oom
from tests.agent_tools.families.world import JOB, T, World


def _cards(world: World, *peaks: tuple[str, int, int]) -> World:
    rows = [
        GpuSample(
            node=node, gpu=gpu, gpu_uuid=f"GPU-{node}-{gpu}", ts=T + timedelta(minutes=m), fb_used_bytes=peak * GIB,
            fb_total_bytes=79 * GIB, engine_active=0.9,
        )
        for node, gpu, peak in peaks
        for m in (1, 2, 3)
    ]  # fmt: skip
    return world.add(*rows)


@pytest.mark.parametrize(
    ("tied", "said"),
    [
        ([Process(job_id=JOB, node="n1", ts=T, pid=9, rank=1, gpu_uuids="GPU-n1-1")], "The sampled peak was 40"),
        ([], "Which GPU rank 1 used is not known"),
        (
            [Process(job_id=JOB, node="n1", ts=T, pid=9, rank=1, gpu_uuids="GPU-n1-0,GPU-n1-1")],
            "Which GPU rank 1 used is not known",
        ),
    ],
    ids=["by its process", "by nothing", "it saw both"],
)
def test_the_gpu_that_is_looked_at_is_that_of_the_rank_that_ran_out(
    tmp_path: Path, tied: list[Process], said: str
) -> None:
    """The fullest of a job's GPUs may be another rank's, whose request was met."""
    facts = _cards(oom(tmp_path, rank=1, node="n1"), ("n1", 0, 78), ("n1", 1, 40)).add(*tied).facts()
    found = b1.assess(facts)
    told = [plain(c.text, facts.ledger) for c in found.speaks_for]
    assert any(t.startswith(said) for t in told), told
    assert any("refutes nothing" in c.text for c in found.implies) == ("was 40" in said)


def test_on_the_node_of_the_rank_no_other_nodes_gpu_is_looked_at(tmp_path: Path) -> None:
    facts = _cards(oom(tmp_path, rank=1, node="n2"), ("n1", 0, 78), ("n2", 0, 40)).facts()
    told = [plain(c.text, facts.ledger) for c in b1.assess(facts).speaks_for]
    assert any(t.startswith("The sampled peak was 40") for t in told), told


@pytest.mark.parametrize(
    ("nodes", "said"),
    [(("n1",), "The sampled peak was 78"), (("n1", "n2"), "Of which node the GPU 3 is that ran out is not known")],
)
def test_the_number_of_a_launchers_task_is_no_rank_where_the_message_names_another_gpu(
    tmp_path: Path, nodes: tuple[str, ...], said: str
) -> None:
    """With one torchrun a node the label of a line is that of the node's task."""
    peaks = [(node, gpu, 78 if gpu == 3 else 40) for node in nodes for gpu in range(4)]
    tied = Process(job_id=JOB, node="n1", ts=T, pid=9, rank=0, gpu_uuids="GPU-n1-0")
    facts = _cards(oom(tmp_path, rank=0, gpu=3), *peaks).add(tied).facts()
    told = [plain(c.text, facts.ledger) for c in b1.assess(facts).speaks_for]
    assert any(t.startswith(said) for t in told), told
