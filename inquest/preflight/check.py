"""All looks of the health check at once, bounded in time: a look that does not come back refuses nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from inquest.preflight.finding import Finding, unknown

Look = Callable[[], list[Finding]]


def examine(looks: Mapping[str, Look], limit_s: float) -> list[Finding]:
    """What the looks found, in their order. Each has a thread: a driver that hangs must not hold the others up."""
    found: dict[str, list[Finding]] = {}

    def one(name: str, look: Look) -> None:
        try:
            found[name] = look()
        except Exception as error:  # a mistake of a check's own must not keep a job from a good node
            found[name] = [unknown(name, f"the check broke off: {type(error).__name__}: {error}")]

    threads = [threading.Thread(target=one, args=item, daemon=True) for item in looks.items()]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + limit_s
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    done = dict(found)
    late = f"no answer within {limit_s:g} s"
    return [f for name in looks for f in done.get(name, [unknown(name, late)])]
