"""An evaluation or a generation that was under way at the end of a log: that is no silence.

Training reports end where an evaluation begins. What its bar shows as elapsed is how long it was seen to go on: a bar that
stands still keeps the time of its last step. Without a bar it is a counter whose own line carries a time of the end.
"""

from __future__ import annotations

from datetime import datetime

from agent_tools.facts import Facts, RowView
from store import lazy

_WORK = r"\b(?i:eval\w*|val(?:id\w*)?|test(?:ing)?|predict\w*|generat\w*|infer\w*|scor(?:e|ing)|decod\w*)\b"
_BAR = lazy.compile(
    rf"^.{{0,60}}?{_WORK}"
    r"[^|]{0,60}\d%\|[^|]{0,120}\| *(?P<n>\d+)/(?P<total>\d+) *\[(?:(?P<h>\d+):)?(?P<m>\d\d):(?P<s>\d\d)<"
)
_COUNTER = lazy.compile(rf"{_WORK}" r"[^|]{0,30}?\[? *(?P<n>\d+) ?/ ?(?P<total>\d+)\b")
_SLURMS = lazy.compile(r"(?:srun|slurmstepd)[\w.-]*: ")
_COVERED, _OWN, _SPARE_S = 0.9, 1.1, 60.0
"""Share of the silence that the bar has to have seen; how much longer it may be, since one that ran longer began before it."""
_LAST = 0.05
"""Share of the silence, or two of those minutes, that may lie between a counter's last line and the end."""


def counting(facts: Facts, quiet_s: float) -> RowView | None:
    """The last line of a log that shows an evaluation going on for as long as no training was reported; None without one."""
    own = facts.table("log_tail").where(lambda r: bool(r.text("text").strip()) and not _SLURMS.match(r.text("text")))
    last = {r.text("file"): r for r in own}
    for row in last.values():
        if found := _BAR.search(row.text("text")):
            seen = int(found["h"] or 0) * 3600 + int(found["m"]) * 60 + int(found["s"])
            lasted = _COVERED * quiet_s <= seen <= _OWN * quiet_s + _SPARE_S
        elif found := _COUNTER.search(row.text("text")):
            left = _before_end(facts, row)
            lasted = left is not None and left <= max(2 * _SPARE_S, _LAST * quiet_s)
        else:
            continue
        if lasted and int(found["n"]) < int(found["total"]):
            return row
    return None


def _before_end(facts: Facts, row: RowView) -> float | None:
    """Seconds from a line's time to the job's end; None where either is unknown."""
    if facts.overview is None or not facts.overview.has("end_ts") or not row.has("line_ts"):
        return None
    ended, said = (
        datetime.fromisoformat(t.replace("Z", "+00:00")) for t in (facts.overview.text("end_ts"), row.text("line_ts"))
    )
    return (ended - said).total_seconds()
