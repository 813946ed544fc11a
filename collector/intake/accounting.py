"""One row per attempt, though several files tell of it: sacct's text and JSON, scontrol, squeue in the same import.

The file that knows most keeps the row; what it lacks is filled from the others, whose own rows are left out. A file that
shows only a job's last attempt may not know its number: the same start in another file tells it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta

from collector.formats.slurm_values import ENDED
from store.rows import Row, SlurmJob, SlurmJobEvent, SlurmStep

RANK = {"sacct_json": 0, "sacct": 1, "tables": 2, "scontrol_job": 3, "squeue_json": 4, "squeue": 5}
_SAME = timedelta(seconds=2)
_CONTROLLERS = ("scontrol_job", "squeue_json", "squeue")
_NOW = ("state", "state_flags", "state_reason")
"""Of a job that has not ended the controller knows these; accounting's database hears of them later."""
_KEPT = frozenset({"preempted"})
"""Events that only a less informed file may know of."""

Told = tuple[SlurmJob, str, str]
"""A job's row, the name of the file and of the importer that gave it."""


@dataclass(slots=True)
class Accounting:
    """What the accounting files of one import say together.

    By (job, attempt): the merged row, the file that keeps it, whether that file has its steps. `number` is an attempt's
    number by (file, job, number in that file).
    """

    jobs: dict[tuple[str, int], SlurmJob] = field(default_factory=dict[tuple[str, int], SlurmJob])
    owner: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    number: dict[tuple[str, str, int], int] = field(default_factory=dict[tuple[str, str, int], int])
    stepped: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    digest: str = ""

    def settle(self, rows: Iterator[Row], file: str) -> Iterator[Row]:
        """A file's rows with the attempts renumbered, the merged row in its owner's place, and without the repeats."""
        for row in rows:
            if (
                isinstance(row, (SlurmJob, SlurmJobEvent, SlurmStep))
                and row.job_id is not None
                and row.attempt is not None
            ):
                attempt = self.number.get((file, row.job_id, row.attempt), row.attempt)
                if attempt != row.attempt:
                    object.__setattr__(row, "attempt", attempt)
                owner = self.owner.get((row.job_id, attempt), file)
                if isinstance(row, SlurmJob):
                    if owner == file:
                        yield self.jobs.get((row.job_id, attempt), row)
                    continue
                if owner != file and not self._wanted(row, attempt):
                    continue
            yield row

    def merged_into(self, file: str) -> list[str]:
        """The files that hold what this file told of jobs besides them."""
        mine = {(job, self.number[name, job, n]) for name, job, n in self.number if name == file}
        return sorted({owner for key in mine if (owner := self.owner[key]) != file})

    def _wanted(self, row: SlurmJobEvent | SlurmStep, attempt: int) -> bool:
        job = self.jobs.get((row.job_id or "", attempt))
        if isinstance(row, SlurmStep):
            return (row.job_id or "", attempt) not in self.stepped
        return row.event in _KEPT and (job is None or job.state != "PREEMPTED")


def reconcile(told: Sequence[Told], with_steps: frozenset[str] = frozenset({"sacct", "sacct_json"})) -> Accounting:
    """Put together what the files say; `with_steps` are the importers that give steps."""
    known = Accounting()
    merged: list[str] = []
    by_job: dict[str, list[Told]] = {}
    for item in told:
        if item[0].job_id is not None:
            by_job.setdefault(item[0].job_id, []).append(item)
    for job_id, items in by_job.items():
        groups = _runs(items)
        for number, group in zip(_numbers(groups), groups, strict=True):
            group.sort(key=lambda t: (t[0].state not in ENDED, RANK.get(t[2], 9), t[1]))
            best = group[0]
            known.jobs[job_id, number] = replace(_filled(group), attempt=number)
            known.owner[job_id, number] = best[1]
            if best[2] in with_steps:
                known.stepped.add((job_id, number))
            for job, file, _ in group:
                known.number[file, job_id, job.attempt or 1] = number
            if len(group) > 1 or number != (best[0].attempt or 1):
                merged.append(str(known.jobs[job_id, number]))
    known.digest = hashlib.sha256("\n".join(sorted(merged)).encode("utf-8", "replace")).hexdigest() if merged else ""
    return known


def _runs(items: Sequence[Told]) -> list[list[Told]]:
    """The rows of one job grouped by run: those of one file never share a run, the same start always does."""
    groups: list[list[Told]] = []
    for item in sorted(items, key=lambda t: (RANK.get(t[2], 9), t[1], not _waits(t[0]), t[0].attempt or 1)):
        home = next((g for g in groups if item[1] not in {f for _, f, _ in g} and _same(g[0][0], item[0])), None)
        if home is None:
            groups.append([item])
        else:
            home.append(item)
    return groups


def _same(a: SlurmJob, b: SlurmJob) -> bool:
    if a.sluid and b.sluid:
        return a.sluid == b.sluid  # every run has its own
    if _waits(a) and _waits(b):
        return a.restarts is None or b.restarts is None or a.restarts == b.restarts  # no job waits twice at a time
    for column in ("start_ts", "submit_ts"):
        one, other = getattr(a, column), getattr(b, column)
        if one is not None and other is not None:
            return abs(one - other) <= _SAME
    return (a.attempt or 1) == (b.attempt or 1)


def _waits(job: SlurmJob) -> bool:
    return job.state == "PENDING" and job.start_ts is None


def _numbers(groups: list[list[Told]]) -> list[int]:
    """The attempts' numbers: the highest that any file gives; a number that is taken goes to the later run, plus one."""
    wanted = [max(job.attempt or 1 for job, _, _ in group) for group in groups]
    order = sorted(
        range(len(groups)), key=lambda i: (wanted[i], str(groups[i][0][0].submit_ts or groups[i][0][0].start_ts))
    )
    numbers = [0] * len(groups)
    last = 0
    for i in order:
        last = max(wanted[i], last + 1)
        numbers[i] = last
    return numbers


def _filled(group: Sequence[Told]) -> SlurmJob:
    """The best row with its empty columns filled from the next ones; a snapshot of a running job has no say in its end."""
    best = group[0][0]
    more: dict[str, object] = {}
    if best.state not in ENDED:
        now = next((job for name in _CONTROLLERS for job, _, importer in group if importer == name and job.state), best)
        more.update({column: getattr(now, column) for column in _NOW})
    state = more.get("state", best.state)
    for job, _, _ in group[1:]:
        for column in fields(best):
            if getattr(best, column.name) is None and column.name not in more:
                value = getattr(job, column.name)
                if value is not None and not (column.name == "state_reason" and job.state != state):
                    more[column.name] = value
    return replace(best, **more) if more else best  # type: ignore[arg-type]
