"""Records of `sacct -p`, `sacct -P`, `sacctmgr -P` and of their fixed-width tables: a record is not always a line.

A submit line or a comment may hold newlines and even the delimiter. A record is complete when it has as many fields as
the header; with too few it goes on in the next line, with too many a free-text field held the delimiter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from store import lazy

_HEADER = lazy.compile(r"[A-Za-z][A-Za-z0-9_:%]*(\W{1,4}?)(?=[A-Za-z])")
_DASHES = lazy.compile(r"\s*-{2,}(?: -{2,})*\s*\Z")
_WORDS = lazy.compile(r"CANCELLED by \S+|\S+")
_MAX_JOINED = 4000
FREE_TEXT = (
    "submitline", "comment", "admincomment", "systemcomment", "jobname", "name", "extra", "reason", "workdir",
    "stdout", "stderr", "stdin", "constraints", "failednode", "container",
)  # fmt: skip


@dataclass(slots=True)
class Layout:
    """How a file's records are cut: by a delimiter, or by columns of fixed width."""

    names: list[str]
    delimiter: str = "|"
    spans: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    trailing: bool = False

    def cut(self, line: str) -> list[str]:
        """The fields of a line."""
        if self.spans:
            # A table that was aligned again by hand: a value stands in the gap between two columns.
            across = any(line[b : b + 1].strip() for _, b in self.spans[:-1])
            if across and len(said := words(line)) == len(self.names):
                return said
            return [line[a:b].strip() for a, b in self.spans]
        values = line.split(self.delimiter)
        if self.trailing and len(values) > len(self.names) and values[-1] == "":
            values.pop()
        return values


def words(line: str) -> list[str]:
    """What stands between blanks; sacct's state of a job that somebody cancelled is one."""
    return _WORDS.findall(line)


def header(first: str, second: str = "") -> Layout | None:
    """The layout that a header line (and the line of dashes below it) declares, or None."""
    if _DASHES.match(second) and first.strip():
        spans = [(m.start(), m.end()) for m in re.finditer(r"-+", second)]
        names = [first[a:b].strip().lower() for a, b in spans]
        words = first.lower().split()
        if len(words) == len(spans) and names != words:  # the lines were indented apart, as a paste may do
            names = words
        return Layout(names, spans=spans) if all(names) else None
    found = _HEADER.match(first)
    if found is None:
        return Layout([first.strip().lower()]) if re.fullmatch(r"[A-Za-z]\w*", first.strip()) else None
    delimiter = found.group(1)
    if not delimiter.strip():
        return None
    names = [n.strip().lower() for n in first.split(delimiter)]
    trailing = names[-1] == ""
    if trailing:
        names.pop()
    names = [n.partition("%")[0] for n in names]
    return Layout(names, delimiter, trailing=trailing) if all(names) else None


def records(
    lines: Iterator[tuple[int, str]],
    layout: Layout,
    looks_right: Callable[[Sequence[str]], bool],
    problem: Callable[[str], None],
) -> Iterator[tuple[int, list[str]]]:
    """Complete records with the number of their first line. What does not fit is reported and left out."""
    width = len(layout.names)
    pending = ""
    begun = joined = 0
    for number, line in lines:
        if not pending and not line.strip():
            continue
        alone = layout.cut(line)
        if layout.spans:
            if looks_right(alone):
                yield number, alone
            elif line.strip():
                problem(f"line {number}: not a record: {line[:80]!r}")
            continue
        if pending:
            fresh = len(alone) >= width and looks_right(alone)
            values = layout.cut(pending + "\n" + line)
            if fresh or joined >= _MAX_JOINED:
                problem(f"line {begun}: a record of {len(layout.cut(pending))} fields where {width} are expected")
                pending = ""
            elif len(values) < width:
                pending, joined = pending + "\n" + line, joined + 1
                continue
            else:
                whole = _settled(values, layout, looks_right)
                if whole is not None:
                    yield begun, whole
                else:
                    problem(f"line {begun}: a record that no reading fits")
                pending = ""
                continue
        if len(alone) < width:
            pending, begun, joined = line, number, 0
            continue
        whole = _settled(alone, layout, looks_right)
        if whole is None:
            problem(f"line {number}: {len(alone)} fields that do not fit the header's {width}")
        else:
            yield number, whole
    if pending:
        problem(f"line {begun}: the last record has {len(layout.cut(pending))} of {width} fields")


def _settled(values: list[str], layout: Layout, looks_right: Callable[[Sequence[str]], bool]) -> list[str] | None:
    """The record with a free-text field put together again where it held the delimiter."""
    width = len(layout.names)
    extra = len(values) - width
    if extra == 0:
        return values if looks_right(values) else None
    if extra < 0 or extra > 200:
        return None
    for name in FREE_TEXT:
        if name not in layout.names:
            continue
        i = layout.names.index(name)
        merged = [*values[:i], layout.delimiter.join(values[i : i + extra + 1]), *values[i + extra + 1 :]]
        if looks_right(merged):
            return merged
    return None
