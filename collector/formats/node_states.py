"""Node states in every spelling: `IDLE+DRAIN`, `drained*`, `mix~`, `DOWN*+NOT_RESPONDING`, lists of words."""

from __future__ import annotations

import re

from store import lazy

_SUFFIX = {
    "*": "NOT_RESPONDING", "~": "POWERED_DOWN", "#": "POWERING_UP", "!": "POWER_DOWN", "%": "POWERING_DOWN",
    "$": "MAINT", "@": "REBOOT_REQUESTED", "^": "REBOOT_ISSUED", "-": "PLANNED",
}  # fmt: skip
_WORDS = {
    "alloc": "ALLOCATED", "allocated": "ALLOCATED", "idle": "IDLE", "mix": "MIXED", "mixed": "MIXED", "down": "DOWN",
    "drain": "DRAIN", "drained": "DRAINED", "drng": "DRAINING", "draining": "DRAINING", "comp": "COMPLETING",
    "completing": "COMPLETING", "resv": "RESERVED", "reserved": "RESERVED", "maint": "MAINT", "unk": "UNKNOWN",
    "unknown": "UNKNOWN", "fail": "FAIL", "failg": "FAILING", "plnd": "PLANNED", "planned": "PLANNED",
    "boot": "REBOOT", "reboot": "REBOOT", "futr": "FUTURE", "inval": "INVAL", "error": "ERROR", "npc": "PERFCTRS",
}  # fmt: skip
_BASE = ("DOWN", "ERROR", "FAIL", "FAILING", "ALLOCATED", "MIXED", "IDLE", "UNKNOWN", "FUTURE", "DRAINED", "DRAINING")
_TAIL = lazy.compile(r"[*~#!%$@^-]+$")


def node_state(words: str | list[str]) -> tuple[str | None, str | None]:
    """Base state and the flags joined by commas. An idle node that drains is DRAINED, a busy one DRAINING."""
    parts = re.split(r"[+,\s]+", words) if isinstance(words, str) else words
    names: list[str] = []
    for part in parts:
        tail = _TAIL.search(part)
        bare = part[: tail.start()] if tail else part
        if bare:
            names.append(_WORDS.get(bare.lower(), bare.upper()))
        names.extend(_SUFFIX[c] for c in (tail.group() if tail else ""))
    if not names:
        return None, None
    base = next((n for n in _BASE if n in names), None)
    flags = [n for n in dict.fromkeys(names) if n != base]
    if "DRAIN" in names and base in {None, "IDLE", "ALLOCATED", "MIXED", "UNKNOWN"}:
        busy = base in {"ALLOCATED", "MIXED"} or "COMPLETING" in names
        return "DRAINING" if busy else "DRAINED", ",".join(flags) or None
    if base is None:
        base, flags = names[0], [n for n in dict.fromkeys(names) if n != names[0]]
    return base, ",".join(flags) or None
