"""Local times of accounting, placed by metrics that were taken while the job ran."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from collector.intake.bundle import import_paths
from collector.intake.metric_zone import pairs, span
from collector.intake.zones import infer
from store.rows import SlurmJob

T = datetime(2026, 3, 10, 15, tzinfo=UTC)


def job(start: datetime, hours: float) -> SlurmJob:
    return SlurmJob(job_id="7", start_ts=start, end_ts=start + timedelta(hours=hours))


@pytest.mark.parametrize("offset", [timedelta(hours=1), timedelta(hours=-7), timedelta(hours=5, minutes=30)])
def test_one_offset_that_puts_the_job_inside_is_the_zone(offset: timedelta) -> None:
    margin = timedelta(minutes=10)
    found = pairs([job(T + offset, 0.5)], [("m.om", T - margin, T + timedelta(minutes=30) + margin)])
    zone = infer(found)
    assert zone.known == "inferred"
    assert zone.tz.utcoffset(T) == offset
    assert "m.om" in zone.basis


@pytest.mark.parametrize(("offset", "hours"), [(1, 1.5), (2, 9), (-7, 20), (5.5, 30)])
def test_a_job_that_is_long_against_the_offset_is_placed_by_metrics_that_end_close_to_it(
    offset: float, hours: float
) -> None:
    """Read as UTC more than half of it lies inside, and it stands out on one side."""
    margin, shift = timedelta(minutes=8), timedelta(hours=offset)
    within = ("m.om", T - margin, T + timedelta(hours=hours) + margin)
    found = infer(pairs([job(T + shift, hours)], [within]))
    assert (found.known, found.tz.utcoffset(T)) == ("inferred", shift)


@pytest.mark.parametrize(("before", "after"), [(-40, 10), (10, -40), (-40, 90), (90, -40)])
def test_a_long_job_that_an_export_misses_a_part_of_stays_where_it_is(before: int, after: int) -> None:
    """An exporter that started late or stopped early, and an export that goes on for longer."""
    within = ("m.om", T - timedelta(minutes=before), T + timedelta(hours=3, minutes=after))
    assert infer(pairs([job(T, 3)], [within])).known == "default"


def test_an_export_that_began_late_decides_where_nothing_else_comes_near() -> None:
    hour = timedelta(hours=1)
    late = ("m.om", T + timedelta(minutes=5), T + timedelta(minutes=60))
    assert infer(pairs([job(T - 7 * hour, 0.9)], [late])).tz.utcoffset(T) == -7 * hour
    assert infer(pairs([job(T - 7 * hour, 6)], [late])).known == "default", "half of the run is not there"


def test_a_job_that_still_runs_lasts_until_it_was_asked_about() -> None:
    hour = timedelta(hours=1)
    running = SlurmJob(job_id="7", state="RUNNING", start_ts=T + 2 * hour, elapsed_s=1800.0)
    span = ("m.om", T - timedelta(minutes=2), T + timedelta(minutes=30))
    assert infer(pairs([running], [span])).tz.utcoffset(T) == 2 * hour
    waiting = SlurmJob(job_id="8", state="PENDING", elapsed_s=0.0)
    assert pairs([waiting], [span]) == []


@pytest.mark.parametrize(
    ("start", "end", "zone"),
    [
        ("2025-11-01T23:00:00", "2025-11-02T02:00:20", "America/Chicago"),
        ("2025-10-26T01:00:00", "2025-10-26T04:00:20", "Europe/Berlin"),
        ("2026-03-29T00:30:00", "2026-03-29T05:30:20", "Europe/Berlin"),
    ],
)
def test_a_job_of_the_night_in_which_the_clock_is_changed(start: str, end: str, zone: str) -> None:
    """It counted an hour more or less than lies between the local times of its start and its end."""
    began, ended = (datetime.fromisoformat(t).replace(tzinfo=UTC) for t in (start, end))
    exact = datetime.fromisoformat(start).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    counted = timedelta(hours=4, seconds=20)
    within = ("m.om", exact - timedelta(minutes=2), exact + counted + timedelta(minutes=2))
    run = SlurmJob(job_id="7", start_ts=began, end_ts=ended, elapsed_s=counted.total_seconds())
    found = infer(pairs([run], [within]))
    assert found.known == "inferred"
    assert began.replace(tzinfo=found.tz).astimezone(UTC) == exact
    assert ended.replace(tzinfo=found.tz).astimezone(UTC) == exact + counted


def test_a_suspended_job_counts_less_than_lies_between_its_times() -> None:
    hour = timedelta(hours=1)
    within = ("m.om", T - timedelta(minutes=2), T + 4 * hour + timedelta(minutes=2))
    run = SlurmJob(job_id="7", start_ts=T + hour, end_ts=T + 5 * hour, elapsed_s=10_800.0, suspended_s=3600.0)
    assert infer(pairs([run], [within])).tz.utcoffset(T) == hour


@pytest.mark.parametrize(
    ("jobs", "first", "last"),
    [
        ([job(T, 0.5)], -10, 40),
        ([job(T + timedelta(hours=1), 0.5)], -600, 600),
        ([job(T + timedelta(hours=2), 2)], -50, 170 + 60),
        ([job(T + timedelta(days=3), 0.5)], -10, 40),
        ([job(T + timedelta(hours=1), 0.5), job(T + timedelta(hours=4), 0.5)], -10, 40),
        ([], -10, 40),
        ([job(T + timedelta(hours=2, minutes=30), 1)], 0, 130),
    ],
    ids=[
        "as-it-stands",
        "export-of-a-day",
        "several-offsets-fit",
        "another-day",
        "jobs-that-disagree",
        "no-job",
        "hours-before-the-job",
    ],
)
def test_where_metrics_do_not_decide_nothing_is_inferred(jobs: list[SlurmJob], first: int, last: int) -> None:
    within = ("m.om", T + timedelta(minutes=first), T + timedelta(minutes=last))
    assert infer(pairs(jobs, [within])).known == "default"


def test_the_times_of_a_file_are_its_stamps_and_no_values(tmp_path: Path) -> None:
    at = T.timestamp()
    text = tmp_path / "m.om"
    text.write_text(
        f'node_boot_time_seconds{{instance="n1"}} {at - 9e5:.0f}\n'
        f'DCGM_FI_DEV_FB_USED{{gpu="0"}} 71234 {at:.0f}\nDCGM_FI_DEV_FB_USED{{gpu="0"}} 1772359200 {(at + 60) * 1000:.0f}\n'
    )
    assert span(text) == (T, T + timedelta(seconds=60))
    matrix = tmp_path / "m.json"
    matrix.write_text(f'{{"data":{{"result":[{{"values":[[{at},"1772359200"],[{at + 30},"2"]]}}]}}}}')
    assert span(matrix) == (T, T + timedelta(seconds=30))
    (tmp_path / "empty").write_text("")
    assert span(tmp_path / "empty") is None
    assert span(tmp_path / "nowhere") is None
    packed = tmp_path / "m.om.gz"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    assert span(packed) == span(text)
    packed.write_bytes(packed.read_bytes()[:-9])
    assert span(packed) is None, "broken off before its first times"


def test_a_folder_of_local_accounting_and_metrics_is_read_in_the_zone_that_fits(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    (folder / "slurm").mkdir(parents=True)
    (folder / "metrics").mkdir()
    (folder / "slurm/sacct.txt").write_text(
        "JobID|JobName|State|ExitCode|Start|End|ElapsedRaw|NodeList\n"
        "7|train|FAILED|1:0|2026-03-10T08:00:00|2026-03-10T08:30:00|1800|n1\n"
    )
    samples = [f'DCGM_FI_DEV_GPU_UTIL{{gpu="0",Hostname="n1"}} 97 {T.timestamp() + 60 * m:.0f}' for m in range(-5, 36)]
    (folder / "metrics/dcgm.om").write_text("\n".join(samples) + "\n# EOF\n")
    report = import_paths([folder], tmp_path / "lake", durable=False)
    assert (report.zone, report.zone_known) == ("UTC-07:00", "inferred")
    assert "dcgm.om" in report.zone_basis


def test_a_table_of_samples_gives_the_zone_away_too(tmp_path: Path) -> None:
    """Its times are UTC, as the schema has them, while accounting prints those of the cluster."""
    folder = tmp_path / "job"
    (folder / "slurm").mkdir(parents=True)
    (folder / "tables").mkdir()
    (folder / "slurm/sacct.txt").write_text(
        "JobID|JobName|State|ExitCode|Start|End|ElapsedRaw|NodeList\n"
        "7|train|FAILED|1:0|2026-03-10T08:00:00|2026-03-10T08:30:00|1800|n1\n"
    )
    rows = [f"n1,0,{T + timedelta(minutes=m):%Y-%m-%d %H:%M:%S}.250,0.9" for m in range(-5, 36)]
    (folder / "tables/gpu_sample.csv").write_text("node,gpu,ts,engine_active\n" + "\n".join(rows) + "\n")
    report = import_paths([folder], tmp_path / "lake", durable=False)
    assert (report.zone, report.zone_known) == ("UTC-07:00", "inferred")
    assert "gpu_sample.csv" in report.zone_basis


def test_a_neighbour_that_ran_at_another_time_does_not_hide_the_zone_of_the_job_whose_log_is_there(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "job"
    for name in ("slurm", "metrics", "logs"):
        (folder / name).mkdir(parents=True)
    (folder / "slurm/sacct.txt").write_text(
        "JobID|JobName|State|ExitCode|Start|End|ElapsedRaw|NodeList\n"
        "6|solver|COMPLETED|0:0|2026-03-09T20:00:00|2026-03-10T02:30:00|23400|n9\n"
        "7|train|FAILED|1:0|2026-03-10T08:00:00|2026-03-10T08:30:00|1800|n1\n"
    )
    (folder / "logs/slurm-7.out").write_text("step 1 loss 2.0\n")
    samples = [f'DCGM_FI_DEV_GPU_UTIL{{gpu="0",Hostname="n1"}} 97 {T.timestamp() + 60 * m:.0f}' for m in range(-5, 36)]
    (folder / "metrics/dcgm.om").write_text("\n".join(samples) + "\n# EOF\n")
    report = import_paths([folder], tmp_path / "lake", durable=False)
    assert (report.zone, report.zone_known) == ("UTC-07:00", "inferred")
    (folder / "logs/slurm-7.out").unlink()
    report = import_paths([folder], tmp_path / "lake2", durable=False)
    assert report.zone_known == "default", "which of the two the metrics were fetched for is not known"
