"""Where in one file a run of a program begins after another one: requeued, started anew by its script, or by hand.

A run begins where something had ended the one before (Slurm's word for a job, an uncaught exception, a launcher's last word)
and what is printed at a start comes again: the file's own head, a framework's start, steps from further back. What also looks
like that is no new run: a launcher that starts its workers again, an epoch that counts its steps from one, a next stage of the
same script, ranks that each say the same. Where the two cannot be told apart the run is kept as one that is not certain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from collector.framing.chunks import Chunk
from collector.framing.heads import Heads
from collector.framing.restarts import End, Mark, decided
from store.rows import Block, LogEvent, LogRun, Row, TrainStep

_JOB_ENDS = frozenset({"cancelled", "preempted", "requeued", "time_limit", "deadline", "node_failure"})
_CLOSING = frozenset({"launcher_summary"})
_STARTS = frozenset({"train_plan", "train_begin", "banner"})
_STARTED = frozenset(
    {
        ("launcher_event", "workers_started"),
        ("nccl_info", "version"),
        ("nccl_info", "init"),
        ("rendezvous", "joined"),
        *(("checkpoint", name) for name in ("loading", "loaded", "resumed", "none_found", "from_scratch")),
    }
)
_OF_MANY = frozenset({"launcher_event", "launcher_summary", "nccl_error", "nccl_info", "nccl_watchdog", "rendezvous"})
_HOW = {End.JOB: "job", End.CLOSED: "launcher", End.FAILED: "program", None: "finished"}
_UNLOADED = frozenset({"ImportError", "ModuleNotFoundError"})
_MOST = 20_000
"""Marks that are kept of one file, steps apart."""


_At = tuple[int | None, float | None]
"""Step and epoch of a report."""


@dataclass(slots=True)
class Runs:
    """Follows one file: its chunks, and the rows that came of them."""

    _heads: Heads = field(default_factory=Heads)
    _marks: list[Mark] = field(default_factory=list[Mark])
    _series: dict[tuple[Any, ...], _At] = field(default_factory=dict[tuple[Any, ...], _At])
    _epochs: dict[tuple[Any, ...], _At] = field(default_factory=dict[tuple[Any, ...], _At])
    _steps: Mark | None = None
    _many: bool = False
    _last: int = 0

    def saw(self, row: Row | Block) -> None:
        """Take one row, or many."""
        if isinstance(row, TrainStep):
            line = row.line_no
            if row.split != "eval" and line is not None and (row.step is not None or row.epoch is not None):
                self._step((row.rank, row.framework, row.loss_name), row.step, row.epoch, line)
        elif isinstance(row, LogEvent):
            self._event(row)
        elif isinstance(row, Block) and row.row_type is TrainStep and row.constants.get("split") != "eval":
            self._block(row)

    def passed(self, chunk: Chunk) -> None:
        """Take one chunk's text, after its rows."""
        for line in (*self._heads.again(chunk), *self._heads.shown(chunk)):
            self._marks.append(Mark(line, line, "head"))
        self._last = max(self._last, chunk.first_line + chunk.lines() - (1 if chunk.data.endswith(b"\n") else 0))

    def found(self, file: str, attempt: int | None, modified: datetime | None) -> list[LogRun]:
        """The runs of the file in order; nothing where it holds one.

        `attempt` is that of the last one. Those before it have lower numbers, of which accounting may know nothing.
        `modified` is the time of the file.
        """
        begins = decided(self._marks, many=self._many)
        if not begins:
            return []
        starts = [1, *(b.line for b in begins)]
        stops = [*(b.line - 1 for b in begins), max(self._last, begins[-1].line)]
        sure = sum(b.certain for b in begins)
        later = sure
        runs: list[LogRun] = []
        for number, (first, last) in enumerate(zip(starts, stops, strict=True), 1):
            begin = begins[number - 2] if number > 1 else None
            ended = self._ended(first, last)
            later -= begin is not None and begin.certain
            runs.append(
                LogRun(
                    attempt=(attempt or 1) - later if sure else attempt,
                    file=file,
                    ts=modified,
                    run=number,
                    first_line=first,
                    last_line=last,
                    sign=begin.sign if begin else None,
                    certain=begin.certain if begin else True,
                    ended_by=ended.name if ended else None,
                    ended_line=ended.line if ended else None,
                    ended_how=_HOW.get(ended.end) if ended else None,
                )
            )
        return runs

    def _ended(self, first: int, last: int) -> Mark | None:
        """The first of what ended a run, unless steps that were reported after it show that it did not."""
        told = [m for m in self._marks if first <= m.line <= last and m.kind in ("end", "finished")]
        told.sort(key=lambda m: m.line)
        moved = max((m.last for m in self._marks if m.kind == "steps" and first <= m.line <= last), default=0)
        return next((m for m in told if m.line > moved), told[0] if told else None)

    def _event(self, row: LogEvent) -> None:
        line = row.line_no
        if line is None:
            return
        self._many = self._many or row.rank is not None or row.local_rank is not None or row.kind in _OF_MANY
        last, name = row.line_end or line, row.name or row.kind or ""
        if row.kind == "slurm" and row.name in _JOB_ENDS and row.framework != "seff":
            # A step that is cancelled without a reason may be followed by the next one of the same script.
            step = row.name == "cancelled" and '"scope": "step"' in (row.detail or "")
            self._put(Mark(line, last, "end", name, End.CLOSED if step else End.JOB))
        elif row.kind == "launcher_event" and row.name == "restart":
            self._put(Mark(line, last, "restart"))
        elif row.kind in _CLOSING or (row.kind == "slurm" and row.name == "task_exit" and row.exit_code != 0):
            self._put(Mark(line, last, "end", name, End.CLOSED))
        elif row.severity == "fatal" and row.kind != "slurm":
            unloaded = name.rpartition(".")[2] in _UNLOADED and (row.user_frame or "").endswith(" in <module>")
            self._put(Mark(line, last, "end", name, End.FAILED, entry=_entry(row), unloaded=unloaded))
        elif row.kind == "train_end":
            self._put(Mark(line, last, "finished", name))
        elif row.kind in _STARTS or (row.kind, row.name) in _STARTED:
            self._put(Mark(line, last, "start", f"{row.kind} {name}"))

    def _put(self, mark: Mark) -> None:
        if len(self._marks) < _MOST:
            self._marks.append(mark)

    def _step(self, seat: tuple[Any, ...], step: int | None, epoch: float | None, line: int) -> None:
        series = self._series if step is not None else self._epochs  # where only the epoch is printed, that counts
        known, steps = series.get(seat), self._steps
        series[seat] = step, epoch
        back = known is not None and _further_back(step, epoch, known)
        if steps is None or back or line < steps.last or self._marks[-1] is not steps:
            on = known is not None and _further_back(*known, (step, epoch))
            self._steps = steps = Mark(line, line, "steps", back=back, on=on)
            self._put(steps)
        if line > steps.last:
            steps.last = line
        steps.count += 1

    def _block(self, block: Block) -> None:
        def column(name: str) -> Sequence[Any]:
            return block.columns.get(name) or [block.constants.get(name)] * block.count

        if not block.count:
            return
        steps, epochs, ranks, lines = map(column, ("step", "epoch", "rank", "line_no"))
        series = tuple(block.constants.get(name) for name in ("framework", "loss_name"))
        for place in _turns(epochs if steps[0] is None else steps, ranks):
            if steps[place] is not None or epochs[place] is not None:
                self._step((ranks[place], *series), steps[place], epochs[place], lines[place])
        if self._steps is not None:
            self._steps.count += block.count


def _further_back(step: int | None, epoch: float | None, known: _At) -> bool:
    """Whether a report stands before another one of its series; steps that each epoch counts anew do not."""
    before, of = known
    if step is not None and before is not None:
        return step < before and not (epoch is not None and of is not None and epoch > of)
    return epoch is not None and of is not None and epoch < of


def _turns(values: Sequence[Any], ranks: Sequence[Any]) -> Iterator[int]:
    """Places of the first and the last of many steps, and of those around which they go back in one rank's lines."""
    if None not in values and list(values) == sorted(values):
        yield from dict.fromkeys((0, len(values) - 1))
        return
    seat, before = ranks[0], -1
    for place, value in enumerate(values):
        if value is None or ranks[place] != seat:
            continue
        if before < 0:
            yield place
        elif value < values[before]:
            yield before
            yield place
        before = place
    if before >= 0:
        yield before


def _entry(row: LogEvent) -> str | None:
    """The file of the outermost frame of an exception."""
    frame = row.entry_frame or ""
    return frame.rpartition(":")[0] or None
