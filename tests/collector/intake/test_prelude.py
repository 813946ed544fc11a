"""A job's output that begins as sacct, scontrol, squeue, sinfo or nvidia-smi print is its log; what they printed alone is theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.intake.bundle import import_paths

JOB = """JobId=88 JobName=tune
   UserId=mira(1001) GroupId=mira(1001) MCS_label=N/A
   JobState=RUNNING Reason=None Dependency=(null)
   SubmitTime=2026-03-01T10:00:00 EligibleTime=2026-03-01T10:00:00
   StartTime=2026-03-01T10:00:01 EndTime=2026-03-01T11:00:01 Deadline=N/A
   NodeList=n4 NumNodes=1 NumCPUs=4
"""
NODE = """NodeName=n4 Arch=x86_64 CoresPerSocket=4
   CPUAlloc=4 CPUEfctv=4 CPUTot=4 CPULoad=0.10
   State=MIXED ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
"""
QUEUE = """             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
                88       gpu     tune     mira  R       0:01      1 n4
              89_3       gpu    sweep     mira PD       0:00      1 (Priority)
"""
TABLE = """JobID           JobName  Partition    Account  AllocCPUS      State ExitCode
------------ ---------- ---------- ---------- ---------- ---------- --------
88                 tune        gpu       root          4    RUNNING      0:0
88.batch          batch                  root          4    RUNNING      0:0
"""
BARS = "JobID|JobName|Partition|State|ExitCode|Start|End|\n88|tune|gpu|RUNNING|0:0|2026-03-01T10:00:01|Unknown|\n"
PARTS = "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\ngpu*         up   infinite      4   idle n[1-4]\nold          up   infinite      0    n/a\n"
CARDS = "index, name, uuid, memory.total [MiB], memory.used [MiB]\n0, NVIDIA H100, GPU-1b2c3d4e-0000-0000-0000-000000000000, 81559 MiB, 1 MiB\n"
OF_TOOLS = {
    "scontrol_job": JOB, "scontrol_node": NODE, "squeue": QUEUE, "sacct": TABLE, "sinfo": PARTS, "nvidia_smi": CARDS,
}  # fmt: skip
FORMS = [
    *OF_TOOLS.items(),
    ("sacct", BARS),
    ("scontrol_job", f"Job 88 begins on n4\n{JOB}"),
    ("squeue", f"{QUEUE}{CARDS}"),
]
LOG = "Loading data\nstep 1/9 loss 2.5 lr 0.1\nstep 2/9 loss 2.4 lr 0.1\nKeyError: 'lrr'\n"


def importer(path: Path, text: str) -> str | None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return import_paths([path], path.parent / "lake").files[0].importer


@pytest.mark.parametrize(("_", "text"), FORMS, ids=range(len(FORMS)))
@pytest.mark.parametrize("name", ["slurm-88.out", "tune.log", "logs/tune.txt", "output"])
def test_what_a_job_prints_behind_it_makes_it_the_job_s_output(name: str, text: str, _: str, tmp_path: Path) -> None:
    """The verdict was that nothing decides what happened: the log had been read as accounting."""
    assert importer(tmp_path / name, text + LOG) == "job_log"


@pytest.mark.parametrize("name", ["slurm-88.out", "tune.log", "saved"])
@pytest.mark.parametrize(("tool", "text"), [*OF_TOOLS.items(), ("sacct", BARS)])
def test_what_a_tool_printed_alone_is_that_tool_s(name: str, tool: str, text: str, tmp_path: Path) -> None:
    assert importer(tmp_path / name, text * 2) == tool
    assert importer(tmp_path / f"typed-{name}", f"{text}[mira@login ~]$ exit\n") == tool


def test_a_saved_answer_of_several_tools_is_no_log_for_its_name_alone(tmp_path: Path) -> None:
    """Nothing in it is a program's word."""
    assert importer(tmp_path / "answers", f"{JOB}\n\nanswered by slurmctld\nasked at ten\n") == "scontrol_job"


def test_a_record_that_goes_on_over_lines_is_accounting_still(tmp_path: Path) -> None:
    """A submit line may hold a script, which speaks as a log does."""
    head = "JobID|JobName|State|SubmitLine|ExitCode|\n"
    record = "88|tune|FAILED|sbatch --wrap=set -e\n+ module load cuda\nsrun: x\npython train.py --epoch 3|1:0|\n"
    plain = "89|tune|FAILED|sbatch run.sh|1:0|\n"
    for text in (head + record, head + plain + record, head + record + plain):
        assert importer(tmp_path / "sacct.log", text) == "sacct"
