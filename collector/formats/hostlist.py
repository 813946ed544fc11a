"""Slurm's host lists: `node[01-04,7],b[1-2]c[3-4]` to names, with an upper bound."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from store import lazy

LIMIT = 65_536
"""No cluster has more nodes; a list that claims to is broken or hostile."""

_RANGE = lazy.compile(r"(\d{1,18})(?:-(\d{1,18}))?\Z", re.ASCII)
_PART = lazy.compile(r"\[([^\[\]]*)\]")


class HostListError(ValueError):
    """The text is no host list, or names more hosts than any cluster has."""


def expand(text: str, limit: int = LIMIT) -> list[str]:
    """All names in order. Raises HostListError for broken brackets and for more than `limit` names."""
    names: list[str] = []
    for item in _split(text):
        for name in _expand_one(item, limit):
            names.append(name)
            if len(names) > limit:
                raise HostListError(f"more than {limit} hosts in {text[:60]!r}")
    return names


def expanded(text: str | None, limit: int = LIMIT) -> str | None:
    """The names joined by commas as the tables hold them; a text that is no host list stays as it is."""
    if not text:
        return None
    if "[" not in text:
        return text
    try:
        return ",".join(expand(text, limit))
    except HostListError:
        return text


def _split(text: str) -> Iterator[str]:
    """Split at commas outside brackets."""
    depth = start = 0
    for i, char in enumerate(text):
        if char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
        elif char == "," and depth == 0:
            if text[start:i].strip():
                yield text[start:i].strip()
            start = i + 1
        if depth not in (0, 1):
            raise HostListError(f"unbalanced brackets in {text[:60]!r}")
    if depth:
        raise HostListError(f"unbalanced brackets in {text[:60]!r}")
    if text[start:].strip():
        yield text[start:].strip()


def _expand_one(item: str, limit: int) -> Iterator[str]:
    pieces = _PART.split(item)
    if len(pieces) == 1:
        yield item
        return
    choices = [[piece] if i % 2 == 0 else _numbers(piece, limit) for i, piece in enumerate(pieces)]
    total = 1
    for choice in choices:
        total *= len(choice)
        if total > limit:
            raise HostListError(f"more than {limit} hosts in {item[:60]!r}")
    for combination in product(*choices):
        yield "".join(combination)


def _numbers(text: str, limit: int) -> list[str]:
    values: list[str] = []
    for part in text.split(","):
        found = _RANGE.match(part.strip())
        if found is None:
            raise HostListError(f"not a range: {part[:40]!r}")
        low, high = found.group(1), found.group(2) or found.group(1)
        if int(high) - int(low) >= limit or int(high) < int(low):
            raise HostListError(f"range too wide or reversed: {part[:40]!r}")
        values.extend(str(n).zfill(len(low)) for n in range(int(low), int(high) + 1))
        if len(values) > limit:
            raise HostListError(f"more than {limit} hosts in {text[:60]!r}")
    return values
