"""Programs that end in words of their own, engines of molecular dynamics among them, and waits at the store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_tools.agent import diagnose
from collector.intake.bundle import import_paths
from store import Reader
from tests.agent_tools.families.logkit import drafted

LAMMPS = (
    "LAMMPS (2 Aug 2023)\n  using 1 OpenMP thread(s) per MPI task\nSetting up Verlet run ...\n"
    "   Step          Temp          E_pair         TotEng         Press\n"
    + "".join(f"{n:10d}   0.7{n}   -5.67{n}   -4.62   0.71\n" for n in range(0, 6000, 1000))
)
LOST = "ERROR: Lost atoms: original 40000 current 39987 (src/thermo.cpp:488)\nLast command: run 100000\n"
EXITED = "srun: error: gpu-12: tasks 0-3: Exited with exit code 1\n"
NAMD = "Info: NAMD 3.0 for Linux-x86_64-multicore-CUDA\n" + "".join(
    f"ENERGY: {n:7d}" + "  323.7513" * 11 + "\n" for n in range(0, 3000, 1000)
)
GROMACS = "starting mdrun 'Protein in water'\n" + "".join(
    f"step {n}, remaining wall clock time: {5000000 - n:5d} s\n" for n in range(4999500, 5000000, 100)
)
UNSOLVED = (
    "  \u00d7 No solution found when resolving dependencies:\n"
    "  `-> Because torch==9.9.0 has no wheels with a matching Python ABI tag, your requirements are unsatisfiable.\n"
)
UNSTABLE = "FATAL ERROR: Constraint failure in RATTLE algorithm for atom 2411!\nERROR: Exiting prematurely; see error messages above.\n"
CLOSED = "====================================\nWallClock: 81.221  CPUTime: 80.112  Memory: 912.11 MB\n[Partition 0][Node 0] End of program\n"


@pytest.mark.parametrize(
    ("log", "family", "mode", "most"),
    [
        (LAMMPS + LOST + EXITED, "A3", "code", 0.95),
        (LAMMPS + "ERROR: Cannot write to dump file: No space left on device\n" + EXITED, "A3", "storage", 0.7),
        (LAMMPS + "Loop time of 122.3 on 4 procs for 5000 steps with 40000 atoms\nTotal wall time: 0:02:05\n", "G1", "healthy", 0.7),
        (NAMD + UNSTABLE + CLOSED, "A3", "code", 0.5),
        (NAMD + CLOSED, "G1", "healthy", 0.7),
        (GROMACS + "Performance:      234.231        0.102\nGROMACS reminds you: \"It is fine\" (Somebody)\n", "G1", "healthy", 0.7),
        (GROMACS + "Step 4999951, time 9999.9 (ps)  LINCS WARNING\nFatal error:\nToo many LINCS warnings (1000)\n", "A3", "code", 0.95),
        ("rank 0: communicator initialised\nrank 1: communicator initialised\n2-GPU native allreduce: PASS\n", "G1", "healthy", 0.5),
        ("rank 0: communicator initialised\n2-GPU allreduce: PASS if all are equal\n", "U0", None, 0.7),
        (UNSOLVED + EXITED, "A1", "env", 0.95),
        (LAMMPS + LOST, "A3", "code", 0.95),
        (LAMMPS + "ERROR on proc 3: neighbor list is long\n" + LAMMPS.split("Press\n")[1].replace(" 0   0.7", " 6000   0.7"), "U0", None, 0.7),
    ],
)  # fmt: skip
def test_a_program_that_left_under_way_is_quoted(
    tmp_path: Path, log: str, family: str, mode: str | None, most: float
) -> None:
    draft = drafted(log, tmp_path)
    assert (draft.family, draft.mode, draft.confidence <= most) == (family, mode, True), draft.headline


STEPS = "".join(f"Epoch 1: iter {n}/2000 loss {3 - n / 1000:.4f} lr 1.0e-4\n" for n in range(100, 600, 100))
AT_STORE = (
    "[rank3]: Traceback (most recent call last):\n"
    '[rank3]:   File "/home/u/train.py", line 188, in <module>\n[rank3]:     save_sharded(state)\n'
    '[rank3]:   File "/home/u/ckpt.py", line 61, in save_sharded\n[rank3]:     store.wait(keys, timeout)\n'
    "[rank3]: torch.distributed.DistStoreError: wait timeout after 600000ms, keys: /ckpt_done/0, /ckpt_done/1\n"
)


@pytest.mark.parametrize(("before", "family"), [(STEPS, "C2"), ("", "C1")])
def test_a_wait_for_keys_of_the_store_is_a_hang_once_training_runs(tmp_path: Path, before: str, family: str) -> None:
    draft = drafted(before + AT_STORE, tmp_path)
    assert (draft.family, draft.attribution) == (family, "undetermined"), draft.headline


SAVING = (
    'Traceback (most recent call last):\n  File "/home/u/train.py", line 88, in <module>\n    torch.save(state, path)\n'
    '  File "/opt/conda/lib/python3.10/site-packages/torch/serialization.py", line 849, in save\n    with open_file(f) as opened:\n'
)


@pytest.mark.parametrize(
    ("raised", "mode"),
    [
        ("PermissionError: [Errno 1] Operation not permitted: '/mnt/s3/run/last.pt'", "storage"),
        ("botocore.exceptions.ClientError: An error occurred (SlowDown) when calling S3", "network"),
    ],
)
def test_the_name_of_a_folder_is_no_service(tmp_path: Path, raised: str, mode: str) -> None:
    draft = drafted(STEPS + SAVING + raised + "\n", tmp_path)
    assert (draft.family, draft.mode) == ("A3", mode), draft.headline


def test_an_exception_in_an_object_is_what_ended_the_run(tmp_path: Path) -> None:
    stack = 'Traceback (most recent call last):\n  File "/app/data.py", line 41, in __getitem__\n    return x[i]\nIndexError: list index out of range'
    lines = [{"level": "INFO", "msg": "train", "step": n, "loss": 4 - n / 100} for n in range(0, 100, 10)]
    log = "\n".join(json.dumps(r) for r in [*lines, {"level": "ERROR", "msg": "training failed", "exc_info": stack}])
    draft = drafted(log + "\n", tmp_path)
    assert (draft.family, draft.mode, draft.confidence > 0.6) == ("A3", "data", True), draft.headline


LEFT = "reading the configuration\nERROR: dataset path /data/speech/v3 does not exist\n"
GONE = (
    "ready\nNCCL error: remote process exited or there was a network error, NCCL version 2.21.5\n"
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n"
)


@pytest.mark.parametrize(
    ("said", "state", "status", "family"),
    [
        (LEFT, "FAILED", 1, "A1"),
        (LEFT + "".join(f"copied part {n}\n" for n in range(5)), "FAILED", 1, "U0"),
        (LEFT, "FAILED", 15, "U0"),
        (LEFT, "CANCELLED", 1, "F4"),
        ("ready\n" + STEPS + "Error: the validation set is empty\n", "FAILED", 2, "A3"),
        (GONE, "FAILED", 1, "C1"),  # NCCL's own words are no choice of the program's
    ],
)
def test_the_last_words_of_a_program_are_heard_where_accounting_has_its_status(
    tmp_path: Path, said: str, state: str, status: int, family: str
) -> None:
    """No launcher tells of a status where the batch script itself runs the program: sys.exit with a text, die, an exit after echo."""
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "slurm-31.out").write_text(said)
    (folder / "sacct.txt").write_text(
        "JobID|JobName|State|ExitCode|Start|End|NodeList|User\n"
        f"31|prep|{state}|{status}:0|2026-02-03T10:00:00|2026-02-03T10:05:00|n7|ida\n"
    )
    import_paths([folder], tmp_path / "lake", timezone="UTC")
    with Reader(tmp_path / "lake") as reader:
        verdict = diagnose(reader, "31")
    assert verdict.family == family, verdict.headline
