"""A GPU fault long before the end that was the end all the same: nothing was trained after it."""

from __future__ import annotations

from datetime import datetime

from agent_tools.facts import Facts, RowView
from agent_tools.facts.exceptions import Raised
from agent_tools.families.faulted_gpus import LONG_S, is_hard, of_the_job, same_gpu, spoken_of
from agent_tools.families.wording import claim, of_runtime
from agent_tools.verdict import Claim

_LONG_QUIET = 20
_AT_ONCE_S = 600.0
_LOOK_S = 120.0
"""Between two looks of an exporter."""
_LONG_WAIT_S = 60.0
_GIVE_UP_S = 240.0
"""From the first rank that gives up to the end of the job."""


def last_of_it(facts: Facts, rows: list[RowView]) -> tuple[RowView, Claim] | None:
    """The first event with which training stopped, and what shows it."""
    for row in rows:
        said = _stopped(facts, row)
        if said is not None:
            return row, said
    return None


def unplaced(facts: Facts, cause: Raised) -> bool:
    """Whether a GPU of the job failed before an error that a failing GPU gives too, and no training is known to lie between."""
    if not of_runtime(cause) or not spoken_of(facts):
        return False
    quiet = facts.table("quiet_end").first
    since = quiet.number("quiet_s") if quiet is not None and quiet.has("progress_ts") else None
    faults, _ = of_the_job(facts, facts.table("gpu_events").where(is_hard))
    return any(since is None or (r.number("before_end_s") or 0.0) - since <= LONG_S for r in faults)


def _stopped(facts: Facts, row: RowView) -> Claim | None:
    """Long before the end, and the last of it all the same: what shows that nothing was trained after the fault.

    Either the training reports stop with it, or the GPU that failed did no work in the last minutes. None otherwise.
    """
    if facts.beside is not None:
        return None
    quiet = facts.table("quiet_end").first
    if (
        quiet is not None
        and quiet.has("progress_ts")
        and (quiet.number("times_usual") or 0) > _LONG_QUIET
        and abs((row.number("before_end_s") or 0) - (quiet.number("quiet_s") or 0)) <= _AT_ONCE_S
    ):
        return claim(
            f"Training stopped with it: the last report came at {quiet['progress_ts']}, {quiet['quiet_min']} before the end."
        )
    waited = facts.table("nccl_events").one_of("name", "collective_timeout")
    before = row.number("before_end_s") or 0.0
    if waited and (waited[0].number("elapsed_s") or 0.0) > _LONG_WAIT_S:
        since = before - (waited[0].number("elapsed_s") or 0.0)
        if -_LOOK_S <= since <= _GIVE_UP_S:
            return claim(
                f"The ranks came to a standstill with it: {waited[0]['elapsed_s']} later, just before the end, they gave up waiting."
            )
    if (fell := _fell_with(facts, row)) is not None:
        return fell
    own = next((g for g in facts.table("gpu_summary") if same_gpu(g, row)), None)
    if own is not None and (lost := _silent_since(facts, row, own)) is not None:
        return lost
    if own is None or facts.silent_gpus is not None or (own.number("late_samples") or 0) < 2:
        return None
    if (own.number("engine_late") or 0) < 0.02 < (own.number("engine_mean") or 0):
        return claim(
            f"That GPU worked before (mean engine activity {own['engine_mean']}) and not in the last minutes of the run "
            f"({own['engine_late']})."
        )
    if (own.number("engine_mean") or 0) < 0.02 and not facts.progress.begun and own.has("engine_mean"):
        return claim(
            f"That GPU did nothing in the whole run (mean engine activity {own['engine_mean']}), and nothing was trained."
        )
    return None


def _fell_with(facts: Facts, row: RowView) -> Claim | None:
    """A process of the job that its launcher saw fail just after the fault, by an error of CUDA: the job ended long after its work."""
    if not spoken_of(facts) or not row.has("event_ts"):
        return None
    first, last = (
        _time(row.text("event_ts")),
        _time(row.text("last_ts") if row.has("last_ts") else row.text("event_ts")),
    )
    for told in facts.table("launcher_failures").one_of("kind", "launcher_summary"):
        when = next((c for c in ("failed_ts", "printed_ts") if told.has(c)), None)
        if when is None:
            continue
        fell = _time(told.text(when))
        if first <= fell and (fell - last).total_seconds() <= _AT_ONCE_S:
            who = f"rank {told['rank']}" if told.has("rank") else "a process of the job"
            return claim(f"The program fell with it: its launcher saw {who} fail at {told[when]}.")
    return None


def _silent_since(facts: Facts, row: RowView, own: RowView) -> Claim | None:
    """A GPU of which the exporter tells nothing any more from the fault on, while it tells of the others to the end."""
    last = max((g.text("last_ts") for g in facts.table("gpu_summary") if g.has("last_ts")), default="")
    if not own.has("last_ts") or not row.has("event_ts"):
        return None
    told, fault = _time(own.text("last_ts")), _time(row.text("event_ts"))
    if abs((told - fault).total_seconds()) > _LOOK_S or (_time(last) - told).total_seconds() < _AT_ONCE_S:
        return None
    return claim(f"Nothing is told of that GPU after {own['last_ts']}; the others were looked at to the end.")


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
