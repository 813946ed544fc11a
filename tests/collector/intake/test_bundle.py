"""The import engine: folders, repeats, zones, jobs, attempts, and files that nobody should trust."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from collector.intake.bundle import import_paths
from collector.intake.zones import UnknownZone
from store import Writer
from tests.collector.intake.bundlekit import SAMPLES, Lake, named


def test_a_folder_becomes_rows_and_the_report_says_what_each_file_is(job_folder: Path, lake: Lake) -> None:
    report = import_paths([job_folder], Path("lake"))
    assert {f.name: f.importer for f in report.files} == {
        "kernel/gpu07.log": "kernel_log",
        "logs/big-4812.out": "job_log",
        "metrics/dcgm.om": "prometheus",
        "nccl/_dump_3.json": "flight_recorder",
        "run.sh": None,
        "slurm/events.txt": "sacctmgr_event",
        "slurm/sacct.json": "sacct_json",
        "slurm/sacct.txt": "sacct",
        "slurm/scontrol.txt": "scontrol_job",
    }
    assert "not recognised" in (named(report, "run.sh").error or "")
    assert {r.job_id for r in lake.rows("nccl_sample")} == {"4812"}
    assert {r.job_id for r in lake.rows("log_line")} == {"4812"}
    assert report.log_jobs == ["4812"]
    assert {r.cluster for r in lake.rows("gpu_event")} == {"alpha"}


def test_nodes_that_slurm_names_in_full_are_those_that_metrics_and_kernels_name_shortly(
    tmp_path: Path, lake: Lake
) -> None:
    for place, name, text in (
        (
            "slurm",
            "sacct.txt",
            "JobID|State|Start|End|NodeList\n7|FAILED|2026-03-01T10:00:00|2026-03-01T10:30:00|g1.hpc.site\n",
        ),
        ("metrics", "dcgm.om", 'DCGM_FI_DEV_GPU_TEMP{gpu="0",Hostname="g1"} 64 1772360000\n# EOF\n'),
        (
            "kernel",
            "g1.log",
            "2026-03-01T10:20:00+0000 g1 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.\n",
        ),
    ):
        (tmp_path / place).mkdir()
        (tmp_path / place / name).write_text(text)
    import_paths([tmp_path], tmp_path / "lake")
    assert {r.node for t in ("gpu_sample", "gpu_event") for r in lake.rows(t)} == {"g1.hpc.site"}


def test_the_same_file_twice_changes_nothing_and_a_grown_one_replaces_itself(job_folder: Path, lake: Lake) -> None:
    import_paths([job_folder], Path("lake"))
    first = lake.appended
    again = import_paths([job_folder], Path("lake"))
    assert lake.appended == first
    assert all(f.duplicate for f in again.files if f.importer)
    log = job_folder / "logs" / "big-4812.out"
    log.write_text(log.read_text() + "one more line\n")
    import_paths([job_folder], Path("lake"))
    assert lake.appended == first + 1
    assert [r.text for r in lake.rows("log_line")].count("Epoch 1") == 1


def test_one_attempt_is_told_once_with_what_every_file_knows(job_folder: Path, lake: Lake) -> None:
    report = import_paths([job_folder], Path("lake"))
    mine = [j for j in lake.rows("slurm_job") if j.job_id == "4812"]
    assert sorted(j.attempt for j in mine) == [1, 2]
    last = max(mine, key=lambda j: j.attempt)
    assert (last.sluid, last.command) == ("s6FK2V8Q000G00", "/home/alice/run/train.sh --lr=3e-4 State=1")
    events = [e for e in lake.rows("slurm_job_event") if e.job_id == "4812"]
    assert [e.event for e in events].count("requeued") == 1
    assert [e.event for e in events if e.attempt == 2].count("ended") == 1
    assert [s.step_id for s in lake.rows("slurm_step") if s.job_id == "4812" and s.attempt == 2] == ["batch"]
    assert named(report, "slurm/scontrol.txt").merged_into == ["slurm/sacct.json"]


def test_local_times_are_read_in_the_zone_that_the_files_give_away(job_folder: Path, lake: Lake) -> None:
    """The JSON has the epoch of what the text and scontrol print in local time, one hour east."""
    report = import_paths([job_folder], Path("lake"))
    assert (report.zone, report.zone_known) == ("UTC+01:00", "inferred")
    assert "sacct.json" in report.zone_basis
    first = next(j for j in lake.rows("slurm_job") if j.job_id == "4812" and j.attempt == 1)
    assert first.start_ts == datetime(2026, 3, 1, 8, 5, tzinfo=UTC)
    down = next(s for s in lake.rows("slurm_node_state") if s.node == "gpu07")
    assert down.ts == datetime(2026, 3, 1, 9, 5, tzinfo=UTC)


def test_a_given_zone_wins_and_no_sign_means_utc(job_folder: Path, lake: Lake) -> None:
    given = import_paths([job_folder], Path("lake"), timezone="America/New_York")
    assert (given.zone, given.zone_known) == ("America/New_York", "given")
    alone = import_paths([SAMPLES / "sacct.txt"], Path("lake"))
    assert (alone.zone, alone.zone_known) == ("UTC", "default")
    with pytest.raises(UnknownZone, match="Mars"):
        import_paths([job_folder], Path("lake"), timezone="Mars/Olympus")


def test_times_that_are_exact_in_a_text_are_not_shifted(tmp_path: Path, lake: Lake) -> None:
    """SLURM_TIME_FORMAT=%s prints epochs; `date` in the log gives the zone away for the rest."""
    root = tmp_path / "b"
    (root / "slurm").mkdir(parents=True)
    (root / "logs").mkdir()
    (root / "slurm" / "sacct.txt").write_text("JobID|State|Start|End\n5|FAILED|1772359200|1772359300\n")
    (root / "slurm" / "job.txt").write_text("JobID|State|Start|End\n6|FAILED|2026-03-01T11:00:00|2026-03-01T11:01:00\n")
    (root / "logs" / "slurm-5.out").write_text("Sun Mar  1 11:00:02 AM CET 2026\nhello\n")
    report = import_paths([root], Path("lake"))
    assert (report.zone, report.zone_known) == ("UTC+01:00", "inferred")
    assert {j.start_ts for j in lake.rows("slurm_job")} == {datetime(2026, 3, 1, 10, tzinfo=UTC)}


def test_a_log_that_lies_among_slurms_own_outputs_is_still_a_log(tmp_path: Path, lake: Lake) -> None:
    (tmp_path / "b" / "slurm").mkdir(parents=True)
    (tmp_path / "b" / "slurm" / "slurm-5.out").write_text("hello\n")
    (tmp_path / "b" / "slurm" / "partitions.txt").write_text("PartitionName=gpu State=UP\n")
    report = import_paths([tmp_path / "b"], Path("lake"))
    assert {f.name: f.importer for f in report.files} == {"slurm/slurm-5.out": "job_log", "slurm/partitions.txt": None}


def test_an_empty_log_was_looked_at(tmp_path: Path, lake: Lake) -> None:
    """Nothing on standard error is an observation, not a failure of the source."""
    (tmp_path / "b" / "logs").mkdir(parents=True)
    (tmp_path / "b" / "logs" / "slurm-5.out").write_text("hello\n")
    (tmp_path / "b" / "logs" / "slurm-5.err").write_text("")
    report = import_paths([tmp_path / "b"], Path("lake"))
    assert "empty" in (named(report, "logs/slurm-5.err").error or "")
    assert {h.ok for h in lake.rows("source_health") if h.origin == "logs/slurm-5.err"} == {True}


def test_every_file_that_was_read_leaves_its_health(job_folder: Path, lake: Lake) -> None:
    import_paths([job_folder], Path("lake"))
    health = {(h.source, h.covers): h for h in lake.rows("source_health")}
    kernel = health["kernel_log", "gpu_event"]
    assert (kernel.node, kernel.ok, kernel.rows, kernel.origin) == ("gpu07", True, 4, "kernel/gpu07.log")
    assert kernel.ts == datetime(2026, 3, 1, 9, 59, tzinfo=UTC), "the window reaches over lines that are no events"
    assert kernel.bytes_read == kernel.bytes_total > 0
    assert health["sacct", "slurm_job"].ok


def killed(tmp_path: Path, lake: Lake, sacct: str, cgroup: str) -> tuple[str | None, int | None]:
    """Job and attempt of the one OOM kill in a kernel log, which names this cgroup, beside this accounting."""
    for folder, name, text in (
        ("slurm", "sacct.txt", sacct),
        ("kernel", "gpu07.log", (SAMPLES / "journal-iso.log").read_text().replace("/slurm/uid_1001/job_4812", cgroup)),
    ):
        (tmp_path / "b" / folder).mkdir(parents=True)
        (tmp_path / "b" / folder / name).write_text(text)
    import_paths([tmp_path / "b"], Path("lake"), timezone="UTC")
    (kill,) = (e for e in lake.rows("host_event") if e.event == "oom_kill")
    return kill.job_id, kill.attempt


def test_a_kernel_logs_oom_kill_is_tied_to_the_job_and_attempt_of_its_cgroup(tmp_path: Path, lake: Lake) -> None:
    sacct = (
        "JobID|JobIDRaw|State|Submit|Start|End|NodeList\n"
        "77_3|80|FAILED|2026-03-01T09:00:00|2026-03-01T09:00:00|2026-03-01T09:30:00|gpu07\n"
        "77_3|80|OUT_OF_MEMORY|2026-03-01T09:40:00|2026-03-01T09:45:00|2026-03-01T10:30:00|gpu07\n"
    )
    assert killed(tmp_path, lake, sacct, "/slurm/uid_1001/job_80") == ("77_3", 2)


def test_a_cgroup_that_is_named_by_sluid_leads_to_its_job(tmp_path: Path, lake: Lake) -> None:
    """Slurm 26.05 names a job's cgroup by its SLUID, which only accounting can turn into a job id."""
    sacct = "JobID|SLUID|State|Start|End\n80|sEKNKTV3WPV500|OUT_OF_MEMORY|2026-03-01T09:45:00|2026-03-01T10:30:00\n"
    assert killed(tmp_path, lake, sacct, "/system.slice/slurmstepd.scope/sEKNKTV3WPV500") == ("80", 1)


def test_lines_of_a_requeued_jobs_one_log_go_to_the_attempt_of_their_time(tmp_path: Path, lake: Lake) -> None:
    root = tmp_path / "b"
    (root / "slurm").mkdir(parents=True)
    (root / "logs").mkdir()
    (root / "slurm" / "sacct.txt").write_text(
        "JobID|State|Submit|Start|End\n"
        "5|PREEMPTED|2026-03-01T09:00:00|2026-03-01T09:00:00|2026-03-01T09:30:00\n"
        "5|COMPLETED|2026-03-01T09:31:00|2026-03-01T09:45:00|2026-03-01T10:30:00\n"
    )
    (root / "logs" / "slurm-5.out").write_text(
        "2026-03-01 09:10:00,000 INFO first run\nmore\n2026-03-01 09:50:00,000 INFO second run\nmore again\n"
    )
    import_paths([root], Path("lake"))
    assert [(r.text.split()[-1], r.attempt) for r in lake.rows("log_line")] == [
        ("run", 1),
        ("more", 1),
        ("run", 2),
        ("again", 2),
    ]


def test_what_follows_slurms_word_of_an_end_without_a_time_is_not_known_to_be_the_ended_attempts(
    tmp_path: Path, lake: Lake
) -> None:
    root = tmp_path / "b"
    (root / "slurm").mkdir(parents=True)
    (root / "logs").mkdir()
    (root / "slurm" / "sacct.txt").write_text(
        "JobID|State|Submit|Start|End\n"
        "5|PREEMPTED|2026-03-01T09:00:00|2026-03-01T09:00:00|2026-03-01T09:30:00\n"
        "5|FAILED|2026-03-01T09:31:00|2026-03-01T09:45:00|2026-03-01T10:30:00\n"
    )
    (root / "logs" / "slurm-5.out").write_text(
        "2026-03-01 09:10:00,000 INFO first run\nmore\n"
        "slurmstepd: error: *** JOB 5 ON n1 CANCELLED AT 2026-03-01T09:30:00 DUE TO PREEMPTION ***\n"
        "whose\nKeyError: 'whose'\n2026-03-01 09:50:00,000 INFO second run\nmore again\n"
    )
    import_paths([root], Path("lake"))
    assert [(r.text.split()[-1], r.attempt) for r in lake.rows("log_line")] == [
        ("run", 1),
        ("more", 1),
        ("***", 1),
        ("whose", None),
        ("'whose'", None),
        ("run", 2),
        ("again", 2),
    ]


def test_a_given_job_names_the_log_that_is_asked_for_and_fills_in_for_those_that_say_nothing(
    tmp_path: Path, lake: Lake
) -> None:
    root = tmp_path / "b"
    (root / "logs").mkdir(parents=True)
    (root / "logs" / "slurm-5.out").write_text("hello\n")
    (root / "logs" / "train.out").write_text("hello again\n")
    import_paths([root], Path("lake"), job_id="9")
    assert {(r.file, r.job_id) for r in lake.rows("log_line")} == {("logs/slurm-5.out", "5"), ("logs/train.out", "9")}
    (report,) = import_paths([root / "logs" / "slurm-5.out"], Path("lake"), job_id="9").files
    assert report.job_id == "9"


def test_together_is_one_batch_with_the_same_rows(job_folder: Path, lake: Lake) -> None:
    import_paths([job_folder], Path("lake"))
    apart = {t: len(lake.rows(t)) for t in ("slurm_job", "gpu_event", "nccl_sample", "source_health", "log_line")}
    lake.batches.clear()
    before = lake.appended
    report = import_paths([job_folder], Path("lake"), durable=False)
    assert lake.appended == before + 1
    assert {t: len(lake.rows(t)) for t in apart} == apart
    assert named(report, "kernel/gpu07.log").rows["gpu_event"] == 4


def test_the_real_store_takes_it_all(job_folder: Path, tmp_path: Path) -> None:
    """Without the stand-in: rows reach Parquet, and a second import is seen as one."""
    lake = tmp_path / "lake"
    assert Writer is not None
    first = import_paths([job_folder], lake)
    again = import_paths([job_folder], lake)
    assert not any(f.duplicate for f in first.files)
    assert all(f.duplicate for f in again.files if f.importer)
    assert first.rows == again.rows
    question = f"SELECT count(*), min(start_ts) FROM '{lake}/tables/slurm_job/*/*/*.parquet'"
    assert duckdb.connect().execute(question).fetchone() == (first.rows["slurm_job"], datetime(2026, 3, 1, 8, 5))


@pytest.mark.parametrize(
    ("unpacked", "spread", "year"),
    [
        ("2027-06-02", "2026-03-01", 2026),  # a copy of the case, made long after: the job tells the year
        ("2026-05-02", "2026-03-01", 2026),  # as old as the job: the file's own time tells it
        ("2027-06-02", "2025-03-01", 2027),  # jobs of two years tell none
    ],
)
def test_a_kernel_log_without_years_has_the_year_of_its_jobs_where_the_file_is_a_copy(
    tmp_path: Path, lake: Lake, unpacked: str, spread: str, year: int
) -> None:
    (tmp_path / "b" / "slurm").mkdir(parents=True)
    (tmp_path / "b" / "kernel").mkdir()
    (tmp_path / "b" / "slurm" / "sacct.txt").write_text(
        "JobID|State|NodeList|Start|End\n5|FAILED|gpu07|2026-03-01T09:00:00|2026-03-01T10:00:09\n"
        f"4|FAILED|gpu07|{spread}T07:00:00|{spread}T08:00:00\n"
    )
    path = tmp_path / "b" / "kernel" / "gpu07.log"
    path.write_text(
        "Feb 28 10:00:00 gpu07 kernel: [90.5] NVRM: Xid (PCI:0000:4e:00): 31, pid=9, name=python, Ch 00000008\n"
        "Mar  1 10:00:00 gpu07 kernel: [103781.9] NVRM: Xid (PCI:0000:4e:00): 79, GPU has fallen off the bus.\n"
    )
    written = datetime.fromisoformat(unpacked).replace(tzinfo=UTC).timestamp()
    os.utime(path, (written, written))
    import_paths([tmp_path / "b"], Path("lake"))
    assert [r.ts.year for r in lake.rows("gpu_event")] == [year, year]
