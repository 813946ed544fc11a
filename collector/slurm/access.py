"""What can be asked of a live Slurm, whichever way in: the same rows from slurmrestd, the commands, or pyslurm.

Every answer is a complete look at one moment; what changed since the last look is the sources' business. Whatever the way
in, the rows come from the parsers that also read saved files (`collector/importers`).
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, Protocol

from store import lazy
from store.rows import Row

JOB_ID = lazy.compile(r"\d{1,20}(?:_\d{1,10}|_\[[\d,\-%:.]{1,400}\])?(?:\+\d{1,6})?\Z", re.ASCII)
"""The last part of the second form is what a long list of an array's waiting tasks is cut to (`4812_[1,5,8,...]`)."""
ENDED_STATES = "CD,CA,F,TO,NF,PR,OOM,BF,DL,RQ"
"""Of accounting. A sibling that another cluster of the federation took over (RV) did not run here."""
ENDED_NAMES = (
    "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE",
    "REQUEUED",
)  # fmt: skip
"""The same in full."""


class NotAllowed(Exception):
    """Slurm refused a change; the text is its own, with what would permit it."""


@dataclass(slots=True)
class Calls:
    """What was asked of the cluster so far: how often by (daemon, question), and the seconds that the answers took.

    `problems` is what could not be read of the answers, the latest last.

    Each is one request to `slurmctld` or `slurmdbd`; what a command asks besides (its protocol's hello) is not counted.
    """

    count: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    seconds: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    problems: deque[str] = field(default_factory=lambda: deque[str](maxlen=50))

    @contextmanager
    def asking(self, daemon: str, question: str) -> Generator[None]:
        """Count and time one request, whether it succeeds or not."""
        key, begun = (daemon, question), time.monotonic()
        self.count[key] = self.count.get(key, 0) + 1
        try:
            yield
        finally:
            self.seconds[key] = self.seconds.get(key, 0.0) + time.monotonic() - begun

    def total(self, daemon: str) -> int:
        """Requests to `slurmctld` or `slurmdbd`."""
        return sum(n for (to, _), n in self.count.items() if to == daemon)


class Known:
    """What each way in knows of the cluster after `probe`, and how it reads an answer."""

    name: ClassVar[str]

    def __init__(self, cluster: str | None = None) -> None:
        self._cluster = cluster
        self._release: tuple[int, int] = (0, 0)
        self._calls = Calls()

    @property
    def cluster(self) -> str | None:
        """The cluster's name, known after `probe`."""
        return self._cluster

    @property
    def release(self) -> tuple[int, int]:
        """Slurm's release, (22, 5); (0, 0) before `probe`."""
        return self._release

    @property
    def calls(self) -> Calls:
        """What was asked so far."""
        return self._calls

    def _is(self, version: str | None) -> None:
        """Take the release from a text in which it stands (`slurm 22.05.8`)."""
        found = re.search(r"(\d{2})\.(\d{1,2})", version or "")
        self._release = (int(found.group(1)), int(found.group(2))) if found else (0, 0)


def checked(job_ids: Sequence[str]) -> Sequence[str]:
    """Job ids that may become part of a question. Raises ValueError for anything else."""
    bad = [j for j in job_ids if JOB_ID.match(j) is None]
    if bad:
        raise ValueError(f"not a job id: {bad[0][:40]!r}")
    return job_ids


def asked_for(job_ids: Sequence[str]) -> list[str]:
    """The ids by which accounting is asked for these jobs, each once. Raises as `checked`.

    Tasks that have not begun stand in one record (`4812_[3-9]`), a name that no daemon takes back: it has to be asked for all
    of the array.
    """
    return list(dict.fromkeys(job.partition("_[")[0] for job in checked(job_ids)))


class SlurmAccess(Protocol):
    """One way in. Every method may raise SourceUnavailable (`collector.sources.base`) with the reason and the remedy.

    Rows are given while the answer is read: an iterator that raises half-way gave nothing that is wrong.
    """

    name: ClassVar[str]

    @property
    def cluster(self) -> str | None:
        """The cluster's name, known after `probe`."""
        ...

    @property
    def release(self) -> tuple[int, int]:
        """Slurm's release, (22, 5); (0, 0) before `probe`."""
        ...

    @property
    def calls(self) -> Calls:
        """What was asked so far."""
        ...

    def probe(self) -> None:
        """Does this way work here, for the controller and for the accounting? Cheap; raises SourceUnavailable if not."""
        ...

    def accounting(
        self, since: datetime, until: datetime | None = None, job_ids: Sequence[str] | None = None
    ) -> Iterator[Row]:
        """Attempts with their steps and events, from accounting: slurm_job, slurm_step, slurm_job_event.

        Without `job_ids` those attempts that *ended* from `since` on (to `until`): an attempt's number then counts only
        what this window shows. With `job_ids` (`4812`, `4812_7`, `4812+1`; a bare id of an array or heterogeneous job
        stands for all of it, and so does the record of an array's waiting tasks, `4812_[3-9]`) every attempt of these jobs, ended or not, whenever it was; its number is right.
        A record that ended moments ago and that slurmdbd has only half of yet is left out: ask again (`half.py`).
        """
        ...

    def queue(self) -> Iterator[Row]:
        """The jobs that the controller knows now, those that ended a short while ago among them: slurm_job."""
        ...

    def nodes(self) -> Iterator[Row]:
        """The nodes as they are now: slurm_node_state, slurm_node_sample."""
        ...

    def node_events(self, since: datetime) -> Iterator[Row]:
        """Intervals in which a node was down or drained, those that had not ended at `since` and later: slurm_node_state."""
        ...

    def controller(self) -> Iterator[Row]:
        """The controller's own health: slurm_controller_sample."""
        ...

    def set_comment(self, job_id: str, text: str) -> None:
        """Write the job's comment. Raises NotAllowed, and SourceUnavailable."""
        ...
