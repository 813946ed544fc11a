"""What kind of thing a row of an answer is, where a noun names it: an event of that kind, or what the question is about.

Two preemptions                      rows whose `event` says so
Three checkpoints were saved         rows of `checkpoints` whose name says so
"""

from __future__ import annotations

import re

from agent_tools.evidence import Evidence
from agent_tools.gate.words import stem, stems
from store import lazy
from store.catalog import catalog
from store.result import Cell
from store.rows import columns, tables

_GOES_ON = lazy.compile(r"\bbeing [a-z]+ed\b")
"""`Six checkpoints were being saved`: of what only began."""

_TOLD = lazy.compile(r"(?i)^\W*(?:(?:are|were|is|was) )?(?:announced|logged|listed|mentioned)\b")
"""What is said of each save that the log tells of, begun or done."""


def kind(evidence: Evidence, noun: str) -> tuple[str, str] | None:
    """Where a noun is a kind of event (`checkpoint`, `preemption`, `XID`): the column and the text that say so."""
    for column in ("kind", "event"):
        if any(c.name == column for c in evidence.columns):
            for value in dict.fromkeys(evidence.value(column, r) for r in range(len(evidence.rows))):
                if isinstance(value, str) and stem(value) == stem(_root(noun)):
                    return column, value
    return None


def of_query(evidence: Evidence, noun: str) -> bool:
    """Whether an answer has a row for each of the noun, by its question's name: `checkpoints`, `exceptions`."""
    return evidence.query == f"{noun}s"


def doing(evidence: Evidence, behind: str) -> dict[str, Cell] | None:
    """Which of the rows a verb is said of (`were saved`): a condition on their name, none where they have no such names, and None
    where it cannot be told."""
    if evidence.query != "checkpoints":
        return {}
    if _TOLD.search(behind):
        return {}
    names = list(dict.fromkeys(str(evidence.value("name", r)) for r in range(len(evidence.rows))))
    said = stems(behind)
    meant = [n for n in names if stem(n.split("_")[0]) in said]
    if len(meant) != 1 or finished(meant[0], behind):
        return None
    return {"name": meant[0]}


def finished(name: str, said: str) -> bool:
    """Whether what only began (`saving`) is told as done (`saved`)."""
    done = re.findall(r"[a-z]+", _GOES_ON.sub(" ", said.lower()))
    return name.endswith("ing") and any(stem(w) == stem(name) and w != name for w in done)


def _root(noun: str) -> str:
    return noun[:-3] if noun.endswith("ion") and len(noun) > 6 else noun


def measure(evidence: Evidence, row: int) -> list[str]:
    """The measure that a question of the catalog was asked for by its name, and what that is; of a save whether it was done; a free query says nothing."""
    if evidence.query == "checkpoints" and evidence.value("name", row) == "saved":
        return ["saved"]
    asked, info = evidence.params.get("metric"), catalog().get(evidence.query)
    if not isinstance(asked, str) or info is None:
        return []
    return [asked, *(c.doc for t in info.tables for c in columns(tables()[t]) if c.name == asked)]
