"""What a watcher must not forget: which attempts are waiting or settled, what is counted, how far accounting was read.

One SQLite file in the state folder; any number of watchers may share it, and a kill at any moment leaves it whole. Claims
only save work: that an attempt has one verdict rests on the lake, which publishes a batch under a key once.
"""

from __future__ import annotations

import os
import re
import socket
import sqlite3
import threading
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from inquest.watch.attempt import Attempt, read

LEASE_S = 600.0
KEEP_S = 30 * 86_400.0
_TABLES = """
CREATE TABLE IF NOT EXISTS mark (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS attempt (
  key TEXT PRIMARY KEY, spec TEXT NOT NULL, array_job TEXT, seen REAL NOT NULL, done REAL,
  owner TEXT, lease REAL, tries INTEGER NOT NULL DEFAULT 0, error TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS attempt_open ON attempt (seen) WHERE done IS NULL;
CREATE TABLE IF NOT EXISTS tally (
  name TEXT, family TEXT, attribution TEXT, "partition" TEXT, value REAL NOT NULL,
  PRIMARY KEY (name, family, attribution, "partition")
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS note (
  id TEXT NOT NULL, channel TEXT NOT NULL, grp TEXT NOT NULL, array_job TEXT, body TEXT NOT NULL, at REAL NOT NULL,
  delivery TEXT, PRIMARY KEY (id, channel)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS note_open ON note (channel, grp) WHERE delivery IS NULL;
CREATE INDEX IF NOT EXISTS note_delivery ON note (delivery);
CREATE TABLE IF NOT EXISTS delivery (
  id TEXT PRIMARY KEY, channel TEXT NOT NULL, grp TEXT NOT NULL, made REAL NOT NULL, due REAL NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0, done REAL, outcome TEXT, error TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS delivery_open ON delivery (channel, due) WHERE done IS NULL;
CREATE TABLE IF NOT EXISTS taken (job TEXT PRIMARY KEY, row TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS warning (
  job TEXT NOT NULL, kind TEXT NOT NULL, raised REAL NOT NULL, cleared REAL, body TEXT NOT NULL,
  PRIMARY KEY (job, kind)
) WITHOUT ROWID;
"""

LATE_S = 30.0
"""What was noticed so long after its end is late whatever is done: it takes turns with what can still be in time."""
_IN_TURN = f"""
SELECT key, owner, lease FROM (
  SELECT key, owner, lease, seen, json_extract(spec, '$.user') AS user,
    coalesce(seen - strftime('%s', json_extract(spec, '$.end_ts')) > {LATE_S}, 0) AS late,
    row_number() OVER (PARTITION BY coalesce(array_job, key) ORDER BY seen, key) AS of_array
  FROM attempt WHERE done IS NULL
)
ORDER BY row_number() OVER (PARTITION BY user, late ORDER BY of_array, seen, key), late, seen, key
"""
"""What has no verdict yet, also what is worked on: that has had its turn."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An attempt without a verdict; `tries` counts examinations that broke off."""

    attempt: Attempt
    seen: float
    tries: int


class State:
    """The file, for one process; calls from any thread take turns."""

    def __init__(self, folder: Path, *, owner: str | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.owner = owner or me()
        self._turn = threading.RLock()
        self._db = sqlite3.connect(folder / "watch.sqlite", timeout=30.0, isolation_level=None, check_same_thread=False)
        # A rollback journal, because the write-ahead log needs shared memory, which other hosts do not see.
        self._db.execute("PRAGMA journal_mode = DELETE")
        self._db.execute("PRAGMA synchronous = FULL")
        with self.change():
            for statement in _TABLES.split(";"):
                self._db.execute(statement)

    def close(self) -> None:
        """Close the file."""
        with self._turn:
            self._db.close()

    @contextmanager
    def change(self) -> Generator[sqlite3.Connection]:
        """A transaction: all of it is there afterwards or nothing."""
        with self._turn:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                if self._db.in_transaction:  # SQLite has taken it back itself where the disk is full
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def ask(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """Rows of a query."""
        with self._turn:
            return self._db.execute(sql, values).fetchall()

    # -- marks ----------------------------------------------------------------------------------------------------------

    def mark(self, name: str) -> str | None:
        """A remembered word."""
        found = self.ask("SELECT value FROM mark WHERE name = ?", name)
        return str(found[0][0]) if found else None

    def set_mark(self, name: str, value: str, *, keep: bool = False) -> None:
        """Remember a word; with `keep` an older one stays."""
        verb = "IGNORE" if keep else "REPLACE"
        with self.change() as db:
            db.execute(f"INSERT OR {verb} INTO mark VALUES (?, ?)", (name, value))

    def unmark(self, name: str) -> None:
        """Forget a word."""
        with self.change() as db:
            db.execute("DELETE FROM mark WHERE name = ?", (name,))

    # -- attempts -------------------------------------------------------------------------------------------------------

    def unknown(self, attempts: Iterable[Attempt]) -> list[Attempt]:
        """Those that were never seen."""
        return [a for a in attempts if not self.ask("SELECT 1 FROM attempt WHERE key = ?", a.key)]

    def add(self, attempts: Iterable[Attempt]) -> int:
        """Note that these wait for their verdict; gives how many were new."""
        rows = [(a.key, a.text(), a.array, time.time()) for a in attempts]
        if not rows:
            return 0
        with self.change() as db:
            before = db.total_changes
            db.executemany("INSERT OR IGNORE INTO attempt (key, spec, array_job, seen) VALUES (?, ?, ?, ?)", rows)
            return db.total_changes - before

    def claim(self, most: int) -> list[Waiting]:
        """Up to `most` attempts that nobody living works on; they are ours for a while.

        Users take turns, and of one user's the arrays and single jobs do, each the oldest first: a thousand tasks that fail at
        once keep nobody else waiting. What was noticed late, after the watcher or accounting was away, takes its turns beside.
        """
        now = time.time()
        with self.change() as db:
            free: list[str] = []
            for key, owner, lease in db.execute(_IN_TURN):
                if len(free) >= most:
                    break
                # After a jump of the clock a lease may seem to last for years: such a one is void.
                held = lease is not None and now < lease <= now + LEASE_S
                if owner is None or (owner != self.owner and not (held and alive(str(owner)))):
                    free.append(key)
            db.executemany(
                "UPDATE attempt SET owner = ?, lease = ? WHERE key = ?", [(self.owner, now + LEASE_S, k) for k in free]
            )
            told = [db.execute("SELECT spec, seen, tries FROM attempt WHERE key = ?", (k,)).fetchone() for k in free]
        return [Waiting(read(spec), seen, tries) for spec, seen, tries in told]

    def renew(self, keys: Iterable[str]) -> None:
        """Say that we still work on these."""
        now = time.time()
        with self.change() as db:
            db.executemany(
                "UPDATE attempt SET lease = ? WHERE key = ? AND owner = ?",
                [(now + LEASE_S, k, self.owner) for k in keys],
            )

    def release(self) -> None:
        """Let go of all that we claimed and have not settled, for whoever comes next: that may be this very process."""
        with self.change() as db:
            db.execute("UPDATE attempt SET owner = NULL, lease = NULL WHERE owner = ? AND done IS NULL", (self.owner,))

    def failed(self, key: str, error: str) -> int:
        """Note that an examination broke off; gives how often that has happened. The claim stays ours."""
        with self.change() as db:
            db.execute("UPDATE attempt SET tries = tries + 1, error = ? WHERE key = ?", (error[:500], key))
            row = db.execute("SELECT tries FROM attempt WHERE key = ?", (key,)).fetchone()
        return int(row[0]) if row else 0

    def waiting(self, array: str | None = None) -> int:
        """Attempts without a verdict, of one array or of all."""
        sql = "SELECT count(*) FROM attempt WHERE done IS NULL"
        found = self.ask(sql) if array is None else self.ask(f"{sql} AND array_job = ?", array)
        return int(str(found[0][0]))

    def forget(self) -> None:
        """Leave out what was settled a month ago."""
        old = time.time() - KEEP_S
        with self.change() as db:
            db.execute("DELETE FROM attempt WHERE done < ?", (old,))
            db.execute("DELETE FROM note WHERE delivery IN (SELECT id FROM delivery WHERE done < ?)", (old,))
            db.execute("DELETE FROM delivery WHERE done < ?", (old,))
            db.execute("DELETE FROM warning WHERE cleared < ?", (old,))

    def tallies(self) -> list[tuple[str, str, str, str, float]]:
        """Every counter: name, family, attribution, partition, value."""
        rows = self.ask('SELECT name, family, attribution, "partition", value FROM tally ORDER BY 1, 2, 3, 4')
        return [(str(n), str(f), str(a), str(p), float(str(v))) for n, f, a, p, v in rows]


def folder_of(top: Path, cluster: str | None) -> Path:
    """The state folder of a cluster's watchers: those of another cluster ask another accounting and write other comments."""
    return top / re.sub(r"[^\w.-]|^\.+", "_", cluster or "cluster")


def count(
    db: sqlite3.Connection, name: str, value: float, family: str = "", attribution: str = "", part: str = ""
) -> None:
    """Add to a counter, inside a transaction."""
    db.execute(
        "INSERT INTO tally VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value",
        (name, family, attribution, part, value),
    )


def me() -> str:
    """This process, so that another can tell whether it still lives: host, pid and when it started."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def alive(owner: str) -> bool:
    """Whether a process may still live: one of another host is given the benefit of the doubt until its lease ends."""
    host, pid, started = [*owner.rsplit(":", 2), "", ""][:3]
    if host != socket.gethostname() or not pid.isdigit():
        return True
    return _started(int(pid)) == started


def _started(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
