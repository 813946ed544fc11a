"""What a run's earlier tool results become once newer ones have come: a line that says what they were.

A request holds everything that was said before, so a long result would be paid for in every turn after it. The newest results
are whole, and before them as much as there is room for. A line never becomes whole again, so all that stands before the oldest
result that is whole keeps its words, and a provider's cache. The ledger forgets nothing: what was shown stays citable, and a repeated call shows
it again.
"""

from __future__ import annotations

import re
from dataclasses import replace

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelRequestPart, ToolReturnPart

from agent_tools.tools.base import Deps
from agent_tools.tools.differential import OTHERS
from agent_tools.untrusted import Fence
from store import lazy

ROOM, EARLY = 1_000, 3
"""Characters of results before the newest ones that stay whole, and in how many turns: in a long run each character counts more often."""
SHORT = 160
"""Characters of a result that a line would hardly shorten."""
_FOLLOWS = lazy.compile(r"^implies \(.*\n", re.MULTILINE)
_EVIDENCE = lazy.compile(r"^(E\d+) (\w+): (\d+) rows, \d+ shown", re.MULTILINE)


async def compact(ctx: RunContext[Deps], messages: list[ModelMessage]) -> list[ModelMessage]:
    """The messages with older results taken out. A call that has to be made again is no newer result: who mends an answer still
    sees what it rests on."""
    if ctx.deps.trusted:
        return messages
    holding = [i for i, m in enumerate(messages) if isinstance(m, ModelRequest) and any(map(_told, m.parts))]
    made = list(messages)
    room = ROOM if len(holding) <= EARLY else 0
    for i in reversed(holding[:-1]):
        if not isinstance(message := messages[i], ModelRequest):
            continue
        parts: list[ModelRequestPart] = []
        for part in reversed(message.parts):
            if isinstance(part, ToolReturnPart) and (text := _result(part)):
                own = _own_findings(part, ctx.deps.fence)
                if own is None:
                    room -= len(text)
                if own is not None or room < 0:
                    part = replace(part, content=own or _line(ctx.deps, part.tool_name, text))
            parts.append(part)
        made[i] = replace(message, parts=parts[::-1])
    return made


def _told(part: object) -> str:
    """The text of a tool's answer; "" for what is none."""
    if not isinstance(part, ToolReturnPart) or part.outcome != "success" or not isinstance(part.content, str):
        return ""
    return part.content


def _result(part: object) -> str:
    """The text of a tool's answer; "" for what is none, is short, or is a line already."""
    return text if len(text := _told(part)) > SHORT else ""


def _own_findings(part: ToolReturnPart, fence: Fence) -> str | None:
    """What always remains of the differential: what its conclusion rests on, without what follows from it and the other families.

    What follows a verdict gets without being told it. None of any other result.
    """
    own, others, _ = _result(part).partition(OTHERS)
    whole = own.count(fence.opening) == own.count(fence.closing)
    own = _FOLLOWS.sub("", own)
    return f"{own}{OTHERS}: told before." if part.tool_name == "differential" and others and whole else None


def _line(deps: Deps, tool: str, text: str) -> str:
    """What remains of a result: which evidence it showed."""
    asked = _EVIDENCE.findall(_ours(text, deps.fence))
    deps.warned -= {query for _, query, _ in asked}
    shown = ", ".join(f"{id} {query} ({rows} rows)" for id, query, rows in asked)
    return f"{shown[: SHORT - 60] or tool}: taken out, still citable."


def _ours(text: str, fence: Fence) -> str:
    """A result without what stands between the marks: a stranger could write there what looks like a line of ours."""
    return re.sub(rf"{re.escape(fence.opening)}.*?{re.escape(fence.closing)}", "", text, flags=re.DOTALL)
