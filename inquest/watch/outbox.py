"""The outbox: what has to be told, on which channel, and whether it has been. Durable, so that a kill loses nothing.

A note is one thing to tell on one channel. Notes of one group (the tasks of an array that failed alike) become one delivery
when the group has gone quiet; its members are fixed before it is first sent, so its id is an idempotency key that holds
across restarts. A delivery whose sending broke off is sent again under the same id: at least once, and at most once where
the channel knows the id.
"""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
import time
from dataclasses import dataclass
from typing import Any

from inquest.watch.state import State, count

Note = dict[str, Any]

LONGEST_WAIT_S = 900.0
"""Between two tries of a delivery, before it is spread by half to either side."""

FEWEST_TRIES = 3
"""A delivery that failed less often is not given up, however old it seems: a clock that jumped ahead makes each one old."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How a channel groups and how long it tries. Seconds.

    A group is told when it got no new member for `quiet_s`, one of an array for `array_quiet_s` and no task of it still waits,
    after `longest_s` in any case; what comes later waits until `again_s` have passed. An array's tasks fail a moment after each
    other and are noticed poll by poll, so a pause of seconds is no end. `deadline_s` is when a delivery that fails is given up, once it
    has failed `FEWEST_TRIES` times.
    """

    group: bool = True
    quiet_s: float = 5.0
    array_quiet_s: float = 60.0
    longest_s: float = 1800.0
    again_s: float = 1800.0
    deadline_s: float = 86_400.0


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message: `id` is its idempotency key, `notes` its members, the oldest first."""

    id: str
    channel: str
    notes: list[Note]
    made: float
    tries: int


def put(db: sqlite3.Connection, channel: str, note: Note, *, group: str) -> None:
    """Note something to tell, inside a transaction; a note that is there already stays as it is."""
    db.execute(
        "INSERT OR IGNORE INTO note (id, channel, grp, array_job, body, at) VALUES (?, ?, ?, ?, ?, ?)",
        (note["id"], channel, group, note.get("array"), json.dumps(note, ensure_ascii=False, default=str), time.time()),
    )


class Outbox:
    """One channel's view of the state."""

    def __init__(self, state: State, channel: str, policy: Policy) -> None:
        self._state = state
        self._channel = channel
        self._policy = policy

    def gather(self, *, now: bool = False) -> int:
        """Make deliveries of the groups that are due (`now`: of all); gives how many."""
        made = 0
        groups = self._state.ask(
            "SELECT grp, min(at), max(at), max(array_job) FROM note WHERE channel = ? AND delivery IS NULL GROUP BY grp",
            self._channel,
        )
        for grp, first, last, array in groups:
            if now or self._due(str(grp), float(str(first)), float(str(last)), None if array is None else str(array)):
                made += self._fix(str(grp))
        return made

    def _due(self, group: str, first: float, last: float, array: str | None) -> bool:
        p, moment = self._policy, time.time()
        if not p.group:
            return True
        before = self._state.ask("SELECT max(made) FROM delivery WHERE channel = ? AND grp = ?", self._channel, group)
        told = before[0][0] if before else None
        # A time that lies ahead is a clock that jumped: it decides nothing.
        if told is not None and 0 <= moment - float(str(told)) < p.again_s:
            return False
        if moment - first >= p.longest_s:
            return True
        quiet_s = p.quiet_s if array is None else max(p.quiet_s, p.array_quiet_s)
        return not 0 <= moment - last < quiet_s and (array is None or not self._state.waiting(array))

    def _fix(self, group: str) -> int:
        with self._state.change() as db:
            rows = db.execute(
                "SELECT id FROM note WHERE channel = ? AND grp = ? AND delivery IS NULL ORDER BY at, id",
                (self._channel, group),
            ).fetchall()
            sets = [[str(r[0]) for r in rows]] if self._policy.group else [[str(r[0])] for r in rows]
            for ids in sets:
                if not ids:
                    continue
                key = hashlib.sha256("\n".join([self._channel, *sorted(ids)]).encode()).hexdigest()[:32]
                db.execute(
                    "INSERT OR IGNORE INTO delivery (id, channel, grp, made, due) VALUES (?, ?, ?, ?, ?)",
                    (key, self._channel, group, time.time(), time.time()),
                )
                db.executemany(
                    "UPDATE note SET delivery = ? WHERE id = ? AND channel = ?", [(key, i, self._channel) for i in ids]
                )
        return len(sets)

    def ready(self, *, now: bool = False, most: int = 50) -> list[Delivery]:
        """The deliveries that may be sent, the oldest first."""
        moment = time.time()
        rows = self._state.ask(
            "SELECT id, made, tries, due FROM delivery WHERE channel = ? AND done IS NULL ORDER BY made, id",
            self._channel,
        )
        found: list[Delivery] = []
        for key, made, tries, due in rows:
            wait = float(str(due)) - moment
            # A longer wait than any that is ever set is a clock that was ahead when it was set.
            if now or wait <= 0 or wait > LONGEST_WAIT_S * 1.5:
                found.append(
                    Delivery(str(key), self._channel, self._notes(str(key)), float(str(made)), int(str(tries)))
                )
            if len(found) >= most:
                break
        return found

    def _notes(self, delivery: str) -> list[Note]:
        rows = self._state.ask(
            "SELECT body FROM note WHERE delivery = ? AND channel = ? ORDER BY at, id", delivery, self._channel
        )
        return [json.loads(str(r[0])) for r in rows]

    def told(self, delivery: Delivery, outcome: str, error: str = "") -> None:
        """Close a delivery: `told`, `refused` by the channel for good, or `dropped` after its deadline."""
        with self._state.change() as db:
            changed = db.execute(
                "UPDATE delivery SET done = ?, outcome = ?, error = ? WHERE id = ? AND done IS NULL",
                (time.time(), outcome, error[:500], delivery.id),
            ).rowcount
            if changed:
                count(db, "messages", 1, self._channel, outcome)

    def failed(self, delivery: Delivery, error: str) -> None:
        """Note a failure that may pass: the delivery is tried again later, or dropped after its deadline."""
        moment = time.time()
        with self._state.change() as db:
            count(db, "failures", 1, self._channel)
        if moment - delivery.made > self._policy.deadline_s and delivery.tries + 1 >= FEWEST_TRIES:
            self.told(delivery, "dropped", error)
            return
        wait = min(LONGEST_WAIT_S, 5.0 * 2 ** min(delivery.tries, 10)) * random.uniform(0.5, 1.5)
        with self._state.change() as db:
            db.execute(
                "UPDATE delivery SET tries = tries + 1, due = ?, error = ? WHERE id = ?",
                (moment + wait, error[:500], delivery.id),
            )

    def left(self) -> int:
        """Notes and deliveries that are not told."""
        notes = self._state.ask("SELECT count(*) FROM note WHERE channel = ? AND delivery IS NULL", self._channel)
        open_ = self._state.ask("SELECT count(*) FROM delivery WHERE channel = ? AND done IS NULL", self._channel)
        return int(str(notes[0][0])) + int(str(open_[0][0]))
