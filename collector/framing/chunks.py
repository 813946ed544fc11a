"""A file as chunks of whole lines, in UTF-8 bytes without terminal codes, however large and in whatever encoding.

A chunk ends at a line end. Where a line has none within `CHUNK` bytes (a run in one line of carriage returns), it ends
at the last carriage return, and where there is not even one, the chunk ends anywhere and says so with `torn`.
`line_no` counts line feeds only: a progress bar of a thousand carriage returns is one line.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from collector.formats.text import HEAD, READ_ERRORS
from collector.framing import envelope, indent
from store import lazy

CHUNK = 4 << 20
PIECE = 16 << 10

# CSI, OSC (ended by BEL or ST), and the two-character escapes; a cut-off OSC is not followed past its line.
_ESCAPES = lazy.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[PX^_][^\x1b\n]*(?:\x1b\\)?|[ -/]*[0-~])?"
)
_OCTAL = lazy.compile(rb"#(0(?:33(?=\[)|15|07))")
_CONTROLS = bytes(c for c in range(0x20) if c not in (0x09, 0x0A, 0x0D)) + b"\x7f"
# srun -l writes at most 1,024 bytes of a task's line, then a line feed, then a new label and the rest.
_LABEL = lazy.compile(rb"^( *\d{1,6}: )", re.M)
_CUT = lazy.compile(rb"^( *\d{1,6}: )([^\n]{1020,1026})$", re.M)
JOINED = b"\x0b"
REJOIN_WITHIN = 256 << 10


@dataclass(slots=True)
class Chunk:
    """Cleaned bytes; `first_line` is the number of its first line; `labelled` says that srun's task labels are on."""

    data: bytes
    first_line: int
    offset: int
    size: int
    labelled: bool = False
    torn: bool = False
    last: bool = False

    def lines(self, start: int = 0, end: int | None = None) -> int:
        """How many lines end between two places; the pieces of a rejoined line count as they stood in the file."""
        end = len(self.data) if end is None else end
        count = self.data.count(b"\n", start, end)
        return count + self.data.count(JOINED, start, end) if self.labelled else count


def sniff_encoding(head: bytes) -> str | None:
    """The encoding when it is not a superset of ASCII (UTF-16, UTF-32), else None; a guess from BOM or from NULs."""
    for bom, name in (
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if head.startswith(bom):
            return name
    sample = head[:4096]
    if len(sample) >= 16:
        even, odd = sample[0::2].count(0), sample[1::2].count(0)
        half = len(sample) // 2
        if odd > 0.6 * half and even < 0.1 * half:
            return "utf-16-le"
        if even > 0.6 * half and odd < 0.1 * half:
            return "utf-16-be"
    return None


def read_chunks(file: IO[bytes], start: int = 0, end: int | None = None, first_line: int = 1) -> Iterator[Chunk]:
    """Chunks of whole lines from `start` to `end` (bytes of the file); the last one may lack its line end.

    Raises one of READ_ERRORS after the last chunk where a compressed file breaks off.
    """
    file.seek(0)
    head = file.read(HEAD)
    encoding = sniff_encoding(head)
    wrapped = encoding is None and envelope.wrapped(head)
    lead = b"" if encoding or wrapped else indent.indented(head)
    file.seek(start)
    decoder = codecs.getincrementaldecoder(encoding)("replace") if encoding else None
    rest, offset, line = b"", start, first_line
    while True:
        want = CHUNK if end is None else min(CHUNK, end - file.tell())
        block, broken = _read(file, want)
        done = not block or broken is not None
        size = len(block)
        if decoder is not None:
            block = decoder.decode(block, done).lstrip("\ufeff").encode("utf-8", "replace")
        data, rest, torn = _whole_lines(rest + block, done)
        if wrapped and not torn:
            data = envelope.unwrap(data)
        elif lead:
            data = indent.moved_out(data, lead)
        if data or done:
            chunk = Chunk(scrub(data), line, offset, size, torn=torn, last=done and end is None)
            if not torn:
                mend_labels(chunk)
            if data:
                yield chunk
            line += chunk.lines()
        offset += size
        if broken is not None:
            raise broken
        if done:
            return


def _read(file: IO[bytes], want: int) -> tuple[bytes, Exception | None]:
    # A compressed file that breaks off fails a whole read: smaller ones lose less of what could still be unpacked.
    if isinstance(file, io.BufferedReader) or want <= 0:
        return (file.read(want) if want > 0 else b""), None
    pieces: list[bytes] = []
    left = want
    try:
        while left > 0 and (piece := file.read(min(left, PIECE))):
            pieces.append(piece)
            left -= len(piece)
    except READ_ERRORS as broken:
        return b"".join(pieces), broken
    return b"".join(pieces), None


def _whole_lines(data: bytes, done: bool) -> tuple[bytes, bytes, bool]:
    if done:
        return data, b"", False
    cut = data.rfind(b"\n")
    if cut < 0 and len(data) >= CHUNK:
        cut = data.rfind(b"\r", 0, len(data) - 1)
        if cut < 0:
            return data, b"", True
    return data[: cut + 1], data[cut + 1 :], False


def scrub(data: bytes) -> bytes:
    """Without ANSI and OSC sequences and C0 controls; line feeds, carriage returns and tabs stay."""
    if b"#033[" in data:  # how syslog daemons and collectors behind them write control characters
        data = _OCTAL.sub(lambda m: bytes((int(m[1], 8),)), data)
    if b"\x1b" in data:
        data = _ESCAPES.sub(b"", data)
    return data.translate(None, _CONTROLS)


def mend_labels(chunk: Chunk) -> None:
    """Note whether srun's labels are on, and join the lines that it cut.

    A joined piece leaves a vertical tab where it stood (controls were removed before), so that lines can still be
    counted as the file has them.
    """
    data = chunk.data
    sample = data[: 64 << 10]
    lines = sample.count(b"\n") or 1
    tail = data[-(64 << 10) :]
    labels = len(_LABEL.findall(sample))
    chunk.labelled = labels * 3 >= lines or len(_LABEL.findall(tail)) * 3 >= (tail.count(b"\n") or 1)
    if not chunk.labelled:
        return
    edits: list[tuple[int, int, bytes]] = []
    moved: set[int] = set()
    for match in _CUT.finditer(data):
        if match.start() in moved:
            continue
        label, at = match.group(1), match.end()
        pieces: list[bytes] = []
        while (found := data.find(b"\n" + label, at, at + REJOIN_WITHIN)) >= 0:
            begin = found + 1 + len(label)
            stop = data.find(b"\n", begin)
            stop = len(data) if stop < 0 else stop
            pieces.append(data[begin:stop])
            edits.append((found, stop, JOINED))
            moved.add(found + 1)
            at = stop
            if not 1020 <= stop - begin <= 1026:
                break
        if pieces:
            edits.append((match.end(), match.end(), b"".join(pieces)))
    if edits:
        chunk.data = _apply(data, sorted(edits))


def _apply(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    out: list[bytes] = []
    done = 0
    for start, stop, text in edits:
        out += (data[done:start], text)
        done = stop
    out.append(data[done:])
    return b"".join(out)
