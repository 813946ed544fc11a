"""Files as text: compressed or not, in whatever encoding, line by line in bounded memory."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from io import BufferedReader, BytesIO, RawIOBase
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from collector.formats.pasted import LIMIT, unmarked

if TYPE_CHECKING:
    from collector.importers.base import ImportContext

HEAD = 65_536
LINE_LIMIT = 1 << 20
_REPORT_EVERY = 4 << 20
READ_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError)


class CannotOpen(OSError):
    """The file is packed in a way that is not read here; the text says what to do."""


def opened(path: Path) -> IO[bytes]:
    """The file's bytes, decompressed (gzip, bzip2, xz by their magic numbers), a paste without its marks. Raises CannotOpen, OSError."""
    raw = path.open("rb")
    magic = raw.peek(6)
    if 0 < path.stat().st_size <= LIMIT:  # of a pipe nothing is read twice
        written = raw.read()
        raw.seek(0)
        if (plain := unmarked(written)) != written:
            raw.close()
            return BufferedReader(cast("RawIOBase", BytesIO(plain)))
    try:
        if magic.startswith(b"\x28\xb5\x2f\xfd"):
            raise CannotOpen("compressed with zstd; unpack it first (zstd -d)")
        if magic.startswith(b"PK\x03\x04") and path.suffix.lower() == ".zip":
            raise CannotOpen("a ZIP archive; unpack it first (unzip) and give the folder")
        stream = _decompressed(raw, magic)
        if _is_tar(stream):
            raise CannotOpen("a tar archive; unpack it first (tar -xf) and give the folder")
    except CannotOpen:
        raw.close()
        raise
    return stream


def _decompressed(raw: BufferedReader, magic: bytes) -> IO[bytes]:
    if magic.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.open(raw))
    if magic.startswith(b"BZh"):
        return cast("IO[bytes]", bz2.open(raw))
    if magic.startswith(b"\xfd7zXZ\x00"):
        return cast("IO[bytes]", lzma.open(raw))
    return raw


def _is_tar(stream: IO[bytes]) -> bool:
    """Else an archive of texts would be read as one long text; a broken stream is its reader's to report."""
    try:
        return cast("BufferedReader", stream).peek(512)[257:262] == b"ustar"
    except READ_ERRORS:
        return False


def head(path: Path, size: int = HEAD) -> bytes:
    """The first bytes, decompressed. Raises OSError."""
    with opened(path) as stream:
        return read_some(stream, size)


def read_some(stream: IO[bytes], size: int, problem: Callable[[str], None] | None = None) -> bytes:
    """Up to `size` bytes; what a broken compressed file still gives, with a word to `problem`."""
    parts: list[bytes] = []
    left = size
    while left:
        try:
            part = stream.read(min(left, 1 << 16))
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as broken:
            if problem is not None:
                problem(f"the compressed file breaks off: {broken}")
            break
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def decode(raw: bytes) -> str:
    """Text of a head or a small file: UTF-8 or UTF-16 by its mark, bad bytes replaced."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw.decode("utf-16", "replace")
    return raw.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")


def is_text(raw: bytes) -> bool:
    """Does this look like something that a program printed? Empty counts as text."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    sample = raw[:8192]
    odd = sum(sample.count(bytes((n,))) for n in (0, 1, 2, 3, 4, 5, 6, 14, 15, 16, 17, 18, 19, 20, 21, 22))
    return odd * 50 <= len(sample)


def lines(path: Path, ctx: ImportContext) -> Iterator[tuple[int, str]]:
    """Numbered lines (from 1) without their ends; one longer than 1 MiB is cut and reported.

    A compressed file that breaks off gives what there is, and a problem.
    """
    with opened(path) as stream:
        number = unreported = 0
        try:
            source = _unwrapped(stream)
            while raw := source.readline(LINE_LIMIT):
                number += 1
                unreported += len(raw)
                if len(raw) == LINE_LIMIT and not raw.endswith(b"\n"):
                    ctx.problem(f"line {number}: longer than {LINE_LIMIT} bytes, the rest is left out")
                    while (more := source.readline(LINE_LIMIT)) and not more.endswith(b"\n"):
                        unreported += len(more)
                yield number, raw.rstrip(b"\r\n").decode("utf-8", "replace")
                if unreported >= _REPORT_EVERY:
                    unreported = _report(ctx, unreported)
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as broken:
            ctx.problem(f"the compressed file breaks off after line {number}: {broken}")
        _report(ctx, unreported)


def whole(path: Path, ctx: ImportContext, limit: int) -> bytes | None:
    """The whole file if it is not larger than `limit` bytes (decompressed), else None."""
    with opened(path) as stream:
        raw = read_some(stream, limit + 1, ctx.problem)
    _report(ctx, len(raw))
    return None if len(raw) > limit else raw


def _unwrapped(stream: IO[bytes]) -> IO[bytes]:
    """The stream without its UTF-8 mark; UTF-16 becomes UTF-8."""
    start = stream.read(3)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        stream.seek(0)
        return cast("IO[bytes]", codecs.EncodedFile(cast("codecs._Stream", stream), "utf-8", "utf-16", "replace"))  # pyright: ignore[reportPrivateUsage]
    if start != codecs.BOM_UTF8:
        stream.seek(0)
    return stream


def _report(ctx: ImportContext, count: int) -> int:
    ctx.bytes_read += count
    if ctx.on_progress is not None:
        ctx.on_progress(ctx.bytes_read)
    return 0
