"""What the GPUs of a run did that came to a good end: real work, little, or nothing that anybody measured."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.families.wording import gpu_of
from agent_tools.say import count

WORKING, SLOW = 0.05, 0.2
SLOWER, MANY_REPORTS = 1.3, 30
SPINS = 0.9
BUSY = 0.1
"""Mean activity of memory or tensor cores that a busy engine alone does not bring about while it spins in a collective."""


COMPUTES, AS_BEFORE = 0.3, 0.7
"""SM activity that no kernel of NCCL's reaches while it waits, and the share of a GPU's own mean that is as much as before."""
CARDS, MORE_POWER = 4, 1.4
"""GPUs of which one can stand out by its power, and by how much. Cards at the same work differ by a few percent."""


def at_work(facts: Facts) -> tuple[str, bool]:
    """What the GPUs did, and whether that is real work without serious counters that rose."""
    if not facts.has("gpu_sample") or facts.beside is not None:
        return "", False
    rises = facts.table("gpu_counter_rises").where(lambda r: bool(r.get("serious")) and count(r, "rise") > 0)
    text, working = _work(facts)
    if not text and not rises:
        return "", False
    text = text or "Whether the GPUs worked was not measured"
    text += (
        ", and no serious error counter rose."
        if not rises
        else f", but {rises[0]['counter']} rose by {rises[0]['rise']} on {rises[0]['node']}."
    )
    return text, working and not rises


def _work(facts: Facts) -> tuple[str, bool]:
    """By SM activity; else by what exporters give without it, which is held against the same GPU's busy minutes only."""
    row, spin = facts.table("gpu_spread").first, facts.table("gpu_spin").first
    if row is not None and count(row, "all_sm_median") >= WORKING:
        those = " that were used" if count(row, "used") < count(row, "gpus") else ""
        return (
            f"The GPUs{those} did real work: the median GPU's SM activity was {row['all_sm_median']} on average, the lowest "
            f"{row['all_sm_min']}",
            True,
        )
    if row is not None and all_unused(facts) is not None:
        return "The GPUs that it held did nothing in any sample", False
    if row is not None:
        return f"The GPUs did little: the median GPU's SM activity was {row['all_sm_median']} on average", False
    if spin is None or not 0 < count(spin, "used") <= count(spin, "working"):
        return "", False
    if max(count(spin, "dram_max"), count(spin, "all_tensor_max")) < BUSY:
        if count(spin, "used") < 2 or count(spin, "all_engine_min") < SPINS:
            return "", False  # a small model on its own, which waits for nobody
        return (
            f"The GPUs may have waited all along: SM activity was not measured, and of all of them the highest mean activity of "
            f"memory was {spin['dram_max']}, at an engine activity of {spin['all_engine_min']} at least",
            False,
        )
    return (
        f"To the end the memory of {spin['working']} of {spin['used']} GPUs was as busy as in their busy minutes, with a mean "
        f"engine activity of {spin['all_engine_min']} at least (SM activity was not measured)",
        True,
    )


def while_training(facts: Facts) -> list[RowView] | None:
    """What the GPUs did from the first to the last training report: loading and compiling before it are no duty cycle.

    None where the reports carry no times.
    """
    steps = facts.progress.steps
    if steps is None or not steps.has("first_ts") or steps.text("first_ts") >= steps.text("last_ts"):
        return None
    return [*facts.table("gpu_duty", from_ts=steps.text("first_ts"), to_ts=steps.text("last_ts"))]


def unseen_training(facts: Facts) -> str:
    """That GPUs were watched, but at no moment between the first and the last training report, in words; empty elsewhere."""
    steps = facts.progress.steps
    watched = facts.table("gpu_summary").where(lambda r: r.has("engine_mean")) if facts.has("gpu_sample") else []
    if steps is None or not watched or facts.table("gpu_spread"):
        return ""
    training = while_training(facts)
    if training is None or any(count(r, "samples") for r in training):
        return ""
    last = max(watched, key=lambda r: r.text("last_ts"))
    return (
        f"The GPUs were watched from {last['first_ts']} to {last['last_ts']}, and training was reported from {steps['first_ts']} to "
        f"{steps['last_ts']}: what they did in it is not known."
    )


def little_used(facts: Facts) -> str:
    """That the GPUs of the run were little used, in words; empty where they were, or nobody knows."""
    if not facts.has("gpu_sample") or facts.beside is not None:
        return ""
    row = facts.table("gpu_spread").first
    if row is not None:
        if count(row, "all_sm_median") >= SLOW:
            return ""
        return f"The GPUs were little used: SM activity {row['all_sm_median']} on average."
    if unseen_training(facts):
        return ""
    engines = facts.table("gpu_summary").where(lambda r: r.has("engine_mean"))
    busiest = max(engines, key=lambda r: count(r, "engine_mean"), default=None)
    if busiest is None or count(busiest, "engine_mean") >= SLOW:
        return ""
    return f"The GPUs were little used: the busiest engine worked {busiest['engine_mean']} of the time."


def never_used(facts: Facts) -> RowView | None:
    """The GPUs that the job held and never used, where others of its own worked or it succeeded all the same; None where none are.

    Where all of them lay idle in a run that failed, what stopped it is what has to be told.
    """
    row = facts.table("gpu_unused").first if facts.beside is None else None
    if row is None or (count(row, "unused") == count(row, "gpus_watched") and not facts.ending.succeeded):
        return None
    return row


def rested_at_end(facts: Facts) -> RowView | None:
    """The GPU that had worked most, where all of a job's did nothing any more in its last minutes; None elsewhere."""
    gpus = facts.table("gpu_summary").where(lambda r: r.has("engine_late")) if facts.beside is None else []
    if facts.silent_gpus is not None or not gpus or any(count(r, "engine_late") >= 0.02 for r in gpus):
        return None
    top = max(gpus, key=lambda r: count(r, "engine_mean"))
    return top if count(top, "late_samples") >= 2 else None


def all_unused(facts: Facts) -> RowView | None:
    """The same where not one of them was used in a run that succeeded; None elsewhere."""
    row = never_used(facts)
    return row if row is not None and count(row, "unused") == count(row, "gpus_watched") else None


def lone_worker(facts: Facts) -> tuple[RowView, RowView] | None:
    """Where nothing tells work from waiting: of engines that are all busy, the GPU that draws far more power, and the next."""
    if facts.beside is not None or facts.table("gpu_spread"):
        return None
    gpus = facts.table("gpu_summary").where(lambda r: r.has("power_mean_w"))
    if len(gpus) < CARDS or any(count(r, "engine_mean") <= 0.8 for r in gpus):
        return None
    first, second, *_ = sorted(gpus, key=lambda r: -count(r, "power_mean_w"))
    return (first, second) if count(first, "power_mean_w") >= MORE_POWER * count(second, "power_mean_w") else None


_LOADS_S = 5.0
"""Seconds that a program takes at least to load what it trains with."""


def instant(facts: Facts) -> bool:
    """Whether the job was over before a program that trains could have loaded its libraries."""
    o = facts.overview
    return o is not None and o.has("elapsed_s") and (o.number("elapsed_s") or 0) < _LOADS_S


def worked_on(facts: Facts) -> str:
    """That all GPUs of the job computed in its last minutes as they had before, in words: then its reports stopped, and not its work.

    Empty where one of them did not, or where SM activity was not watched to the end: an engine is as busy in a wait.
    """
    gpus: list[RowView] = [*facts.table("gpu_summary")] if facts.beside is None and facts.silent_gpus is None else []
    if not gpus or any(
        not r.has("sm_late") or count(r, "sm_late") < max(COMPUTES, AS_BEFORE * count(r, "sm_mean")) for r in gpus
    ):
        return ""
    least = min(gpus, key=lambda r: count(r, "sm_late"))
    return (
        f"The GPUs computed to the end: the lowest mean SM activity of the last minutes was {least['sm_late']} ({gpu_of(least)}), "
        f"{least['sm_mean']} over the run."
    )


def grew_slower(facts: Facts) -> str:
    """Steps that took much longer late in the run: throttling, a slow peer or storage look like this, and longer samples do too."""
    pace = facts.table("save_pace").first
    if pace is None or count(pace, "times_early") < SLOWER or count(pace, "reports") < MANY_REPORTS:
        return ""
    return f"The run became slower on the way: a step took {pace['early_s']} early in it and {pace['late_s']} late."
