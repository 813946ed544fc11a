"""Notes as words for people: short, one job or many alike, and nothing in them that a stranger's text could bring to life."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

from agent_tools.untrusted import one_line
from agent_tools.verdict import FAMILIES
from store import lazy
from store.redact import redact

Note = dict[str, Any]
EXAMPLES = 5
"""Jobs that a message about many names."""

_MARK = lazy.compile(r" \[E\d{1,4}\]")
_SCHEME = lazy.compile(r"\b(https?|ftp)://", re.IGNORECASE)


def safe(value: object, limit: int = 300) -> str:
    """A stranger's text on one line, without controls and secrets, and with links that no reader follows by a click."""
    text = one_line(redact(str(value if value is not None else "")), limit)
    return _SCHEME.sub(lambda m: m[0].replace("tt", "xx").replace("TT", "XX"), text)


def unmarked(text: object) -> str:
    """A rendered sentence without the marks of its evidence."""
    return _MARK.sub("", str(text))


def subject(notes: Sequence[Note]) -> str:
    """What a list of messages shows."""
    first = notes[0]
    what = _what(first)
    if len(notes) == 1:
        name = f" ({safe(first['name'], 60)})" if first.get("name") else ""
        return f"job {safe(first['job'], 40)}{name}: {what}"
    return f"{len(notes):,} {_of_whom(notes)}: {what}"


def body(notes: Sequence[Note], console: str = "") -> list[str]:
    """The lines of a message, the last of which leads to the console where there is one."""
    first = notes[0]
    lines = [subject(notes), ""]
    if len(notes) == 1:
        lines += [safe(first.get("headline"), 400), safe(first.get("disposition"), 400)]
    else:
        for headline, times in Counter(safe(n.get("headline"), 300) for n in notes).most_common(3):
            lines.append(f"{times:,} x {headline}")
        jobs = ", ".join(safe(n["job"], 40) for n in notes[:EXAMPLES])
        lines.append(f"For example {jobs}." if len(notes) > EXAMPLES else f"They are {jobs}.")
    lines.append(_cost(notes))
    actions: list[object] = first.get("actions") or []
    lines += [f"- {safe(a, 300)}" for a in actions[:3]]
    lines += [_where(notes), link(notes, console)]
    return [line for i, line in enumerate(lines) if line or i == 1]


def link(notes: Sequence[Note], console: str) -> str:
    """Where the console shows a job's verdict, or the jobs that a message is about; "" where there is no console."""
    if not console:
        return ""
    first = notes[0]
    if len(notes) == 1:
        run = f"?attempt={int(first['attempt'])}" if (first.get("attempt") or 1) > 1 else ""
        return f"{console}/jobs/{quote(str(first['job']), safe='')}{run}"
    shared = {"job": "array", "user": "user", "name": "name", "family": "family"}
    wanted = {k: str(first[of]) for k, of in shared.items() if first.get(of) and len({n.get(of) for n in notes}) == 1}
    name = wanted.pop("name", None)
    if name is not None and "job" not in wanted and redact(name) == name:
        wanted["name"] = f"^{re.escape(name)}$"
    return f"{console}/?{urlencode(wanted)}"


def short(note: Note, limit: int = 240) -> str:
    """One line on one job, plain ASCII: for a field that other programs show."""
    text = f"inquest: {_what(note)}, {safe(note.get('attribution'), 20)}: {safe(note.get('headline'), limit)}"
    text = text.encode("ascii", "replace").decode().replace('"', "'").replace("\\", "/").replace("|", "/")
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _what(note: Note) -> str:
    if note["kind"] == "warning":
        return f"early warning, it still runs: {safe(note.get('title'), 60)}"
    if note["kind"] == "cleared":
        return f"the early warning is over: {safe(note.get('title'), 60)}"
    code = str(note.get("family"))
    title = FAMILIES[code][0] if code in FAMILIES else ""
    mode = f", {safe(note['mode'], 30)}" if note.get("mode") else ""
    return f"{safe(code, 4)} {title}{mode}"


def _of_whom(notes: Sequence[Note]) -> str:
    arrays = {n.get("array") for n in notes}
    array = next(iter(arrays))
    return f"tasks of array {safe(array, 40)}" if len(arrays) == 1 and array else "jobs"


def _cost(notes: Sequence[Note]) -> str:
    held = [float(n["held"]) for n in notes if n.get("held") is not None]
    wasted = [float(n["wasted"]) for n in notes if n.get("wasted") is not None]
    if not held:
        return ""
    so_far = " so far" if notes[0]["kind"] == "warning" else ""
    text = f"GPU-hours held{so_far}: {sum(held):,.2f}"
    return text + (f", wasted: {sum(wasted):,.2f}." if wasted else ".")


def _where(notes: Sequence[Note]) -> str:
    """What all of them share."""
    labels = (("user", "user"), ("partition", "partition"), ("nodes", "on"), ("cluster", "cluster"))
    said = [
        f"{label} {safe(notes[0][key], 120)}"
        for key, label in labels
        if notes[0].get(key) and len({n.get(key) for n in notes}) == 1
    ]
    return "; ".join(said)
