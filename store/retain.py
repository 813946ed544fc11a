"""Age out: whole days of a table go, their files after the grace period that readers are given."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from store import commits, incoming, manifest, triggers
from store.compact import GRACE_S
from store.lake import NO_DAY, Lake, locked, read_json, replace_json
from store.manifest import Manifest
from store.result import StoreError
from store.rows import tables
from store.snapshot import partition_of, partitions

DAY_S = 86400.0


@dataclass(slots=True)
class Retained:
    """What a run did: rows and files that are no longer listed, files deleted, commit records removed."""

    rows: int = 0
    segments: int = 0
    removed: int = 0
    records: int = 0


def retain(
    lake: Lake | Path | str,
    days: float | None = None,
    *,
    by_table: Mapping[str, float] | None = None,
    grace_s: float = GRACE_S,
    now: datetime | None = None,
    on_step: Callable[[str, int, int], None] | None = None,
) -> Retained:
    """Keep the last `days` days of every table, or what `by_table` says for one; None keeps all.

    Rows without a time are kept. Files that were laid aside go after as many days as rows of all tables. Safe beside writers, readers and compactors; a row that comes late for a day that is
    gone stays until the next run. `on_step` is told each partition that goes, how many are gone and of how many. Raises StoreError.
    """
    lake = Lake.of(lake)
    lake.check()
    unknown = sorted(set(by_table or ()) - set(tables()))
    if unknown:
        raise StoreError(f"no table {', '.join(unknown)}; there are {', '.join(tables())}")
    done = Retained()
    today = now or datetime.now(UTC)
    for table in tables():
        keep = (by_table or {}).get(table, days)
        if keep is None:
            continue
        first = (today - timedelta(days=keep)).date().isoformat()
        _announce(lake, table, first)
        old = [p for p in partitions(lake, table) if (day := partition_of(p).day) != NO_DAY and day < first]
        for number, partition in enumerate(old):
            if on_step is not None:
                on_step(partition, number, len(old))
            _age_out(lake, lake.tables / partition, grace_s, done)
    _forget(lake, done)
    done.removed += triggers.age_out(lake, today.timestamp())
    if days is not None:
        for path in incoming.laid_aside(lake):
            with suppress(OSError):
                if today.timestamp() - path.stat().st_mtime > days * DAY_S:
                    path.unlink()
                    done.removed += 1
    return done


def gone_before(lake: Lake) -> dict[str, str]:
    """By table the first day that is kept; what lies before it was aged out on purpose."""
    return read_json(lake.root / "retained.json") or {}


def _announce(lake: Lake, table: str, first: str) -> None:
    with locked(lake.root / "retained.lock"):
        known = gone_before(lake)
        if known.get(table, "") < first:
            replace_json(lake.root / "retained.json", {**known, table: first}, lake.durable)


def _age_out(lake: Lake, folder: Path, grace_s: float, done: Retained) -> None:
    with locked(folder / "compact.lock"), locked(folder / "lock"):
        have = manifest.load(folder) or Manifest()
        now = time.time()
        if have.segments:
            done.rows += sum(s.rows for s in have.segments)
            done.segments += len(have.segments)
            have.dropped.update({s.file: now for s in have.segments})
            have.segments = []
            manifest.save(folder, have, lake.durable)
        if any(at > now - grace_s for at in have.dropped.values()):
            return
        for path in folder.iterdir():  # the locks last: whoever waits for one finds it gone and makes it anew
            if path.name not in ("lock", "compact.lock"):
                done.removed += path.suffix == ".parquet"
                path.unlink(missing_ok=True)
        (folder / "compact.lock").unlink(missing_ok=True)
        (folder / "lock").unlink(missing_ok=True)
    for empty in (folder, folder.parent):
        try:
            empty.rmdir()
        except OSError:  # somebody made it anew, or other nodes are still there
            return


def _forget(lake: Lake, done: Retained) -> None:
    """Remove the records of batches all of whose days are gone: a retry of a batch that old would be written again."""
    first = gone_before(lake)
    for commit in list(commits.every(lake)):
        places = [partition_of(p) for p in commit.partitions]
        if places and all(p.day != NO_DAY and p.day < first.get(p.table, "") for p in places):
            with commits.trying(lake, commit.key) as ours:
                if ours and commits.read(lake, commit.key) == commit and commits.age(commit) > DAY_S:
                    commits.remove(lake, commit.key)
                    done.records += 1
