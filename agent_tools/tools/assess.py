"""One family's own findings and its playbook."""

from __future__ import annotations

from pydantic_ai import RunContext

from agent_tools.families.base import Assessment
from agent_tools.tools.base import Deps, show_sentence
from agent_tools.verdict import FAMILIES
from prompts import playbook

MAX_OFFERED = 5
"""Actions of a family that are shown: a model may give what is offered, and of its own only what looks."""


async def assess(ctx: RunContext[Deps], family: str) -> str:
    """A family's findings and playbook, by its code (B1). Short. Not assessed: nothing was judged."""
    code = family.strip().upper()
    if code not in FAMILIES:
        return f"No family {family!r}. The families: {', '.join(FAMILIES)}."
    found = next((a for a in ctx.deps.assessments if a.code == code), None)
    ctx.deps.emit(f"assess: {code}")
    words = playbook(code)
    if found is None:
        said = f"{code} {FAMILIES[code][0]}: not assessed."
    elif (ctx.deps.job_id, code) in ctx.deps.described:
        said = f"{head(found)}. Its findings were shown above."
    else:
        said = describe(ctx.deps, found)
    modes = f" Its modes: {', '.join(FAMILIES[code][1])}." if FAMILIES[code][1] else ""
    return f"{said}\n\nPlaybook.{modes}\n{words}" if words else said


def head(a: Assessment) -> str:
    """Family, status, mode, confidence and attribution."""
    mode = f", mode {a.mode}" if a.mode else ""
    return (
        f"{a.code} {FAMILIES[a.code][0]}: {a.status}{mode}, confidence {a.confidence:.2f}, attribution {a.attribution}"
    )


def describe(deps: Deps, a: Assessment) -> str:
    """An assessment as text, each sentence once, with the value of each reference where it comes first; these count as shown."""
    said = [("headline", a.headline), *(("for", c.text) for c in a.speaks_for)]
    said += [("against", c.text) for c in a.speaks_against]
    said += [(f"implies ({c.status})", c.text) for c in a.implies]
    said += [("missing", f"{m.text} ({m.signal})") for m in a.missing]
    said += [("warning", c.text) for c in a.warnings]
    if deps.opener is not None:  # a verdict gets the rules' actions without being told them
        offer = deps.draft if a.code == deps.draft.family else a
        said += [("to do", c.text) for c in offer.actions[:MAX_OFFERED]]
    said += [("counterfactual", a.counterfactual)] if a.status != "confirmed" else []
    once = {text: kind for kind, text in reversed(said) if text}
    told = set[str]()
    lines = [f"{kind}: {show_sentence(deps, text, told)}" for kind, text in said if once.pop(text, "") == kind]
    return f"{head(a)}\n{deps.fence.wrap(chr(10).join(lines))}" if lines else head(a)
