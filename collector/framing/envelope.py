"""Logs in which each line has a wrapping around what the program said: unwrapped to its text, with its time and rank.

A wrapping is a JSON object, or the lead of Determined's task logs: `<info> [2021-12-07 10:43:05] 087c0ee7 || [rank=0] text`.

SOURCE  Docker's json-file driver, journalctl -o json, structlog, python-json-logger, loguru, Elastic's ECS, slog and zap;
        the record of a run that milabench and voir keep (what is no line of the program stays as it is: parsers/voir.py);
        Determined since 0.12 (`det task logs`, `det trial logs`).
CAVEAT  An object with figures of training is left as it is: its keys are what they are read by. Text of several lines stays
        one line of the file, with carriage returns, so that numbers of lines are those of the file.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any, cast

from store import lazy

_CAUGHT = ("log", "MESSAGE", "textPayload")
"""Fields of what a runtime took from a program's output, line by line; the others are a logger's."""
_TEXTS = (*_CAUGHT, "message", "msg", "event", "text", "body")
_TIMES = ("@timestamp", "timestamp", "time", "ts", "asctime", "datetime", "__REALTIME_TIMESTAMP")
_STACKS = (
    "exception",
    "exc_info",
    "exc_text",
    "traceback",
    "stack_trace",
    "stacktrace",
    "stack",
    "error.stack_trace",
    "error",
    "err",
    "exc",
)
_TYPES, _WORDS, _PRINTED = (
    ("type", "exc_type", "class", "name", "kind"),
    ("value", "exc_value", "message", "msg"),
    ("stack_trace", "stacktrace", "traceback", "stack"),
)
"""Keys of an exception that a logger writes as an object: its type, its message, and what it printed."""
_RANKS = ("rank", "global_rank", "RANK")
_FIGURES = lazy.compile(
    r"(?:^|[/_.])(?:loss|lr|learning_rate|grad_norm|perplexity|ppl)$|^(?:global_)?steps?$|^iter(?:ation)?s?$|^epoch$"
)
_DATED = lazy.compile(r"[\[(]?(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|[IWEF](?:20\d\d)?\d{3,4} )")
_ISO = lazy.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(.*)", re.DOTALL)
_DETERMINED = lazy.compile(
    rb"(?:<\w*> {1,9})?\[(?P<day>\d{4}-\d\d-\d\d)[T ](?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<part>\d{1,9}))?Z?\] (?:[0-9a-f]{8} )?\|\| "
    rb"(?:\[rank=(?P<rank>\d{1,6})\] )?(?P<text>.*)",
    re.DOTALL,
)
_ENOUGH = 0.5
_FEWEST = 2


def wrapped(head: bytes) -> bool:
    """Has at least every second line of a log's beginning such a wrapping?"""
    lines = [line for line in head.split(b"\n")[:-1] if line.strip()][:200]
    found = sum(1 for line in lines if _unwrapped(line) is not None)
    # A program that logs objects may report its figures in most of them.
    figures = sum(1 for line in lines if (fields := _object(line)) and _training(fields)) if found >= _FEWEST else 0
    return found >= max(_FEWEST, _ENOUGH * (len(lines) - figures))


def unwrap(data: bytes) -> bytes:
    """Whole lines with the wrapped ones among them unwrapped; everything else stays as it is."""
    return b"\n".join([line if (text := _unwrapped(line)) is None else text for line in data.split(b"\n")])


def _unwrapped(line: bytes) -> bytes | None:
    if found := _DETERMINED.match(line.rstrip(b"\r\n")):
        part = (found["part"] or b"").ljust(9, b"0")
        rank = b"[rank" + found["rank"] + b"]: " if found["rank"] else b""
        return rank + found["day"] + b"T" + found["clock"] + b"." + part + b"Z " + found["text"]
    fields = _object(line)
    if fields is None:
        return None
    if isinstance(fields.get("event"), str) and fields.keys() == {"event", "data", "pipe"}:
        return _recorded(fields["event"], fields["data"], line.strip())
    field, said = next(((name, text) for name in _TEXTS if (text := _text(fields.get(name))) is not None), ("", None))
    if said is None or _training(fields):
        return None
    said = said.rstrip("\r\n")
    time = None if _DATED.match(said) else next((t for n in _TIMES if (t := _time(fields.get(n))) is not None), None)
    if time is not None and field in _CAUGHT:
        time = _as_runtimes_do(time)
    rank = next((fields[name] for name in _RANKS if isinstance(fields.get(name), int)), None)
    lead = (f"[rank{rank}]: " if rank is not None else "") + (f"{time} " if time else "")
    stacks = [s for name in _STACKS if (s := _stack(fields.get(name))) and s not in said]
    lines = "\n".join([said, *stacks]).splitlines()
    return "\r".join([lead + part for part in lines]).encode("utf-8", "replace")


def _object(line: bytes) -> dict[str, Any] | None:
    """The object that a line is; none where it is something else."""
    line = line.strip()
    if not (line.startswith(b"{") and line.endswith(b"}")):
        return None
    try:
        held: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", held) if isinstance(held, dict) else None


def _training(fields: dict[str, Any]) -> bool:
    """Whether an object has figures of training."""
    return any(_FIGURES.search(k) and _is_number(v) for k, v in fields.items())


def _stack(value: Any) -> str | None:
    """An exception as Python prints it, from its text or from the object that a logger makes of it (of several, the last)."""
    if isinstance(value, list) and value and isinstance(value[-1], dict):
        value = cast("list[Any]", value)[-1]
    if not isinstance(value, dict):
        return _text(value)
    held = cast("dict[str, Any]", value)
    if printed := next((s for n in _PRINTED if (s := _text(held.get(n))) and "\n" in s), None):
        return printed
    kind = next((s for n in _TYPES if (s := _text(held.get(n)))), None)
    words = next((s for n in _WORDS if (s := _text(held.get(n))) is not None), "")
    return f"{kind}: {words}" if kind else None


def _recorded(event: str, data: Any, line: bytes) -> bytes:
    """A line that a recorded program printed, or the exception that it ended in."""
    if event == "line" and isinstance(data, str):
        said = data
    elif event == "error" and isinstance(data, dict):
        error = cast("dict[str, Any]", data)
        said = _text(error.get("trace")) or f"{error.get('type')}: {error.get('message')}"
    else:
        return line
    return "\r".join(said.rstrip("\r\n").splitlines()).encode("utf-8", "replace")


def _text(value: Any) -> str | None:
    """A text; journald gives one that is not UTF-8 as a list of its bytes."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        numbers = cast("list[Any]", value)
        if numbers and all(isinstance(n, int) and 0 <= n < 256 for n in numbers):
            return bytes(cast("list[int]", numbers)).decode("utf-8", "replace")
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _time(value: Any) -> str | None:
    """A time as the framing reads it: ISO as it is, seconds since 1970 (or thousandths, millionths, billionths of one) in UTC."""
    if isinstance(value, str) and _ISO.match(value):
        return value
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return None
    for limit, unit in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3)):
        if seconds >= limit:
            seconds /= unit
            break
    if not 9e8 < seconds < 9e9:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _as_runtimes_do(time: str) -> str:
    """With nine digits, as runtimes print times before lines: what parsers know to be no logger's prefix."""
    found = _ISO.match(time)
    if found is None or found[4] != "Z":
        return time
    return f"{found[1]}T{found[2]}.{(found[3] or '').ljust(9, '0')}Z"
