"""A log whose program had another clock than Slurm."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from collector.intake.bundle import import_paths
from collector.intake.log_zone import of_log
from store import Reader, free_sql
from store.rows import SlurmJob

T = datetime(2026, 3, 10, 15, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
JOB = SlurmJob(job_id="7", start_ts=T, end_ts=T + timedelta(minutes=40))


def lines(shift_h: float, every_min: int = 5) -> str:
    return "".join(
        f"{T + timedelta(hours=shift_h, minutes=m):%Y-%m-%d %H:%M:%S},000 INFO step {m}\n"
        for m in range(1, 40, every_min)
    )


@pytest.mark.parametrize(
    ("shift_h", "zone", "found"),
    [
        (0, BERLIN, UTC),
        (1, BERLIN, None),
        (0, UTC, None),
        (2, UTC, timezone(timedelta(hours=2))),
        (-7, UTC, timezone(timedelta(hours=-7))),
        (40, UTC, None),
    ],
)
def test_the_zone_is_the_one_that_puts_the_log_into_its_job(
    shift_h: float, zone: timezone, found: timezone | None, tmp_path: Path
) -> None:
    log = tmp_path / "slurm-7.out"
    log.write_text(lines(shift_h))
    assert of_log(log, log.read_text(), zone, [JOB]) == found


@pytest.mark.parametrize("shift_h", [1, -1])
def test_times_just_outside_a_job_as_long_as_the_shift_do_not_speak_for_the_zone(shift_h: int, tmp_path: Path) -> None:
    job = SlurmJob(job_id="7", start_ts=T, end_ts=T + timedelta(minutes=60))
    text = "".join(f"{T + timedelta(hours=shift_h, minutes=m):%Y-%m-%d %H:%M:%S} step {m}\n" for m in range(1, 60))
    log = tmp_path / "slurm-7.out"
    log.write_text(text)
    assert of_log(log, text, UTC, [job]) == timezone(timedelta(hours=shift_h))


def test_a_node_s_clock_that_is_a_minute_ahead_of_a_short_job_is_no_other_zone(tmp_path: Path) -> None:
    job = SlurmJob(job_id="7", start_ts=T, end_ts=T + timedelta(seconds=30))
    text = "".join(f"{T + timedelta(seconds=60 + s):%Y-%m-%d %H:%M:%S} step {s}\n" for s in range(1, 29))
    log = tmp_path / "slurm-7.out"
    log.write_text(text)
    assert of_log(log, text, UTC, [job]) is None


def test_what_is_not_sure_changes_nothing(tmp_path: Path) -> None:
    log = tmp_path / "slurm-7.out"
    for body in (
        "",
        lines(2, every_min=20),
        "2026-03-10T17:05:00Z a\n2026-03-10T17:06:00Z b\n2026-03-10T17:07:00Z c\n",
        lines(2) + lines(0),
    ):
        log.write_text(body)
        assert of_log(log, body, UTC, [JOB]) is None
    log.write_text(lines(2))
    assert of_log(log, lines(2), UTC, [SlurmJob(job_id="7", start_ts=T)]) is None, "it still runs"
    assert of_log(log, lines(2), UTC, []) is None
    long = SlurmJob(job_id="7", start_ts=T, end_ts=T + timedelta(hours=9))
    assert of_log(log, lines(-3), UTC, [long]) is None, "several zones would do"


def test_slurm_s_own_lines_keep_slurm_s_time(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    (folder / "slurm").mkdir(parents=True)
    (folder / "logs").mkdir()
    (folder / "slurm/sacct.txt").write_text(
        "JobID|JobName|State|ExitCode|Start|End|ElapsedRaw|NodeList\n"
        "7|train|TIMEOUT|0:0|2026-03-10T16:00:00|2026-03-10T16:40:00|2400|n1\n"
    )
    (folder / "logs/slurm-7.out").write_text(
        lines(0) + "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-03-10T16:40:00 DUE TO TIME LIMIT ***\n"
    )
    report = import_paths([folder], tmp_path / "lake", timezone="Europe/Berlin", durable=False)
    (log,) = (f for f in report.files if f.name.endswith(".out"))
    assert any("read as UTC" in note for note in log.notes)
    with Reader(tmp_path / "lake") as reader:
        times = {str(r["text"]): str(r["line_ts"]) for r in reader.ask("log_tail", job_id="7").dicts()}
    assert [t for text, t in times.items() if text.endswith("step 36")] == ["2026-03-10T15:36:00Z"]
    assert [t for text, t in times.items() if "CANCELLED" in text] == ["2026-03-10T15:40:00Z"]


@pytest.mark.parametrize(("shift_h", "zone"), [(-2, UTC), (2, UTC), (0, BERLIN)])
def test_a_job_longer_than_the_shift_has_times_outside_at_one_end_only(
    shift_h: float, zone: timezone, tmp_path: Path
) -> None:
    """A run to its wall of four hours: read as Slurm's, its last two hours would be silence."""
    log, job = tmp_path / "slurm-7.out", SlurmJob(job_id="7", start_ts=T, end_ts=T + timedelta(hours=4))

    def printed(*hours: float) -> str:
        return "".join(f"{T + timedelta(hours=h + shift_h):%Y-%m-%d %H:%M:%S} step\n" for h in hours)

    whole = printed(*(0.02 + n / 10 for n in range(39)))
    log.write_text(whole)
    assert of_log(log, whole, zone, [job]) == (timezone(timedelta(hours=shift_h)) if shift_h else UTC)
    for unsure in (
        printed(0.02, 1.9, 2.5, 3.9),  # two times before the start are hearsay
        printed(*(1.1 + n / 10 for n in range(20))),  # nothing of its start
        whole + printed(-9),  # copied from elsewhere
    ):
        log.write_text(unsure)
        assert shift_h == 2 or of_log(log, unsure, zone, [job]) is None


def epochs(start: datetime, end: datetime) -> str:
    clock = {"start": int(start.timestamp()), "end": int(end.timestamp()), "submission": int(start.timestamp()) - 60}
    job = {"job_id": 7, "state": {"current": ["FAILED"]}, "nodes": "n1", "name": "train", "time": clock, "steps": []}
    return json.dumps({"meta": {"Slurm": {"release": "23.11.4"}}, "jobs": [job]})


@pytest.mark.parametrize(
    ("log", "hours", "zone"),
    [
        # a program that prints the node's clock
        (lines(9), 9, "UTC+09:00"),
        # Slurm's own word of the end, from a program that prints no times, and from one whose container is in UTC
        ("step 1\nslurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-03-10T08:39:41 ***\n", -7, "UTC-07:00"),
        (lines(0) + "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-03-11T00:40:12 ***\n", 9, "UTC+09:00"),
        # a step that was ended an hour before its job
        ("slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-03-10T14:40:00 ***\nstep 2\n", 0, "UTC"),
        # nothing tells
        ("step 1\nstep 2\n", 0, "UTC"),
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-03-10T08:52:00 ***\n", 0, "UTC"),
    ],
)
def test_a_kernel_log_without_zones_has_that_of_a_log_whose_job_has_exact_times(
    log: str, hours: int, zone: str, tmp_path: Path
) -> None:
    folder = tmp_path / "job"
    for name in ("slurm", "logs", "kernel"):
        (folder / name).mkdir(parents=True)
    (folder / "slurm/sacct.json").write_text(epochs(T, T + timedelta(minutes=40)))
    (folder / "logs/slurm-7.out").write_text(log)
    fell = T + timedelta(hours=hours, minutes=39)
    (folder / "kernel/n1.log").write_text(
        f"[{fell:%a %b %d %H:%M:%S %Y}] NVRM: Xid (PCI:0000:c3:00): 79, GPU has fallen off the bus.\n"
    )
    lake = tmp_path / "lake"
    report = import_paths([folder], lake)
    assert (report.zone, report.zone_known) == (zone, "default" if zone == "UTC" else "inferred")
    (row,) = free_sql.run(lake, "SELECT ts FROM gpu_event").dicts()
    assert row["ts"] == f"{T + timedelta(minutes=39):%Y-%m-%dT%H:%M:%SZ}"


def test_local_accounting_beside_exact_one_is_not_read_as_utc(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    for name in ("slurm", "logs"):
        (folder / name).mkdir(parents=True)
    (folder / "slurm/sacct.json").write_text(epochs(T, T + timedelta(minutes=40)))
    (folder / "slurm/earlier.txt").write_text(
        "JobID|State|Start|End\n6|COMPLETED|2026-03-10T20:00:00|2026-03-10T21:00:00\n"
    )
    (folder / "logs/slurm-7.out").write_text(lines(9))
    import_paths([folder], tmp_path / "lake")
    (row,) = free_sql.run(tmp_path / "lake", "SELECT start_ts FROM slurm_job WHERE job_id = '6'").dicts()
    assert row["start_ts"] == f"{T - timedelta(hours=4):%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.parametrize("zone", ["UTC", "America/Denver"])
def test_times_of_day_lie_in_the_run_although_the_file_is_a_later_copy(zone: str, tmp_path: Path) -> None:
    """The day that a line does not print is the run's, over midnight too, and not that on which the file was copied."""
    folder, start = tmp_path / "job", datetime(2026, 3, 9, 23, 30, tzinfo=ZoneInfo(zone))
    (folder / "slurm").mkdir(parents=True)
    (folder / "logs").mkdir()
    end = start + timedelta(hours=2)
    (folder / "slurm/sacct.txt").write_text(
        f"JobID|State|ExitCode|Start|End|NodeList\n7|COMPLETED|0:0|{start:%Y-%m-%dT%H:%M:%S}|{end:%Y-%m-%dT%H:%M:%S}|n1\n"
    )
    (folder / "logs/slurm-7.out").write_text(
        "".join(f"[{start + timedelta(minutes=m):%H:%M:%S}] step {m} loss {5 - m / 60:.2f}\n" for m in range(1, 119, 9))
    )
    import_paths([folder], tmp_path / "lake", timezone=zone, durable=False)
    with Reader(tmp_path / "lake") as reader:
        row = reader.ask("train_summary", job_id="7").dicts()[0]
    first, last = (start + timedelta(minutes=m) for m in (1, 118))
    assert str(row["first_ts"]) == f"{first.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    assert str(row["last_ts"]) == f"{last.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
