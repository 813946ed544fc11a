"""A partition's manifest: which segments it has, what each holds, and which replaced ones await deletion.

A segment belongs to a publication (`key`, `pub`) and counts only while the commit record of that key names that
publication (see `store.commits`). A segment without a key is settled: compaction saw its publications committed for good.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from store import day_marks
from store.lake import json_of, read_raw, replace_json
from store.result import StoreError

MANIFEST = "manifest.json"
MAX_JOBS = 64
"""A segment with more job ids than this carries no set and is opened for every job."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One immutable Parquet file. Times are microseconds since 1970 (UTC); None where no row has one.

    `jobs` is None where the table has no job id or there are too many; `null_ts` and `null_job` say that some row has
    none, and such a segment is never skipped on that account. `until` is the largest `end_ts` (or `ts`), None when open.
    """

    file: str
    rows: int
    bytes: int
    ts_min: int | None
    ts_max: int | None
    null_ts: bool
    until: int | None
    jobs: tuple[str, ...] | None
    null_job: bool
    columns: tuple[str, ...]
    key: str | None = None
    pub: str | None = None


_FIELDS = tuple(f.name for f in fields(Segment))


@dataclass(slots=True)
class Manifest:
    """`dropped` maps a replaced file to the time (seconds since 1970) from which nobody new reads it."""

    segments: list[Segment] = field(default_factory=list[Segment])
    dropped: dict[str, float] = field(default_factory=dict[str, float])


def load(folder: Path) -> Manifest | None:
    """The manifest of a partition's folder, None when it has none yet. Raises StoreError when it is broken."""
    raw = read_raw(folder / MANIFEST)
    return None if raw is None else of(raw, folder / MANIFEST)


def of(raw: bytes, path: Path) -> Manifest:
    """The manifest that a file holds. Raises StoreError when it is broken."""
    value = json_of(raw, path)
    try:
        names = {k: tuple(v) for k, v in value["columns"].items()}
        return Manifest([_segment(s, names) for s in value["segments"]], value["dropped"])
    except (KeyError, TypeError, AttributeError) as e:
        raise StoreError(f"{path} is broken ({e!r}): run `inquest doctor`") from e


def save(folder: Path, manifest: Manifest, durable: bool) -> None:
    """Replace the manifest; the caller holds the partition's lock."""
    ids: dict[tuple[str, ...], str] = {}
    segments: list[dict[str, Any]] = []
    for s in manifest.segments:
        # Not `asdict`: it copies every column's name, and a manifest of thousands is saved for each file of an import.
        d = {name: getattr(s, name) for name in _FIELDS}
        d["columns"] = ids.setdefault(s.columns, str(len(ids)))
        segments.append(d)
    value = {"columns": {v: k for k, v in ids.items()}, "segments": segments, "dropped": manifest.dropped}
    with day_marks.changing(folder, durable):
        replace_json(folder / MANIFEST, value, durable)


def _segment(raw: dict[str, Any], names: dict[str, tuple[str, ...]]) -> Segment:
    values: dict[str, Any] = dict(raw)
    values["columns"] = names[raw["columns"]]
    values["jobs"] = None if raw["jobs"] is None else tuple(raw["jobs"])
    return Segment(**values)
