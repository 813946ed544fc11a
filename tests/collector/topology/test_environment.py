"""What a process's environment says, as Slurm, torchrun, MPI and containers set it."""

from __future__ import annotations

import pytest

from collector.topology.environment import chosen, identity, visible

ORDER = {n: f"GPU-{n}" for n in range(8)}
SLURM = {
    "SLURM_JOB_ID": "4812",
    "SLURM_STEP_ID": "0",
    "SLURM_PROCID": "1",
    "SLURM_LOCALID": "1",
    "SLURM_STEP_NUM_TASKS": "2",
}


def test_a_task_of_slurm_is_a_rank() -> None:
    who = identity(SLURM, "python train.py")
    assert (who.job_id, who.attempt, who.step_id, who.rank, who.local_rank, who.world_size) == ("4812", 1, "0", 1, 1, 2)


def test_the_launchers_rank_counts_for_more_than_slurms_task() -> None:
    """torchrun starts eight ranks within one task."""
    who = identity({**SLURM, "RANK": "11", "LOCAL_RANK": "3", "WORLD_SIZE": "16"}, "/usr/bin/python -u train.py")
    assert (who.rank, who.local_rank, who.world_size) == (11, 3, 16)


@pytest.mark.parametrize(
    "command",
    [
        "/usr/bin/python /usr/local/bin/torchrun --nproc-per-node 8 train.py",
        "python -m torch.distributed.run train.py",
        "bash /var/spool/slurmd/job4812/slurm_script",
        "accelerate launch train.py",
        "mpirun -np 8 python train.py",
    ],
)
def test_a_launcher_is_no_rank(command: str) -> None:
    assert identity(SLURM, command).rank is None


def test_a_batch_script_is_no_rank() -> None:
    env = {"SLURM_JOB_ID": "4812", "SLURM_PROCID": "0", "SLURM_STEP_ID": "4294967294"}
    who = identity(env, "python prepare.py")
    assert (who.step_id, who.rank) == ("batch", None)


@pytest.mark.parametrize(
    ("env", "job"),
    [
        ({"SLURM_JOB_ID": "4820", "SLURM_ARRAY_JOB_ID": "4812", "SLURM_ARRAY_TASK_ID": "7"}, "4812_7"),
        ({"SLURM_JOB_ID": "4813", "SLURM_HET_JOB_ID": "4812", "SLURM_HET_JOB_OFFSET": "1"}, "4812+1"),
        ({"SLURM_JOB_ID": "4812"}, "4812"),
        ({}, None),
    ],
)
def test_jobs_are_named_as_slurm_shows_them(env: dict[str, str], job: str | None) -> None:
    assert identity(env, "python").job_id == job


def test_a_requeued_job_is_another_attempt() -> None:
    assert identity({**SLURM, "SLURM_RESTART_COUNT": "2"}, "python").attempt == 3


def test_mpi_ranks() -> None:
    env = {**SLURM, "OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_SIZE": "8"}
    who = identity(env, "./train")
    assert (who.rank, who.local_rank, who.world_size) == (5, 1, 8)


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"CUDA_VISIBLE_DEVICES": "0,2"}, ("GPU-0", "GPU-2")),
        ({"CUDA_VISIBLE_DEVICES": "0,1", "SLURM_STEP_GPUS": "4,5"}, ("GPU-4", "GPU-5")),
        ({"CUDA_VISIBLE_DEVICES": "4,5", "SLURM_JOB_GPUS": "4,5"}, ("GPU-4", "GPU-5")),
        ({"SLURM_JOB_GPUS": "3"}, ("GPU-3",)),
        ({"CUDA_VISIBLE_DEVICES": ""}, ()),
        ({"CUDA_VISIBLE_DEVICES": "GPU-6"}, ("GPU-6",)),
        ({"CUDA_VISIBLE_DEVICES": "MIG-00aa"}, ("MIG-00aa",)),
        ({"NVIDIA_VISIBLE_DEVICES": "all"}, ()),
        ({"NVIDIA_VISIBLE_DEVICES": "GPU-1,GPU-2"}, ("GPU-1", "GPU-2")),
        ({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, ()),
    ],
)
def test_visible_gpus(env: dict[str, str], expected: tuple[str, ...]) -> None:
    """Numbers count within Slurm's allocation where the rest is hidden, on the node where it is not."""
    assert visible(env, ORDER) == expected


def test_nothing_but_the_wanted_variables_is_kept() -> None:
    raw = b"HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz012345\0SLURM_JOB_ID=4812\0odd\0=x\0RANK=\xff\0"
    assert chosen(raw) == {"SLURM_JOB_ID": "4812", "RANK": "�"}
