"""Gauges by which a monitor inside the ranks says that a rank stands still: DLRover's xpu_timer.

It sets XPU_TIMER_COMMON_HANG to one where nothing that it follows on the rank's GPU came to an end for its time-out, and calls a hang
what all ranks of the job say. A gauge that went back to zero tells of no hang: what counts is what each rank said last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from store.rows import LogEvent

NAME = "XPU_TIMER_COMMON_HANG"
SET, CLEAR = "hang_gauge", "hang_gauge_clear"
Identity = tuple[tuple[str, Any], ...]
Place = tuple[str | None, Identity]
"""A rank: its node, and its job and number."""
Said = dict[Place, tuple[datetime | None, float]]
"""What each rank's gauge was when it was last told, and when that was."""


def identity(labels: Mapping[str, str], accounted: bool) -> Identity | None:
    """The job and the rank that a sample's labels name; None without a rank. Where accounting is at hand only Slurm's own
    number of a job is one."""
    rank = labels.get("rank", "")
    if not (rank.isascii() and rank.isdigit() and len(rank) < 8):
        return None
    job = labels.get("slurm_job_id") or labels.get("slurmjobid") or (None if accounted else labels.get("job_name"))
    return ("job_id", job or None), ("rank", int(rank)), ("host", labels.get("pod_name") or labels.get("ip") or None)


def events(
    last: Mapping[Place, tuple[datetime | None, float]], modified: datetime | None, common: Mapping[str, Any]
) -> Iterator[LogEvent]:
    """An event for each rank of a job of which some rank's gauge was set, by the ranks' last samples: where it was, and where not.

    A sample without a time has that at which its file was `modified`.
    """
    written = modified.replace(microsecond=modified.microsecond // 1000 * 1000) if modified else None
    jobs: dict[str | None, list[float]] = {}
    for (_, own), (_, value) in last.items():
        jobs.setdefault(dict(own)["job_id"], []).append(value)
    for (node, own), (ts, value) in sorted(last.items(), key=lambda item: (str(item[0][0]), str(item[0][1]))):
        of_job = jobs[dict(own)["job_id"]]
        flagged = sum(v >= 1 for v in of_job)
        if not flagged:
            continue
        yield LogEvent(
            **common,
            **dict(own),
            node=node,
            ts=ts,
            ts_kind=None if ts is None else "file" if ts == written else "embedded",
            kind="nccl_watchdog",
            name=SET if value >= 1 else CLEAR,
            severity="error" if value >= 1 else "info",
            message=f"{NAME} is {'set' if value >= 1 else 'not set'}; of {len(of_job)} ranks that have it here it is set on {flagged}",
            parser="hang_gauges",
            framework="xpu_timer",
        )
