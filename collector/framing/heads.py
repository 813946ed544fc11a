"""Whether a file's first lines come again: what a script and its program print before all else they print once a run.

A script that shows the GPUs first (nvidia-smi) and whose program then says one of its first words begins as surely anew.

Nothing is known of the program: of the head the wording counts, without figures, names of days and months. Only where the
first words of a head line occur is looked closer, so that a log of a gigabyte is searched for a few texts and no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from collector.framing.chunks import Chunk
from collector.framing.clean import clean_text
from collector.framing.labels import split_label
from store import lazy

LINES = 12
"""Lines of a head that are compared."""
WITHIN = 30
"""Lines in which they have to come again."""
MOST = 64
"""Places at which a text is found, from which on it is no head line's but one of every step."""
_TABLE, _SHOWN = b"| NVIDIA-SMI ", 60
"""A line of nvidia-smi's table, and the lines below it within which one of the first words comes again."""
_ENOUGH = 3
_PROBES = 2
_LONG = 400
_FIGURE = lazy.compile(r"\d")
_NAMED = frozenset(
    [
        "Mon",
        "Tue",
        "Wed",
        "Thu",
        "Fri",
        "Sat",
        "Sun",
        "Jan",
        "Feb",
        "Mar",
        "Apr",
        "May",
        "Jun",
        "Jul",
        "Aug",
        "Sep",
        "Oct",
        "Nov",
        "Dec",
    ]
)
_LITERAL = lazy.compile(rb"[^\d\r\n\t]{8,}")
_END = lazy.compile(r"(?:\s*\d+: )?(?:Traceback |slurmstepd.*\*\*\* |srun: error: |=\s+BAD TERMINATION )")
"""Where a run is over: a crash, Slurm's word, or the box that a launcher prints for each rank that went."""
_NO_HEAD = lazy.compile(
    r"slurmstepd|srun: |  File |    |\s*$|CUDA kernel errors might |For debugging consider passing |Compile with `TORCH_USE"
)
"""What may stand before the first words of a program: of Slurm, of a traceback whose beginning was cut off.

PyTorch gives the same advice below every error of CUDA: the process's thread and its watchdog print it one after the other.
"""


def wording(text: str) -> str:
    """A line without what differs from run to run: whatever has a figure in it, names of days and months."""
    return " ".join(w for w in text.split() if w not in _NAMED and not _FIGURE.search(w))


@dataclass(slots=True)
class Heads:
    """Looks for the head of one file in it. Feed the chunks in order, the first first."""

    shapes: list[str] = field(default_factory=list[str])
    _probes: dict[bytes, int] = field(default_factory=dict[bytes, int])
    _begun: bool = False
    _first: int = 0
    _tables: int = 0

    def again(self, chunk: Chunk) -> Iterator[int]:
        """Numbers of the lines of this chunk at which the head begins again."""
        if not self._begun:
            self._begun = True
            self._learn(chunk)
        places: set[int] = set()
        for probe in list(self._probes):
            at = chunk.data.find(probe)
            while at >= 0:
                start = chunk.data.rfind(b"\n", 0, at) + 1
                places.add(start)
                self._probes[probe] += 1
                if self._probes[probe] > MOST:
                    del self._probes[probe]
                    break
                at = chunk.data.find(probe, at + len(probe))
        reached = -1
        for start in sorted(places):
            if start < reached:
                continue
            end = self._matched(chunk, start)
            if end is not None:
                reached = end
                number = chunk.first_line + chunk.lines(0, start)
                if number > self._first:
                    yield number

    def shown(self, chunk: Chunk) -> Iterator[int]:
        """Numbers of the lines of this chunk at which the GPUs are shown, and below which one of the first words comes again."""
        at = chunk.data.find(_TABLE)
        while at >= 0 and self._tables < MOST:
            self._tables += 1
            start = chunk.data.rfind(b"\n", 0, at) + 1
            number = chunk.first_line + chunk.lines(0, start)
            # Where a script shows the GPUs both first and last, the table's own lines are first words, too.
            below = (wording(text) for _, text in _lines(chunk, start, _SHOWN) if not text.startswith(("|", "+")))
            if number > self._first and any(shape in self.shapes[: _PROBES + 1] for shape in below):
                yield number
            at = chunk.data.find(_TABLE, at + len(_TABLE))

    def _learn(self, chunk: Chunk) -> None:
        for number, (_, text) in enumerate(_lines(chunk, 0, 4 * LINES), 1):
            if _END.match(text):
                break
            shape = wording(text)
            if _NO_HEAD.match(text) or sum(c.isalpha() for c in shape) < 5 or shape in self.shapes:
                continue
            self.shapes.append(shape)
            if len(self.shapes) <= _PROBES + 1:
                self._first = number
            if len(self.shapes) >= LINES:
                break
        if len(self.shapes) < 2:
            return
        for start, text in _lines(chunk, 0, 4 * LINES):
            if len(self._probes) >= _PROBES:
                break
            if wording(text) in self.shapes[: _PROBES + 1]:
                stop = chunk.data.find(b"\n", start)
                found = _LITERAL.findall(chunk.data, start, stop if stop >= 0 else len(chunk.data))
                if found:
                    self._probes[max(found, key=len).strip()] = 0  # what stands before it may be a time

    def _matched(self, chunk: Chunk, start: int) -> int | None:
        """Where the head ends that begins here: enough of its lines in their order, or all up to a crash; None for no head."""
        count, place, end, whole = 0, -1, start, True
        for at, text in _lines(chunk, start, WITHIN):
            if _END.match(text):
                return end if whole and count >= 2 else None
            shape = wording(text)
            if shape in self.shapes and (found := self.shapes.index(shape)) > place:
                whole = whole and found == place + 1
                count, place, end = count + 1, found, at + 1
            if count >= min(_ENOUGH, len(self.shapes)):
                return end
        return None


def _lines(chunk: Chunk, start: int, most: int) -> Iterator[tuple[int, str]]:
    """Where lines begin, and their text without a label, from `start` on."""
    for _ in range(most):
        if start >= len(chunk.data):
            return
        stop = chunk.data.find(b"\n", start)
        stop = len(chunk.data) if stop < 0 else stop
        yield start, split_label(clean_text(chunk.data[start : min(stop, start + _LONG)]), chunk.labelled)[1]
        start = stop + 1
