"""Early warnings on jobs that still run: a hang, a failing GPU, a diverged loss. Once for each job and kind, never a kill; the
collectors of the job's nodes are asked to keep these minutes in full.

One running job is examined at a time, and only while no ended attempt waits, the largest job first; each comes up again
after a while. A warning that no longer holds is taken back; with the job's end it gives way to the verdict.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from inquest.watch.attempt import Attempt
from inquest.watch.attempt import running as running_attempts
from inquest.watch.notify.base import Notifier
from inquest.watch.outbox import put
from inquest.watch.renamed import NAME
from inquest.watch.settling import of_job
from inquest.watch.shared import Shared
from inquest.watch.state import State, count
from inquest.watch.waking import Waking
from store import Writer
from store.rows import SlurmJob

YOUNG_S = 120.0
"""A job that has hardly begun is left alone."""


class Running:
    """Which running job to look at next, and what to make of the answer."""

    def __init__(self, access: Shared, state: State, lake: Path, every_s: float) -> None:
        self._access = access
        self._state = state
        self._writer = Writer(lake)
        self.waking = Waking(lake)
        self._every_s = every_s
        self._listed: float | None = None
        self._jobs: dict[str, tuple[Attempt, SlurmJob]] = {}
        self._looked: dict[str, float] = {}
        self._at: str | None = None

    def next(self, wanted: Callable[[Attempt], bool]) -> tuple[str, Attempt] | None:
        """The next job to examine, with the key of the request; None where none is due. Raises SourceUnavailable."""
        now = time.monotonic()
        if self._at is not None:
            return None
        if self._listed is None or now - self._listed >= self._every_s / 2:
            self._listed = now
            rows = self._access.recent(self._every_s / 2)
            found = running_attempts(rows, self._access.cluster or "cluster", self._state.mark(NAME))
            self._jobs = {_key(a): (a, r) for a, r in found if wanted(a)}
            self._looked = {k: v for k, v in self._looked.items() if k in self._jobs}
        due = [
            k
            for k, (a, r) in self._jobs.items()
            if (r.elapsed_s is None or r.elapsed_s >= YOUNG_S)
            and (a.gpus or 0) > 0
            and now - self._looked.get(k, -1e9) >= self._every_s
        ]
        if not due:
            return None
        key = max(due, key=lambda k: (self._jobs[k][0].gpus or 0, k))
        self._looked[key], self._at = now, key
        attempt, row = self._jobs[key]
        digest = hashlib.sha256(repr(row).encode("utf-8", "backslashreplace")).hexdigest()
        self._writer.append([replace(row, end_ts=None)], batch=f"watch:{digest}", replaces=f"running:{key}")
        return key, attempt

    def answered(self, key: str, ok: dict[str, Any] | None, error: str, notifiers: Sequence[Notifier]) -> None:
        """Raise what is new, take back what is over. An examination that failed says nothing."""
        del error
        if key == self._at:
            self._at = None
        if ok is None or key not in self._jobs:
            return
        attempt = self._jobs[key][0]
        found: dict[str, dict[str, Any]] = {e["kind"]: e for e in ok["early"]}
        raised = [kind for kind, what in found.items() if self._raise(key, attempt, kind, what, notifiers)]
        if raised:
            self.waking.ask(attempt, raised)
        for kind, body in self._state.ask("SELECT kind, body FROM warning WHERE job = ? AND cleared IS NULL", key):
            if str(kind) not in found:
                self._clear(key, str(kind), json.loads(str(body)), notifiers)

    def ended(self, attempt: Attempt) -> None:
        """The job has its verdict: its warnings are over, without a word."""
        with self._state.change() as db:
            db.execute("UPDATE warning SET cleared = ? WHERE job = ? AND cleared IS NULL", (time.time(), _key(attempt)))
        self._jobs.pop(_key(attempt), None)

    def _raise(
        self, key: str, attempt: Attempt, kind: str, what: dict[str, Any], notifiers: Sequence[Notifier]
    ) -> bool:
        """Whether it is new."""
        note = {
            "id": f"warning:{key}:{kind}",
            "kind": "warning",
            "title": what["title"],
            "headline": what["headline"],
            "disposition": " ".join(what["shows"][:3]),
            "actions": what["actions"],
            "confidence": what["confidence"],
            "attribution": what["attribution"],
            "held": what["held"],
            **of_job(attempt),
        }
        with self._state.change() as db:
            new = db.execute(
                "INSERT OR IGNORE INTO warning (job, kind, raised, body) VALUES (?, ?, ?, ?)",
                (key, kind, time.time(), json.dumps(note, default=str)),
            ).rowcount
            if new:
                count(db, "warnings", 1, kind)
                _tell(db, note, notifiers)
        return bool(new)

    def _clear(self, key: str, kind: str, note: dict[str, Any], notifiers: Sequence[Notifier]) -> None:
        with self._state.change() as db:
            if db.execute(
                "UPDATE warning SET cleared = ? WHERE job = ? AND kind = ? AND cleared IS NULL",
                (time.time(), key, kind),
            ).rowcount:
                _tell(db, {**note, "id": f"cleared:{key}:{kind}", "kind": "cleared"}, notifiers)


def _tell(db: Any, note: dict[str, Any], notifiers: Sequence[Notifier]) -> None:
    for notifier in notifiers:
        if notifier.filter.wants(note) and not notifier.whole:
            put(db, notifier.name, note, group=notifier.group(note))


def _key(attempt: Attempt) -> str:
    return attempt.key.replace("verdict:", "job:", 1)
