"""Local times of accounting, placed by when the GPUs worked in metrics that reach hours beyond the job."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collector.intake import activity_zone
from collector.intake.bundle import import_paths
from collector.intake.zones import infer
from store.rows import SlurmJob

T = datetime(2026, 3, 10, 15, tzinfo=UTC)
HOUR = timedelta(hours=1)


def day(path: Path, *work: tuple[float, float], step_s: int = 60, hours: tuple[int, int] = (-12, 12)) -> Path:
    """A day of a GPU that works in these hours, counted from T."""
    values: list[Sequence[object]] = []
    for s in range(hours[0] * 3600, hours[1] * 3600, step_s):
        busy = any(a * 3600 <= s < b * 3600 for a, b in work)
        values.append([int(T.timestamp()) + s, "97" if busy else "0"])
    metric = {"__name__": "DCGM_FI_DEV_GPU_UTIL", "gpu": "0", "Hostname": "n1"}
    path.write_text(
        json.dumps(
            {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": metric, "values": values}]}}
        )
    )
    return path


def job(begin: float, hours: float, state: str = "FAILED") -> SlurmJob:
    start = T + begin * HOUR
    return SlurmJob(job_id="7", state=state, start_ts=start, end_ts=start + hours * HOUR)


@pytest.mark.parametrize("offset", [1.0, -7.0, 5.5])
def test_the_offset_at_which_the_job_is_a_stretch_of_work_is_the_zone(offset: float, tmp_path: Path) -> None:
    path = day(tmp_path / "m.json", (0.1, 1.4), (3.0, 3.5), (-8.0, -5.0))
    zone = infer(activity_zone.pairs([job(offset, 1.41)], [path], "m.json"))
    assert (zone.known, zone.tz.utcoffset(T)) == ("inferred", offset * HOUR)
    assert "m.json" in zone.basis


@pytest.mark.parametrize(
    ("begin", "hours", "state", "work"),
    [
        (1, 1.41, "FAILED", [(0.1, 1.4), (1.1, 2.4)]),  # it fits where it stands, too
        (1, 1.41, "TIMEOUT", [(0.1, 1.4)]),  # as long as the limit, like the job before it
        (1, 0.4, "FAILED", [(0.1, 0.4)]),  # short
        (1, 1.41, "FAILED", [(0.1, 1.0)]),  # another job's
        (1, 1.41, "FAILED", [(-13.0, 1.4)]),  # nobody saw it begin
        (1, 1.41, "FAILED", []),
    ],
)
def test_what_may_be_another_jobs_work_says_nothing(
    begin: float, hours: float, state: str, work: list[tuple[float, float]], tmp_path: Path
) -> None:
    assert activity_zone.pairs([job(begin, hours, state)], [day(tmp_path / "m.json", *work)], "m.json") == []


def test_text_with_times_tells_as_much_and_a_broken_file_nothing(tmp_path: Path) -> None:
    lines = [
        f'DCGM_FI_PROF_GR_ENGINE_ACTIVE{{gpu="0"}} {0.93 if 0 <= s < 5000 else 0.0} {int(T.timestamp() + s) * 1000}'
        for s in range(-20000, 20000, 30)
    ]
    (tmp_path / "m.prom").write_text("\n".join(lines) + "\n")
    (tmp_path / "broken.json.gz").write_bytes(b"\x1f\x8b\x08broken")
    found = activity_zone.stretches([tmp_path / "m.prom", tmp_path / "broken.json.gz"])
    assert found == [(T + timedelta(seconds=10), T + timedelta(seconds=4990))]


def test_an_import_reads_accounting_in_the_zone_in_which_the_gpus_worked(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    day(folder / "util.json", (0.1, 1.4), (4.0, 9.0))
    (folder / "sacct.txt").write_text(
        "JobID|State|Start|End|NodeList\n4711|FAILED|2026-03-10T17:00:00|2026-03-10T18:24:30|n1\n"
    )
    report = import_paths([folder], tmp_path / "lake")
    assert (report.zone, report.zone_known) == ("UTC+02:00", "inferred")
