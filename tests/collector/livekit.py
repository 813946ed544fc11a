"""What tests of live sources share: a clock that a test sets, sources that do as they are told, a sink that remembers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from collector.sources.base import SourceUnavailable
from store import free_sql
from store.rows import HostSample, Row

R = TypeVar("R", bound=Row)


class SetClock:
    """Time passes when the test says so; the time of day can be set apart from it."""

    def __init__(self, start: datetime = datetime(2026, 3, 1, 10, tzinfo=UTC)) -> None:
        self._now, self._steady = start, 1000.0

    def steady(self) -> float:
        return self._steady

    def now(self) -> datetime:
        return self._now

    def passes(self, seconds: float) -> None:
        self._steady += seconds
        self._now += timedelta(seconds=seconds)

    def is_set_by(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)


class Scripted:
    """A source that calls `look` for each round."""

    covers = ("host_sample",)

    def __init__(self, name: str, look: Callable[[], list[Row]], interval_s: float = 0.02) -> None:
        self.name = name  # type: ignore[misc]
        self._look = look
        self.interval_s = interval_s
        self.bound_s = 0.3
        self.opened = self.closed = 0
        self.refuse: SourceUnavailable | None = None

    def open(self) -> None:
        self.opened += 1
        if self.refuse is not None:
            raise self.refuse

    def rows(self) -> Iterator[Row]:
        yield from self._look()

    def close(self) -> None:
        self.closed += 1


class Kept:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._lock = threading.Lock()

    def add(self, row: Row, *, every_s: float) -> None:
        with self._lock:
            self.rows.append(row)

    def tick(self) -> None:
        pass

    def of(self, kind: type[R]) -> list[R]:
        with self._lock:
            return [r for r in self.rows if type(r) is kind]


def sample(origin: str = "test") -> HostSample:
    return HostSample(node="node1", ts=datetime(2026, 3, 1, 10, tzinfo=UTC), origin=origin)


def asked(lake: Path, sql: str) -> list[Any]:
    """What the lake answers."""
    return [tuple(row) for row in free_sql.run(lake, sql).rows]
