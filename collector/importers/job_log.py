"""job_log: what a job printed, to lines, events and training steps.

SOURCE    slurm-%j.out, %x-%j.err, torchrun's log directory, any text that a training job wrote
ROWS      log_line, log_event, train_step; log_run where the file holds several runs
CAVEAT    above `LINES_WHOLE` only the lines around events, the head, the tail and a sample are kept as log_line; every
          byte is searched for events and progress all the same
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import IO, ClassVar

from collector.formats import text
from collector.framing.blocks import WINDOWS
from collector.framing.chunks import Chunk, read_chunks, scrub, sniff_encoding
from collector.framing.ends import ends
from collector.framing.keep import Keeper
from collector.framing.labels import Label, hosts_in
from collector.framing.matcher import AnchorMatcher
from collector.framing.parts import READ_WHOLE, Part
from collector.framing.runs import Runs
from collector.framing.streams import Demux
from collector.framing.times import Clock
from collector.importers.base import ImportContext, ImportFailed
from collector.intake.ahead import planned
from collector.parsers.base import Parser, also_needed
from collector.parsers.registry import parser_types
from store import lazy
from store.rows import Block, LogEvent, Row, one_by_one

LINES_WHOLE = 16 << 20
LINES_QUICK = 4 << 20
"""Up to which size (bytes) every line is stored: when all is imported, and when an answer is wanted at once."""
_RANK_IN_NAME = lazy.compile(r"(?:^|[._-])(?:global_?)?rank[._-]?(\d{1,5})(?=[._-]|$)", re.I)
_TEXT_SUFFIXES = {".log", ".out", ".err", ".txt", ".o", ".e", ".stdout", ".stderr", ""}


@cache
def _machinery() -> tuple[tuple[type[Parser], ...], AnchorMatcher]:
    types = parser_types()
    return types, AnchorMatcher([t.anchors for t in types], also=also_needed(types))


@dataclass(slots=True)
class JobLog:
    """Reads one log, all of it. Files of up to `lines_whole` bytes have every line stored. `windows` are those of `Demux`."""

    lines_whole: int = LINES_WHOLE
    windows: tuple[int, int] | None = WINDOWS

    name: ClassVar[str] = "job_log"
    covers: ClassVar[tuple[str, ...]] = ("log_line", "log_event", "train_step", "log_run")

    def claims(self, path: Path, head: bytes) -> int:
        """Any text: surely in a folder called logs, well by a log's suffix, weakly otherwise; never what is binary to its end."""
        if (_binary(head) and not _ends_in_text(path)) or _document(path, head):
            return 0
        if path.parent.name == "logs" or "logs" in path.parts[:-1]:
            return 60
        if re.match(r"(slurm-\d+|.*[-_.]\d+)\.(out|err|log)$", path.name):
            return 50
        if path.suffix.lower() in (".out", ".err", ".log"):
            return 40
        if path.parent.name in _OTHERS:
            return 0
        return 20 if path.suffix.lower() in _TEXT_SUFFIXES else 10

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """Events and steps in the file's order, lines with them. Raises ImportFailed for a file that is not text."""
        return one_by_one(self.blocks(path, ctx))

    def blocks(self, path: Path, ctx: ImportContext) -> Iterator[Row | Block]:
        """`rows`, of which many are given at once where the log repeats itself."""
        with text.opened(path) as file:
            head = text.read_some(file, text.HEAD)
            if not head and path.stat().st_size:
                raise ImportFailed("a compressed file that holds nothing or breaks off at once; copy it again")
            if not head:
                raise ImportFailed("the file is empty, so the job printed nothing or nothing was flushed")
            if _binary(head) and not _ends_in_text(path):
                raise ImportFailed("not text (compressed or binary); unpack it first")
            size, packed = path.stat().st_size, type(file) is not io.BufferedReader
            found: list[Part] | None = None
            if packed and ctx.budget_bytes is not None and sniff_encoding(head) is None:
                file, found = self._ends(file, ctx.budget_bytes, ctx)
                size, packed = found[-1].end, False
            types, matcher = _machinery()
            hosts = hosts_in(scrub(head).decode("utf-8", "replace"))
            clock, label = _clock(ctx), base_label(path, ctx.one_node)
            demux = Demux(types, matcher, clock, ctx.name, label, hosts, self.windows)
            whole = self.lines_whole if ctx.budget_bytes is None else min(self.lines_whole, LINES_QUICK)
            keeper = Keeper(demux, _clock(ctx), None if packed else size, whole)
            stamp, runs = _Stamp(ctx), Runs()
            for part in found or self._parts(file, head, size, ctx):
                end = part.end if part.end < size else None
                try:
                    for chunk in read_chunks(file, part.start, end, part.first_line):
                        yield from self._chunk(chunk, demux, keeper, stamp, runs)
                        ctx.bytes_read += chunk.size
                        if ctx.on_progress is not None:
                            ctx.on_progress(ctx.bytes_read)
                except text.READ_ERRORS as broken:
                    ctx.problem(f"reading breaks off after {ctx.bytes_read} bytes: {broken}")
                for row, parser in demux.cut():
                    runs.saw(row)
                    yield stamp(row, parser)
            for row, parser in demux.close():
                runs.saw(row)
                yield stamp(row, parser)
            yield from (stamp(run, None) for run in runs.found(ctx.name, ctx.attempt, ctx.modified))
            for failure in demux.failures[:20]:
                ctx.problem(failure)
            if keeper.left_out:
                ctx.problem(
                    f"{keeper.left_out} of {keeper.seen} lines that were searched are not kept as log_line (the file has "
                    f"{size} bytes): kept are those around events, the head, the tail and a sample"
                )

    def _ends(self, file: IO[bytes], budget: int, ctx: ImportContext) -> tuple[IO[bytes], list[Part]]:
        file.seek(0)
        got = ends(file, max(budget, 2 * READ_WHOLE), READ_WHOLE // 2, READ_WHOLE, ctx.problem)
        if not got.all_there:
            how = "its end was not reached" if got.stopped else "its head and its tail"
            ctx.problem(
                f"read {len(got.data)} of {got.size} unpacked bytes for a quick answer: {how}; `inquest import` reads all"
            )
        return io.BytesIO(got.data), got.parts

    def _parts(self, file: IO[bytes], head: bytes, size: int, ctx: ImportContext) -> list[Part]:
        budget = ctx.budget_bytes
        plain = type(file) is io.BufferedReader and sniff_encoding(head) is None
        if budget is None or not plain or size <= max(budget, 2 * READ_WHOLE):
            return [Part(0, size, 1)]
        found = planned(file, size)
        how = "; the rest was searched for what looks fatal" if found.searched else ""
        ctx.problem(
            f"read {found.size} of {size} bytes for a quick answer: head, tail, {len(found.parts) - 2} places between"
            f"{how}; `inquest import` reads all of it"
        )
        return found.parts

    def _chunk(self, chunk: Chunk, demux: Demux, keeper: Keeper, stamp: _Stamp, runs: Runs) -> Iterator[Row | Block]:
        spots: list[tuple[int, int]] = []
        for segment in demux.feed(chunk):
            for row, parser in segment.rows:
                runs.saw(row)
                if isinstance(row, Block):
                    yield stamp.block(row)
                    continue
                yield stamp(row, parser)
                if isinstance(row, LogEvent) and row.severity in ("fatal", "error", "warning"):
                    spots.append((segment.start, segment.end))
        runs.passed(chunk)
        for lines in keeper.lines(chunk, spots):
            yield stamp.block(lines)


def _clock(ctx: ImportContext) -> Clock:
    return Clock(ctx.zone, ctx.modified, ctx.own_zone, ctx.start)


class _Stamp:
    """Puts on each row what the file as a whole says: cluster, node, job, attempt, origin, and who recognised it."""

    def __init__(self, ctx: ImportContext) -> None:
        self.values = {
            "cluster": ctx.cluster,
            "job_id": ctx.job_id,
            "attempt": ctx.attempt,
            "origin": ctx.name,
        }
        self.values = {k: v for k, v in self.values.items() if v is not None}
        self.node = ctx.node

    def __call__(self, row: Row, parser: str | None) -> Row:
        put = object.__setattr__  # the row was made a moment ago and nobody else holds it
        for key, value in self.values.items():
            if getattr(row, key) is None:
                put(row, key, value)
        if self.node is not None and row.node is None:
            put(row, "node", self.node)
        if parser is not None and isinstance(row, LogEvent) and row.parser is None:
            put(row, "parser", parser)
        return row

    def block(self, block: Block) -> Block:
        """The same for many rows."""
        for key, value in (*self.values.items(), ("node", self.node)):
            if value is not None and key not in block.columns and block.constants.get(key) is None:
                block.constants[key] = value
        return block


def base_label(path: PurePath, one_node: bool = False) -> Label:
    """What a file's place says: torchrun's `attempt_0/3/stderr.log` is local rank 3's stderr; `x.err` is stderr.

    Where the job ran on one node that is the rank, too.
    """
    parts = path.parts
    stem = path.name.lower()
    stream = None
    if stem.endswith((".err", ".stderr")) or stem in ("stderr", "stderr.log", "stderr.txt"):
        stream = "err"
    elif (
        stem in ("stdout", "stdout.log", "stdout.txt")
        or stem.endswith(".stdout")
        or (stem.endswith(".out") and isinstance(path, Path) and path.with_suffix(".err").exists())
    ):
        stream = "out"
    rank = local = None
    if len(parts) >= 3 and parts[-2].isdigit() and re.fullmatch(r"attempt_\d+", parts[-3]):
        local = int(parts[-2])
        rank = local if one_node else None
    if match := _RANK_IN_NAME.search(path.name):
        rank = int(match.group(1))
    return Label(rank=rank, local_rank=local, stream=stream)


_OTHERS = frozenset({"slurm", "metrics", "kernel", "nccl", "tables"})
"""Folders of a bundle that hold other things than logs: a text there that nobody else knows is not a job's output."""

_PICKLES = (b"\x02", b"\x03", b"\x04", b"\x05")
"""A pickle's protocol, after its first byte; a small one has too few other controls to be told by."""

_ODD = bytes({*range(1, 7), *range(14, 27), *range(28, 32), 127})
"""Controls that no terminal program prints: all but NUL, bell, blanks and escape."""


def _document(path: Path, head: bytes) -> bool:
    """One JSON document, that of some other tool: a log in JSON has an object on each line."""
    start = head.lstrip()
    if path.suffix.lower() != ".json" or start[:1] not in (b"{", b"["):
        return False
    first, _, rest = start.partition(b"\n")
    return not (first.rstrip().endswith(b"}") and first.startswith(b"{") and rest.lstrip().startswith(b"{"))


_NAMED = lazy.compile(r"[.](?:out|err|log|txt)$", re.I)


def _ends_in_text(path: Path) -> bool:
    """Whether a log by its name, which begins with something binary, goes over to lines of text: a program printed both.

    A file of some other format ends as it began, in its own tables or a checksum.
    """
    if not _NAMED.search(path.name):
        return False
    try:
        with path.open("rb") as file:
            size = file.seek(0, io.SEEK_END)
            file.seek(max(0, size - _TAIL))
            tail = file.read(_TAIL)
    except OSError:
        return False
    lines = tail.split(b"\n")[-_LAST_LINES - 1 :]
    words = b"\n".join(lines)
    return len(lines) > _LAST_LINES and not _odd(words) and b"\0" not in words and _utf8(words)


def _utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


_TAIL, _LAST_LINES = 8 << 10, 3
"""The bytes that are looked at, and how many lines at the end of them must be text."""


def _binary(head: bytes) -> bool:
    if head[:4] in (b"PK\x03\x04", b"\x7fELF", b"PAR1") or (head[:1] == b"\x80" and head[1:2] in _PICKLES):
        return True
    if sniff_encoding(head) is not None:
        return False
    # NULs in a log are holes of a truncated or sparse file; a binary has other controls as well.
    return _odd(head) > 0.03 * len(head) + 8


def _odd(data: bytes) -> int:
    return len(data) - len(data.translate(None, _ODD))
