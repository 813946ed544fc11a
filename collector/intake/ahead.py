"""The plan of an enormous log, made by a process of its own while this one still loads what it reasons with.

Searching and counting a gigabyte takes as long as loading does; where there is a second processor, neither has to wait for
the other. Nothing heavy is imported here, since it is the first thing that a command does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import astuple
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collector.framing.parts import Plan

WORTH = 128 << 20
"""Bytes below which a log is planned sooner than another process begins to."""
WAIT_S = 60.0
"""How long a plan may take from the moment when it is wanted; then it is made here."""
_Key = tuple[int, int, int]
_started: dict[_Key, Ahead] = {}


class Ahead:
    """State: the process that plans. Used in a `with`, at whose end it is gone; where it cannot help it is in nobody's way."""

    def __init__(self, path: Path, worth: int = WORTH) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._key: _Key | None = None
        try:
            if (os.cpu_count() or 1) < 2 or not path.is_file() or path.stat().st_size < worth:
                return
            with path.open("rb") as file:
                self._key = _key(file)
            words = [sys.executable, "-P", "-m", "collector.intake.ahead", str(path.absolute()), str(self._key[2])]
            self._process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except (OSError, ValueError):
            return
        _started[self._key] = self

    def __enter__(self) -> Ahead:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._key is not None:
            _started.pop(self._key, None)
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def plan(self) -> Plan | None:
        """What it found; None where it failed."""
        from collector.framing.parts import Part, Plan

        if self._process is None:
            return None
        try:
            out, _ = self._process.communicate(timeout=WAIT_S)
            parts, searched = json.loads(out)
            return Plan([Part(*p) for p in parts], searched) if self._process.returncode == 0 else None
        except (subprocess.TimeoutExpired, ValueError, TypeError):
            return None


def planned(file: IO[bytes], size: int) -> Plan:
    """The plan of a file of `size` bytes: the one that was made ahead where the file still is what it was, else one made now."""
    from collector.framing.parts import plan

    key = _key(file)
    ahead = _started.pop(key, None) if key[2] == size else None
    found = ahead.plan() if ahead is not None else None
    return plan(file, size) if found is None else found


def _key(file: IO[bytes]) -> _Key:
    now = os.fstat(file.fileno())
    return now.st_dev, now.st_ino, now.st_size


def _main(path: str, size: str) -> None:
    from collector.framing.parts import plan

    with Path(path).open("rb") as log:
        made = plan(log, int(size))
    print(json.dumps([[astuple(p) for p in made.parts], made.searched]))


if __name__ == "__main__":
    _main(*sys.argv[1:])
