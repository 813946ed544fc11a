"""A short-lived child that turns spooled chunks into segments of the lake: `python -m collector.seal SPOOL LAKE NODE`.

It holds the engine (some 100 MB) for about a second, so that the collector never does. Each chunk is one batch whose id is
the chunk's: killed at any moment and run again, it publishes every chunk once. A file that the store cannot read
is laid aside in SPOOL/bad and reported; it never keeps the others waiting.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from store.lake import locked, nonce
from store.result import StoreError
from store.rows import columns, tables


@dataclass(slots=True)
class Sealed:
    """How a run ended. `error` is set where chunks had to stay."""

    at: float = 0.0
    chunks: int = 0
    rows: int = 0
    duplicates: int = 0
    laid_aside: list[str] = field(default_factory=list[str])
    error: str | None = None


def seal(spool: Path, lake: Path, node: str, memory_mb: int = 256) -> Sealed:
    """Publish every chunk that waits."""
    from store.writer import Writer

    done = Sealed(at=time.time())
    with locked(spool / "seal.lock", wait=False) as ours:
        if not ours:
            done.error = "another seal is at work"
            return done
        writer = Writer(lake, memory_mb=memory_mb, threads=1)
        for chunk in sorted(spool.glob("ready-*")):
            try:
                _chunk(writer, chunk, node, done)
            except (StoreError, OSError) as error:
                done.error = str(error)[:500]
                break  # the lake is full or away: what waits stays, and is tried again
    replace(spool / "seal.json", asdict(done))
    return done


def _chunk(writer: Any, chunk: Path, node: str, done: Sealed) -> None:
    layout = _layout(chunk)
    files = [(p.stem, p, layout[p.stem]) for p in sorted(chunk.glob("*.csv")) if whole(p) and p.stem in layout]
    batch = f"collect/{node}/{chunk.name.removeprefix('ready-')}"
    try:
        published = writer.append_csvs(files, batch=batch)
    except StoreError:
        bad = [path for table, path, names in files if not writer.readable(table, path, names)]
        if not bad:
            raise
        for path in bad:
            aside = chunk.parent / "bad"
            aside.mkdir(exist_ok=True)
            path.rename(aside / f"{chunk.name}-{path.name}")
            done.laid_aside.append(f"{chunk.name}/{path.name}")
        published = writer.append_csvs([f for f in files if f[1] not in bad], batch=batch)
    done.chunks += 1
    done.duplicates += published.duplicate
    done.rows += 0 if published.duplicate else sum(published.rows.values())
    shutil.rmtree(chunk)


def _layout(chunk: Path) -> dict[str, list[str]]:
    """The columns that the chunk was written with; where a death took that file, those of this version."""
    try:
        return json.loads((chunk / "columns.json").read_text())
    except (OSError, ValueError):
        return {name: [c.name for c in columns(row_type)] for name, row_type in tables().items()}


def whole(path: Path) -> bool:
    """Cut what a death or a power cut left of a last record; False when nothing remains."""
    data = path.read_bytes()
    end = data.find(b"\0")
    end = len(data) if end < 0 else end
    while True:
        cut = data.rfind(b"\n", 0, end) + 1
        if not cut or data.count(b'"', 0, cut) % 2 == 0:  # else the line feed stands within a text
            break
        end = cut - 1
    if cut < len(data):
        os.truncate(path, cut)
    return cut > 0


def replace(path: Path, value: Any) -> None:
    """Write a small file at once or not at all."""
    fresh = path.with_name(f".{path.name}.{nonce()}")
    fresh.write_text(json.dumps(value))
    fresh.rename(path)


def main(words: list[str]) -> int:
    """Exit status 0 when nothing had to stay."""
    spool, lake, node = words
    done = seal(Path(spool), Path(lake), node)
    return 1 if done.error else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
