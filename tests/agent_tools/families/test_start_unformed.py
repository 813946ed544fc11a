"""A lone log that ends while its ranks were meeting, or could not be launched (c1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted

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
