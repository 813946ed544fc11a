"""What the deterministic rules found: the draft that they would give, and every family's status."""

from __future__ import annotations

import re

from pydantic_ai import RunContext, ToolReturn

from agent_tools.tools.assess import assess, describe, head
from agent_tools.tools.base import Deps, show_sentence
from agent_tools.verdict import FAMILIES

SHOWN = ("confirmed", "suspected", "undecidable")
OTHERS = "\n\nOther families"
"""Where the part begins that is said once: what remains of it in later turns is what comes before."""


async def differential(ctx: RunContext[Deps], family: str | None = None) -> ToolReturn:
    """What rules concluded, and each family's status; or one family's (B1) findings and playbook. Short, never empty."""
    deps = ctx.deps
    if family:
        return ToolReturn(await assess(ctx, family))
    deps.emit("differential")
    if deps.trusted:
        deps.ledger.show_all()
        return ToolReturn("The differential's draft is attached.", metadata=deps.draft.model_dump())
    draft = deps.draft
    own = [a for a in deps.assessments if a.code == draft.family]
    if own:
        deps.described.add((deps.job_id, draft.family))
        parts = [f"The differential concludes {describe(deps, a)}" for a in own]
    else:
        parts = [
            f"The differential concludes {named(draft.family)}, confidence {draft.confidence:.2f}.",
            deps.fence.wrap(show_sentence(deps, draft.headline)),
        ]
    order = {status: n for n, status in enumerate((*SHOWN, "ruled_out"))}
    found = sorted(deps.assessments, key=lambda a: (order[a.status], -a.confidence, a.code))
    others = [a for a in found if a.status in SHOWN and a.code not in (draft.family, "U0")]
    lines = [f"{head(a)}{f': {show_sentence(deps, a.headline)}' if a.headline else ''}" for a in others]
    said = f"{OTHERS} (ask for one by its code to see what speaks for it and against it)"
    if lines:
        said += f":\n{deps.fence.wrap(chr(10).join(lines))}"
    out = ", ".join(named(a.code) for a in sorted(found, key=lambda a: a.code) if a.status == "ruled_out")
    judged = {draft.family, "U0", *(a.code for a in found)}
    unknown = ", ".join(named(code) for code in FAMILIES if code not in judged)
    ends = (f"\nRuled out: {out}." if out else "", f"\nNot assessed: {unknown}." if unknown else "")
    return ToolReturn("\n".join(parts) + said + "".join(ends))


def named(code: str) -> str:
    """A family's code with the first words of its title."""
    return f"{code} {re.split(' (?:without|after|or) ', FAMILIES[code][0])[0]}" if code in FAMILIES else code
