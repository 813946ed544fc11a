"""Faults of the job's GPUs outside of its run: of a job before it, or of this one where two sources' clocks are of different zones.

They are hints of where to look, and never the cause: nothing places them in the run.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from agent_tools.facts import Facts, RowView
from agent_tools.facts.holding import holding
from agent_tools.families.faulted_gpus import event_said, is_hard, same_gpu
from agent_tools.families.wording import claim, gpu_of
from agent_tools.verdict import Claim

BEFORE_H = 24.0
"""Hours before the run in which a fault of its GPU is worth a word: a card that was not reset since may fail again."""
ZONES_H = 14.0
"""Hours by which clocks of two zones differ at most."""
_HALF_HOUR_S = 1800.0
"""Zones differ by whole half hours, but for three."""
_END_S = 300.0
"""So close to the job's end a fault has to lie once a zone's difference is taken off."""
_ENDED_S = 600.0
"""A fault of the hardware ends a run at once, or by a time-out of minutes."""
_KERNELS = frozenset({13, 31})
"""Faults of kernels: mostly a program's own."""
_APART = timedelta(hours=1)
_MOST = 3
_KEPT = frozenset({"remap_failure", "remap_pending"})


def faults_around(facts: Facts) -> list[Claim]:
    """A warning of each of the first hardware faults of the job's GPUs shortly before its run, or hours outside of it."""
    begin, end = facts.scope["from_ts"], facts.scope["to_ts"]
    if not begin or not facts.scope["nodes"]:
        return []
    said = [claim(_earlier(facts, r, _first_start(facts))) for r in _each(_before(facts))]
    said += _come_back(facts)
    if not end or facts.ending.succeeded:
        return said[:_MOST]
    stop = _time(end)
    after = facts.table("gpu_events", from_ts=end, to_ts=(stop + timedelta(hours=ZONES_H)).isoformat())
    late = [r for r in after if is_hard(r) and _shifted(_time(r.text("event_ts")) - stop) and _own(facts, r)]
    return [*said, *(claim(_later(r), "hypothesis") for r in _each(late))][:_MOST]


def marked_after(facts: Facts) -> list[Claim]:
    """Marks that a GPU of the job keeps until it is reset or replaced, read after a run in which nobody looked at it."""
    end = facts.scope["to_ts"]
    if not end or not facts.scope["nodes"] or facts.table("gpu_summary") or facts.ending.succeeded:
        return []
    until = (_time(end) + timedelta(hours=BEFORE_H)).isoformat()
    rows = facts.table("gpu_counter_rises", from_ts=end, to_ts=until, end_ts=end)
    kept = [r for r in rows if r.text("counter") in _KEPT and (r.number("last_value") or 0) > 0 and _own(facts, r)]
    return [
        claim(
            f"Looked at after this run, {gpu_of(r)} bears a mark of bad memory: {r['counter']} stands at {r['last_value']}. Nothing "
            "says since when; have it tested before the next job gets it.",
            "hypothesis",
        )
        for r in kept[:_MOST]
    ]


def fault_that_ended_attempt(facts: Facts) -> RowView | None:
    """The last fault of a GPU of the job within minutes before an earlier attempt ended; None where there was none."""
    if not facts.scope["from_ts"] or not facts.scope["nodes"]:
        return None
    start = _time(facts.scope["from_ts"])
    ends = [_time(r.text("end_ts")) for r in facts.table("job_attempts") if r.has("end_ts")]
    within = [e for e in ends if e <= start]
    for row in reversed(_before(facts)):
        at = _time(row.text("event_ts"))
        if at >= _first_start(facts) and any(0 <= (e - at).total_seconds() <= _ENDED_S for e in within):
            return row
    return None


def _come_back(facts: Facts) -> list[Claim]:
    """What an application causes, where one GPU of a node alone reported it under the programs before this one, too."""
    earlier = [r for r in _asked_before(facts) if r.number("xid") in _KERNELS and _own(facts, r)]
    for row in facts.table("gpu_events").where(lambda r: r.number("xid") in _KERNELS):
        on_node = [r for r in earlier if r.get("node") == row.get("node")]
        alike = [r for r in on_node if same_gpu(r, row)]
        if not alike or len(alike) < len(on_node):
            continue
        again = alike[-1]
        if _time(again.text("last_ts")) - _time(again.text("event_ts")) < _APART:  # one program's burst
            continue
        text = (
            f"XID {again['xid']} was reported {again['events']} times on {gpu_of(again)} before this run, from "
            f"{again['event_ts']} to {again['last_ts']}, and on no other GPU of the node: what comes back on the same GPU under "
            "several programs may be the GPU. Have it tested if the program runs well elsewhere."
        )
        return [claim(text, "hypothesis")]
    return []


def _first_start(facts: Facts) -> datetime:
    begin = facts.scope["from_ts"]
    return _time(next((r.text("start_ts") for r in facts.table("job_attempts") if r.has("start_ts")), begin))


def _before(facts: Facts) -> list[RowView]:
    """Hardware faults of the job's GPUs in the day before its run, or since its first attempt."""
    return [r for r in _asked_before(facts) if is_hard(r) and _own(facts, r)]


def _asked_before(facts: Facts) -> list[RowView]:
    begin = facts.scope["from_ts"]
    start = _time(begin)
    since = min(start - timedelta(hours=BEFORE_H), _first_start(facts))
    rows = facts.table("gpu_events", from_ts=since.isoformat(), to_ts=begin)
    return [r for r in rows if _time(r.text("event_ts")) < start]


def _earlier(facts: Facts, row: RowView, first: datetime) -> str:
    at, end = _time(row.text("event_ts")), facts.scope["to_ts"]
    text = f"{row['before_end_s']} before this run began: {event_said(row)}"
    if at >= first:
        return f"In the time of an earlier attempt, {text}"
    if end and not facts.ending.succeeded and _shifted(at - _time(end)):
        return f"{text} It is an earlier job's, or this run's own where the clocks of the sources differ by a time zone (see --timezone)."
    return f"{text} Make sure that the GPU was reset and tested since; nothing ties it to how this run ended."


def _later(row: RowView) -> str:
    return (
        f"After this run, at {row['event_ts']}: {event_said(row)} It is this run's own only if the clocks of the sources differ "
        "by a time zone (see --timezone)."
    )


def faults_before(facts: Facts, node: str) -> list[RowView]:
    """Hardware faults of a node's GPUs in the day before the run, the last one of each GPU."""
    if not facts.scope["from_ts"] or not facts.scope["nodes"]:
        return []
    return [r for r in _each(_before(facts)) if r.text("node") == node]


def _own(facts: Facts, row: RowView) -> bool:
    return holding(facts, row).whose in ("own", "unsaid")


def _each(rows: list[RowView]) -> list[RowView]:
    """The last event of each GPU."""
    return list({(r.get("node"), r.get("gpu"), r.get("gpu_uuid"), r.get("pci_bus_id")): r for r in rows}.values())


def _shifted(off: timedelta) -> bool:
    """Whether a difference to the job's end is a zone's, give or take some minutes."""
    seconds = abs(off.total_seconds())
    near = min(seconds % _HALF_HOUR_S, -seconds % _HALF_HOUR_S)
    return _HALF_HOUR_S - _END_S <= seconds <= ZONES_H * 3600 + _END_S and near <= _END_S


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
