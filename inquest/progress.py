"""How far long work has come: one line on the terminal that overwrites itself, and nothing anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from inquest import safe

Step = Callable[[str, int, int], None]
"""What is being worked on, how many are done, and of how many."""
EVERY_S = 0.1


@contextmanager
def steps(*, quiet: bool = False) -> Generator[Step | None]:
    """Something to call at each step; None where nobody looks at a terminal, or wants to be told nothing."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    last = 0.0

    def show(what: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= EVERY_S:
            last = now
            print(f"\r\x1b[K{safe.line(what)[:80]}: {done:,} of {total:,}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if last:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
