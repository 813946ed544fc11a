"""A lone log of a job, judged end to end: which of several failures in one text is the cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.importers.registry import pick
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


STALL = """\
[1,0]<stdout>:Epoch 3: step 1180 loss 2.41
[1,0]<stderr>:[2021-05-02 11:02:31.774: W horovod/common/stall_inspector.cc:105] One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds. This may indicate that different ranks are trying to submit different tensors or that only subset of ranks is submitting tensors, which will cause deadlock.
[1,0]<stderr>:Stalled ops:HorovodAllreduce_grads_17_0 [missing ranks: 3]
"""
STALL_OVER = STALL + "[1,0]<stdout>:Epoch 3: step 1190 loss 2.39\n[1,0]<stdout>:Epoch 3: step 1200 loss 2.37\n"
SPAWN_GLOO = """\
iter 400/9000 loss 1.20 lr 0.01
Traceback (most recent call last):
  File "fit.py", line 80, in <module>
    mp.spawn(run, nprocs=4)
  File "/venv/lib/python3.7/site-packages/torch/multiprocessing/spawn.py", line 118, in join
    raise Exception(msg)
Exception:

-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "/home/u/fit.py", line 61, in run
    dist.all_gather(sizes, mine, group=cpu)
RuntimeError: [/b/gloo/transport/tcp/unbound_buffer.cc:136] Timed out waiting 1800000ms for send operation to complete
"""
LOST_GPU = """\
Training progress:  41%|####      | 12310/30000 [11:02<15:44, 18.73it/s]
Traceback (most recent call last):
  File "fit.py", line 141, in training
    loss.backward()
RuntimeError: CUDA error: unspecified launch failure
gpu check after the job:
Unable to determine the device handle for GPU3: Unknown Error
"""
COPIED_XID = """\
step 18210 | loss 2.3290 | lr 2.9e-04 | 413 ms
Traceback (most recent call last):
  File "/w/fit.py", line 301, in main
    value = loss.item()
RuntimeError: CUDA error: unknown error
epilog g17: NVRM: Xid (PCI:0000:b7:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
"""
XID_ALONE = COPIED_XID.replace("RuntimeError: CUDA error: unknown error", "ValueError: batch 3 is malformed")
NAN_BEFORE_LEARNING = """\
episode=1 step=132 reward=11.0 epsilon=0.987 loss=nan
episode=2 step=186 reward=69.0 epsilon=0.982 loss=nan
episode=3 step=204 reward=14.0 epsilon=0.981 loss=nan
episode=16 step=546 reward=99.0 epsilon=0.948 loss=0.7493
episode=17 step=601 reward=67.0 epsilon=0.943 loss=0.9620
episode=18 step=644 reward=58.0 epsilon=0.939 loss=0.6355
Pretraining completed. The policy is in run/policy.pt.
"""
EVEN_ODDS = "".join(
    f"Epoch {n}/8\n63/63 [==============================] - 13s 207ms/step - loss: {loss} - accuracy: 0.49\n"
    for n, loss in enumerate((0.6958, 0.6933, 0.6932, 0.6932, 0.6932, 0.6932, 0.6932, 0.6932), 1)
)
OTHERS_KILLED = """\
srun: error: n0824: task 5: Exited with exit code 1
srun: error: n0824: tasks 3,7: Killed
srun: Force Terminated StepId=43575862.0
"""
HEARTBEAT = """\
I1115 16:00:39.451247 1406 trainer.py:501] Training: step 198
2026-01-15 16:03:15.140058: E external/xla/coordination_service.cc:954] /job:jax_worker/replica:0/task:37 has been set to ERROR in coordination service: UNAVAILABLE: Task /job:jax_worker/replica:0/task:37 heartbeat timeout. This indicates that the remote task has failed, got preempted, or crashed unexpectedly.
2026-01-15 16:03:15.140131: E external/xla/coordination_service.cc:499] Stopping coordination service as heartbeat has timed out for /job:jax_worker/replica:0/task:37
"""
ROCM_HANG = """\
{'loss': 1.2133, 'grad_norm': 0.6112, 'learning_rate': 1.8e-05, 'epoch': 0.42}
HW Exception by GPU node-5 (Agent handle: 0x9ba3c20) reason :GPU Hang
E1121 04:12:58.311000 2213 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -6) local_rank: 3 (pid: 2243) of binary: python
"""
CUT_LIMIT = """\
step 41200/100000 loss 2.113 lr 1.2e-4 gnorm 0.41
slurmstepd: error: *** JOB 9112 ON gpua031 CANCELLED AT 2024-07-11T03:22:10 DUE TO TIME L
"""
NAMED_STEPD = """\
srun: job 34262460 has been allocated resources
slurmstepd-sp-0016: error: pyxis: couldn't start container
slurmstepd-sp-0016: error: spank: required plugin spank_pyxis.so: task_init() failed with rc=-1
slurmstepd-sp-0016: error: Failed to invoke spank plugin stack
srun: error: sp-0016: task 0: Exited with exit code 1
"""
BURST = """\
Step 13900 stats, train: loss = 1.08
Step 14100 stats, train: loss = 1.13
Step 14200 stats, train: loss = 0.91
Step 14300 stats, train: loss = 2.30
Step 14400 stats, train: loss = 95.80
"""
NVLINK = """\
INFO 03-11 10:11:01 engine.py:88] step 310 reward 0.41
RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution
"""
ONE_LINE_THEN_CRASH = """\
iter 2200 loss 1.20 time 211ms
Traceback (most recent call last):
  File "fit.py", line 210, in <module>
    loss.backward()
RuntimeError: CUDA error: an illegal memory access was encountered
"""
NO_RATE = "".join(
    f"iter {n}00 loss 6.93{noise:02} lr 0.000e+00\n" for n, noise in enumerate((13, 1, 22, 9, 15, 11, 7, 18, 12, 10), 1)
)
SEFF = """\
Job ID: 551231
State: TIMEOUT (exit code 0)
Job Wall-clock time: 02:24:00
"""
NO_HEAD = """\
2025-03-01 11:00:01,112 INFO scripts.py:1005 -- Local node IP: 10.0.0.12
[2025-03-01 11:01:01,119 E 4211 4211] gcs_client.cc: Failed to connect to GCS within 60 seconds. GCS may have been killed.
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
        (STALL, "C2", None),
        (SPAWN_GLOO, "C2", None),
        (LOST_GPU, "B2", None),
        (NAN_BEFORE_LEARNING, "G1", "healthy"),
        (EVEN_ODDS, "E1", "flat"),
        (OTHERS_KILLED, "U0", None),
        (HEARTBEAT, "C2", None),
        (ROCM_HANG, "B2", None),
        (CUT_LIMIT, "F3", None),
        (NAMED_STEPD, "A4", "launch"),
        (BURST, "E1", "spike"),
        (NVLINK, "B2", None),
        (ONE_LINE_THEN_CRASH, "A3", "code"),
        (NO_RATE, "E1", "flat"),
        (SEFF, "F3", None),
        (NO_HEAD, "C1", None),
    ],
    ids=[
        "ecc",
        "check",
        "save",
        "image",
        "collective",
        "submitit",
        "queue",
        "stall",
        "spawn",
        "lost",
        "unlearnt",
        "odds",
        "killed",
        "heartbeat",
        "rocm",
        "cut",
        "stepd",
        "burst",
        "nvlink",
        "one line",
        "no rate",
        "seff",
        "no head",
    ],
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


def test_a_stall_that_went_over_is_no_hang(tmp_path: Path) -> None:
    path = tmp_path / "slurm-4872.out"
    path.write_text(STALL_OVER, encoding="utf-8")
    assert verdict_on(path).family != "C2"


def test_an_xid_in_the_output_alone_blames_no_gpu(tmp_path: Path) -> None:
    path = tmp_path / "slurm-4872.out"
    path.write_text(XID_ALONE, encoding="utf-8")
    assert verdict_on(path).family != "B2"


@pytest.mark.parametrize(
    "error",
    [
        "CUDA error: an illegal memory access was encountered",
        "CUDA error: device-side assert triggered",
        "CUDA error: unspecified launch failure",
        "CUDA error: unknown error",
        "CUDA error: invalid argument",
    ],
)
@pytest.mark.parametrize(
    "line",
    [
        "NVRM: Xid (PCI:0000:b7:00): 79, pid=4711, name=python, GPU has fallen off the bus.",
        "NVRM: Xid (PCI:0000:b7:00): 48, uncorrectable ECC error, NVLink error, GPU is lost, GPU requires reset",
        "health check: xid 48 seen, GPU 0 has fallen off the bus",
    ],
)
def test_words_of_the_kernel_in_the_output_never_blame_the_hardware(tmp_path: Path, error: str, line: str) -> None:
    path = tmp_path / "slurm-4872.out"
    crash = COPIED_XID.rpartition("epilog")[0].replace("CUDA error: unknown error", error)
    path.write_text(crash + line + "\n", encoding="utf-8")
    verdict = verdict_on(path)
    assert verdict.attribution != "infrastructure"
    assert verdict.family == "A3" or (verdict.confidence < 0.5 and verdict.attribution == "undetermined")
    assert "illegal" not in error or (verdict.family, verdict.attribution) == ("A3", "job")


def test_the_drivers_own_answer_to_the_program_counts(tmp_path: Path) -> None:
    path = tmp_path / "slurm-4872.out"
    path.write_text(COPIED_XID.replace("unknown error", "uncorrectable ECC error encountered"), encoding="utf-8")
    verdict = verdict_on(path)
    assert (verdict.family, verdict.attribution, verdict.confidence >= 0.5) == ("B2", "infrastructure", True)


def test_a_cancellation_that_is_cut_before_its_reason_is_no_sure_word(tmp_path: Path) -> None:
    path = tmp_path / "slurm-4872.out"
    path.write_text(CUT_LIMIT.partition(" DUE")[0], encoding="utf-8")
    verdict = verdict_on(path)
    assert verdict.family == "F4" and verdict.confidence < 0.5


def test_json_of_another_tool_is_no_job_log_and_a_log_of_json_lines_is(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    assert pick(path, b'{"a": 1, "b": [1, 2, {"c": "x"}]}\n') is None
    lines = pick(path, b'{"msg": "step 1", "loss": 2.0}\n{"msg": "step 2", "loss": 1.9}\n')
    assert lines is not None and lines.name == "job_log"


def test_accounting_alone_does_not_vouch_for_what_a_job_did(tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text("JobID|JobName|State|ExitCode|Elapsed\n51500|train|COMPLETED|0:0|03:11:09\n", encoding="utf-8")
    verdict = verdict_on(path)
    assert verdict.family == "G1" and verdict.confidence < 0.5 and "not known" in verdict.headline
