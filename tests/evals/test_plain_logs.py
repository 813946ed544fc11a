"""A lone log of a job, judged end to end: which of several failures in one text is the cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.recorded import verdict_on

ECC_THEN_ABORT = """\
[epoch 3], [iter 40 / 90], [train main loss 0.250000], [lr 0.004500]
[epoch 3], [iter 41 / 90], [train main loss 0.240000], [lr 0.004500]
RuntimeError: cuda runtime error (39) : uncorrectable ECC error encountered at /src/THC/HostAllocator.cpp:265
terminate called without an active exception
"""
CHECK_FAILED_MEMORY = """\
I0612 10:20:11.201210  1201 solver.cpp:239] Iteration 380 (1.80 iter/s, 11.1s/20 iters), loss = 2.5
F0612 10:20:14.880011  1201 syncedmem.cpp:71] Check failed: error == cudaSuccess (2 vs. 0)  out of memory
*** Check failure stack trace: ***
Aborted (core dumped)
"""
SAVE_FAILED = """\
Traceback (most recent call last):
  File "fit.py", line 250, in <module>
    torch.save(best.state_dict(), out / "best.pt")
  File "/venv/lib/python3.11/site-packages/torch/serialization.py", line 218, in save
    return _with_file_like(f, "wb", lambda f: _save(obj, f))
  File "/venv/lib/python3.11/site-packages/torch/serialization.py", line 297, in _save
    storages[key]._write_file(f, direct(f))
RuntimeError: write(): fd 29 failed with Input/output error
"""
GAN_THEN_IMAGE = """\
[000100] d: 0.8173; g: 1.1811; real: 0.4405; fake: -1.5368; time: 1.75
[000200] d: 0.7892; g: 1.3737; real: 1.1018; fake: -0.9716; time: 2.75
Traceback (most recent call last):
  File "train.py", line 178, in training
    data = next(loader)
  File "/venv/lib/python3.11/site-packages/PIL/Image.py", line 3305, in open
    raise UnidentifiedImageError(msg)
PIL.UnidentifiedImageError: cannot identify image file 'img/0007.png'
"""
FIRST_COLLECTIVE = """\
Traceback (most recent call last):
  File "train.py", line 217, in main
    model = DistributedDataParallel(model, device_ids=[0])
  File "/venv/lib/python3.11/site-packages/torch/nn/parallel/distributed.py", line 641, in __init__
    dist._verify_params_across_processes(self.process_group, parameters)
RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:47, unhandled cuda error, NCCL version 2.10.3
ncclUnhandledCudaError: Call to CUDA function failed.
"""
SUBMITIT = """\
step 2200/50000 loss=2.75 lr=0.0003
submitit WARNING (2026-03-08 10:44:01,214) - Caught signal SIGUSR2 on gpu12: this job is preempted.
submitit INFO (2026-03-08 10:44:04,991) - Calling checkpoint method.
"""
QUEUE = """\
             JOBID PARTITION    STATE       TIME     NODELIST(REASON)
      4872_[0-7]       gpu  PENDING       0:00  (QOSMaxGRESPerUser)
"""


@pytest.mark.parametrize(
    ("text", "family", "mode"),
    [
        (ECC_THEN_ABORT, "B2", None),
        (CHECK_FAILED_MEMORY, "B1", None),
        (SAVE_FAILED, "A3", "storage"),
        (GAN_THEN_IMAGE, "A3", "data"),
        (FIRST_COLLECTIVE, "C1", None),
        (SUBMITIT, "F2", "preemption"),
        (QUEUE, "A4", "pending"),
    ],
    ids=["ecc", "check", "save", "image", "collective", "submitit", "queue"],
)
def test_the_cause_is_told_from_its_consequences(tmp_path: Path, text: str, family: str, mode: str | None) -> None:
    path = tmp_path / "slurm-4872.out"
    path.write_text(text, encoding="utf-8")
    verdict = verdict_on(path)
    assert (verdict.family, verdict.mode) == (family, mode)


def test_a_cancel_whose_reason_is_cut_off_is_nobodys_doing(tmp_path: Path) -> None:
    path = tmp_path / "slurm-4812.out"
    path.write_text(
        "Sleeping 71 seconds...\nslurmstepd: error: *** JOB 4812 ON n093 CANCELLED AT 2026-02-13T12:03:27 DUE TO\n"
    )
    verdict = verdict_on(path)
    assert verdict.family != "F4"


def test_an_exception_that_hands_on_a_refused_submission_is_no_crash_of_the_program(tmp_path: Path) -> None:
    path = tmp_path / "launch.log"
    path.write_text(
        '  File "/venv/lib/python3.11/site-packages/submitit/core/utils.py", line 191, in __call__\n'
        "    raise FailedJobError(stderr) from error\n"
        "submitit.core.utils.FailedJobError: sbatch: error: You must always specify a type when requesting gpu GRES\n"
        "sbatch: error: Batch job submission failed: Unspecified error\n"
    )
    verdict = verdict_on(path)
    assert (verdict.family, verdict.mode) == ("A4", "launch")
