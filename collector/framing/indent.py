"""Logs that stand indented as a whole, as in a page or a report that they were copied into: read as they were printed.

CAVEAT  A tab or four spaces, or more of them, before each line of the beginning, and before at least half of those lines no more
        than that: what centres a heading or sets off a table is the program's own and stays. Further down a line that has less keeps what it has.
"""

from __future__ import annotations

_ENOUGH = 0.5
_MOST = 0.8
"""Share of the lines that are set in alike: a heading that is centred with spaces may stand among tabs."""
_FEWEST = 3
_WIDTH = 4


def indented(head: bytes) -> bytes:
    """What stands before each line of a log's beginning; empty where the lines begin as they should."""
    if head[:1] not in (b"\t", b" ", b"\n", b"\r"):
        return b""
    lines = [line for line in head.split(b"\n") if line.strip()][:200]
    if len(lines) < _FEWEST:
        return b""
    if not all(line[:1] in (b"\t", b" ") for line in lines):
        return b""
    first = b"\t" if lines[-1].startswith(b"\t") else b" "
    moved = [line for line in lines if line.startswith(first)]
    lead = first * min(len(line) - len(line.lstrip(first)) for line in moved)
    if first == b" ":
        lead = lead[: len(lead) // _WIDTH * _WIDTH]
    if len(moved) < _MOST * len(lines):
        return b""
    exact = sum(line[len(lead) : len(lead) + 1] not in (b" ", b"\t") for line in moved)
    return lead if lead and exact >= _ENOUGH * len(moved) else b""


def moved_out(data: bytes, lead: bytes) -> bytes:
    """Whole lines without what stands before each."""
    return b"\n".join([line.removeprefix(lead) for line in data.split(b"\n")])
