"""Of which attempt each run of a log is, where accounting knows several: by the times in it, else by their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from collector.intake.discover import JobIndex
from store.rows import Block, LogLine, LogRun, Row


def of_attempts(rows: Iterator[Row | Block], index: JobIndex, job_id: str) -> Iterator[Row | Block]:
    """The rows of one log, its runs last and under the attempts that they are of.

    The rows before them may bear another attempt, that of the last time above them: a reader goes by the runs.
    """
    runs: list[LogRun] = []
    spans: list[tuple[int, int, int]] = []
    for row in rows:
        if isinstance(row, LogRun):
            runs.append(row)
            continue
        if isinstance(row, LogLine) and row.ts_kind == "embedded" and row.line_no is not None:
            # the attempt that it bears may be that of a line before, where its own time lies in none
            number = index.attempt_at(job_id, row.ts)
            if number is not None:
                begun = spans.pop()[0] if spans and spans[-1][2] == number else row.line_no
                spans.append((begun, row.line_no, number))
        yield row
    attempts = index.attempts[job_id]
    ran = [n for n, job in sorted(attempts.items()) if job.start_ts is not None] or sorted(attempts)
    for run, attempt in zip(runs, _numbers(runs, [_told(run, spans) for run in runs], ran), strict=True):
        yield replace(run, attempt=attempt)


def _told(run: LogRun, spans: Sequence[tuple[int, int, int]]) -> set[int]:
    """The attempts in whose time lines of a run lie: more than one where another run begins in it without a sign.

    `spans` are the first and the last line of those in a row whose own times lie in one attempt.
    """
    return {number for begun, last, number in spans if begun <= (run.last_line or 0) and last >= (run.first_line or 0)}


def _numbers(runs: Sequence[LogRun], told: Sequence[set[int]], ran: Sequence[int]) -> list[int | None]:
    """Attempts of runs; None where the lines of one are better known one by one.

    Without times the last run is of the last attempt that ran, and so on backwards. What may be a part of the run before
    it goes with that.
    """
    numbers: list[int | None] = [None] * len(runs)
    after: int | None = None
    stop = len(runs)
    for place in range(len(runs) - 1, -1, -1):
        if not runs[place].certain:
            continue
        said = {number for those in told[place:stop] for number in those}
        if not said:
            below = [n for n in ran if after is None or n < after]
            number = below[-1] if below else (after or ran[0]) - 1
        else:
            number = min(said)
        if len(said) < 2:
            numbers[place:stop] = [number] * (stop - place)
        after, stop = number, place
    return numbers
