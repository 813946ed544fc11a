"""Conditions that no case needs yet: inverted, they change no verdict that the suite looks at. Each is a case to write.

By family and condition as it stands in the code; an entry whose condition is caught or gone is to be deleted.
"""

from __future__ import annotations

GAPS: dict[tuple[str, str], str] = {
    ("A4", "known is None"): "no case has a pending reason that nobody has heard of",
    (
        "B2",
        "any((r.text('code') == 'gpu_lost' for r in rows)) and facts.table('cuda_errors').where("
        "lambda r: r.text('name') == 'cuda_error' and r.text('code') != 'gpu_lost')",
    ): "no case has the runtime lose a GPU and report another error beside it, with no log of the kernel",
    ("C2", "not facts.has_log and (not facts.has('nccl_sample'))"): "it words what is missing; the family is the same",
    (
        "E2",
        "count(now, 'loads') or not count(now, 'stops') or (not count(before, 'saves'))",
    ): "no case has one log of two stretches",
    (
        "E2",
        "first is None or last is None or start is None or (first - last < 0.1 * abs(first))",
    ): "no case has one log of two stretches",
    (
        "E2",
        "start - last < 0.5 * (first - last) or count(now, 'first_step') > 0.5 * count(before, 'last_step')",
    ): "no case has one log of two stretches",
    ("E3", "steps.number > HANDFUL"): "both sides are E3, at different confidence",
    ("F1", "own and count(end, 'errors')"): "no case has a job that fails by itself while one of its nodes falls",
    ("F3", "pace == 'moving'"): "both sides are F3, in other words",
    ("F4", "end is None"): "both sides are nothing to say",
}
