"""A slurmdbd that was away: what it tells when it is back has waited long enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collector.sources.base import SourceUnavailable
from inquest.watch import loop
from inquest.watch.loop import Options, Watcher
from inquest.watch.pool import Pool
from inquest.watch.shared import Shared
from inquest.watch.state import State
from store.rows import Row
from tests.inquest.watch.accounts import Accounts


class Clock:
    """Stands in for the module `time` of the loop."""

    def __init__(self) -> None:
        self.at = 1000.0

    def monotonic(self) -> float:
        return self.at

    def time(self) -> float:
        return self.at


class Away(Accounts):
    """Notes when accounting was asked, and answers once it is `back`."""

    def __init__(self, path: Path, clock: Clock) -> None:
        super().__init__(path)
        self.clock, self.back = clock, False
        self.asked: list[float] = []

    def accounting(
        self, since: datetime, until: datetime | None = None, job_ids: Sequence[str] | None = None
    ) -> Iterator[Row]:
        self.asked.append(self.clock.at)
        if not self.back:
            raise SourceUnavailable("Connection refused")
        return iter(())


def test_it_is_polled_every_few_seconds_until_it_is_back_and_then_as_seldom_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(loop, "time", clock)
    monkeypatch.setattr(loop, "TICK_S", 0.0)
    slurm = Away(tmp_path / "accounts", clock)
    state = State(tmp_path / "state")
    state.set_mark("began", datetime.now(UTC).isoformat())
    options = Options(lake=tmp_path / "lake", poll_s=300.0, warn_s=0.0)
    watcher = Watcher(Shared(slurm), state, Pool(1, limit_s=60.0, command=["true"]), options)
    for _ in range(120):
        watcher.turn()
        clock.at += 1.0
    gaps = [b - a for a, b in zip(slurm.asked, slurm.asked[1:], strict=False)]
    assert max(gaps) == loop.AWAY_S
    assert len(gaps) > 10
    slurm.back = True
    before = len(slurm.asked)
    for _ in range(250):
        watcher.turn()
        clock.at += 1.0
    assert len(slurm.asked) == before + 1
