"""The rank whose process had ended while the others lived on: what the ranks of a job that stands still wait for.

FOR      the process table's row of it: signal or exit status, who sent it, when
AGAINST  steps that were reported after it; a teardown, in which all of them end together
ELSE     the kernel's kill of a process of the job for memory, or the log's word of a killed process: it names less
"""

from __future__ import annotations

from datetime import datetime

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim

_KILLS = frozenset({4, 7, 8, 9, 11})
_ASKED = (2, 15)
"""Signals by which a launcher or an operator asks a process to end: no death of its own."""
_ALONE_S = 60.0
"""Slurm's teardown of a step takes seconds: what ended so long before the job was not part of it."""
_SURE = 0.82
_IN_VAIN = "A process of the job was killed, and the ranks that need it wait for it in vain."


def killed_first(facts: Facts, result: Assessment) -> bool:
    """Say in `result` which process of the job ended first; True where its rank is known from the process table."""
    if (row := _ended_alone(facts)) is not None:
        on = f" on {row['node']}" if row.has("node") else ""
        sender = f", sent by {row['signal_sender']}" if row.has("signal_sender") else ""
        signalled = bool(row.number("exit_signal"))
        how = f"was ended by signal {row['exit_signal']}{sender}," if signalled else f"exited with {row['exit_code']}"
        result.headline = f"{result.headline.rstrip('.')}; the process of rank {row['rank']} had ended before."
        result.speaks_for.append(
            claim(f"The process of rank {row['rank']}{on} {how} at {row['end_ts']}; those of the others lived on.")
        )
        result.speaks_for += facts.host_oom.claims
        result.implies.append(
            claim(f"The ranks that need rank {row['rank']} wait for it in vain: find out why it ended.", "supported")
        )
        if facts.host_oom and result.attribution == "undetermined":
            result.attribution = "job"
        if result.status == "confirmed":
            result.confidence = max(result.confidence, _SURE)
        return True
    if any(_by_kernel(r) for r in facts.table("host_events").one_of("event", "oom_kill")):
        result.speaks_for += facts.host_oom.claims
        result.implies.append(claim(_IN_VAIN, "hypothesis"))
        return False
    killed = facts.table("fatal_signals").where(lambda r: r.get("signal") in _KILLS and r.has("line_no"))
    if killed:
        row = killed[0]
        who = f"The log of rank {row['rank']} says" if row.has("rank") else "The log says"
        result.speaks_for.append(claim(f"{who}: {row['message']} ({row['file']} line {row['line_no']})."))
        result.implies.append(claim(_IN_VAIN, "hypothesis"))
    return False


def _ended_alone(facts: Facts) -> RowView | None:
    """The first rank's process that ended badly by itself long before the job did, where most of the ranks did not."""
    end = facts.overview.text("end_ts") if facts.overview is not None else ""
    end = end or max((r.text("last_ts") for r in facts.table("gpu_summary")), default="")
    if not end:
        return None
    rows = [r for r in facts.table("process_exits") if r.has("rank") and r.has("end_ts")]
    gone = [r for r in rows if _bad(r) and _between(r.text("end_ts"), end) >= _ALONE_S]
    size = max(facts.overview.number("gpus") or 0.0 if facts.overview is not None else 0.0, float(len(rows)))
    if not gone or len({r.get("rank") for r in gone}) > max(1.0, size / 4):
        return None
    steps = facts.progress.steps
    if steps is None or not steps.has("last_ts"):
        return gone[0]
    # The run may have gone on without it: started anew, or it was no part of the training.
    return None if _between(gone[0].text("end_ts"), steps.text("last_ts")) >= _ALONE_S else gone[0]


def _bad(row: RowView) -> bool:
    signal = row.number("exit_signal") or 0
    if row.text("signal_sender").startswith("slurmstepd"):
        return False
    return bool(row.get("oom_killed")) or (signal != 0 and signal not in _ASKED) or bool(row.number("exit_code"))


def _by_kernel(row: RowView) -> bool:
    return bool(row.get("of_job")) and not row.get("hidden") and (row.number("before_end_s") or 0.0) >= _ALONE_S


def _between(first: str, last: str) -> float:
    return (
        datetime.fromisoformat(last.replace("Z", "+00:00")) - datetime.fromisoformat(first.replace("Z", "+00:00"))
    ).total_seconds()
