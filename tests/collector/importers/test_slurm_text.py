"""scontrol_job, scontrol_node, sacctmgr_event, sdiag, squeue and sinfo: text that people copy."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collector.formats.node_states import node_state
from collector.formats.slurm_values import gres_indices
from collector.importers.base import ImportContext
from collector.importers.sacctmgr_event import SacctmgrEvent
from collector.importers.scontrol_job import ScontrolJob
from collector.importers.scontrol_node import ScontrolNode
from collector.importers.sdiag import Sdiag
from collector.importers.sinfo import Sinfo
from collector.importers.squeue import Squeue
from store.rows import SlurmJob, SlurmJobEvent, SlurmNodeSample, SlurmNodeState

SAMPLES = Path(__file__).parent / "samples"
NOW = datetime(2026, 3, 2, tzinfo=UTC)


def read(importer: Any, path: Path) -> tuple[list[Any], ImportContext]:
    ctx = ImportContext(path.name, UTC, modified=NOW)
    return list(importer.rows(path, ctx)), ctx


def test_scontrol_job_keeps_spaces_and_equal_signs_in_values() -> None:
    rows, _ = read(ScontrolJob(), SAMPLES / "scontrol_job.txt")
    job = next(r for r in rows if isinstance(r, SlurmJob))
    assert job.name == "train with JobState=ODD name"
    assert job.command == "/home/alice/run/train.sh --lr=3e-4 State=1"
    assert (job.state, job.state_reason, job.attempt, job.restarts) == ("TIMEOUT", "TimeLimit", 2, 1)
    assert (job.elapsed_s, job.time_limit_s, job.gpus, job.memory_bytes) == (86412.0, 86400.0, 16, 1000 << 30)
    assert (job.stdout_path, job.user) == ("/home/alice/run/logs/big-4812.out", "alice")


def test_scontrol_job_of_a_waiting_job_keeps_no_estimate() -> None:
    rows, _ = read(ScontrolJob(), SAMPLES / "scontrol_job.txt")
    waits = [r for r in rows if isinstance(r, SlurmJob)][1]
    assert (waits.job_id, waits.job_id_raw, waits.state) == ("4898_2", "4900", "PENDING")
    assert (waits.start_ts, waits.end_ts, waits.exit_code, waits.time_limit_s) == (None, None, None, None)
    assert (waits.state_reason, waits.dependency) == ("QOSMaxGRESPerUser", "afterok:4812")
    assert (waits.gpus, waits.memory_bytes) == (1, 64 << 30)
    assert [r.event for r in rows if isinstance(r, SlurmJobEvent) and r.job_id == "4898_2"] == ["submitted"]


@pytest.mark.parametrize(
    ("text", "state", "reason"),
    [
        ("   JobState=PENDING Reason=QOSMaxNodePerUserLimit Dependency=(null)\n   Requeue=1 Restarts=0\n", "PENDING", "QOSMaxNodePerUserLimit"),
        ("Priority=0 Nice=0 Account=lab QOS=normal\nJobState=NODE_FAIL Reason=NodeDown Dependency=(null)\nNodeList=g07\n", "NODE_FAIL", "NodeDown"),
    ],
)  # fmt: skip
def test_the_fields_of_a_job_without_its_number_are_read_under_the_files_name(
    tmp_path: Path, text: str, state: str, reason: str
) -> None:
    path = tmp_path / "what they sent.txt"
    path.write_text(text)
    assert ScontrolJob().claims(path, text.encode()) > 0
    (job,) = (r for r in read(ScontrolJob(), path)[0] if isinstance(r, SlurmJob))
    assert (job.job_id, job.state, job.state_reason) == ("what_they_sent", state, reason)
    assert not ScontrolJob().claims(path, f"we saw this:\n{text}".encode())
    for asked in ("[ada@login2 ~]$ scontrol show job 77 | grep Reason", "`scontrol -d show jobid=77` tells why:"):
        path.write_text(f"{asked}\n{text}")
        assert ScontrolJob().claims(path, path.read_bytes()) > 0
        assert [r.job_id for r in read(ScontrolJob(), path)[0] if isinstance(r, SlurmJob)] == ["77"]
        assert not ScontrolJob().claims(path, f"{asked}\n{text}and so we wait\n".encode())
    assert not ScontrolJob().claims(path, b"JobState=PENDING\n")


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ("RunTime=05:10:00 TimeLimit=06:00:00", 18_600.0),
        ("RunTime=00:00:00 TimeLimit=06:00:00", None),
        ("RunTime=05:10:00\n   StartTime=Unknown EndTime=Unknown Deadline=N/A", None),
    ],
)
def test_how_long_a_job_ran_is_known_where_the_line_with_its_start_was_left_out(
    tmp_path: Path, told: str, seconds: float | None
) -> None:
    path = tmp_path / "part.txt"
    path.write_text(f"JobId=7 JobName=abl\n   JobState=DEADLINE Reason=DeadLine Dependency=(null)\n   {told}\n")
    (job,) = (r for r in read(ScontrolJob(), path)[0] if isinstance(r, SlurmJob))
    assert (job.start_ts, job.elapsed_s) == (None, seconds)


def test_a_dependency_is_unfulfilled_at_the_end_only_where_the_ended_jobs_record_says_so(tmp_path: Path) -> None:
    """Merged with an end that accounting alone tells, the word of a job that still waited would speak of the end."""
    text = (SAMPLES / "scontrol_job.txt").read_text()
    path = tmp_path / "ended.txt"
    path.write_text(text.replace("JobState=PENDING Reason=QOSMaxGRESPerUser", "JobState=CANCELLED Reason=Dependency"))
    waited, ended = (
        [r for r in read(ScontrolJob(), p)[0] if isinstance(r, SlurmJob)][1]
        for p in (SAMPLES / "scontrol_job.txt", path)
    )
    assert (waited.state, waited.dependency) == ("PENDING", "afterok:4812")
    assert (ended.state, ended.dependency) == ("CANCELLED", "afterok:4812(unfulfilled)")


def test_scontrol_job_on_one_line_reads_the_same(tmp_path: Path) -> None:
    """`scontrol show job -o` puts a block on one line."""
    text = (SAMPLES / "scontrol_job.txt").read_text().replace("train with JobState=ODD name", "train")
    blocks = [" ".join(line.strip() for line in b.splitlines()) for b in text.split("\n\n")]
    path = tmp_path / "one.txt"
    path.write_text("\n".join(blocks))
    one = [r for r in read(ScontrolJob(), path)[0] if isinstance(r, SlurmJob)]
    many = [r for r in read(ScontrolJob(), SAMPLES / "scontrol_job.txt")[0] if isinstance(r, SlurmJob)]
    for a, b in zip(one, many, strict=True):
        for column in ("state", "gpus", "node_list", "work_dir", "stdout_path", "dependency", "submit_ts", "qos"):
            assert getattr(a, column) == getattr(b, column), column


def test_scontrol_node_has_reason_time_and_load() -> None:
    rows, _ = read(ScontrolNode(), SAMPLES / "scontrol_node.txt")
    down, busy = (r for r in rows if isinstance(r, SlurmNodeState))
    assert (down.node, down.state, down.state_flags) == ("gpu07", "DOWN", "NOT_RESPONDING,DRAIN")
    assert down.reason == "Not responding: State=weird text"
    assert (down.reason_user, down.ts) == ("slurm", datetime(2026, 3, 1, 10, 5, tzinfo=UTC))
    assert (busy.state, busy.ts, busy.reason) == ("ALLOCATED", NOW, None)
    first, second = (r for r in rows if isinstance(r, SlurmNodeSample))
    assert (first.cpu_load, first.gpus, first.memory_free_bytes, first.boot_ts) == (
        0.12, 8, 500123 << 20, datetime(2026, 2, 1, 8, tzinfo=UTC),
    )  # fmt: skip
    assert (second.cpu_load, second.gpus_alloc, second.memory_free_bytes, second.boot_ts) == (None, 8, None, None)


def test_sacctmgr_event_intervals() -> None:
    rows, ctx = read(SacctmgrEvent(), SAMPLES / "sacctmgr_event.txt")
    assert ctx.problem_count == 0
    down, drained, controller = rows
    assert (down.node, down.state, down.state_flags, down.observed) == ("gpu07", "DOWN", "NOT_RESPONDING", False)
    assert (down.ts, down.end_ts) == (datetime(2026, 3, 1, 10, 5, tzinfo=UTC), datetime(2026, 3, 1, 14, tzinfo=UTC))
    assert (drained.state, drained.end_ts, drained.reason) == ("DRAINED", None, "xid 79\nsecond line")
    assert controller.node is None


def test_sdiag_takes_the_exact_time_and_the_right_sections() -> None:
    (row,), _ = read(Sdiag(), SAMPLES / "sdiag.txt")
    assert row.ts == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert (row.agent_queue, row.dbd_agent_queue, row.jobs_pending) == (7, 12, 40)
    assert (row.main_cycle_last_us, row.backfill_cycle_last_us, row.backfill_depth_mean) == (3508, 123456, 25)


def test_an_sdiag_that_breaks_off_among_its_rpcs_leaves_the_next_one_whole(tmp_path: Path) -> None:
    whole = (SAMPLES / "sdiag.txt").read_text()
    begins = whole.index("Remote Procedure Call statistics by message type")
    headless = whole.replace("Remote Procedure Call statistics by message type", "~")
    path = tmp_path / "sdiag.txt"
    path.write_text(f"{whole[: whole.index(chr(10), begins)]}\n{headless}")
    rows, ctx = read(Sdiag(), path)
    assert ctx.problem_count == 0
    assert [(r.agent_queue, r.rpc_count) for r in rows] == [(7, 0), (7, None)]


def test_squeue_reasons_with_spaces_and_running_jobs() -> None:
    rows, ctx = read(Squeue(), SAMPLES / "squeue.txt")
    assert ctx.problem_count == 0
    first, array, runs = rows
    assert (first.name, first.state, first.state_reason) == ("my job", "PENDING", "Resources")
    assert (array.job_id, array.array_task_id) == ("4898_[3-9]", "[3-9]")
    assert array.state_reason.startswith("Nodes required for job are DOWN")
    assert (runs.elapsed_s, runs.node_list) == (93784.0, "gpu08,gpu09")


def test_squeue_is_read_in_the_columns_that_its_header_names(tmp_path: Path) -> None:
    path = tmp_path / "queue.txt"
    path.write_text(
        "  JOBID PARTITION QOS   STATE  TIME TIME_LIMIT NODES NODELIST REASON\n"
        "   4812       gpu low RUNNING  1:40    2:00:00     2 gpu[08-09] None\n"
    )
    assert Squeue().claims(path, path.read_bytes()) == 90
    (row,), ctx = read(Squeue(), path)
    assert ctx.problem_count == 0
    assert (row.job_id, row.state, row.state_reason, row.node_list) == ("4812", "RUNNING", None, "gpu08,gpu09")
    assert (row.elapsed_s, row.time_limit_s, row.name, row.user) == (100.0, 7200.0, None, None)


@pytest.mark.parametrize("head", ["JOBID NAME USER\n", "JOBID STATE STATE REASON\n", "JobID State Reason\n"])
def test_a_header_without_state_and_reason_is_not_squeues(head: str) -> None:
    assert Squeue().claims(Path("x"), head.encode()) == 0


@pytest.mark.parametrize(
    ("number", "reads"), [("xxxxxx", True), ("JOB_ID", True), ("MYJOB[1-4]", True), ("JOBS", True), ("total", False)]
)
def test_a_number_in_whose_place_a_poster_has_put_a_word_is_still_a_jobs(
    tmp_path: Path, number: str, reads: bool
) -> None:
    path = tmp_path / "squeue.txt"
    head = "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
    path.write_text(
        f"{head}  {number}   gpu-long  prep_all  mina PD       0:00      2 (QOSMaxWallDurationPerJobLimit)\n"
    )
    rows, _ = read(Squeue(), path)
    assert [(r.state, r.state_reason) for r in rows] == [("PENDING", "QOSMaxWallDurationPerJobLimit")] * reads


def test_squeue_is_read_through_a_sites_wrapper(tmp_path: Path) -> None:
    path = tmp_path / "queue.txt"
    path.write_text(
        "JobID PRIORITY PARTITION/QOS NAME STATE TIME TIME_LIMIT Node/Core/GPU NODELIST(REASON)\n"
        "7701 9120 gpu/long train.sh PENDING 0:00 12:00:00 2/64/8 (QOSMaxGRESPerUser)\n"
    )
    (row,), _ = read(Squeue(), path)
    assert (row.job_id, row.state, row.state_reason, row.time_limit_s) == (
        "7701",
        "PENDING",
        "QOSMaxGRESPerUser",
        43200,
    )


def test_squeue_without_its_header_is_known_by_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "queue.txt"
    path.write_text(
        " 88123_4\tgpu pre train carol PD\t0:00\t  2 (launch failed requeued held) 8 64G\n 9 gpu x bob R 1-02:10:00 1 n4\n"
    )
    assert Squeue().claims(path, path.read_bytes()) > 0
    rows, _ = read(Squeue(), path)
    assert [(r.job_id, r.state, r.state_reason, r.elapsed_s) for r in rows] == [
        ("88123_4", "PENDING", "launch failed requeued held", None),
        ("9", "RUNNING", None, 94200),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("$ squeue -u me\n 88123_4 gpu pre.sh  PENDING 0:00 2 (launch failed requeued held)\n", ("88123_4", "PENDING", "launch failed requeued held")),
        ("9 gpu pre.sh carol RUNNING 1:10 1 n4\n", ("9", "RUNNING", None)),
        ("me@login:~> watch squeue\n9 gpu pre.sh carol PD 0:00 1 (Priority)\n", ("9", "PENDING", "Priority")),
    ],
)  # fmt: skip
def test_squeue_below_its_command_and_in_whole_words_is_known_as_well(
    text: str, told: tuple[str | None, ...], tmp_path: Path
) -> None:
    path = tmp_path / "queue.txt"
    path.write_text(text)
    assert Squeue().claims(path, path.read_bytes()) > 0
    rows, ctx = read(Squeue(), path)
    assert [(r.job_id, r.state, r.state_reason) for r in rows if isinstance(r, SlurmJob)] == [told]
    assert ctx.problem_count == 0


@pytest.mark.parametrize(
    "text",
    [
        "12 gpu train alice R soon 2 n1\n",
        "$ squeue\n",
        "12 gpu PENDING 2 n1\n",
        "step 5 of run R 0:10 1 loss\n",
        "  \n",
    ],
)
def test_lines_that_merely_resemble_squeues_are_not(text: str, tmp_path: Path) -> None:
    assert not Squeue().claims(tmp_path / "x.txt", text.encode())


def test_sinfo_counts_a_node_of_two_partitions_once() -> None:
    rows, _ = read(Sinfo(), SAMPLES / "sinfo.txt")
    assert [(r.node, r.state, r.state_flags) for r in rows] == [
        ("gpu07", "DOWN", "NOT_RESPONDING"), ("gpu08", "MIXED", None), ("gpu09", "MIXED", None),
    ]  # fmt: skip
    (row,), _ = read(Sinfo(), SAMPLES / "sinfo_reasons.txt")
    assert (row.node, row.reason, row.ts) == ("gpu07", "Not responding", datetime(2026, 3, 1, 10, 5, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("IDLE+DRAIN", ("DRAINED", "DRAIN")),
        ("MIXED+DRAIN", ("DRAINING", "DRAIN")),
        ("drained*", ("DRAINED", "NOT_RESPONDING")),
        ("mix~", ("MIXED", "POWERED_DOWN")),
        ("DOWN*+DRAIN", ("DOWN", "NOT_RESPONDING,DRAIN")),
        ("ALLOCATED+MAINTENANCE+RESERVED", ("ALLOCATED", "MAINTENANCE,RESERVED")),
        ("comp", ("COMPLETING", None)),
        ("", (None, None)),
    ],
)
def test_node_states_in_every_spelling(text: str, expected: tuple[str | None, str | None]) -> None:
    assert node_state(text) == expected


@pytest.mark.parametrize("one_line", [False, True])
def test_scontrol_job_keeps_which_gpus_of_each_node_were_given(one_line: bool, tmp_path: Path) -> None:
    """`-d` prints a line for each group of nodes with the same resources."""
    lines = [
        "JobId=77 JobName=part", "   UserId=ada(7) GroupId=ada(7)", "   JobState=RUNNING Reason=None Dependency=(null)", "   StartTime=2026-03-01T10:00:00",
        "   NodeList=g[1-3]", "   JOB_GRES=gpu:a100:5",
        "     Nodes=g[1-2] CPU_IDs=0-7 Mem=65536 GRES=gpu:a100:2(IDX:1,3)",
        "     Nodes=g3 CPU_IDs=0-3 Mem=32768 GRES=gpu:a100:1(IDX:0)", "   MinCPUsNode=4",
    ]  # fmt: skip
    path = tmp_path / "job.txt"
    path.write_text(" ".join(x.strip() for x in lines) if one_line else "\n".join(lines))
    job = next(r for r in read(ScontrolJob(), path)[0] if isinstance(r, SlurmJob))
    assert job.gpu_indices == "g1/1,g1/3,g2/1,g2/3,g3/0"


@pytest.mark.parametrize(
    ("text", "found"),
    [("gpu:h100:4(IDX:0,2-4)", [0, 2, 3, 4]), ("gpu:2(IDX:N/A)", []), ("gpu:1(IDX:0),gpu:l40:1(IDX:6)", [0, 6]), ("mps:5(IDX:1)", [])],
)  # fmt: skip
def test_indices_of_gpus_in_a_gres_string(text: str, found: list[int]) -> None:
    assert gres_indices(text) == found


def test_jobcomps_file_is_read_as_scontrols_blocks_are(tmp_path: Path) -> None:
    """jobcomp/filetxt: the limit counts minutes, there is no RunTime, and a job that never had a node has no start."""
    tail = "ReservationName= Tres={} Account=lab QOS=normal WcKey=* Cluster=alpha SubmitTime=2026-03-01T09:59:00 EligibleTime=2026-03-01T09:59:00"
    path = tmp_path / "jobcomp.log"
    path.write_text(
        f"JobId=7 UserId=ann(1001) GroupId=lab(100) Name=train.sh JobState=NODE_FAIL Partition=a100 TimeLimit=90 StartTime=2026-03-01T10:00:00 EndTime=2026-03-01T10:20:00 NodeList=gpu[01-02] NodeCnt=2 ProcCnt=32 WorkDir=/home/ann/my run {tail.format('cpu=32,mem=480G,node=2,gres/gpu=8')} DerivedExitCode=0:0 ExitCode=0:0 \n"
        f"JobId=7 UserId=ann(1001) GroupId=lab(100) Name=train.sh JobState=FAILED Partition=a100 TimeLimit=90 StartTime=2026-03-01T10:30:00 EndTime=2026-03-01T10:30:02 NodeList=gpu03 NodeCnt=1 ProcCnt=16 WorkDir=/home/ann/my run {tail.format('cpu=16,mem=240G,node=1,gres/gpu=4')} DerivedExitCode=0:0 ExitCode=2:0 \n"
        f"JobId=8 UserId=ann(1001) GroupId=lab(100) Name=train.sh JobState=CANCELLED Partition=a100 TimeLimit=UNLIMITED StartTime=2026-03-01T10:40:00 EndTime=2026-03-01T10:40:00 NodeList=(null) NodeCnt=0 ProcCnt=0 WorkDir=/home/ann {tail.format('cpu=1,node=1')} DerivedExitCode=0:0 ExitCode=0:0 \n"
    )
    lost, failed, never = [r for r in read(ScontrolJob(), path)[0] if isinstance(r, SlurmJob)]
    assert [(j.job_id, j.attempt, j.state) for j in (lost, failed, never)] == [
        ("7", 1, "NODE_FAIL"),
        ("7", 2, "FAILED"),
        ("8", 1, "CANCELLED"),
    ]
    assert (failed.name, failed.exit_code, failed.elapsed_s, failed.time_limit_s) == ("train.sh", 2, 2.0, 5400.0)
    assert (failed.gpus, failed.cpus, failed.node_count, failed.memory_bytes) == (4, 16, 1, 240 << 30)
    assert (failed.work_dir, failed.cluster, failed.node_list) == ("/home/ann/my run", "alpha", "gpu03")
    assert (never.start_ts, never.elapsed_s, never.time_limit_s, never.node_list) == (None, None, None, None)


ALL_JOBS = """\
ACCOUNT|JOBID|NAME|COMMENT|TIME_LIMIT|COMMAND|PRIORITY|QOS|REASON||ST|USER|JOBID|CPUS|NODES|TIME|NODELIST|PARTITION|PRIORITY|NODELIST(REASON)|START_TIME|STATE|SUBMIT_TIME|WORK_DIR
lab|88|train|(null)|1-00:00:00|/home/a/run.sh|0.99|high|None||R|alice|88|16|2|0:23|gpu[1-2]|big|4294901751|gpu[1-2]|2026-03-06T02:24:14|RUNNING|2026-03-06T02:20:00|/home/a
(null)|89_[1-3]|sweep|(null)|UNLIMITED|(null)|0.99|(null)|Job's account not permitted||PD|bob|91|1|1|0:00||big|4294901750|(Job's account not permitted)|2026-03-09T00:00:00|PENDING|2026-03-06T02:21:00|
lab|90|a|b|(null)|1:00|x
"""


def test_squeue_between_bars_is_read_by_its_names(tmp_path: Path) -> None:
    path = tmp_path / "q.txt"
    path.write_text(ALL_JOBS)
    assert Squeue().claims(path, path.read_bytes()) == 90
    rows, ctx = read(Squeue(), path)
    runs, waits = (r for r in rows if isinstance(r, SlurmJob))
    assert (runs.job_id, runs.state, runs.state_reason, runs.user, runs.account, runs.qos, runs.cpus) == (
        ("88", "RUNNING", None, "alice", "lab", "high", 16)
    )
    assert (runs.node_list, runs.node_count, runs.time_limit_s, runs.work_dir) == ("gpu1,gpu2", 2, 86400, "/home/a")
    assert runs.start_ts == datetime(2026, 3, 6, 2, 24, 14, tzinfo=UTC)
    assert runs.submit_ts == datetime(2026, 3, 6, 2, 20, tzinfo=UTC)
    assert (waits.job_id, waits.array_job_id, waits.state, waits.state_reason) == (
        ("89_[1-3]", "89", "PENDING", "Job's account not permitted")
    )
    assert (waits.start_ts, waits.node_list, waits.work_dir, waits.account) == (None, None, None, None)
    assert ctx.problem_count == 1  # a bar within a name


def test_sinfo_between_bars_is_read_by_its_names(tmp_path: Path) -> None:
    path = tmp_path / "s.txt"
    path.write_text(
        "AVAIL|CPUS|HOSTNAMES|STATE|USER|NODES(A/I) |REASON |TIMESTAMP |NODELIST |PARTITION |STATE |USER \n"
        "up|80|gpu1|drain*|root|0/0 |ECC errors |2026-06-02T05:54:34 |gpu1 |big* |drained* |root(0) |\n"
        "up|80|gpu2|idle|Unknown|0/1 |none |Unknown |gpu2 |big* |idle |Unknown \n"
        "up|80|gpu3\n"
    )
    assert Sinfo().claims(path, path.read_bytes()) == 90
    rows, ctx = read(Sinfo(), path)
    assert [(r.node, r.state, r.reason, r.reason_user) for r in rows if isinstance(r, SlurmNodeState)] == [
        ("gpu1", "DRAINED", "ECC errors", "root"),
        ("gpu2", "IDLE", None, None),
    ]
    assert ctx.problem_count == 1


@pytest.mark.parametrize(
    "head", ["JobID|State|ExitCode", "JOBID|NAME", "A|B", "| STATE | JOBID | lr=1 |", "JOBID|STATE\nepoch 1 loss 2.5"]
)
def test_other_bars_are_neither_squeues_nor_sinfos(head: str) -> None:
    assert not Squeue().claims(Path("x"), head.encode())
    assert not Sinfo().claims(Path("x"), head.encode())


def test_scontrol_gives_the_end_as_the_start_of_a_job_that_never_had_a_node(tmp_path: Path) -> None:
    """From a real 22.05: cancelled while it was held."""
    text = (
        "JobId=4801 JobName=t.sbatch UserId=mira(2001) JobState=CANCELLED Reason=JobHeldUser Restarts=0 ExitCode=0:0"
        " RunTime=00:00:00 SubmitTime=2026-11-26T16:58:29 StartTime=2026-11-26T16:58:30 EndTime=2026-11-26T16:58:30"
        " NodeList= NumNodes=1 Partition=batch\n"
    )
    (tmp_path / "scontrol.txt").write_text(
        text + "\n" + text.replace("4801", "4802").replace("NodeList=", "NodeList=gpu01")
    )
    rows, _ = read(ScontrolJob(), tmp_path / "scontrol.txt")
    assert {r.job_id: r.start_ts is None for r in rows if isinstance(r, SlurmJob)} == {"4801": True, "4802": False}
