"""The watcher's loop: ended jobs are noticed, examined when their sources have caught up, settled once, and told.

    accounting, epilog → noticed (durable) → claimed → caught up → worker: verdict in the lake → settled → outbox

Each arrow may be cut by a kill: what was noticed is found again, a verdict that is stored is not made again, and what is
settled is told from the outbox. Waits are measured on the monotonic clock; times of jobs are accounting's own.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from collector.sources.base import SourceUnavailable
from inquest.watch import worker
from inquest.watch.attempt import Attempt
from inquest.watch.noticing import Noticing
from inquest.watch.notify.base import Notifier
from inquest.watch.pool import Pool
from inquest.watch.running import Running
from inquest.watch.settling import settle
from inquest.watch.shared import Shared
from inquest.watch.spool import Spool
from inquest.watch.stamps import Stamp, Stamps
from inquest.watch.state import LATE_S, State
from inquest.watch.teller import say
from store.result import StoreError

TICK_S = 0.2
AGAIN_S = 5.0
OLD_S = 3.0
LEFT_S = 2.0
"""A poll that left ends for the next look at Slurm is made again so soon: no epilog tells of a job that never ran."""
AWAY_S = 10.0
"""The longest pause between two polls while Slurm does not answer."""
COMPLAIN_S = 60.0
"""The same trouble is said again after so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a watcher works. Seconds; `since` is when attempts must have ended to be looked at on the very first start.

    `log` is slurmctld's, on its host.
    """

    lake: Path
    poll_s: float = 10.0
    quiet_s: float = 1.0
    patience_s: float = 10.0
    limit_s: float = 300.0
    warn_s: float = 300.0
    model: str | None = None
    timezone: str | None = None
    since: datetime | None = None
    partitions: frozenset[str] = frozenset()
    min_gpus: int = 0
    log: Path | None = None


@dataclass(slots=True)
class _Mine:
    """An attempt that this watcher has claimed; `since` is when its waiting began: with its end, where that is known."""

    attempt: Attempt
    tries: int
    since: float
    seen: Stamp | None = None
    still: float = 0.0
    not_before: float = 0.0
    failed: float = 0.0
    working: bool = False
    whose: tuple[str, bool] = ("", False)
    """Its user, and whether it was noticed late: those that share this take turns as one."""


@dataclass(slots=True)
class Watcher:
    """One watcher process."""

    access: Shared
    state: State
    pool: Pool
    options: Options
    notifiers: Sequence[Notifier] = ()
    spool: Spool = field(default_factory=lambda: Spool(None))
    _mine: dict[str, _Mine] = field(default_factory=dict[str, _Mine])
    _noticing: Noticing = field(init=False)
    _running: Running = field(init=False)
    _stamps: Stamps = field(default_factory=Stamps)
    _served: dict[tuple[str, bool], float] = field(default_factory=dict[tuple[str, bool], float])
    _polled: float = 0.0
    _good: float = 0.0
    _pause_s: float = 0.0
    _complaint: tuple[str, float] = ("", 0.0)
    _renewed: float = field(default_factory=time.monotonic)
    polled_at: float = 0.0

    def __post_init__(self) -> None:
        self._noticing = Noticing(self.access, self.state, self.spool, self.options.lake, self.options.log)
        self._running = Running(self.access, self.state, self.options.lake, self.options.warn_s)

    @property
    def noticing(self) -> Noticing:
        """What notices ended attempts."""
        return self._noticing

    def run(self, stop: Any = None) -> None:
        """Watch until `stop` (an Event) is set."""
        self._begin()
        while stop is None or not stop.is_set():
            self.safe_turn()

    def safe_turn(self) -> None:
        """`turn`; a lake or a disk that is away for a while ends nothing."""
        try:
            self.turn()
        except (StoreError, OSError, sqlite3.Error) as error:
            if self._news(str(error)):
                say(f"again in {AGAIN_S:g} s: {error}")
            self._polled = time.monotonic() - self.options.poll_s + AGAIN_S
            time.sleep(TICK_S)

    def once(self) -> None:
        """Give every attempt that has ended its verdict, then return."""
        self._begin()
        self._poll()
        while self.state.waiting():
            self._examine()

    def turn(self) -> None:
        """One round of the loop; returns after at most a fifth of a second of waiting."""
        now = time.monotonic()
        rest_s = min(LEFT_S, self.options.poll_s) if self._noticing.left else self.options.poll_s
        if not self._polled or now - self._polled >= (self._pause_s or rest_s):
            self._poll()
        else:
            self._hooked()
        self._examine()
        if self.options.warn_s and not self._mine and self.pool.free > 0:
            self._look_at_running()

    def _begin(self) -> None:
        self.pool.start()
        since = self.options.since or datetime.now(UTC) - timedelta(minutes=10)
        self.state.set_mark("began", since.isoformat(), keep=self.options.since is None)

    # -- noticing -------------------------------------------------------------------------------------------------------

    def _poll(self) -> None:
        self._polled = time.monotonic()
        try:
            self._noticing.poll()
            self.polled_at, self._pause_s = time.time(), 0.0
        except SourceUnavailable as error:
            self._trouble(error)

    def _hooked(self) -> None:
        try:
            self._noticing.hooked()
            if not self._pause_s:
                self._noticing.glance()
                self._noticing.taken_out()
        except SourceUnavailable as error:
            self._complain(error)  # it waits by itself before it asks again
        if self._pause_s and self._noticing.answered > self._polled:
            self._polled = 0.0  # accounting is back, so the poll need not wait either

    def _trouble(self, error: SourceUnavailable) -> None:
        took = time.monotonic() - self._polled
        self._pause_s = max(min(AWAY_S, max(2.0, self._pause_s * 2)), 2 * took)
        self._polled = time.monotonic()
        self._complain(error)

    def _complain(self, error: SourceUnavailable) -> None:
        if not self._news(error.reason):
            return
        remedy = f" (try: {error.remedy})" if error.remedy else ""
        say(f"Slurm cannot be asked, and is asked again: {error.reason}{remedy}")

    def _news(self, trouble: str) -> bool:
        """Whether this has not been said for a while."""
        now = time.monotonic()
        if trouble == self._complaint[0] and now - self._complaint[1] < COMPLAIN_S:
            return False
        self._complaint = (trouble, now)
        return True

    # -- examining ------------------------------------------------------------------------------------------------------

    def _examine(self) -> None:
        now = time.monotonic()
        room = self.pool.size * 4 - len(self._mine)
        if room >= self.pool.size:  # to look for whose turn it is costs more the more wait
            for found in self.state.claim(room):
                whose = (found.attempt.user or "", 0 < found.attempt.ended < found.seen - LATE_S)
                self._mine[found.attempt.key] = _Mine(
                    found.attempt, found.tries, now - _ago(found.attempt), whose=whose
                )
        if now - self._renewed > 60.0:
            self._renewed = now
            self.state.renew(self._mine)
        for mine in sorted(self._mine.values(), key=self._turn):
            if not mine.working and self.pool.free > 0 and now >= mine.not_before and self._settled(mine, now):
                mine.working = True
                self._served[mine.whose] = now
                self.pool.put(mine.attempt.key, self._request(mine))
        for answer in self.pool.take(TICK_S):
            if answer.key in self._mine:
                self._answered(self._mine[answer.key], answer.ok, answer.error)
            else:
                self._running.answered(answer.key, answer.ok, answer.error, self.notifiers)

    def _turn(self, mine: _Mine) -> float:
        """When its user was served last: whoever has but one job does not wait behind the tasks of an array."""
        return self._served.get(mine.whose, 0.0)

    def _settled(self, mine: _Mine, now: float) -> bool:
        """Whether the job's output has stopped growing, or has had time enough."""
        if not self._wanted(mine.attempt) or mine.attempt.start_ts is None:  # what never began has no output
            return True
        seen = self._stamps.look(mine.attempt.key, mine.attempt.logs)
        if seen is None or seen != mine.seen:
            mine.seen, mine.still = seen, now
        if seen is not None and _old(seen, mine.attempt):
            return True
        return now - mine.still >= self.options.quiet_s or now - mine.since >= self.options.patience_s

    def _wanted(self, attempt: Attempt) -> bool:
        o = self.options
        return (attempt.gpus or 0) >= o.min_gpus and (not o.partitions or (attempt.partition or "") in o.partitions)

    def _request(self, mine: _Mine) -> str:
        o = self.options
        behind = self.state.waiting() > self.pool.size * 2
        patience = 0.0 if behind else max(0.0, o.patience_s - (time.monotonic() - mine.since))
        return worker.request(
            mine.attempt, o.lake, timezone=o.timezone, model=o.model, patience_s=patience, tries=mine.tries
        )

    def _answered(self, mine: _Mine, ok: dict[str, Any] | None, error: str) -> None:
        mine.working = False
        if ok is not None:
            self._good = time.monotonic()
            settle(self.state, mine.attempt, ok, self.notifiers)
            self._running.ended(mine.attempt)
            self._stamps.forget(mine.attempt.key)
            del self._mine[mine.attempt.key]
            return
        mine.not_before = time.monotonic() + AGAIN_S
        # A lake that is away is no fault of the attempt's, unless others are judged meanwhile.
        if error.startswith(("StoreError", "OSError", "PermissionError")) and mine.failed >= self._good:
            mine.failed = time.monotonic()
            say(f"job {mine.attempt.job_id}: the lake cannot be used, again in {AGAIN_S:g} s: {error}")
            return
        mine.tries = self.state.failed(mine.attempt.key, error)
        say(f"job {mine.attempt.job_id}: the examination broke off ({mine.tries}): {error}")

    def _look_at_running(self) -> None:
        try:
            found = self._running.next(self._wanted)
        except SourceUnavailable as error:
            self._complain(error)  # slurmctld is away; that is no reason not to ask slurmdbd
            return
        if found is not None:
            key, attempt = found
            o = self.options
            self.pool.put(key, worker.request(attempt, o.lake, timezone=o.timezone, early=True, key=key))


def _ago(attempt: Attempt) -> float:
    """Seconds since the end, where it was noticed soon after: so long its sources have had already.

    One that this host's clock places further back was noticed late, or by another clock: then the patience begins anew.
    """
    ago = time.time() - attempt.ended
    return ago if 0.0 <= ago <= LATE_S else 0.0


def _old(seen: Stamp, attempt: Attempt) -> bool:
    """Whether the job and its output ended a while ago by this host's clock: then there is nothing to wait for."""
    now = time.time()
    last = [s[1] / 1e9 for s in seen if s is not None]
    return all(OLD_S < now - at < 86_400 * 365 for at in (attempt.ended, *last))
