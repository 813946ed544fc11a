"""Conditions that no case needs yet: inverted, they change no verdict that the suite looks at. Each is a case to write.

By family and condition as it stands in the code; an entry whose condition is caught or gone is to be deleted.
"""

from __future__ import annotations

GAPS: dict[tuple[str, str], str] = {
    (
        "D2",
        "spans is not None and (spans.number('timed') or 0) >= _TIMED and ((spans.number('share') or 0.0) >= _LONG)",
    ): "no case has few long saves whose begin and end the log tells",
    ("D2", "(pace.number('evals') or 0) > 0"): "no case has an evaluation beside each of few long saves",
    ("E3", "not steps.number"): "both sides are E3, in other words",
}
