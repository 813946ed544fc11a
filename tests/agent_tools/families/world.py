"""A small lake made of rows, and the facts that a family sees in it."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agent_tools.evidence import Ledger
from agent_tools.facts import Facts
from agent_tools.families.base import Assessment
from agent_tools.gate.figures import find
from store import Reader, Writer
from store.rows import LogEvent, LogLine, Row, SlurmJob, SlurmNodeState, TrainStep

JOB = "4812"
_LAKES = itertools.count()
T = datetime(2026, 3, 1, 10, tzinfo=UTC)


class World:
    """Rows of one job, added by short words; `facts()` writes them down and hands them to a family."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: list[Row] = []
        self._line = 0
        self._told: tuple[int | None, list[Row], Facts] | None = None

    def line(self) -> int:
        self._line += 1
        return self._line

    def job(self, state: str = "COMPLETED", minutes: float = 60.0, attempt: int = 1, **fields: Any) -> World:
        start = fields.pop("start_ts", T)
        end = None if start is None or state in ("RUNNING", "PENDING") else start + timedelta(minutes=minutes)
        values: dict[str, Any] = {
            "job_id": JOB,
            "attempt": attempt,
            "name": "pretrain",
            "user": "ada",
            "work_dir": "/home/ada/run",
            "state": state,
            "exit_code": 0 if state == "COMPLETED" else 1,
            "exit_signal": 0,
            "submit_ts": T - timedelta(minutes=5),
            "start_ts": start,
            "end_ts": end,
            "ts": end or start or T,
            "elapsed_s": minutes * 60.0 if start is not None else 0.0,
            "time_limit_s": 7200.0,
            "node_list": "n1,n2",
            "node_count": 2,
            "gpus": 16,
        }
        values |= fields
        if "node_list" in fields and "node_count" not in fields:
            values["node_count"] = len(str(fields["node_list"] or "n1").split(","))
        self.rows.append(SlurmJob(**values))
        return self

    def say(self, kind: str, name: str, message: str = "", **fields: Any) -> World:
        number = self.line()
        values: dict[str, Any] = {
            "job_id": JOB,
            "file": "slurm-4812.out",
            "line_no": number,
            "line_end": number,
            "kind": kind,
            "name": name,
            "message": message or name,
            "severity": "fatal" if kind == "exception" else "error",
            "ts": T,
            "ts_kind": "file",
        }
        row = LogEvent(**{**values, **fields})
        self.rows += [row, self._text(row.message or "", number)]
        return self

    def text(self, *lines: str) -> World:
        self.rows += [self._text(t, self.line()) for t in lines]
        return self

    def _text(self, text: str, number: int) -> LogLine:
        return LogLine(job_id=JOB, file="slurm-4812.out", line_no=number, text=text, ts=T, ts_kind="file")

    def train(
        self, losses: Sequence[float | None], every_s: float | None = None, stride: int = 10, **fields: Any
    ) -> World:
        """Progress lines with these losses; `every_s` gives them times of their own, from the job's start."""
        first = fields.pop("first_step", stride)
        grads: Sequence[float] | None = fields.pop("grads", None)
        for i, loss in enumerate(losses):
            number = self.line()
            ts = T + timedelta(seconds=(i + 1) * every_s) if every_s is not None else T
            values: dict[str, Any] = {
                "job_id": JOB,
                "file": "slurm-4812.out",
                "line_no": number,
                "ts": ts,
                "ts_kind": "embedded" if every_s is not None else "file",
                "framework": "megatron",
                "split": "train",
                "loss_name": "lm loss",
                "step": first + i * stride,
                "loss": loss,
                "grad_norm": grads[i] if grads is not None else 1.0,
                "learning_rate": 1e-4,
            }
            self.rows += [TrainStep(**{**values, **fields}), self._text("a line of progress", number)]
        return self

    def node(self, node: str, state: str, after_min: float, until_min: float | None = None, **fields: Any) -> World:
        end = None if until_min is None else T + timedelta(minutes=until_min)
        self.rows.append(
            SlurmNodeState(node=node, state=state, ts=T + timedelta(minutes=after_min), end_ts=end, **fields)
        )
        return self

    def add(self, *rows: Row) -> World:
        self.rows += rows
        return self

    def without(self, *tables: type[Row]) -> World:
        """The same world with these tables taken away."""
        other = World(self.folder)
        other.rows, other._line = [r for r in self.rows if not isinstance(r, tables)], self._line
        return other

    def facts(self, attempt: int | None = None) -> Facts:
        """The facts that these rows give: the same ones again while no row has changed, since a lake is dear to write and to ask."""
        if self._told is not None and self._told[:2] == (attempt, self.rows):
            return self._told[2]
        lake = self.folder / f"lake{next(_LAKES)}"
        Writer(lake, durable=False, threads=1).append([_dated(r) for r in self.rows], batch="b")
        found = Facts(Reader(lake, threads=1, settled=True), Ledger(), JOB, attempt)
        self._told = attempt, [*self.rows], found
        return found


def _dated(row: Row) -> Row:
    return row if row.ts is not None else dataclasses.replace(row, ts=T)


def sentences(a: Assessment) -> Iterable[str]:
    """Everything that an assessment may put before a reader as a claim."""
    yield from (c.text for c in (*a.speaks_for, *a.implies, *a.warnings))
    yield from (a.headline, a.counterfactual)


def check(facts: Facts, a: Assessment) -> None:
    """Each reference leads to a cell that holds something, and no sentence has a figure of its own."""
    for text in (*sentences(a), *(c.text for c in a.actions), *(m.text for m in a.missing)):
        for id_, row, column in re.findall(r"\[\[(E\d+)(?::(\d+))?\.(\w+)\]\]", text):
            assert facts.ledger.get(id_).value(column, int(row or 0)) is not None, f"{text}: {column} is empty"
    for text in sentences(a):
        bare = re.sub(r"\[\[[^\]]*\]\]", "¤", text)
        assert [f.token for f in find(bare) if f.kind in ("figure", "word")] == [], bare


def judge(world: World, assess: Any, attempt: int | None = None) -> Assessment:
    """The family's assessment, with every sentence checked."""
    facts = world.facts(attempt)
    found: Assessment = assess(facts)
    check(facts, found)
    return found
