"""What Slurm did around an end that was not the program's own: why the job waits again, and what became of its nodes.

Accounting says of such an attempt REQUEUED, CANCELLED or NODE_FAIL and nothing of a prolog that failed or a node that was
rebooted. What follows the queue and the nodes comes round to it within a minute, which is too late for the verdict.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from collector.slurm.arrays import tasks
from collector.sources.base import SourceUnavailable
from inquest.watch.shared import Shared
from store.rows import Row, SlurmJob, SlurmNodeState, SourceHealth

OFTEN_S, SHARE = 1.5, 3.0
"""The next look comes after three times what the last one took."""
BEFORE = timedelta(minutes=10)
_BY_SLURM = frozenset({"REQUEUED", "CANCELLED", "NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED"})
PATIENCE_S = 60.0
"""So long a daemon that does not answer is asked again: without its word a failed prolog looks like an operator's cancel."""
_LAST_SIGNAL = 31
"""Above are codes of Slurm's own: files that could not be opened, a prolog that failed."""


class Around:
    """Looks seldom, for all attempts that ended so since the look before."""

    def __init__(self, access: Shared) -> None:
        self._access = access
        self._looked = float("-inf")
        self._gap_s = OFTEN_S
        self._unanswered: float | None = None
        """Since when a daemon does not answer, on the monotonic clock."""

    def rows(self, ended: Sequence[SlurmJob]) -> tuple[list[Row], set[str]]:
        """What there is to know of attempts that have just ended, and the jobs that have to wait for the next look.

        A daemon that does not answer for long costs the knowledge and not the verdict.
        """
        ours = [j for j in ended if _by_slurm(j) and j.start_ts is not None and j.end_ts]
        begun = time.monotonic()
        if not ours or begun - self._looked < self._gap_s:
            return [], {j.job_id for j in ours if j.job_id}
        found: list[Row] = []
        silent = False
        for look in (self._waiting, self._nodes):
            try:
                found += look(ours)
            except SourceUnavailable:
                silent = True
        if not silent:
            self._unanswered = None
        elif self._unanswered is None or begun - self._looked > PATIENCE_S:  # the trouble of then is not the one of now
            self._unanswered = begun
        self._looked = time.monotonic()
        self._gap_s = max(OFTEN_S, SHARE * (self._looked - begun))
        if self._unanswered is not None and self._looked - self._unanswered < PATIENCE_S:
            return [], {j.job_id for j in ours if j.job_id}
        return found, set()

    def _waiting(self, ours: Sequence[SlurmJob]) -> Iterator[Row]:
        wanted = {j.job_id for j in ours if (j.state or "").upper() == "REQUEUED"}
        if not wanted:
            return
        # Of two rows of a job that waits, which have one time, the later look is right.
        origin = f"slurm_queue:{int(time.time()):010d}"
        for record in list(self._access.queue()):
            if isinstance(record, SlurmJob) and (record := _again(record)) is not None:
                yield from (replace(j, origin=origin) for j in tasks(record) if j.job_id in wanted)

    def _nodes(self, ours: Sequence[SlurmJob]) -> Iterator[Row]:
        nodes = {n for j in ours for n in (j.node_list or "").split(",") if n}
        since = min(j.end_ts for j in ours if j.end_ts is not None) - BEFORE
        for row in self._access.node_events(since):
            if isinstance(row, SlurmNodeState) and row.node in nodes:
                yield row
        # It was looked, so nodes of which nothing is told were in order.
        for node in sorted(nodes):
            yield SourceHealth(
                cluster=self._access.cluster, node=node, ts=since, end_ts=datetime.now(UTC), origin="watch", source="watch",
                covers=SlurmNodeState.TABLE, ok=True,
            )  # fmt: skip


def _by_slurm(job: SlurmJob) -> bool:
    """Whether Slurm ended the attempt itself: by its state, or by a code of Slurm's own where a signal's number stands."""
    return (job.state or "").upper() in _BY_SLURM or (job.exit_signal or 0) > _LAST_SIGNAL


def _again(record: SlurmJob) -> SlurmJob | None:
    """The row of a run that waits, also while the processes of the run before are still being ended; None of any other.

    Until these are gone the job is COMPLETING, with the next run's number and reason and the times and nodes of neither.
    """
    state = (record.state or "").upper()
    if state == "PENDING":
        return record
    if state != "COMPLETING" or not record.restarts:
        return None
    return replace(
        record, state="PENDING", state_flags="COMPLETING", ts=record.submit_ts, start_ts=None, end_ts=None, elapsed_s=None,
        node_list=None, node_count=None, exit_code=None, exit_signal=None,
    )  # fmt: skip
