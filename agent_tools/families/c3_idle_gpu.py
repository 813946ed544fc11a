"""C3, idle GPU: one GPU is held, nothing is launched on it for long, and the process lives.

FOR      engine and SM activity near zero and no kernel launched, sustained, on a job of one GPU that is or was running
AGAINST  the job had just started; it trained until its end; it crashed
DECIDES  GPU samples or launch counts over more than ten minutes; a log alone never does
"""

from __future__ import annotations

from collections.abc import Iterable

from agent_tools.facts import Facts, RowView
from agent_tools.facts.counting import counting
from agent_tools.facts.worked import never_used
from agent_tools.families.base import Assessment
from agent_tools.families.silent_storage import lay_at_storage, silent_to_the_end
from agent_tools.families.wording import claim, gpu_of, missing

CODE = "C3"
EXPLAINS = ("D1", "E3", "F2", "F3", "F4", "G1")

_SUSTAINED_S = 600.0
_OWN_GIB = 1.0
_FEW_SAMPLES = 5
_FEW_LATE = 2


def assess(facts: Facts) -> Assessment:
    """Judge C3 from GPU samples, launches and what the job printed; GPUs that a run held and never used are a warning."""
    result = _assess(facts)
    spare = never_used(facts)
    if spare is not None and result.status not in ("confirmed", "suspected"):
        result.warnings.append(claim(_spare(spare)))
        result.counterfactual += f" {spare['unused']} of {spare['gpus_watched']} were never used: that is a warning."
    return result


def _spare(row: RowView) -> str:
    memory = f" and no more than {row['peak_gib']} of memory was in use on any of them" if row.has("peak_gib") else ""
    return (
        f"{row['unused']} of {row['gpus_watched']} GPUs were held for the whole run and never used ({row['named_gpus']}): "
        f"their engines did nothing in any sample over {row['watched_min']} or more{memory}. That is {row['gpu_hours_idle']} "
        "of GPU time for nothing; ask for fewer, or see why no process used them."
    )


def _assess(facts: Facts) -> Assessment:
    o = facts.overview
    gpus = [] if facts.beside is not None else facts.table("gpu_summary").rows
    count = o.number("gpus") if o is not None and o.has("gpus") else (float(len(gpus)) if gpus else None)
    if count is not None and count > 1:
        return Assessment(
            CODE,
            "ruled_out",
            counterfactual=f"The job {'held' if o is None or o.has('start_ts') else 'asked for'} several GPUs; this family is about a single one.",
        )
    if facts.causes or facts.of_role("cuda_oom") or facts.ending.succeeded:
        return Assessment(CODE, "ruled_out", counterfactual="The process ended by itself; it was not stuck on its GPU.")
    launches = facts.table("cuda_activity")
    if not gpus and not launches:
        return _blind(facts)
    idle = gpus[0] if gpus and _is_idle(gpus[0]) else None
    unused = launches.first if launches and all((r.number("launches_late") or 0) == 0 for r in launches) else None
    if (gpus and idle is None) or (launches and unused is None):
        seen = gpus[0] if gpus else None
        text = "Kernels were launched until the end."
        if seen is not None and seen.has("engine_late"):
            text = f"The GPU was at work to the end: its engine activity was {seen['engine_late']} in the last minutes."
        return Assessment(CODE, "ruled_out", counterfactual=text)
    idle, unused = idle if _watched(idle) else None, unused if _traced(launches.rows) else None
    elapsed = o.number("elapsed_s") if o is not None else None
    young = elapsed is not None and elapsed < _SUSTAINED_S
    # Accounting that was asked while the job ran may be older than the samples; a process of it that is still there says so.
    outlived = young and facts.state == "RUNNING" and (unused is not None or _held(idle))
    if young and not outlived:
        text = "The job had only just started: an idle GPU then means nothing."
        return Assessment(CODE, "ruled_out", counterfactual=text)
    if idle is None and unused is None:
        return _glimpsed()
    result = Assessment(CODE, "confirmed", confidence=0.93, attribution="job")
    result.headline = "The job held its GPU and did nothing with it."
    if idle is not None:
        memory = f", memory in use {idle['last_gib']} GiB" if idle.has("last_gib") else ""
        result.speaks_for.append(
            claim(f"{gpu_of(idle)}: engine activity {idle['engine_late']} in the last minutes{memory}.")
        )
    if unused is not None:
        result.speaks_for.append(
            claim(f"Process {unused['pid']} launched {unused['launches']} kernels in all, and none lately.")
        )
    if o is not None and o.has("elapsed_min") and not outlived:
        result.speaks_for.append(claim(f"It held the GPU for {o['elapsed_min']} min ({o['state']})."))
    if idle is None or unused is None:
        result.confidence = 0.85
    if facts.progress.begun:
        result.speaks_for.append(claim(f"Before that, {facts.progress.phrase or 'it had trained'}."))
    stack = next((r for r in facts.table("process_exits") if r.has("host_stack")), None)
    if stack is not None:
        result.speaks_for.append(claim(f"The stuck process stands in: {stack['host_stack']}."))
    else:
        result.missing.append(
            missing(
                "What the process waits for on the host.", "a stack of the process (process.host_stack, py-spy dump)"
            )
        )
    silent = silent_to_the_end(facts)
    if silent is not None:
        lay_at_storage(facts, silent, result)
    else:
        result.implies.append(
            claim(
                "The process is stuck on the host: a deadlock, a blocked read or a dataloader that gives nothing.",
                "supported",
            )
        )
    result.actions.append(
        claim("Cancel it, take a stack of the process when it happens again, and set a wall-clock limit.")
    )
    return result


def _is_idle(row: RowView) -> bool:
    late = row.number("engine_late")
    return late is not None and late < 0.02 and (row.number("sm_late") or 0) < 0.02


def _held(row: RowView | None) -> bool:
    """Whether a process still has memory there: more than the driver keeps for itself."""
    return row is not None and (row.number("last_gib") or 0) >= _OWN_GIB


def _watched(row: RowView | None) -> bool:
    """Whether a GPU was sampled often and long enough to say that it stood idle: any GPU does between two bursts."""
    return (
        row is not None
        and (row.number("samples") or 0) >= _FEW_SAMPLES
        and (row.number("late_samples") or 0) >= _FEW_LATE
        and (row.number("watched_s") or 0) >= _SUSTAINED_S
    )


def _traced(rows: Iterable[RowView]) -> bool:
    """Whether launches were counted for long enough."""
    return any((row.number("covered_s") or 0) >= _SUSTAINED_S for row in rows)


def _glimpsed() -> Assessment:
    return Assessment(
        CODE,
        "undecidable",
        counterfactual="The GPU was looked at too seldom, or for too short a time, to say that it stood idle.",
        missing=[missing("Whether the GPU stood idle for long.", "GPU samples (gpu_sample) throughout the run")],
    )


def _blind(facts: Facts) -> Assessment:
    quiet = facts.table("quiet_end").first
    late = facts.state in ("TIMEOUT", "CANCELLED") or facts.ending.says("time_limit")
    if quiet is not None and counting(facts, quiet.number("quiet_s") or 0) is not None:
        quiet = None
    if quiet is not None and late and (quiet.number("quiet_s") or 0) > 900 and (quiet.number("times_usual") or 0) > 20:
        result = Assessment(CODE, "suspected", confidence=0.4, attribution="undetermined")
        result.headline = f"Nothing was reported for the last {quiet['quiet_min']} min."
        result.speaks_for.append(claim(f"The last training report came {quiet['quiet_min']} min before the end."))
        result.missing.append(
            missing("Whether the GPU stood idle.", "GPU samples (gpu_sample) or launches (cuda_sample)")
        )
        return result
    return Assessment(
        CODE,
        "undecidable",
        counterfactual="Without GPU samples or launch counts an idle GPU cannot be seen.",
        missing=[missing("Whether the GPU stood idle.", "GPU samples (gpu_sample) or launches (cuda_sample)")],
    )
