"""Work beside the event loop: a diagnosis computes for seconds, and meanwhile others are served, gone callers noticed.

Each piece of work has a thread and an event loop of its own. Whoever stops waiting cancels it, and waits until it has ended: a
reader belongs to one at a time.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
THREADS = 32
"""More than any server lets run at once: who may begin is decided before."""
LOOK_S = 0.5
"""Between two looks at whether the caller is still there."""


class Gone(Exception):
    """The caller went away; nobody reads the answer."""


_POOL = ThreadPoolExecutor(THREADS, thread_name_prefix="inquest-serve")


async def aside(work: Callable[[], Awaitable[T]], gone: Callable[[], Awaitable[bool]] | None = None) -> T:
    """What the work gives. `gone` says whether the caller left: then the work is cancelled, and Gone is raised."""
    inner: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = []
    left = threading.Event()

    async def task() -> T:
        running = asyncio.ensure_future(_awaited(work))
        inner.append((asyncio.get_running_loop(), running))
        if left.is_set():  # before there was anything to cancel
            running.cancel()
        return await running

    future = asyncio.get_running_loop().run_in_executor(_POOL, lambda: asyncio.run(task()))
    try:
        while not future.done():
            await asyncio.wait([future], timeout=LOOK_S if gone is not None else None)
            if not future.done() and gone is not None and await gone():
                raise Gone
    finally:
        if not future.done():
            left.set()
            _cancel(inner)
            await asyncio.shield(asyncio.wait([future]))
            _ = future.cancelled() or future.exception()
    return future.result()


async def _awaited(work: Callable[[], Awaitable[T]]) -> T:
    return await work()


def _cancel(inner: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]]) -> None:
    for loop, running in inner:
        loop.call_soon_threadsafe(running.cancel)
