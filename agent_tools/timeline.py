"""The moments of a job in order, from every source that was asked: each is a reference to the cell that says it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agent_tools.evidence import OR_LATER
from agent_tools.facts import Facts
from agent_tools.facts.held_up import last_collective
from agent_tools.facts.views import RowView, View
from agent_tools.families.faulted_gpus import seen_after
from agent_tools.families.switch_faults import FABRIC
from agent_tools.families.wording import SPEAKERS, gpu_of
from agent_tools.verdict import NO_TIME, Moment
from store import lazy

MOST, MOST_OF_ONE = 20, 8
"""Moments in all, and from one source."""
SPAN = 400
"""Lines of one traceback that are looked at."""
_BACK = lazy.compile(r"[Cc]onnection restored|server \S+ OK\b")
"""A file server answers again."""


def timeline(facts: Facts) -> list[Moment]:
    """At most twenty moments, in the order of time; a line of the log without a time stands before what it precedes."""
    found = _placed(list(_moments(facts)))
    if len(found) > MOST:
        keep = sorted(range(len(found)), key=lambda i: (found[i][1], i))[:MOST]
        found = [found[i] for i in sorted(keep)]
    return [moment for _, _, moment in found]


_Entry = tuple[tuple[bool, str, float], int, Moment]
LAST = 9e9
"""The line of what comes after every line: the end."""
AFTER = "~"
"""Ends a time to the second that comes after all others of that second."""


def _placed(entries: list[_Entry]) -> list[_Entry]:
    """In order: by time, then line. What has a line and no time comes before the first moment that has a later line and a time."""
    timed = sorted((e for e in entries if not e[0][0]), key=lambda e: e[0])
    for entry in sorted((e for e in entries if e[0][0]), key=lambda e: e[0]):
        line = entry[0][2]
        at = next((i for i, e in enumerate(timed) if e[0][2] > line > 0), len(timed))
        timed.insert(at, entry)
    return timed


def _moments(facts: Facts) -> Iterator[_Entry]:
    """Sort key (without a time last, time, line), weight (the lower the more it matters) and moment."""
    overview = facts.overview
    if overview is not None:
        # On one second: what was requeued is submitted after its attempt ended, and a job ends after all else.
        for column, text, after in (("submit_ts", "Slurm: submitted.", AFTER), ("start_ts", "Slurm: started.", "")):
            if overview.has(column):
                at = overview.text(column)[:19] + after if after else overview.text(column)
                yield (False, at, 0.0), 2, Moment(ts=overview[column].ref, text=text)
        if overview.has("end_ts"):
            text = f"Slurm: ended, {overview['state']}."
            yield (False, overview.text("end_ts")[:19] + AFTER, LAST), 0, Moment(ts=overview["end_ts"].ref, text=text)
    yield from _of(_once(facts.table("job_events")), "event_ts", _slurm, 2)
    steps = facts.progress.steps
    if steps is not None:
        # One time for many reports is that of some line before them.
        own = (steps.number("reports") or 0) <= 1 or steps.text("first_ts") != steps.text("last_ts")
        yield _entry(steps, "first_ts" if own else None, "first_line", "First training report.", 2)
        yield from _not_finite(facts, own)
        yield _entry(
            steps, "last_ts" if own else None, "last_line", f"Last training report ({steps['reports']} in all).", 1
        )
    lent = _lent(steps)
    by_name = _lines(facts.table("oom_events"), facts.table("nccl_events"))
    raised = facts.table("exceptions").where(lambda r: by_name.isdisjoint(_span(r)))
    yield from _of(raised, "first_ts", lambda r: f"Exception {r['name']}{_who(r)}.", 1, lent)
    yield from _of(facts.table("oom_events"), "oom_ts", lambda r: f"Out of CUDA memory{_who(r)}.", 1, lent)
    by_slurm = _lines(facts.table("slurm_messages"))
    signals = facts.table("signals").where(lambda r: by_slurm.isdisjoint(_span(r)))
    yield from _of(signals, "signal_ts", lambda r: f"Signal: {_said(r)}", 1, lent)
    yield from _of(
        facts.table("slurm_messages"),
        "message_ts",
        lambda r: f"{SPEAKERS.get(r.text('system'), 'Slurm')}, in the log: {_said(r)}",
        1,
    )
    yield from _of(*_reported(facts.table("nccl_events")), 1, lent)
    if facts.has("nccl_sample") and not facts.ending.succeeded and (rest := last_collective(facts)) is not None:
        reported = steps.number("last_line") or 0.0 if steps is not None else 0.0  # a step is told of once it is done
        text = f"The last collective completed (rank {rest['rank']})."
        yield (False, rest.text("completed_ts"), reported + 0.5), 1, Moment(ts=rest["completed_ts"].ref, text=text)
    yield from _of(facts.table("gpu_events"), "event_ts", lambda r: f"{_device(r)}{_on(r)}: {_said(r)}", 0)
    yield from _of(_but_recoveries(facts.table("host_events")), "event_ts", lambda r: f"Kernel{_on(r)}: {_said(r)}", 1)
    if facts.has("link_event"):
        links = facts.table("link_events").where(lambda r: r.text("event") != "up")
        yield from _of(links, "event_ts", lambda r: f"Link {r['device']}{_on(r)}: {_said(r)}", 1)
    yield from _of(facts.table("node_states"), "begin_ts", _trouble, 1)
    yield from _of(facts.table("process_exits").where(_untimely), "end_ts", _exit, 1)
    after = seen_after(facts)
    rises = [*facts.table("gpu_counter_rises").where(_rose), *([after] if after is not None else [])]
    yield from _of(rises, "risen_ts", _risen, 0)
    yield from _of(_earlier(facts), "end_ts", lambda r: f"Slurm: attempt {r['attempt']} ended, {r['state']}.", 1)


def _risen(row: RowView) -> str:
    seen = "was first seen risen" if (row.number("before_end_s") or 0) < 0 else "rose"
    return f"{row['counter']} of {gpu_of(row)} {seen}."


def _device(row: RowView) -> str:
    return "NVSwitch" if row.text("event") in FABRIC else "GPU"


def _lines(*views: View) -> set[tuple[str, int]]:
    """The lines of the log that these tell of: one line is one moment, told by whoever says most of it."""
    return {line for view in views for row in view for line in _span(row)}


def _span(row: RowView) -> set[tuple[str, int]]:
    """File and number of each of its lines; none where it stands in no file."""
    first = row.number("line_no")
    if first is None or not row.has("file"):
        return set()
    last = row.number("line_end") if "line_end" in row.columns else None
    return {(row.text("file"), n) for n in range(int(first), int(min(last or first, first + SPAN)) + 1)}


def _lent(steps: RowView | None) -> Callable[[RowView, str], bool]:
    """Whether a line of the log has its time from the last training report before it."""

    def lent(row: RowView, ts: str) -> bool:
        if steps is None or not steps.has("last_ts") or not row.has("line_no"):
            return False
        after = (row.number("line_no") or 0) > (steps.number("last_line") or 0)
        same = row.text(ts) == steps.text("last_ts") and row.text("file") == steps.text("file")
        return after and same and ts in row.text(OR_LATER).split()

    return lent


def _not_finite(facts: Facts, timed: bool) -> Iterator[_Entry]:
    """Since when the loss was no number to the end."""
    shape = facts.table("loss_shape").first
    if shape is not None and shape.has("end_bad_line") and (shape.number("trailing_bad") or 0) > 1:
        since = f" from step {shape['end_bad_step']} on" if shape.has("end_bad_step") else ""
        yield _entry(shape, "end_bad_ts" if timed else None, "end_bad_line", f"The loss is not finite{since}.", 1)


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


def _but_recoveries(view: View) -> list[RowView]:
    """Without what only says that a server answers again, where nothing says that it had not."""
    lost = {(r.text("node"), r.text("event")) for r in view if not _BACK.search(r.text("message"))}
    return [r for r in view if not _BACK.search(r.text("message")) or (r.text("node"), r.text("event")) in lost]


def _trouble(row: RowView) -> str:
    return f"Node {row['node']}: {row['state']}." if row.get("troubled") else ""


def _slurm(row: RowView) -> str:
    if row.text("event") in ("submitted", "started", "ended", "eligible"):
        return ""
    return f"Slurm: {row['event']}" + (f", {row['reason']}." if row.has("reason") else ".")


def _said(row: RowView) -> str:
    """The message, ended by one full stop; what kind of event it was where a source kept no text of it."""
    if not row.has("message"):
        named = next((c for c in ("event", "name") if c in row.columns and row.has(c)), None)
        return f"{row[named]}." if named else "no text of it was kept."
    return f"{row['message']}{'' if row.text('message').endswith(('.', '!', '?')) else '.'}"


def _who(row: RowView) -> str:
    return f" on rank {row['rank']}" if row.has("rank") else ""


def _on(row: RowView) -> str:
    return f" on {row['node']}" if row.has("node") else ""


def _reported(view: View) -> tuple[list[RowView], str, Callable[[RowView], str]]:
    """Of many ranks that report one thing the first in full and the last: a hang of a thousand ranks is a few moments."""
    alike: dict[tuple[str, str], list[RowView]] = {}
    for row in view:
        alike.setdefault((row.text("kind"), row.text("name")), []).append(row)
    last = [rows[-1] for rows in alike.values() if len(rows) > 1]
    kept: list[RowView] = []
    lines: set[tuple[str, float | None]] = set()
    for row in view:
        line = row.text("file"), row.number("line_no")
        told_already = row.has("file") and line in lines  # one line may be told under two names
        if not told_already and (row in last or row is alike[row.text("kind"), row.text("name")][0]):
            kept.append(row)
            lines.add(line)

    def text(row: RowView) -> str:
        if row in last and row.has("rank"):
            return f"Process group: rank {row['rank']} reports {row['name']} too."
        return f"Process group: {_said(row)}"

    return kept, "first_ts", text


def _once(view: View) -> list[RowView]:
    """Of several sources that tell of one event in the same second, the first."""
    found = {(row.text("event_ts")[:19], row.text("event")): row for row in reversed(view.rows)}
    return [row for row in view.rows if row in found.values()]


def _of(
    view: View | list[RowView],
    ts: str,
    text: Callable[[RowView], str],
    weight: int,
    lent: Callable[[RowView, str], bool] = lambda row, ts: False,
) -> Iterator[_Entry]:
    rows = view if isinstance(view, list) else view.rows
    telling = [(row, said) for row in rows if (said := text(row))]
    for n, (row, said) in enumerate(telling[:MOST_OF_ONE]):
        key, weighs, moment = _entry(row, ts, "line_no", said, weight + (0 if n < 2 else 2))
        if lent(row, ts):
            # Placed by its line: what carries a time of its own, as a kernel's message, may have come before it.
            key = (True, "", key[2])
        yield key, weighs, moment


def _entry(row: RowView, ts: str | None, line: str, text: str, weight: int) -> _Entry:
    at = row.number(line) if line in row.columns else None
    if ts is not None and row.has(ts):
        return (False, row.text(ts), at or 0.0), weight, Moment(ts=row[ts].ref, text=text[:600])
    where = f"{text.rstrip('.')} (line {row[line]})." if at is not None else text
    return (True, "", at or 0.0), weight, Moment(ts=NO_TIME, text=where[:600])
