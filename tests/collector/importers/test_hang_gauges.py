"""hang_gauges: what a monitor inside the ranks says of each becomes an event of those that stand still, and a verdict."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tools.agent import diagnose
from collector.formats import hang_gauges
from collector.importers import prometheus
from collector.importers.base import ImportContext
from collector.importers.prometheus import Prometheus
from collector.importers.prometheus_json import PrometheusJson
from inquest.target import Failure, found
from store.rows import LogEvent

T = datetime(2026, 3, 1, 10, tzinfo=UTC)


def sample(rank: int, value: int, at: datetime | None = None, job: str = "pretrain-77") -> str:
    labels = f'ip="10.0.0.5",job_name="{job}",local_rank="{rank % 8}",pod_name="{job}-worker-0",rank="{rank}"'
    stamp = f" {int(at.timestamp() * 1000)}" if at else ""
    return f"XPU_TIMER_COMMON_HANG{{{labels}}} {value}{stamp}\n"


def text(values: list[int], at: datetime | None = None, job: str = "pretrain-77") -> str:
    head = "# HELP exposer_scrapes_total scrapes\n# TYPE XPU_TIMER_COMMON_HANG gauge\n"
    return head + "".join(sample(rank, value, at, job) for rank, value in enumerate(values))


def events(folder: Path, written: str, **more: Any) -> list[LogEvent]:
    path = folder / "worker.prom"
    path.write_text(written, encoding="utf-8")
    ctx = ImportContext(path.name, UTC, size=path.stat().st_size, modified=T + timedelta(hours=1), **more)
    return [r for r in Prometheus().rows(path, ctx) if isinstance(r, LogEvent)]


def told(rows: list[LogEvent]) -> list[tuple[str | None, int | None, str | None]]:
    return [(r.job_id, r.rank, r.severity) for r in rows]


def test_of_a_job_of_which_some_rank_stands_still_each_rank_is_an_event(tmp_path: Path) -> None:
    assert told(events(tmp_path, text([1, 1, 1], T))) == [("pretrain-77", rank, "error") for rank in range(3)]
    assert [(r.rank, r.name) for r in events(tmp_path, text([0, 1, 0], T))] == [
        (0, hang_gauges.CLEAR), (1, hang_gauges.SET), (2, hang_gauges.CLEAR),
    ]  # fmt: skip
    assert events(tmp_path, text([0, 0, 0], T)) == []
    both = text([1, 1], T) + text([0, 1], T, "other")
    assert sorted(told(events(tmp_path, both))) == [  # pyright: ignore[reportArgumentType]
        ("other", 0, "info"), ("other", 1, "error"), ("pretrain-77", 0, "error"), ("pretrain-77", 1, "error"),
    ]  # fmt: skip


def test_what_each_rank_said_last_counts(tmp_path: Path) -> None:
    later = T + timedelta(minutes=5)
    assert events(tmp_path, text([1, 1], T) + text([0, 0], later)) == []
    (_, one) = events(tmp_path, text([0, 0], T) + text([0, 1], later))
    assert (one.ts, one.ts_kind, one.host) == (later, "embedded", "pretrain-77-worker-0")


def test_a_rank_that_went_on_in_a_later_part_of_a_large_file_stands_still_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prometheus, "WINDOW_BYTES", 400)
    times = [T + timedelta(minutes=5 * i) for i in range(6)]
    went_on = events(tmp_path, "".join(text([int(i < 3), 1], at) for i, at in enumerate(times)))
    assert [(r.rank, r.name) for r in went_on] == [(0, hang_gauges.CLEAR), (1, hang_gauges.SET)]
    assert told(events(tmp_path, "".join(text([1, 1], at) for at in times))) == [
        ("pretrain-77", r, "error") for r in (0, 1)
    ]


def test_a_scrape_without_times_has_its_files(tmp_path: Path) -> None:
    (one, _) = events(tmp_path, text([1, 1]))
    assert (one.ts, one.ts_kind) == (T + timedelta(hours=1), "file")


def test_a_sample_that_names_no_rank_and_a_name_beside_accounting_are_nobodys(tmp_path: Path) -> None:
    assert events(tmp_path, 'up 1\nXPU_TIMER_COMMON_HANG{job_name="a"} 1\nXPU_TIMER_COMMON_HANG{rank="-1"} 1\n') == []
    (one,) = events(tmp_path, text([1], T), nodes=frozenset({"n1"}))
    assert one.job_id is None
    labels = {"rank": "3", "slurm_job_id": "4812", "job_name": "pretrain"}
    assert dict(hang_gauges.identity(labels, True) or ())["job_id"] == "4812"


def test_a_range_querys_series_are_read_alike(tmp_path: Path) -> None:
    at = T.timestamp()
    result = [
        {
            "metric": {"__name__": hang_gauges.NAME, "rank": str(rank), "job_name": "pretrain-77"},
            "values": [[at, "0"], [at + 60, str(value)]],
        }
        for rank, value in enumerate((1, 1))
    ]
    path = tmp_path / "hang.json"
    path.write_text(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}))
    rows = list(PrometheusJson().rows(path, ImportContext(path.name, UTC, size=path.stat().st_size)))
    assert told([r for r in rows if isinstance(r, LogEvent)]) == [
        ("pretrain-77", 0, "error"),
        ("pretrain-77", 1, "error"),
    ]


def verdict(folder: Path, written: str) -> Any:
    path = folder / "worker.prom"
    path.write_text(written, encoding="utf-8")
    with found(str(path), lake=None, job=None) as job:
        return diagnose(job.reader, job.job_id)


def test_a_hang_is_what_all_ranks_say(tmp_path: Path) -> None:
    whole = verdict(tmp_path, text([1] * 8))
    assert (whole.family, whole.confidence, whole.attribution) == ("C2", 0.75, "undetermined")
    assert verdict(tmp_path, text([1])).family == "U0", "one rank is not all of a job"
    some = verdict(tmp_path, text([1, 0, 0, 1]))
    assert some.family == "U0"
    assert any("later samples of the same gauge" in m.signal for m in some.cannot_decide)


def test_a_scrape_in_which_no_rank_stands_still_is_no_job(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="nothing to go on"):
        verdict(tmp_path, text([0, 0]))


@pytest.mark.parametrize("after_s, family", [(600, "C2"), (-1500, "U0")])
def test_a_run_that_trained_on_after_the_gauge_did_not_hang(tmp_path: Path, after_s: int, family: str) -> None:
    """The gauge is told after the last report of a log that just stops, or in the middle of them."""
    bundle = tmp_path / "job"
    (bundle / "logs").mkdir(parents=True)
    (bundle / "metrics").mkdir()
    times = [T + timedelta(seconds=30 * i) for i in range(60)]
    steps = [f"{at:%Y-%m-%d %H:%M:%S} INFO step {i} loss: {4 - i * 0.05:.3f}\n" for i, at in enumerate(times)]
    (bundle / "logs" / "slurm-4812.out").write_text("".join(steps), encoding="utf-8")
    at = int((times[-1] + timedelta(seconds=after_s)).timestamp() * 1000)
    gauge = [f'XPU_TIMER_COMMON_HANG{{slurm_job_id="4812",rank="{r}"}} 1 {at}\n' for r in range(2)]
    (bundle / "metrics" / "ranks.prom").write_text("".join(gauge), encoding="utf-8")
    with found(str(bundle), lake=None, job=None) as job:
        assert diagnose(job.reader, job.job_id).family == family
