"""What the deterministic rules found: the draft that they would give, and every family's status."""

from __future__ import annotations

from pydantic_ai import RunContext, ToolReturn

from agent_tools.tools.assess import describe, head
from agent_tools.tools.base import Deps, show_sentence
from agent_tools.verdict import FAMILIES

SHOWN = ("confirmed", "suspected", "undecidable")


async def differential(ctx: RunContext[Deps]) -> ToolReturn:
    """What deterministic rules concluded, and every family's status with its evidence. Short, never empty."""
    deps = ctx.deps
    deps.emit("differential")
    if deps.trusted:
        deps.ledger.show_all()
        return ToolReturn("The differential's draft is attached.", metadata=deps.draft.model_dump())
    draft = deps.draft
    mode = f", mode {draft.mode}" if draft.mode else ""
    title = FAMILIES[draft.family][0] if draft.family in FAMILIES else ""
    parts = [f"The differential concludes {draft.family} {title}{mode}, confidence {draft.confidence:.2f}."]
    own = [a for a in deps.assessments if a.code == draft.family]
    if not own:
        parts.append(deps.fence.wrap(show_sentence(deps, draft.headline)))
    order = {status: n for n, status in enumerate((*SHOWN, "ruled_out"))}
    found = sorted(deps.assessments, key=lambda a: (order[a.status], -a.confidence, a.code))
    parts += [describe(deps, a) for a in own]
    others = [a for a in found if a.status in SHOWN and a.code not in (draft.family, "U0")]
    lines = [f"{head(a)}{f': {show_sentence(deps, a.headline)}' if a.headline else ''}" for a in others]
    if lines:
        parts.append(f"Also (assess tells what speaks for each):\n{deps.fence.wrap(chr(10).join(lines))}")
    out = [a.code for a in found if a.status == "ruled_out"]
    if out:
        parts.append(f"Ruled out (assess tells why): {', '.join(out)}.")
    return ToolReturn("\n\n".join(parts))
