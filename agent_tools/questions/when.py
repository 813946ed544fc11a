"""The time that a question's words name: "this month", "last week", "yesterday", "the last 3 days"; in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_LAST = re.compile(r"(?i)\b(?:last|past)\s+(\d{1,3}|few|couple of)?\s*(hour|day|week|month)s?\b")
_THIS = re.compile(r"(?i)\b(?:this (week|month|year)|(today|yesterday|last night|tonight))\b")
_SPANS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1), "month": timedelta(days=30)}


def window(question: str, now: datetime) -> tuple[str | None, str | None]:
    """(since, until) as the store takes times; None where the words set no bound. "Last week" is the seven days before now."""
    now = now.astimezone(UTC)
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if found := _THIS.search(question):
        match (found[1] or found[2]).lower():
            case "today":
                return _text(day), None
            case "last night" | "tonight":
                return _text(day - timedelta(hours=6)), None
            case "yesterday":
                return _text(day - timedelta(days=1)), _text(day)
            case "week":
                return _text(day - timedelta(days=day.weekday())), None
            case "month":
                return _text(day.replace(day=1)), None
            case _:
                return _text(day.replace(month=1, day=1)), None
    if found := _LAST.search(question):
        many = int(found[1]) if found[1] and found[1].isdigit() else 3 if found[1] else 1
        return _text(now - many * _SPANS[found[2].lower()]), None
    return None, None


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
