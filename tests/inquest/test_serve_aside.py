"""Work beside the event loop: whoever leaves ends it, also before it has begun."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("fastapi", reason="the serve extra is not installed: pip install 'jobinquest[serve]'")

from inquest.serve import aside as module
from inquest.serve.aside import aside


def test_who_leaves_before_the_work_has_begun_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that goes with the first piece is quicker than a thread that starts."""
    pool, free = ThreadPoolExecutor(1), threading.Event()
    monkeypatch.setattr(module, "_POOL", pool)
    pool.submit(free.wait, 30)

    async def work() -> None:
        await asyncio.sleep(60)

    async def leave() -> None:
        waiting = asyncio.ensure_future(aside(work))
        await asyncio.sleep(0.05)
        waiting.cancel()
        await asyncio.sleep(0.05)
        free.set()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    begun = time.monotonic()
    asyncio.run(leave())
    assert time.monotonic() - begun < 30, "the work ran to its end although nobody waited"
    pool.shutdown()
