"""Errors in words for a reader: without secrets, on one line, and with what lies at the bottom of them."""

from __future__ import annotations

from agent_tools.untrusted import one_line
from store.redact import redact

_INSIDE = (BaseExceptionGroup, StopIteration)
"""What a client wraps around an error on its way, and says nothing of it."""


def root_of(error: BaseException) -> BaseException:
    """The cause at the bottom of an error's chain."""
    while (below := error.__cause__ or error.__context__) is not None and not isinstance(below, _INSIDE):
        error = below
    return error


def said(error: BaseException | str) -> str:
    """An error's words without secrets, on one line, with the cause at the bottom of its chain."""
    if isinstance(error, str):
        return one_line(redact(error), 300)
    root = root_of(error)
    words = f"{error}" if root is error else f"{error} (from {type(root).__name__}: {root})"
    return one_line(redact(words), 400)
