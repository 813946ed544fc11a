"""One family's own findings and its playbook."""

from __future__ import annotations

from pydantic_ai import RunContext

from agent_tools.families.base import Assessment
from agent_tools.tools.base import Deps, show_sentence
from agent_tools.verdict import FAMILIES
from prompts import playbook


async def assess(ctx: RunContext[Deps], family: str) -> str:
    """One failure family's findings on this job: what speaks for it, against it, what is missing; and its playbook.

    Args:
        ctx: The run.
        family: The family's code, such as B1.
    """
    code = family.strip().upper()
    if code not in FAMILIES:
        return f"No family {family!r}. The families: {', '.join(FAMILIES)}."
    found = next((a for a in ctx.deps.assessments if a.code == code), None)
    ctx.deps.emit(f"assess: {code}")
    words = playbook(code)
    said = describe(ctx.deps, found) if found else f"{code} {FAMILIES[code][0]}: not assessed."
    return f"{said}\n\nPlaybook:\n{words}" if words else said


def describe(deps: Deps, a: Assessment) -> str:
    """An assessment as text, with the values of its references, which count as shown."""
    mode = f", mode {a.mode}" if a.mode else ""
    head = (
        f"{a.code} {FAMILIES[a.code][0]}: {a.status}{mode}, confidence {a.confidence:.2f}, attribution {a.attribution}"
    )
    lines = [a.headline and f"headline: {a.headline}"]
    lines += [f"for: {c.text}" for c in a.speaks_for]
    lines += [f"against: {c.text}" for c in a.speaks_against]
    lines += [f"implies ({c.status}): {c.text}" for c in a.implies]
    lines += [f"missing: {m.text} ({m.signal})" for m in a.missing]
    lines += [f"warning: {c.text}" for c in a.warnings]
    lines += [a.counterfactual and f"counterfactual: {a.counterfactual}"]
    body = "\n".join(show_sentence(deps, line) for line in lines if line)
    return f"{head}\n{deps.fence.wrap(body)}" if body else head
