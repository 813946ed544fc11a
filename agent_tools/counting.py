"""A bar with a clock of its own at the end of a log: an evaluation or a generation was under way, and that is no silence.

Training reports end where an evaluation begins. What its bar shows as elapsed is how long it was seen to go on: a bar that
stands still keeps the time of its last step.
"""

from __future__ import annotations

import re

from agent_tools.facts import Facts, RowView

_BAR = re.compile(
    r"^.{0,60}?\b(?i:eval|valid|test|predict|generat|infer|scor|decod)\w*\b[^|]{0,60}\d%\|[^|]{0,120}\| *(?P<n>\d+)/(?P<total>\d+)"
    r" *\[(?:(?P<h>\d+):)?(?P<m>\d\d):(?P<s>\d\d)<"
)
_SLURMS = re.compile(r"(?:srun|slurmstepd)[\w.-]*: ")
_COVERED, _OWN, _SPARE_S = 0.9, 1.1, 60.0
"""Share of the silence that the bar has to have seen; how much longer it may be, since one that ran longer began before it."""


def counting(facts: Facts, quiet_s: float) -> RowView | None:
    """The last line of a log that shows an evaluation going on for as long as no training was reported; None without one."""
    last = {
        r.text("file"): r
        for r in facts.table("log_tail")
        if r.text("text").strip() and not _SLURMS.match(r.text("text"))
    }
    for row in last.values():
        found = _BAR.search(row.text("text"))
        if found is None or int(found["n"]) >= int(found["total"]):
            continue
        seen = int(found["h"] or 0) * 3600 + int(found["m"]) * 60 + int(found["s"])
        if _COVERED * quiet_s <= seen <= _OWN * quiet_s + _SPARE_S:
            return row
    return None
