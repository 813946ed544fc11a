"""Whose jobs a question is about: the users and partitions that its words name."""

from __future__ import annotations

import re

from agent_tools.questions.lookup_says import asked
from agent_tools.tools.base import Deps

_USER = re.compile(r"(?i)\b(?:of|by|from) user ([a-z_][\w.-]*)")


def named_in(deps: Deps, question: str) -> dict[str, str]:
    """The user and the partition that a question's words name: those that the store knows, and whom it calls a user (`of user lin`)."""
    words = set(re.findall(r"[\w.-]+", question.replace("'s", "")))
    found: dict[str, str] = {}
    for by in ("user", "partition") if "partition" in words else ("user",):
        known = asked(deps, "fleet_tally", by=by, told=False)
        names = {str(row["value"]) for row in known.dicts()} if known else set[str]()
        if len(name := words & names) == 1:
            found[by] = name.pop()
    if "user" not in found and (stated := _USER.search(question)) is not None:
        found["user"] = stated[1]
    return found
