"""Tells: a thread for each channel takes deliveries from the outbox, so that a dead web server holds up nobody else.

Of several watchers that share the state one tells on a channel (a lock that dies with its process), the others stand by.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, stop_after_delay, wait_random_exponential

from inquest import safe
from inquest.watch.notify.base import Notifier, Permanent, Temporary
from inquest.watch.outbox import Delivery, Outbox
from inquest.watch.state import State
from store.lake import locked
from store.redact import redact

TICK_S = 0.5
TRIES, BURST_S = 3, 30.0
"""Quick retries of one delivery; after them it waits its turn in the outbox."""


class Teller:
    """All channels of one watcher."""

    def __init__(self, state: State, folder: Path, notifiers: Sequence[Notifier]) -> None:
        self._state = state
        self._folder = folder
        self._notifiers = list(notifiers)
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin to tell."""
        for notifier in self._notifiers:
            thread = threading.Thread(target=self._serve, args=(notifier,), name=notifier.name, daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Stop after the delivery at hand; what is left is told by the next watcher."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=TICK_S * 4)
        self._threads.clear()

    def tell_all(self) -> int:
        """Tell everything that there is, once, without waiting for groups; gives what is left."""
        left = 0
        for notifier in self._notifiers:
            outbox = Outbox(self._state, notifier.name, notifier.policy)
            with locked(self._lock(notifier)):
                outbox.gather(now=True)
                while found := outbox.ready(now=True):
                    if not [d for d in found if self._tell(notifier, outbox, d)]:
                        break
            left += outbox.left()
        return left

    def _lock(self, notifier: Notifier) -> Path:
        name = "".join(c if c.isalnum() else "-" for c in notifier.name)
        return self._folder / f"tell-{name}.lock"

    def _serve(self, notifier: Notifier) -> None:
        pause = TICK_S
        while not self._stop.is_set():
            try:
                with locked(self._lock(notifier), wait=False) as ours:
                    while ours and not self._stop.is_set():
                        # A channel that is down is asked less and less often, whatever waits for it.
                        pause = TICK_S if self.turn(notifier) else min(60.0, max(2.0, pause * 2))
                        self._stop.wait(pause)
            except Exception as error:  # a full disk, a database that is busy: later again
                say(f"{notifier.name}: {type(error).__name__}: {error}")
            self._stop.wait(TICK_S * 4)

    def turn(self, notifier: Notifier) -> bool:
        """Tell what is due on one channel; False when it could not be told."""
        outbox = Outbox(self._state, notifier.name, notifier.policy)
        outbox.gather()
        for delivery in outbox.ready():
            if not self._stop.is_set() and not self._tell(notifier, outbox, delivery):
                return False
        return True

    def _tell(self, notifier: Notifier, outbox: Outbox, delivery: Delivery) -> bool:
        """Whether the delivery is over, one way or the other."""
        try:
            for attempt in Retrying(
                retry=retry_if_exception_type(Temporary),
                stop=stop_after_attempt(TRIES) | stop_after_delay(BURST_S),
                wait=wait_random_exponential(multiplier=0.3, max=5.0),
                sleep=self._pause,
                reraise=True,
            ):
                with attempt:
                    notifier.send(delivery)
        except Permanent as refused:
            say(f"{notifier.name}: not told, and not tried again: {refused}")
            outbox.told(delivery, "refused", redact(str(refused)))
        except Temporary as failure:
            say(f"{notifier.name}: not told yet: {failure}")
            outbox.failed(delivery, redact(str(failure)))
            return False
        except Exception as error:  # a mistake of a notifier's own must not end its thread
            say(f"{notifier.name}: {type(error).__name__}: {error}")
            outbox.failed(delivery, redact(f"{type(error).__name__}: {error}"))
            return False
        else:
            outbox.told(delivery, "told")
        return True

    def _pause(self, seconds: float) -> None:
        self._stop.wait(seconds)


def say(text: str) -> None:
    """A line for the service's log."""
    print(f"inquest watch: {safe.line(redact(text))[:500]}", file=sys.stderr, flush=True)
