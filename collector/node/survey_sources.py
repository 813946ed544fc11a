"""Does each live source work on this node, why not, and what would mend it?"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from collector.sources.base import Source, SourceUnavailable


@dataclass(frozen=True, slots=True)
class State:
    """One source here and now."""

    name: str
    covers: tuple[str, ...]
    works: bool
    why_not: str | None = None
    remedy: str | None = None
    missing: tuple[tuple[str, str], ...] = ()
    """Columns that it cannot fill here, with the reason."""


LIMIT_S = 15.0


def survey(source: Source, limit_s: float = LIMIT_S) -> State:
    """Open it, look once, and close it; a source that hangs (a dead file server) is left behind and said to."""
    found: list[State] = []
    thread = threading.Thread(target=lambda: found.append(_look(source)), name=source.name, daemon=True)
    thread.start()
    thread.join(limit_s)
    if found:
        return found[0]
    doing: str | None = getattr(source, "doing", None)
    text = f"no answer within {limit_s:g} s: it hangs" + (f" in {doing}" if doing else "")
    return State(source.name, tuple(source.covers), False, text, "see what the kernel's log says of it")


def _look(source: Source) -> State:
    try:
        source.open()
        for _ in source.rows():
            pass
        missing = tuple(sorted(getattr(source, "missing", {}).items()))
        return State(source.name, tuple(source.covers), True, missing=missing)
    except SourceUnavailable as error:
        return State(source.name, tuple(source.covers), False, error.reason, error.remedy)
    except Exception as error:  # a survey tells of every failure; none may end it
        return State(source.name, tuple(source.covers), False, f"{type(error).__name__}: {str(error)[:200]}")
    finally:
        source.close()
