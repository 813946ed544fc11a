"""Does each live source work on this node, why not, and what would mend it?"""

from __future__ import annotations

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


def survey(source: Source) -> State:
    """Open it, look once, and close it."""
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
