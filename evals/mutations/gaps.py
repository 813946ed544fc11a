"""Conditions that no case needs yet: inverted, they change no verdict that the suite looks at. Each is a case to write.

By family and condition as it stands in the code; an entry whose condition is caught or gone is to be deleted.
"""

from __future__ import annotations

GAPS: dict[tuple[str, str], str] = {
    ("B1", "row is not None and row.text('name') in _VAGUE"): "both sides are B1, at different confidence",
    (
        "B2",
        "any((r.text('code') == 'gpu_lost' for r in rows)) and facts.table('cuda_errors').where(lambda r: r.text('name') == 'cuda_error' and r.text('code') != 'gpu_lost')",
    ): "both sides are B2, at different confidence",
    ("C2", "not facts.has_log and (not facts.has('nccl_sample'))"): "it words what is missing; the family is the same",
    ("E3", "steps.number > HANDFUL"): "both sides are E3, at different confidence",
    ("F3", "pace == 'moving'"): "both sides are F3, in other words",
    ("F4", "end is None"): "both sides are nothing to say",
}
