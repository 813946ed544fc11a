"""Blocks of `Key=Value` as scontrol prints them, one line or many; values may hold spaces and equal signs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from store import lazy

EVERY = "*"
"""Under this key stand all values of the keys that repeat, as they were printed, one a line."""


class Blocks:
    """Cuts scontrol's output into blocks. Only `keys` begin a value; `to_line_end` keys own the rest of their line.

    Of a key that a block repeats the first value is kept, and of those in `repeated` every one, in order, under `EVERY`.
    """

    def __init__(
        self, first: str, keys: Iterable[str], to_line_end: Iterable[str] = (), repeated: Iterable[str] = ()
    ) -> None:
        names = sorted({first, *keys, *to_line_end}, key=len, reverse=True)
        self._first = f"{first}="
        self._key = lazy.compile(rf"(?:^|(?<=\s))({'|'.join(map(re.escape, names))})=")
        self._rest = frozenset(to_line_end)
        self._repeated = frozenset(repeated)

    def cut(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, dict[str, str]]]:
        """Blocks with the number of their first line. Lines before the first block are passed over."""
        block: dict[str, str] = {}
        begun, last = 0, ""
        for number, line in lines:
            text = line.strip()
            if text.startswith(self._first):
                if block:
                    yield begun, block
                block, begun, last = {}, number, ""
            elif not text or not begun:
                continue
            last = self._read(text, block, last, whole_line=" UserId=" not in line and " Arch=" not in line)
        if block:
            yield begun, block

    def _read(self, text: str, block: dict[str, str], last: str, whole_line: bool) -> str:
        found = list(self._key.finditer(text))
        if not found:
            if last in self._rest and last in block:
                block[last] += "\n" + text
            return last
        for i, match in enumerate(found):
            name = match.group(1)
            rest = whole_line and name in self._rest
            end = len(text) if rest or i + 1 == len(found) else found[i + 1].start()
            block.setdefault(name, text[match.end() : end].strip())
            if name in self._repeated:
                block[EVERY] = f"{block.get(EVERY, '')}{name}={text[match.end() : end].strip()}\n"
            last = name
            if rest:
                break
        return last
