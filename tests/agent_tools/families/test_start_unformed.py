"""A lone log that ends while its ranks were meeting, or could not be launched (c1, last_at_start)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families import c1_rendezvous_hang as c1
from store.rows import GpuSample
from tests.agent_tools.families.logkit import drafted
from tests.agent_tools.families.world import T, World, judge

WALL = "slurmstepd: error: *** JOB 71 ON a1 CANCELLED AT 2025-03-01T10:00:12 DUE TO TIME LIMIT ***\n"


def _members(seen: int, of: int) -> str:
    return "".join(f"Initializing distributed: GLOBAL_RANK: {n}, MEMBER: {n + 1}/{of}\n" for n in range(seen))


@pytest.mark.parametrize(
    ("text", "family", "low", "high"),
    [
        (_members(4, 8), "C1", 0.7, 0.8),
        (_members(8, 8), "C1", 0.5, 0.65),
        (_members(4, 8).replace("Initializing distributed", "initializing ddp"), "C1", 0.7, 0.8),
        ("| distributed init (rank 0): env://\n", "F3", 0.4, 0.8),
        (_members(8, 8) + "All distributed processes registered. Starting with 8 processes\n", "F3", 0.5, 0.85),
        (
            _members(4, 8) + "Epoch 0:  10%|#  | 10/100 [00:10<01:30,  1.0it/s, v_num=1, train_loss=2.1]\n",
            "F3",
            0.3,
            0.9,
        ),
    ],
    ids=["half of them", "all of them", "in older words", "of one alone", "registered", "at work"],
)
def test_the_wall_of_a_start_whose_processes_never_met(
    text: str, family: str, low: float, high: float, tmp_path: Path
) -> None:
    found = drafted("GPU available: True (cuda), used: True\n" + text + WALL, tmp_path)
    assert found.family == family and low <= found.confidence <= high
    if low >= 0.7:
        facts = " ".join(c.text for c in found.shows)
        assert "processes said that they had begun" in facts


def test_an_mpi_that_srun_cannot_launch_is_no_sure_hang_of_a_network(tmp_path: Path) -> None:
    text = (
        'The application appears to have been direct launched using "srun",\n'
        "but OMPI was not built with SLURM's PMI support and therefore cannot\nexecute.\n"
        "*** An error occurred in MPI_Init\n*** on a NULL communicator\nsrun: error: c1: tasks 0-3: Exited with exit code 1\n"
    )
    found = drafted(text, tmp_path)
    assert (found.family, found.confidence, found.attribution) == ("C1", 0.6, "job")
    assert any("mpirun" in a.text for a in found.actions)
    other = "PMI2_Init failed\n*** An error occurred in MPI_Init\n"
    (tmp_path / "other").mkdir()
    assert drafted(other, tmp_path / "other").confidence > 0.8


_WATCHING = """2: Traceback (most recent call last):
2:   File "/env/bin/torchrun", line 8, in <module>
2:     sys.exit(main())
2:   File "/env/lib/python3.11/site-packages/torch/distributed/launcher/api.py", line 255, in launch_agent
2:     result = agent.run()
2:   File "/env/lib/python3.11/site-packages/torch/distributed/elastic/agent/server/api.py", line 870, in _invoke_run
2:     {call}
2:   File "/env/lib/python3.11/site-packages/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py", line 1205, in {of}
2:     self._state_holder.sync()
2:   File "/env/lib/python3.11/site-packages/torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py", line 117, in _call_store
2:     raise RendezvousConnectionError(
2: torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details.
srun: error: c7: task 2: Exited with exit code 1
"""


def test_an_agent_that_was_watching_its_workers_had_met_the_others(tmp_path: Path) -> None:
    """It asks the store for nodes that wait only once its own workers run: that it is gone is another node's end."""
    watching = _WATCHING.format(call="num_nodes_waiting = rdzv_handler.num_nodes_waiting()", of="num_nodes_waiting")
    found = drafted(watching, tmp_path)
    assert found.family == "U0", found.headline
    forming = _WATCHING.format(call="self._initialize_workers(self._worker_group)", of="next_rendezvous")
    (tmp_path / "forming").mkdir()
    assert drafted(forming, tmp_path / "forming").family == "C1"


def test_a_store_of_pmix_that_gives_way_to_another_ends_no_start(tmp_path: Path) -> None:
    line = "[c{0}:70{0}] PMIX ERROR: {1} in file ../../src/mca/{2} at line 133\n"
    lock = "".join(line.format(n, "ERROR", "gds/ds21/gds_ds21_lock_pthread.c") for n in (1, 2))
    assert drafted(lock + "world of 2 ranks, micro batch 8\n", tmp_path).family == "U0"
    (tmp_path / "other").mkdir()
    gone = line.format(1, "UNREACHABLE", "ptl/tcp/ptl_tcp_component.c")
    assert drafted(gone, tmp_path / "other").family == "C1"


def _agents(folder: Path, seen: int, *after: str, busy: bool = False) -> World:
    """Two nodes that held their GPUs to the wall, of which some say that torchrun starts there."""
    world = World(folder).job("TIMEOUT", minutes=120.0)
    for _ in range(seen):
        world.text("I0301 10:00:05 launcher/api.py:195] Starting elastic_operator with launch configs:")
        world.text("  rdzv_backend     : c10d", "  metrics_cfg      : {}")
    world.text(*after)
    for minute in range(120 if busy else 0):
        world.add(GpuSample(node="n1", gpu=0, ts=T + timedelta(minutes=minute), engine_active=0.9))
    return world


@pytest.mark.parametrize(
    ("seen", "after", "busy", "told"),
    [
        (1, (), False, True),
        (2, (), False, False),  # all are there: what follows may stand in a buffer
        (1, ("loading shards",), False, False),
        (1, (), True, False),
    ],
    ids=["one of two", "both", "the program speaks", "GPUs work"],
)
def test_fewer_torchruns_than_nodes_are_a_group_that_never_formed(
    seen: int, after: tuple[str, ...], busy: bool, told: bool, tmp_path: Path
) -> None:
    found = judge(_agents(tmp_path, seen, *after, busy=busy), c1.assess)
    assert (found.status == "suspected" and found.confidence == 0.5) == told


@pytest.mark.parametrize(
    ("asked", "of"), [("4", "job"), ("4:8", "job"), ("2", "undetermined"), ("1:4", "undetermined")]
)
def test_a_launcher_that_waits_for_more_nodes_than_the_job_has_never_starts(
    asked: str, of: str, tmp_path: Path
) -> None:
    """too_few_nodes: a span is content with its lower end."""
    world = World(tmp_path).job("FAILED", 30, gpus=16, node_list="n1,n2", node_count=2)
    world.text(f"+ srun torchrun --nnodes={asked} --nproc_per_node=8 --rdzv_backend=c10d train.py")
    world.say(
        "rendezvous", "retry", "The client socket has failed to connect to [n1]:29500 (errno: 113 - No route to host)."
    )
    found = judge(world.say("rendezvous", "timeout", "RendezvousTimeoutError"), c1.assess)
    assert (found.status, found.attribution) == ("confirmed", of)
    assert ("waits for more nodes than the job has" in found.headline) is (of == "job")
    assert any("Before that" in c.text for c in found.speaks_for)
