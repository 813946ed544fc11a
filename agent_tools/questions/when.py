"""The time that a question's words name: "this month", "last week", "in March", "since 2026-03-01", "on Monday"; in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from store import lazy

_LAST = lazy.compile(r"(?i)\b(?:last|past)\s+(\d{1,3}|few|couple of)?\s*(hour|day|week|month)s?\b")
_THIS = lazy.compile(r"(?i)\b(?:this (week|month|year)|(today|yesterday|last night|tonight|overnight|weekend))\b")
_SPANS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1), "month": timedelta(days=30)}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_LEAD = (
    r"\b(?P<lead>in|during|of|on|from|since|after|before|until|till|through|between|and|to)\s+(?:early |late |the )?"
)
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_NAMED = lazy.compile(
    rf"(?i)(?:{_LEAD})?"
    r"(?:(?P<date>\d{4}-\d\d-\d\d)(?:(?:T|\s+(?:at\s+)?)(?P<clock>\d\d:\d\d)(?::\d\d)?Z?)?"
    rf"|(?:(?P<before>\d{{1,2}})(?:st|nd|rd|th)?\s+)?\b{_MONTH}\b\.?(?:\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b)?(?:,?\s+(?P<year>20\d\d)\b)?"
    r"|\b(?P<weekday>mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)day\b)"
)
Span = tuple[datetime, datetime]


def window(question: str, now: datetime) -> tuple[str | None, str | None]:
    """(since, until) as the store takes times; None where the words set no bound. "Last week" is the seven days before now.

    A month or a weekday without a year or a date is the last one that has begun.
    """
    now = now.astimezone(UTC)
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if found := _THIS.search(question):
        match (found[1] or found[2]).lower():
            case "today":
                return _text(day), None
            case "last night" | "tonight" | "overnight":
                return _text(day - timedelta(hours=6)), None
            case "yesterday":
                return _text(day - timedelta(days=1)), _text(day)
            case "weekend":
                begun = day - timedelta(days=(day.weekday() - _DAYS.index("sat")) % 7)
                return _text(begun), _text(begun + timedelta(days=2))
            case "week":
                return _text(day - timedelta(days=day.weekday())), None
            case "month":
                return _text(day.replace(day=1)), None
            case _:
                return _text(day.replace(month=1, day=1)), None
    if found := _LAST.search(question):
        many = int(found[1]) if found[1] and found[1].isdigit() else 3 if found[1] else 1
        return _text(now - many * _SPANS[found[2].lower()]), None
    return _by_calendar(question, day)


def _by_calendar(question: str, day: datetime) -> tuple[str | None, str | None]:
    """The bounds that dates, months and weekdays set: one of them, or two with a word between."""
    named = [
        ((m["lead"] or "").lower(), span) for m in _NAMED.finditer(question) if (span := _span(m, day)) is not None
    ]
    if not named:
        return None, None
    lead, (begin, end) = named[0]
    if len(named) > 1 and named[1][0] in ("and", "to", "until", "till", "through"):
        return _text(begin), _text(named[1][1][1])
    match lead:
        case "since" | "from":
            return _text(begin), None
        case "after":
            return _text(end), None
        case "before":
            return None, _text(begin)
        case "until" | "till" | "through":
            return None, _text(end)
        case _:
            return _text(begin), _text(end)


def _span(m: re.Match[str], day: datetime) -> Span | None:
    """From the begin to the end of what is named; None where it is no time: a day that does not exist, the verb "may"."""
    try:
        if m["date"]:
            begin = datetime.fromisoformat(f"{m['date']}T{m['clock'] or '00:00'}").replace(tzinfo=UTC)
            return begin, begin + (timedelta(minutes=1) if m["clock"] else timedelta(days=1))
        if m["weekday"]:
            back = (day.weekday() - _DAYS.index(m["weekday"][:3].lower())) % 7
            return day - timedelta(days=back), day - timedelta(days=back - 1)
        lead = (m["lead"] or "").lower()
        if (not lead or (m["month"].lower() == "may" and lead in ("and", "to"))) and not (
            m["day"] or m["before"] or m["year"]
        ):
            return None  # a march, may
        month, date = _MONTHS.index(m["month"][:3].lower()) + 1, m["before"] or m["day"]
        begin = day.replace(year=int(m["year"] or day.year), month=month, day=int(date or 1))
        if begin > day and not m["year"]:
            begin = begin.replace(year=day.year - 1)
    except ValueError:
        return None
    if date:
        return begin, begin + timedelta(days=1)
    return begin, begin.replace(year=begin.year + month // 12, month=month % 12 + 1)


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
