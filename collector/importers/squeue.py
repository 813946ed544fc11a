"""`squeue` in its default columns (or `--long`): what waits and why, what runs and where.

SOURCE  squeue of any version, without --noheader.
ROWS    slurm_job: a snapshot with the few columns there are; names may be cut by squeue.

    JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
     4812       gpu    train    alice PD       0:00      4 (Resources)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from collector import slurm_values as sv
from collector.hostlist import expanded
from collector.importers.base import ImportContext
from collector.text import decode, lines
from store.rows import Row, SlurmJob

_HEAD = re.compile(
    r"^\s*JOBID\s+PARTITION\s+NAME\s+USER\s+(?:ST|STATE)\s+TIME\s+(?P<long>TIME_LIMI\S*\s+)?NODES\s+NODELIST\(REASON\)",
    re.MULTILINE,
)
_LINE = re.compile(
    r"\s*(?P<job>\d[\d_+]*(?:_?\[[^\]]*\]?)?)\s+(?P<partition>\S+)\s+(?P<name>.*?)\s+(?P<user>\S+)\s+(?P<state>[A-Z_]{1,13})\s+"
    r"(?P<time>[\d:-]+|INVALID)\s+(?:(?P<limit>[\d:-]+|UNLIMITED|NOT_SET)\s+)?(?P<nodes>\d+)\s+(?P<where>\S.*?)\s*$"
)
_SHORT = {
    "PD": "PENDING", "R": "RUNNING", "S": "SUSPENDED", "CD": "COMPLETED", "CA": "CANCELLED", "F": "FAILED",
    "TO": "TIMEOUT", "NF": "NODE_FAIL", "PR": "PREEMPTED", "BF": "BOOT_FAIL", "DL": "DEADLINE", "OOM": "OUT_OF_MEMORY",
    "CG": "COMPLETING", "CF": "CONFIGURING", "RQ": "REQUEUED", "RH": "REQUEUE_HOLD", "SE": "SPECIAL_EXIT",
    "ST": "STOPPED", "SI": "SIGNALING", "RS": "RESIZING", "RV": "REVOKED", "SO": "STAGE_OUT",
}  # fmt: skip


class Squeue:
    """Reads squeue's default table."""

    name: ClassVar[str] = "squeue"
    covers: ClassVar[tuple[str, ...]] = ("slurm_job",)

    def claims(self, path: Path, head: bytes) -> int:
        """The default header in the first lines."""
        return 90 if _HEAD.search(decode(head[:2048])) else 0

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """A job per line."""
        for number, line in lines(path, ctx):
            if not line.strip() or _HEAD.match(line):
                continue
            found = _LINE.match(line)
            if found is None:
                ctx.problem(f"line {number}: not a job: {line.strip()[:80]!r}")
                continue
            where = found["where"]
            waits = where.startswith("(")
            state = _SHORT.get(found["state"], found["state"])
            elapsed = sv.duration(found["time"])
            base, _, task = found["job"].partition("_")
            running = state == "RUNNING" and elapsed is not None and ctx.modified is not None
            yield SlurmJob(
                cluster=ctx.cluster,
                ts=ctx.modified,
                origin=f"{ctx.name}:{number}",
                job_id=found["job"],
                attempt=1,
                array_job_id=base if task else None,
                array_task_id=task or None,
                name=found["name"],
                user=found["user"],
                partition=found["partition"],
                state=state,
                state_reason=sv.word(where.strip("()")) if waits else None,
                start_ts=ctx.modified - timedelta(seconds=elapsed) if running and ctx.modified and elapsed else None,
                elapsed_s=elapsed if state != "PENDING" else None,
                time_limit_s=sv.duration(found["limit"]),
                node_list=None if waits else expanded(where),
                node_count=sv.integer(found["nodes"]),
            )
