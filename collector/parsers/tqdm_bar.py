"""tqdm_bar: tqdm's bar without a description: how far a run came when nothing else says so.

SOURCE    the bar of Hugging Face's Trainer and of plain loops, on stderr
ROWS      train_step without a loss, where the bar's total is the number of steps that the plan named; else one
          train_plan event `progress_bar` (step of total_steps) for each bar, in its last state
CAVEAT    bars are looked at now and then (every 16 KiB) and in the last state of each line
EXAMPLE
      3%|▎         | 12/406 [00:10<05:12,  1.26it/s]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.values import TQDM, as_json, number, seconds
from store import lazy
from store.rows import LogEvent, TrainStep

_PLANNED = lazy.compile(r"Total (?:optimization )?steps = ([\d,]{1,18})")


class TqdmBar:
    """One stream's bars."""

    name: ClassVar[str] = "tqdm_bar"
    anchors: ClassVar[tuple[str, ...]] = ("it/s", "s/it", "Total optimization steps = ", "Total steps = ")
    sparse: ClassVar[bool] = True

    @staticmethod
    def ignores(text: str) -> bool:
        """Bars with a word before them, and lines that have a rate and no bar."""
        if "Total " in text:
            return False
        before, percent, after = text.partition("%")
        return not percent or "<" not in after or any(map(str.isalpha, before))

    def __init__(self) -> None:
        self._planned: set[int] = set()
        self._last: dict[int, TrainStep] = {}
        self._given: dict[int, int] = {}

    @property
    def wants_more(self) -> bool:
        """Never: a bar is one line."""
        return False

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line (or one carriage-return segment)."""
        for match in _PLANNED.finditer(line.text):
            self._planned.add(int(match[1].replace(",", "") or 0))
        bar = TQDM.search(line.text)
        if bar is None or line.text[: bar.start()].strip():
            return ()
        n, total = int(bar["n"]), int(bar["total"])
        rest = line.text[bar.end() :].lstrip("]").strip()
        if n == 0 or n > total or total < 2 or rest.startswith(","):
            return ()  # a postfix: another parser's bar
        rate = number(bar["rate"])
        each = None if not rate else rate if bar["unit"] == "s/it" else 1 / rate
        elapsed = seconds(bar["elapsed"])
        row = line.step(
            "hf-trainer" if total in self._planned else "tqdm",
            step=n,
            total_steps=total,
            step_time_s=each,
            metrics=as_json({} if elapsed is None else {"elapsed_s": elapsed}),
        )
        if len(self._last) > 64 and total not in self._last:
            return ()
        self._last[total] = row
        if total in self._planned and n - self._given.get(total, 0) >= max(1, total // 100):
            self._given[total] = n
            return [row]
        return ()

    def close(self) -> Iterable[ParsedRow]:
        """The last state of each bar."""
        rows: list[ParsedRow] = []
        for total, row in self._last.items():
            if total in self._planned:
                if self._given.get(total) != row.step:
                    rows.append(row)
            else:
                rows.append(_evidence(row))
        self._last = {}
        return rows


def _evidence(row: TrainStep) -> LogEvent:
    # Bars of data preparation and evaluation look the same, so a bar alone is told as an event and not as a step.
    context: dict[str, Any] = {
        "ts": row.ts,
        "ts_kind": row.ts_kind,
        "node": row.node,
        "rank": row.rank,
        "local_rank": row.local_rank,
    }
    return LogEvent(
        kind="train_plan",
        name="progress_bar",
        severity="info",
        framework="tqdm",
        message=f"bar at {row.step}/{row.total_steps}",
        file=row.file,
        stream=row.stream,
        line_no=row.line_no,
        line_end=row.line_no,
        step=row.step,
        total_steps=row.total_steps,
        detail=row.metrics,
        **context,
    )
