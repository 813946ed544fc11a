"""What DuckDB gives to Python, as plain JSON values; and parameters the other way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock
from decimal import Decimal
from typing import Any, cast

from store.result import Cell


def cell(value: Any) -> Cell:
    """A plain value: times as `2026-03-01T10:00:00Z`, intervals in seconds, decimals as numbers, lists and structs as
    JSON text, bytes as hexadecimal digits.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, Decimal):
        return (
            int(value)
            if value == value.to_integral_value() and cast(int, value.as_tuple().exponent) >= 0
            else float(value)
        )
    if isinstance(value, date | clock):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, list | tuple | dict):
        return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))
    return str(value)


def instant(ts: datetime) -> str:
    """A UTC time as text, with a fraction only where there is one."""
    if ts.tzinfo is not None:
        ts = ts.astimezone(UTC).replace(tzinfo=None)
    text = ts.isoformat()
    return (text.rstrip("0") if ts.microsecond else text) + "Z"


def instant_us(us: int | None) -> str | None:
    """Microseconds since 1970 as text; a time before the first year or after the last is the first or the last."""
    if us is None:
        return None
    try:
        return instant(datetime(1970, 1, 1) + timedelta(microseconds=us))
    except OverflowError:
        return instant(datetime.min if us < 0 else datetime.max)


def microseconds(value: Any) -> int | None:
    """A time that was given as a datetime or as text (UTC when it has no zone), in microseconds since 1970.

    Raises ValueError when the text is no time.
    """
    if value is None:
        return None
    try:
        ts = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError as error:
        raise ValueError(f"{str(value)!r} is no time") from error
    if ts.tzinfo is None:
        ts = ts.replace(tzinfo=UTC)
    return (ts - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in cast("list[Any]", value)]
    return cell(value)
