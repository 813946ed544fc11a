"""Free SQL from a person or a model: one SELECT, in a child process that can be killed.

DuckDB's own limits do not stop one scalar call or one oversized list, so the child has an address-space limit and a wall
clock that belongs to the parent. It sees exactly the segments of the tables and nothing else, and can write nothing.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from store import views
from store.cells import instant_us
from store.lake import Lake
from store.overlay import Overlay
from store.redact_sql import redacting
from store.result import Coverage, QueryTimeout, Result, ResultColumn, StoreError
from store.rows import columns as columns_of
from store.rows import tables
from store.snapshot import Opened, Snapshots

MAX_SQL = 20_000
MAX_ANSWER = 16 << 20
"""Bytes of an answer that the child may give."""


class Unwanted:
    """By which another thread says that nobody waits for an answer any more: its child is ended."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self.told = False
        """Whether that was said."""

    def tell(self) -> None:
        """Say so."""
        with self._lock:
            self.told = True
            self._end()

    def holds(self, child: subprocess.Popen[bytes]) -> None:
        """Which child it is about."""
        with self._lock:
            self._child = child
            if self.told:
                self._end()

    def _end(self) -> None:
        if self._child is not None and self._child.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._child.pid, signal.SIGKILL)


def run(
    lake: Lake | Path | str,
    sql: str,
    *,
    timeout_s: float = 20,
    memory_mb: int = 1024,
    max_rows: int = 200,
    unwanted: Unwanted | None = None,
) -> Result:
    """Answer one SELECT over the lake's tables: at most `max_rows` rows, and how many there are.

    Raises StoreError for anything but one SELECT, for an error in it, when it wants more memory than `memory_mb` and once
    another thread says that the answer is `unwanted`; QueryTimeout when it runs longer than `timeout_s`.
    """
    lake = Lake.of(lake)
    lake.check()
    if len(sql) > MAX_SQL:
        raise StoreError(f"the query has {len(sql)} characters; at most {MAX_SQL} are taken")
    started = time.perf_counter()
    text = sql.lower().replace("gpu_window", "gpu_window gpu_sample gpu_minute")
    named = [t for t in tables() if t in text]
    overlay = Overlay(lake)
    try:
        opened = Snapshots(lake, overlay).take(views.with_beside(named))
        answer = _answer(sql, opened, timeout_s, memory_mb, max_rows, unwanted)
    finally:
        overlay.close()
    coverage = tuple(
        Coverage(
            t,
            len(o),
            sum(s.rows for _, s in o),
            instant_us(min((s.ts_min for _, s in o if s.ts_min is not None), default=None)),
            instant_us(max((s.ts_max for _, s in o if s.ts_max is not None), default=None)),
        )
        for t, o in opened.items()
        if t in named
    )
    rows = tuple(tuple(r) for r in answer["rows"])
    columns = tuple(ResultColumn(n, t) for n, t in answer["columns"])
    total = int(answer["row_count"])
    took = time.perf_counter() - started
    return Result("sql", sql, {}, columns, rows, total, total > len(rows), coverage, overlay.told, took)


def _answer(
    sql: str, opened: dict[str, Opened], timeout_s: float, memory_mb: int, max_rows: int, unwanted: Unwanted | None
) -> dict[str, Any]:
    """What the child answers. Raises StoreError."""
    task = {
        "sql": sql,
        "views": {
            t: redacting(views.shown(t, opened.get(t, []), opened), [c.name for c in columns_of(r)])
            for t, r in tables().items()
        },
        "files": [str(p) for o in opened.values() for p, _ in o],
        "memory_mb": memory_mb,
        "max_rows": max_rows,
        "seconds": timeout_s,
        "max_answer": MAX_ANSWER,
    }
    answer = _child(task, timeout_s, unwanted)
    if "error" in answer:
        raise StoreError(f"sql: {answer['error']}")
    return answer


def _child(task: dict[str, Any], timeout_s: float, unwanted: Unwanted | None) -> dict[str, Any]:
    home = str(Path(__file__).resolve().parent.parent)
    env = {
        "PATH": os.defpath,
        "PYTHONPATH": home,
        "PYTHONDONTWRITEBYTECODE": "1",
        "MALLOC_ARENA_MAX": "2",
        "LANG": "C.UTF-8",
    }
    child = subprocess.Popen(
        [sys.executable, "-m", "store.free_sql_child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=env,
        start_new_session=True,
        cwd="/",
    )
    try:
        if unwanted is not None:
            unwanted.holds(child)
        out, _ = child.communicate(json.dumps(task).encode(), timeout=timeout_s + 1)
    except subprocess.TimeoutExpired as e:
        raise QueryTimeout(f"sql: ran past {timeout_s:g} s and was stopped: narrow it by job, node or time") from e
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
    if unwanted is not None and unwanted.told:
        raise StoreError("sql: nobody waits for the answer any more")
    if child.returncode != 0 or not out:
        if child.returncode == -signal.SIGXCPU:
            raise QueryTimeout(f"sql: ran past {timeout_s:g} s and was stopped: narrow it by job, node or time")
        raise StoreError(f"sql: it wanted more than the {task['memory_mb']} MB it may use, and was stopped")
    answer: dict[str, Any] = json.loads(out)
    if answer.get("timeout"):
        raise QueryTimeout(f"sql: ran past {timeout_s:g} s: narrow it by job, node or time")
    return answer
