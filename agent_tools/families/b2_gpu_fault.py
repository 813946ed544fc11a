"""B2, GPU hardware fault: an XID of the hardware's own, or a serious error counter, that came up in this run.

FOR      a counter that rose, or a hardware XID from the kernel or the driver, on a GPU of the run, when the run ended
AGAINST  counters that are flat (latent: a warning), XIDs that applications cause, a health flag alone, text in the job's log
DECIDES  kernel logs and counters, also one that is first seen risen just after an end that nothing explains; the CUDA runtime's own ECC error in a traceback raises a suspicion and no more, and an XID
         line in the job's output makes it open at most whether a CUDA error was the program's
"""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.facts.last_run import before_training, of_run_before
from agent_tools.facts.xids import APPLICATION_XIDS
from agent_tools.families.base import Assessment
from agent_tools.families.faulted_gpus import (
    LINK_CODES,
    RUNTIME,
    SHARED,
    WHOSE,
    ahead_of_end,
    contained,
    event_said,
    fault_said,
    harmless,
    in_doubt,
    is_hard,
    latent,
    looked_before,
    met_by,
    of_the_job,
    runtime_said,
    same_gpu,
    seen_after,
    spoken_of,
    trained_on,
    unowned,
)
from agent_tools.families.faults_around import faults_around
from agent_tools.families.last_of_it import last_of_it
from agent_tools.families.recomputed import recomputed
from agent_tools.families.switch_faults import FABRIC, switch_fault, switch_warnings
from agent_tools.families.wording import claim, gpu_of, missing
from agent_tools.verdict import Claim

CODE = "B2"
EXPLAINS = ("A1", "A2", "A3", "B1", "C1", "C2", "C3", "D3", "F1", "F3", "F4")

_NOTICE = {63, 92, *LINK_CODES, 154}
_HANG = 0.45
"""Confidence where the runtime says that a GPU hung, and no kernel's log is there to say why."""
_NEAR_S = 1800.0
_AT_ONCE_S = 600.0
_BY_SILENCE = 0.85
_BY_THE_NEXT_LOOK = 0.65
"""Confidence where a counter was first seen risen after the end, and nothing else explains it."""


def assess(facts: Facts) -> Assessment:
    """Judge B2 from counters, events and what the CUDA runtime told the program; faults outside of the run are hints beside it."""
    result = _assess(facts)
    told = result.counterfactual if result.status == "confirmed" else ""
    result.warnings += [*switch_warnings(facts, told), *faults_around(facts)]
    return result


def _assess(facts: Facts) -> Assessment:
    rises = facts.table("gpu_counter_rises").where(lambda r: bool(r.get("serious")))
    risen = [r for r in rises if (r.number("rise") or 0) > 0]
    events = facts.table("gpu_events").where(lambda r: r.text("event") not in FABRIC)
    warnings = [*(latent(r) for r in rises if (r.number("rise") or 0) <= 0), *looked_before(facts)][:4]
    faults, foreign = of_the_job(facts, [*risen, *(r for r in events if is_hard(r))])
    risen, hard = ([r for r in faults if ("counter" in r.columns) is kind] for kind in (True, False))
    warnings += foreign[:4]
    if facts.ending.succeeded:
        warnings += [fault_said(r) for r in (*risen[:2], *hard[:2])]
        text = "The run completed, so no GPU fault ended it."
        return Assessment(CODE, "ruled_out", counterfactual=text, warnings=[claim(w) for w in warnings])
    went_on = [(r, c) for r in faults if facts.times_known and _near(r) and (c := trained_on(facts, r)) is not None]
    ends = [r for r in faults if all(r is not old for old, _ in went_on)]
    near = [r for r in ends if _near(r)] if facts.times_known else []
    refused = facts.of_role("cuda_oom")
    if near and refused:
        # A request that a card refused explains the end by itself, unless that very card failed at that very moment.
        near = [r for r in near if _at_once(r) and _refusing(facts, r)]
        if not near:
            return _besides([r for r in faults if _near(r)], warnings)
    said = facts.table("cuda_errors").where(lambda r: r.text("code") in RUNTIME)
    runtime = [r for r in said if not _passed(facts, r)]
    ecc = [r for r in facts.of_role("ecc") if not _passed(facts, r.row)]
    if said and not runtime:
        of = (
            "The log tells, above all its training, of something that"
            if before_training(facts, said[0])
            else "An earlier run of the job"
        )
        warnings += [
            f"{of} had a hardware error by its runtime's word: {said[0]['message']} "
            f"({said[0]['file']} line {said[0]['line_no']}); have the GPUs that it ran on looked at."
        ]
    if near:
        result = _charged(facts, near[0], bool(risen) and bool(hard))
    elif (runtime or ecc) and (told := contained(facts, events)):
        result = _charged(facts, told[0], both=len(told) > 1)
    elif (switch := None if ecc else switch_fault(facts)) is not None:
        result = switch
    elif runtime or ecc:
        result = _runtime(facts, runtime)
    elif facts.copied_xid is not None:
        result = _heard(facts, facts.copied_xid)
    elif faults and not facts.times_known:
        result = _undated(faults[0])
    elif (held := last_of_it(facts, [r for r in ends if "counter" not in r.columns])) is not None:
        result = _charged(facts, held[0], bool(risen))
        result.confidence = min(result.confidence, _BY_SILENCE)
        result.speaks_for.insert(1, held[1])
    elif not faults and (again := recomputed(facts)) is not None:
        result = again
    elif faults:
        result = _early(faults[0], [c for r, c in went_on if r is faults[0]])
    elif (after := seen_after(facts)) is not None:
        result = _after(facts, after)
    else:
        return _absent(facts, [r for r in events if not is_hard(r)], warnings)
    result.warnings += [claim(w) for w in warnings]
    return result


def _passed(facts: Facts, row: RowView) -> bool:
    """Whether it is a word of an earlier run, or of something before the training that then ended by itself."""
    return of_run_before(row, facts.overview, facts.causes) or before_training(facts, row)


def _at_once(row: RowView) -> bool:
    return abs(row.number("before_end_s") or 0.0) <= _AT_ONCE_S


def _refusing(facts: Facts, row: RowView) -> bool:
    """Whether the GPU of this row is the one that refused memory: the same number on the same node."""
    o = facts.overview
    alone = o is not None and o.number("node_count") == 1
    return any(
        r.has("gpu")
        and r.get("gpu") == row.get("gpu")
        and (r.text("node").partition(".")[0] == row.text("node") if r.has("node") else alone)
        for r in facts.table("oom_events")
    )


def _besides(near: list[RowView], warnings: list[str]) -> Assessment:
    """GPUs that failed beside an end that another thing explains: they are to be looked at, and they are not the cause."""
    said = [f"{fault_said(r)} Have that GPU looked at." for r in near[:4]]
    return Assessment(
        CODE,
        "suspected",
        confidence=0.35,
        attribution="infrastructure",
        headline=f"A GPU of the run reported a fault while another one ran out of memory: {gpu_of(near[0])}.",
        speaks_for=[claim(s) for s in said],
        counterfactual=f"{said[0]} It is not known to be the GPU that refused memory.",
        warnings=[claim(w) for w in (*said, *warnings)],
    )


def _charged(facts: Facts, row: RowView, both: bool) -> Assessment:
    """A fault at the end, charged to the job as far as it is known that the GPU was its own.

    On a shared node the job's own words have to say that it was one of its GPUs.
    """
    held = in_doubt(facts, row)
    if held is not None and not spoken_of(facts):
        return unowned(facts, row, held)
    result = _confirmed(facts, row, both)
    if held is not None:
        result.confidence = min(result.confidence, SHARED)
        result.speaks_for.append(claim(held.said))
        result.missing.append(WHOSE)
    return result


def _heard(facts: Facts, row: RowView) -> Assessment:
    """Hearsay beside an error that could have any cause: it blames nothing, and says what to look at."""
    result = Assessment(CODE, "suspected", confidence=0.45, attribution="undetermined")
    result.headline = (
        f"A CUDA error ended the program, and a line in its output speaks of XID {row['xid']}: whether a GPU failed is for "
        "the kernel's log to say."
    )
    error = facts.table("cuda_errors").first
    if error is not None:
        result.speaks_for.append(runtime_said(error))
    result.speaks_for.append(
        claim(f"Line {row['line_no']} of {row['file']} is in the shape of the kernel's: {row['message']}", "hypothesis")
    )
    result.implies.append(
        claim("Anything can print such a line; only the kernel's own log would make it a fault of a GPU.", "supported")
    )
    result.missing.append(missing("Whether a GPU failed.", "the kernel log of the job's nodes (gpu_event)"))
    result.actions.append(
        claim("Look for XID lines in the kernel log of that node before anything is blamed, and rerun.")
    )
    result.counterfactual = f"The output speaks of XID {row['xid']}; that is hearsay."
    return result


def _near(row: RowView) -> bool:
    before = row.number("before_end_s")
    return before is None or -300.0 <= before <= _NEAR_S


def _confirmed(facts: Facts, row: RowView, both: bool) -> Assessment:
    counter = "counter" in row.columns
    result = Assessment(CODE, "confirmed", confidence=0.97 if both else 0.93, attribution="infrastructure")
    what = (
        f"the counter {row['counter']} rose"
        if counter
        else f"XID {row['xid']}"
        if row.has("xid")
        else "its own error detection (RAS) tells of an error that it could not correct"
        if row.text("event") == "ras"
        else "it fell off the bus"
    )
    result.headline = f"Hardware fault on {gpu_of(row)}: {what}."
    result.speaks_for.append(claim(fault_said(row)))
    result.speaks_for += ahead_of_end(row)
    if facts.lone_nodes:
        result.confidence = 0.85
        result.missing.append(missing("That the job ran on this node is taken from the files lying together.", "sacct"))
    if (met := met_by(facts, row)) is not None:
        result.speaks_for.append(met)
    _others(facts, row, result)
    result.implies.append(claim("The hardware is the cause; no change of code or configuration mends it."))
    drain = f"Drain {row['node']} or take" if row.has("node") else "Take"
    result.actions.append(claim(f"{drain} the GPU out of service, and escalate with the serial number."))
    result.actions.append(claim("Rerun on other nodes."))
    result.missing.append(
        missing("Whether the card, its slot or its power is at fault.", "the vendor's field diagnostics")
    )
    result.counterfactual = f"A fault of {gpu_of(row)} is on record."
    return result


def _others(facts: Facts, row: RowView, result: Assessment) -> None:
    if "counter" in row.columns:
        told = next((r for r in facts.table("gpu_events") if is_hard(r) and same_gpu(r, row)), None)
        result.speaks_for += [claim(event_said(told))] if told is not None else []
    said = facts.table("cuda_errors").where(lambda r: r.text("code") in RUNTIME)
    if said and not _passed(facts, said[0]):
        result.speaks_for.append(runtime_said(said[0]))
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"By the log, {facts.progress.phrase}."))
    if facts.overview is not None and facts.overview.has("state"):
        result.speaks_for.append(claim(f"Slurm records {facts.overview['state']}."))
    more = [r for r in facts.table("gpu_events") if is_hard(r) and r.get("node") != row.get("node")]
    result.warnings += [claim(event_said(r)) for r in more[:2]]


def _runtime(facts: Facts, rows: list[RowView]) -> Assessment:
    result = Assessment(CODE, "suspected", confidence=0.7, attribution="infrastructure")
    if any(r.text("code") == "gpu_lost" for r in rows) and facts.table("cuda_errors").where(
        lambda r: r.text("name") == "cuda_error" and r.text("code") != "gpu_lost"
    ):
        # The program's CUDA error and the driver's tool, each by its own way, say that a device does not answer.
        result.status, result.confidence = "confirmed", 0.82
    if rows and all(r.text("code") == "hw_exception" for r in rows):
        # What ROCm's runtime calls a hang of the GPU is as well a kernel or a driver that hangs it.
        result.confidence, result.attribution = _HANG, "undetermined"
    if rows:
        row = rows[0]
        rank = f" on rank {row['rank']}" if row.has("rank") else ""
        whose = "ROCm's" if row.text("code") == "hw_exception" else "The CUDA"
        result.headline = f"{whose} runtime reported a hardware error{rank}: {row['message']}"
        result.speaks_for.append(runtime_said(row, rank))
    else:
        first = facts.of_role("ecc")[0]
        result.headline = f"The CUDA runtime reported a hardware error: {first.message_ref}"
        result.speaks_for.append(claim(f"{first.name_ref}: {first.message_ref} ({first.where_ref})."))
    result.implies.append(
        claim(
            "The GPU no longer answers the driver; code does not cause that."
            if rows and rows[0].text("code") == "gpu_lost"
            else "The GPU hung by the word of ROCm's runtime; a driver or a kernel that hangs it looks the same."
            if rows and rows[0].text("code") == "hw_exception"
            else "An uncorrectable memory error is the driver's word, given through the runtime; code does not cause it.",
            "supported",
        )
    )
    result.missing.append(
        missing(
            "Which GPU failed, and how.",
            "the node's kernel log (gpu_event), ECC counters before and after (gpu_sample)",
        )
    )
    lines = "amdgpu's lines (RAS, reset)" if rows and rows[0].text("code") == "hw_exception" else "XID lines"
    result.actions.append(
        claim(f"Look for {lines} in the kernel log of that node and have the GPU tested; rerun elsewhere.")
    )
    return result


def _undated(row: RowView) -> Assessment:
    """The fault is certain and its part in the job is not: nothing says when the job ran."""
    said = fault_said(row)
    result = Assessment(CODE, "suspected", confidence=0.6, attribution="infrastructure", speaks_for=[claim(said)])
    result.headline = f"A GPU failed: {gpu_of(row)}; whether it ended this job is not known."
    result.missing.append(
        missing("Whether the job ran there at that time.", "sacct (slurm_job), or the job's log with times in it")
    )
    if "xid" in row.columns and row.number("xid") in (119.0, 120.0):
        result.implies.append(
            claim(
                "The GPU's system processor (GSP) did not answer; a reset often mends it, so try that first.",
                "supported",
            )
        )
        result.actions.append(
            claim("Drain the node, reset the GPU or reboot, and blame the board only if it comes back.")
        )
    else:
        result.actions.append(claim("Take the GPU out of service and have it tested; rerun elsewhere."))
    result.counterfactual = said
    return result


def _early(row: RowView, went_on: list[Claim]) -> Assessment:
    """Long before the end; only where training is known to have gone on is that said."""
    said = fault_said(row)
    result = Assessment(CODE, "suspected", confidence=0.35, attribution="infrastructure", warnings=[claim(said)])
    result.headline = f"A GPU of the run reported a fault long before the end: {gpu_of(row)}."
    result.speaks_for += [claim(said), *went_on]
    result.counterfactual = (
        f"{said} The run went on long after it." if went_on else f"{said} The job ended long after it."
    )
    return result


def _after(facts: Facts, row: RowView) -> Assessment:
    """A counter that is read too seldom to say on which side of the end it rose, beside an end that nothing else explains."""
    result = Assessment("B2", "suspected", confidence=_BY_THE_NEXT_LOOK, attribution="infrastructure")
    result.headline = f"Nothing else that is known explains the end, and about then the counter {row['counter']} of {gpu_of(row)} rose."
    result.speaks_for.append(claim(fault_said(row)))
    if facts.overview is not None and facts.overview.has("end_ts"):
        result.speaks_for.append(
            claim(f"It was first seen at {row['risen_ts']}; the job ended at {facts.overview['end_ts']}.")
        )
    result.missing.append(
        missing(
            "Whether it rose before the job ended.",
            "the node's kernel log (gpu_event), or a shorter interval of the exporter",
        )
    )
    result.actions.append(claim("Have that GPU looked at before the next job gets it, and rerun elsewhere."))
    result.counterfactual = f"{result.speaks_for[0].text} It may have risen when the job had ended."
    return result


def _absent(facts: Facts, events: list[RowView], warnings: list[str]) -> Assessment:
    soft = [r for r in events if r.has("xid")]
    heard = facts.table("other_events").one_of("kind", "xid")
    said = [claim(w) for w in warnings]
    if heard:
        said.append(
            claim(
                f"Line {heard[0]['line_no']} of the job's own output looks like an XID; that is hearsay.", "hypothesis"
            )
        )
    if soft:
        said.append(claim(event_said(soft[0])))
        soft.sort(key=lambda r: r.number("xid") in APPLICATION_XIDS | _NOTICE)
        known = int(soft[0].number("xid") or 0)
        text = harmless(soft)
        if known not in APPLICATION_XIDS | _NOTICE:
            return Assessment(
                CODE,
                "suspected",
                confidence=0.4,
                attribution="infrastructure",
                headline=f"The driver reports XID {soft[0]['xid']} on {gpu_of(soft[0])}.",
                speaks_for=[claim(event_said(soft[0]))],
                missing=[missing("Whether this XID means a fault.", "counters of the GPU, the vendor's XID catalogue")],
                counterfactual=text,
                warnings=said,
            )
        return Assessment(CODE, "ruled_out", counterfactual=text, warnings=said)
    looked = [t for t in ("gpu_event", "gpu_sample") if facts.has(t)]
    if not looked:
        return Assessment(
            CODE,
            "undecidable",
            counterfactual="Neither kernel logs nor counters are there, so a GPU fault can be neither seen nor excluded.",
            missing=[
                missing("Whether a GPU failed.", "kernel logs (gpu_event) and ECC counters (gpu_sample) of the nodes")
            ],
            warnings=said,
        )
    text = "No hardware XID was reported and no serious counter rose on the job's GPUs."
    if looked == ["gpu_sample"]:
        text = "No serious counter rose on the job's GPUs; no kernel log is known to cover the run."
    return Assessment(CODE, "ruled_out", counterfactual=text, warnings=said)
