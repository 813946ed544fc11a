"""What the probes caught of a job's output, read as its log: through the same parsers, into the same tables.

The collector keeps caught lines apart (`captured_line`). Here a job's are read like the files of a log, and become `log_line`,
`log_event` and `train_step` in one batch, which a later reading replaces. Where a log of the job was imported that batch is
taken back: the file is the better witness, and nothing stands there twice.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from collector.importers.base import ImportContext
from collector.importers.job_log import JobLog
from store import Reader, commits, lazy
from store.lake import Lake
from store.result import StoreError
from store.rows import LogEvent, LogLine, Row, TrainStep
from store.writer import Writer

ORIGIN = "captured"
MAX_LINES = 1_000_000
_TEE = lazy.compile(r"^\[[A-Za-z_]\w*?(\d{1,4})\]:(.*)$", re.DOTALL)
"""Role and local rank, as torchrun puts them before what it repeats."""

_Line = dict[str, Any]


def settle(lake: Path, reader: Reader, job_id: str) -> int:
    """Bring a job's caught lines up to date with the lake. Gives how many rows stand there now. Raises StoreError, OSError.

    Nothing is written, nor need the lake be writable, where they are up to date already.
    """
    if not reader.ask("captured_extent", job_id=job_id).rows[0][0]:
        return 0
    (imported,) = reader.ask("imported_lines", job_id=job_id).rows[0]
    answer = reader.ask("captured_lines", max_rows=MAX_LINES, job_id=job_id)
    names = [column.name for column in answer.columns]
    lines: list[_Line] = [] if imported else told_once([dict(zip(names, row, strict=True)) for row in answer.rows])
    digest = hashlib.sha256(repr([(x["file"], x["line_no"], x["ts"]) for x in lines]).encode()).hexdigest()[:16]
    key = f"captured/{job_id}"
    before = commits.read(Lake.of(lake), key)
    if before is None and not lines:
        return 0
    if before is not None and before.batch == f"{key}/{digest}":
        return sum(before.rows.values())
    rows = _rows(job_id, lines) if lines else iter(())
    published = Writer(lake).append(rows, batch=f"{key}/{digest}", replaces=key)
    return sum(published.rows.values())


def settled(lake: Path, reader: Reader, job_id: str) -> list[str]:
    """`settle`, giving what came in the way of it as notes for the verdict."""
    try:
        settle(lake, reader, job_id)
    except (StoreError, OSError) as error:
        return [f"what the collector caught of the job's output was not read: {error}"]
    return []


def told_once(lines: Sequence[_Line]) -> list[_Line]:
    """Without what a launcher repeats of its workers (torchrun --tee): `[default3]:` before a line that the worker wrote itself."""
    own = {(line["node"], line["local_rank"], line["file"], line["text"]) for line in lines}
    writers: dict[tuple[Any, ...], set[Any]] = {}
    for node, local_rank, file, text in own:
        writers.setdefault((node, local_rank, text), set()).add(file)

    def repeats(line: _Line) -> bool:
        found = _TEE.match(line["text"] or "")
        return bool(found and writers.get((line["node"], int(found[1]), found[2]), set()) - {line["file"]})

    return [line for line in lines if not repeats(line)]


def _rows(job_id: str, lines: Sequence[_Line]) -> Iterator[Row]:
    """The lines of each process and stream as one file."""
    files: dict[str, list[_Line]] = {}
    for line in lines:
        files.setdefault(str(line["file"]), []).append(line)
    with tempfile.TemporaryDirectory(prefix="inquest-captured-") as folder:
        for number, (name, held) in enumerate(files.items()):
            path = Path(folder, f"{number}.{'err' if held[0]['stream'] == 'err' else 'out'}")
            path.write_text("".join(f"{line['text'] or ''}\n" for line in held))
            context = ImportContext(name, UTC, job_id=job_id, size=path.stat().st_size)
            for row in JobLog().rows(path, context):
                if isinstance(row, LogLine | LogEvent | TrainStep):
                    yield _placed(row, held)


def _placed(row: LogLine | LogEvent | TrainStep, held: Sequence[_Line]) -> Row:
    """Whose it is, and when it was written where the line itself does not say."""
    line = held[min(max((row.line_no or 1) - 1, 0), len(held) - 1)]
    who = {c: line[c] for c in ("cluster", "node", "attempt", "step_id", "local_rank", "stream", "file", "line_no")}
    who["rank"] = line["rank"] if line["rank"] is not None else row.rank
    if row.ts is None or row.ts_kind != "embedded":
        ts = line["ts"]
        who |= {"ts": ts if isinstance(ts, datetime) else datetime.fromisoformat(str(ts)), "ts_kind": "written"}
    return replace(row, origin=ORIGIN, **who)
