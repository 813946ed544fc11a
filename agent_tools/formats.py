"""A cell as words: the one place that decides how a value and its unit are written for a person."""

from __future__ import annotations

import math

from agent_tools.evidence import CellValue
from agent_tools.untrusted import one_line
from store import lazy
from store.result import Cell

UNKNOWN = "unknown"
_STAMP = lazy.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d(?:\.\d+)?)Z?")
_BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_WRITTEN = frozenset(
    [
        "KiB",
        "MiB",
        "GiB",
        "TiB",
        "KB",
        "MB",
        "GB",
        "TB",
        "kB",
        "ms",
        "us",
        "ns",
        "min",
        "h",
        "d",
        "W",
        "kW",
        "J",
        "kWh",
        "MHz",
        "GHz",
        "Hz",
        "Gb/s",
        "Gbit/s",
        "kHz",
        "V",
        "A",
        "rpm",
        "ppm",
        "rows",
    ]
)
_SUFFIX = (
    ("_bytes", "B"),
    ("_gib", "GiB"),
    ("_mib", "MiB"),
    ("_gb", "GB"),
    ("_mb", "MB"),
    ("_s", "s"),
    ("_ms", "ms"),
    ("_us", "us"),
    ("_min", "min"),
    ("_h", "h"),
    ("_hours", "h"),
    ("_days", "d"),
    ("_w", "W"),
    ("_c", "C"),
    ("_mhz", "MHz"),
    ("_pct", "%"),
    ("_ratio", "ratio"),
    ("_share", "ratio"),
    ("_gbps", "Gb/s"),
)


def unit_of(cell: CellValue) -> str:
    """The unit that a cell is in: as declared by its query, else as its column's name ends."""
    if cell.unit or isinstance(cell.value, (str, bool)):
        return cell.unit
    return next((unit for suffix, unit in _SUFFIX if cell.column.endswith(suffix)), "")


def format_cell(cell: CellValue) -> str:
    """A cell for a person: `91.6 GiB`, `45 min 10 s`, `55 %`, `2026-03-01 10:00:00 UTC`, one line of text.

    What is only a bound says so: `2026-03-01 10:00:00 UTC or later` for the time of an earlier line, `25 min or less` since it."""
    written = format_value(cell.value, unit_of(cell))
    return f"{written} {cell.bound}" if cell.bound and cell.value is not None else written


def format_value(value: Cell, unit: str = "") -> str:
    """A value in its unit. Absent is `unknown`, never zero."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        stamp = _STAMP.fullmatch(value)
        return f"{stamp[1]} {stamp[2]} UTC" if stamp else one_line(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "infinity" if value > 0 else "-infinity"
    return _number(value, unit)


def _number(value: int | float, unit: str) -> str:
    match unit:
        case "B" | "B/s":
            return _bytes(value) + unit[1:]
        case "s":
            return _duration(value)
        case "ratio":
            return f"{_plain(100 * value, 3)} %"
        case "%":
            return f"{_plain(value, 4)} %"
        case "C" | "°C":
            return f"{_plain(value, 4)} °C"
        case _:
            text = _plain(value, 6)
            return f"{text} {unit}" if unit in _WRITTEN or unit.endswith(("/s", "/h", "/min")) else text


def _plain(value: int | float, digits: int) -> str:
    if isinstance(value, int):
        return str(value)
    text = f"{value:.{digits}g}"
    if "e" in text and 1e-4 <= abs(value) < 1e15:
        text = f"{value:.0f}"
    return text


def _bytes(value: int | float) -> str:
    size = float(value)
    for name in _BYTES:
        if abs(size) < 1024 or name == _BYTES[-1]:
            return f"{_plain(round(size, 2), 6)} {name}"
        size /= 1024
    raise AssertionError("unreachable: the last unit takes everything")


def _duration(value: int | float) -> str:
    sign, left = ("-" if value < 0 else ""), abs(value)
    if left < 120:
        return f"{sign}{_plain(round(left, 3) if isinstance(left, float) else left, 4)} s"
    seconds = round(left)
    days, seconds = divmod(seconds, 86400)
    hours, seconds = divmod(seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    first = next(i for i, (n, _) in enumerate(parts) if n)
    return sign + " ".join(f"{n} {u}" for n, u in parts[first : first + 2] if n)
