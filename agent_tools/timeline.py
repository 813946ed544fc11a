"""The moments of a job in order, from every source that was asked: each is a reference to the cell that says it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agent_tools.facts import Facts
from agent_tools.facts.views import RowView, View
from agent_tools.families.wording import gpu_of
from agent_tools.verdict import Moment

MOST = 20


def timeline(facts: Facts) -> list[Moment]:
    """At most twenty moments. Those with a time are in the order of time; without any time, in the order of lines."""
    found = sorted(_moments(facts), key=lambda m: m[0])
    if len(found) > MOST:
        keep = sorted(range(len(found)), key=lambda i: (found[i][1], i))[:MOST]
        found = [found[i] for i in sorted(keep)]
    return [moment for _, _, moment in found]


_Entry = tuple[tuple[bool, str, float], int, Moment]


def _moments(facts: Facts) -> Iterator[_Entry]:
    """Sort key (without a time last, time, line), weight (the lower the more it matters) and moment."""
    overview = facts.overview
    if overview is not None:
        for column, text in (("submit_ts", "Slurm: submitted."), ("start_ts", "Slurm: started.")):
            if overview.has(column):
                yield (False, overview.text(column), 0.0), 2, Moment(ts=overview[column].ref, text=text)
        if overview.has("end_ts"):
            text = f"Slurm: ended, {overview['state']}."
            yield (False, overview.text("end_ts"), 9e9), 0, Moment(ts=overview["end_ts"].ref, text=text)
    yield from _of(facts.table("job_events"), "event_ts", _slurm, 2)
    steps = facts.progress.steps
    if steps is not None and (steps.number("reports") or 0) > 1 and steps.text("first_ts") == steps.text("last_ts"):
        steps = None  # one time for many reports is that of some line before them
    if steps is not None:
        yield _entry(steps, "first_ts", "first_line", "First training report.", 2)
        yield _entry(steps, "last_ts", "last_line", f"Last training report ({steps['reports']} in all).", 1)
    yield from _of(facts.table("exceptions"), "first_ts", lambda r: f"Exception {r['name']}{_who(r)}.", 1)
    yield from _of(facts.table("oom_events"), "oom_ts", lambda r: f"Out of CUDA memory{_who(r)}.", 1)
    yield from _of(facts.table("signals"), "signal_ts", lambda r: f"Signal: {r['message']}.", 1)
    yield from _of(facts.table("slurm_messages"), "message_ts", lambda r: f"Slurm, in the log: {r['message']}.", 1)
    yield from _of(facts.table("nccl_events"), "first_ts", lambda r: f"Process group: {r['message']}.", 1)
    yield from _of(facts.table("gpu_events"), "event_ts", lambda r: f"GPU{_on(r)}: {r['message']}.", 0)
    yield from _of(facts.table("host_events"), "event_ts", lambda r: f"Kernel{_on(r)}: {r['message']}.", 1)
    if facts.has("link_event"):
        links = facts.table("link_events").where(lambda r: r.text("event") != "up")
        yield from _of(links, "event_ts", lambda r: f"Link {r['device']}{_on(r)}: {r['message']}.", 1)
    yield from _of(facts.table("node_states"), "begin_ts", _trouble, 1)
    yield from _of(facts.table("process_exits").where(_untimely), "end_ts", _exit, 1)
    yield from _of(
        facts.table("gpu_counter_rises").where(_rose), "risen_ts", lambda r: f"{r['counter']} of {gpu_of(r)} rose.", 0
    )
    yield from _of(_earlier(facts), "end_ts", lambda r: f"Slurm: attempt {r['attempt']} ended, {r['state']}.", 1)


def _earlier(facts: Facts) -> list[RowView]:
    """The attempts before the one that is judged."""
    own = facts.overview.text("start_ts") if facts.overview is not None else ""
    return facts.table("job_attempts").where(lambda r: r.has("attempt") and r.has("end_ts") and r.text("end_ts") < own)


def _untimely(row: RowView) -> bool:
    """Not one that the end of the job took along."""
    signal = row.number("exit_signal") or 0
    return row.has("end_ts") and (bool(row.get("oom_killed")) or signal not in (0, 2, 15))


def _exit(row: RowView) -> str:
    who = f"rank {row['rank']}" if row.has("rank") else f"process {row['pid']}"
    sender = f", sent by {row['signal_sender']}" if row.has("signal_sender") else ""
    return f"Process{_on(row)}: {who} was ended by signal {row['exit_signal']}{sender}."


def _rose(row: RowView) -> bool:
    return bool(row.get("serious")) and (row.number("rise") or 0) > 0 and row.has("risen_ts")


def _trouble(row: RowView) -> str:
    return f"Node {row['node']}: {row['state']}." if row.get("troubled") else ""


def _slurm(row: RowView) -> str:
    if row.text("event") in ("submitted", "started", "ended", "eligible"):
        return ""
    return f"Slurm: {row['event']}" + (f", {row['reason']}." if row.has("reason") else ".")


def _who(row: RowView) -> str:
    return f" on rank {row['rank']}" if row.has("rank") else ""


def _on(row: RowView) -> str:
    return f" on {row['node']}" if row.has("node") else ""


def _of(view: View | list[RowView], ts: str, text: Callable[[RowView], str], weight: int) -> Iterator[_Entry]:
    for n, row in enumerate((view if isinstance(view, list) else view.rows)[:8]):
        said = text(row)
        if said:
            yield _entry(row, ts, "line_no", said, weight + (0 if n < 2 else 2))


def _entry(row: RowView, ts: str, line: str, text: str, weight: int) -> _Entry:
    at = row.number(line) if line in row.columns else None
    if row.has(ts):
        return (False, row.text(ts), at or 0.0), weight, Moment(ts=row[ts].ref, text=text[:600])
    where = f"{text.rstrip('.')} (line {row[line]})." if at is not None else text
    return (True, "", at or 0.0), weight, Moment(ts="time not known", text=where[:600])
