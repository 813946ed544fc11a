"""Whose turn it is: diagnoses that take long are refused where too many are under way, queries wait.

Asked in the threads in which the work is done.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from fastapi import HTTPException

from agent_tools.viewer import Viewer

WAIT_S = 30.0
"""Seconds that a query waits for its turn."""
_AGAIN = {"Retry-After": "5"}


class Turns:
    """So many diagnoses at once, one fewer for one holder where there are several; as many queries beside them."""

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self._lock = threading.Lock()
        self._under_way = Counter[Viewer]()
        self._queries = threading.BoundedSemaphore(at_once)

    @contextmanager
    def diagnosis(self, viewer: Viewer) -> Generator[None]:
        """Raises HTTPException 429 where this holder has enough under way, 503 where all have."""
        with self._lock:
            mine = self._under_way[viewer]
            if mine and mine >= self.at_once - 1:
                raise HTTPException(429, f"{mine} questions of yours are under way: wait for one of them", _AGAIN)
            if self._under_way.total() >= self.at_once:
                raise HTTPException(503, "too much at once; try again in 5 s", _AGAIN)
            self._under_way[viewer] += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way[viewer] -= 1

    @contextmanager
    def query(self) -> Generator[None]:
        """Raises HTTPException 503 where its turn does not come."""
        if not self._queries.acquire(timeout=WAIT_S):
            raise HTTPException(503, "too much at once; try again in 5 s", _AGAIN)
        try:
            yield
        finally:
            self._queries.release()
