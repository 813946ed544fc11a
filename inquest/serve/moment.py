"""A time in a request, as its description says: a date and a time. A bare number is none."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator

from store import lazy

_NUMBER = lazy.compile(r"\s*[+-]?[\d_.]+(?:[eE][+-]?\d+)?\s*")


def _written(given: Any) -> Any:
    """What is given, unless it is a number, which would be read as seconds or milliseconds since 1970 by its size alone."""
    if isinstance(given, int | float) or (isinstance(given, str) and _NUMBER.fullmatch(given)):
        raise ValueError("a date and a time is needed, such as 2026-03-01T10:00:00Z")
    return given


Moment = Annotated[datetime, BeforeValidator(_written)]
