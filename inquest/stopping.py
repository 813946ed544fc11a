"""Being told to stop by a signal: what a command does then, and with which status it ends."""

from __future__ import annotations

import signal
import threading
from typing import NoReturn

_told: list[int] = []
"""The signals that said so: where one came while the engine ran, what its handler raised gets nowhere."""


def listen() -> None:
    """Being told to stop from outside leaves no temporary files behind: the command ends as after an error."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _stop)


def asked() -> bool:
    """Whether a signal told the process to end, and not only to leave off what it does (Ctrl-C)."""
    return bool(_told)


def status() -> int:
    """The exit status of a command that was interrupted, as a shell gives it."""
    return 128 + (_told[-1] if _told else signal.SIGINT)


def _stop(number: int, _frame: object) -> NoReturn:
    _told.append(number)
    raise SystemExit(128 + number)
