"""GPUs on the job's nodes that failed: what was reported of them, and which of them can have been the end of this job."""

from __future__ import annotations

from datetime import datetime, timedelta

from agent_tools.facts import Facts, RowView
from agent_tools.facts.ending import OUTSIDE
from agent_tools.facts.holding import Holding, holding, names_of, same
from agent_tools.facts.xids import APPLICATION_XIDS
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, gpu_of, missing
from agent_tools.verdict import Claim
from store import lazy

HARD = {48, 62, 64, 74, 79, 95, 110, 119, 120, 121, 136, 140, 142, 143, 151, 155, 156, 158}
LINK_CODES = range(144, 151)  # SOURCE: the vendor's catalogue; "NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x...)"
"""NVLink's own codes, of which the driver says in words whether the GPU goes on; after a fatal one all of its links are down."""
_FATAL = lazy.compile(r"\sFatal\s+XC|\b[Cc]aused by (?:a )?previous Xid \d")
"""The driver's own word for it, or that it took a program's channels down for it."""
RUNTIME = ("ecc_uncorrectable", "gpu_lost", "nvlink", "hw_exception")
"""What the runtime says of hardware alone."""
_OPEN = ("launch_failure", "unknown_error", "initialization", "other")
"""CUDA errors that a broken card gives as well as a kernel does."""
_NOTICED = (94.0, 63.0)
_NEXT_LOOK_S = 120.0
"""How long after the end a counter may be looked at first: exporters are asked every half or whole minute."""
LONG_S = 600.0
"""A run that trains for longer than this after a fault was not ended by it."""
_RAISED = 4
"""So many ranks that failed are asked where they ran."""
_REPORTS = 3
"""So many reports of training have to follow."""
_WORK, _AS_BEFORE = 0.1, 0.7
"""Mean SM activity of a GPU that works, and the share of it that is as much as before."""
UNOWNED = 0.45
"""Highest confidence where the GPU that failed may have been another job's."""
SHARED = 0.85
"""Highest confidence where that is so, and the job's own error speaks of a GPU."""
WHOSE = missing(
    "Whether the GPU that failed was one of the job's.",
    "the GPU indices of scontrol show job -d beside an inventory (gpu_device), the exporter's job label (hpc_job), process.gpu_uuids",
)


def is_hard(row: RowView) -> bool:
    """Whether an event is the hardware's own."""
    xid = row.number("xid")
    if row.text("event") == "ras":  # pages that were retired until too many were are no fault of that moment
        return "bad pages" not in row.text("message")
    if xid is not None and int(xid) in LINK_CODES:
        return _FATAL.search(row.text("message")) is not None
    return row.text("event") == "fallen_off_bus" or (xid is not None and int(xid) in HARD)


def contained(facts: Facts, events: list[RowView]) -> list[RowView]:
    """What places a memory error that the runtime told of on a GPU: the driver's notice of it, or a counter's first look after it.

    By itself a notice is what programs cause as well (94), or of a row that is spare (63); a counter is sampled every half minute,
    so that the look which shows the rise is often after the end.
    """
    noticed = [r for r in events if r.number("xid") in _NOTICED and _at_the_end(r)] + looked_at(facts)
    rows, _ = of_the_job(facts, noticed)
    rows.sort(key=lambda r: 1 if "counter" in r.columns else _NOTICED.index(r.number("xid") or 0.0) * 2)
    return [r for r in rows if same_gpu(r, rows[0])]


def looked_at(facts: Facts) -> list[RowView]:
    """Serious counters that rose in the run or by the first look after it. Empty where nothing says when the job ended."""
    end = facts.scope["to_ts"]
    if not end or not facts.times_known:
        return []
    late = (datetime.fromisoformat(end.replace("Z", "+00:00")) + timedelta(seconds=_NEXT_LOOK_S)).isoformat()
    rows = facts.table("gpu_counter_rises", to_ts=late, end_ts=end)
    return [r for r in rows if r.get("serious") and (r.number("rise") or 0) > 0 and r.has("risen_ts")]


def seen_after(facts: Facts) -> RowView | None:
    """A serious counter of a GPU of the job that was first seen risen just after the job's end.

    None where something else explains the end, or where the GPU may have been another job's.
    """
    if facts.causes or not facts.ending.failed or facts.ending.says(*OUTSIDE, "host_oom"):
        return None
    own, _ = of_the_job(facts, [r for r in looked_at(facts) if (r.number("before_end_s") or 0) < 0])
    return next((r for r in own if in_doubt(facts, r) is None), None)


def _at_the_end(row: RowView) -> bool:
    before = row.number("before_end_s")
    return before is not None and -_NEXT_LOOK_S <= before <= LONG_S


def came_up(row: RowView) -> str:
    """A counter that rose in the run, or by the first look after it."""
    when = "by the first look after this run" if (row.number("before_end_s") or 0) < 0 else "in this run"
    return f"The counter {row['counter']} of {gpu_of(row)} rose by {row['rise']} to {row['last_value']} {when}."


def event_said(row: RowView) -> str:
    """An event of a GPU, as the driver tells it."""
    what = f"XID {row['xid']}" if row.has("xid") else f"the event {row['event']}"
    return f"The driver reports {what} on {gpu_of(row)}{repeated(row)}: {row['message']}"


def repeated(row: RowView) -> str:
    """How often an event came and from when to when, behind what it is; "" of one."""
    if (row.number("events") or 0) <= 1:
        return ""
    return f" {row['events']} times from {row['event_ts']} to {row['last_ts']}"


def ahead_of_end(row: RowView) -> list[Claim]:
    """How long before the end of the job this was; nothing where it came after it, or nobody knows."""
    before = row.number("before_end_s")
    return (
        [claim(f"That was {row['before_end_s']} before the job ended.")] if before is not None and before >= 0 else []
    )


def runtime_said(row: RowView, whom: str = "") -> Claim:
    """What the runtime told the program, with its line; `whom` it told, in words that begin with a space."""
    return claim(f"The runtime said{whom}: {row['message']} ({row['file']} line {row['line_no']}).")


def fault_said(row: RowView) -> str:
    """A counter that rose, or an event."""
    return came_up(row) if "counter" in row.columns else event_said(row)


def looked_before(facts: Facts) -> list[str]:
    """Serious counters that stood high at the last look at a GPU of a run that was over before the next."""
    begin, end = facts.scope["from_ts"], facts.scope["to_ts"]
    if not begin or not end or not facts.own_gpus or not facts.has("gpu_sample"):
        return []
    start, stop = (datetime.fromisoformat(t.replace("Z", "+00:00")) for t in (begin, end))
    if (stop - start).total_seconds() > _NEXT_LOOK_S:
        return []
    missed = set(facts.own_gpus.split(",")) - {r.text("gpu_uuid") for r in facts.table("gpu_summary")}
    if not missed:
        return []
    rows = facts.table("gpu_counter_rises", from_ts=(start - timedelta(seconds=_NEXT_LOOK_S)).isoformat())
    return [
        f"Latent: the counter {r['counter']} of {gpu_of(r)} stood at {r['last_value']} at the last look before this run, which was over "
        "before the next look; have the GPU looked at before it fails."
        for r in rows
        if r.get("serious") and r.text("gpu_uuid") in missed and r.number("last_value")
    ]


def latent(row: RowView) -> str:
    """A counter that stood before the run and did not rise in it."""
    if not row.number("last_value"):
        return (
            f"Latent: the counter {row['counter']} of {gpu_of(row)} stood at {row['first_value']} and was set back to "
            f"{row['last_value']} in this run, as a reset or a reload of the driver does; it did not rise. Have the GPU looked at before it fails."
        )
    return (
        f"Latent: the counter {row['counter']} of {gpu_of(row)} stands at {row['last_value']} and did not rise in this run; "
        "have the GPU looked at before it fails."
    )


def harmless(soft: list[RowView]) -> str:
    """What the events are that prove no fault, each kind by its first one."""
    kinds = list({r.get("xid"): r for r in reversed(soft)}.values())[::-1]
    named = ", ".join(f"XID {r['xid']}" for r in kinds[:4])
    more = len(kinds) > 1 or len(soft) > 1
    first = (
        f"{'The events are' if more else 'The only event is'} {named}{', first' if more else ''} on {gpu_of(soft[0])}"
    )
    codes = {int(r.number("xid") or 0) for r in kinds}
    if codes <= APPLICATION_XIDS:
        return f"{first}: applications cause {'such' if more else 'it'}."
    return f"{first}: {'they are notices, or what applications cause, and' if more else 'it is a notice and'} no proof of a fault."


def of_the_job(facts: Facts, rows: list[RowView]) -> tuple[list[RowView], list[str]]:
    """The rows without those of GPUs that were not the job's, the ones that were surely its own first; and a warning of each other GPU."""
    judged = [(r, holding(facts, r)) for r in rows]
    own = [(r, h) for r, h in judged if h.whose != "other"]
    said: dict[tuple[object, ...], str] = {}
    for r, h in judged:
        if h.whose == "other":
            said.setdefault(
                (r.get("node"), *(r.get(n) for n in names_of(r)[:1])),
                f"{fault_said(r)} That GPU was not the job's: {h.said} Have it looked at.",
            )
    return [r for r, _ in sorted(own, key=lambda rh: rh[1].whose == "open")], list(said.values())


def trained_on(facts: Facts, row: RowView) -> Claim | None:
    """What shows that the run trained on for long after this fault: then it was not ended by it. None where nothing does."""
    before = row.number("before_end_s")
    if before is None or spoken_of(facts):
        return None
    if "last_ts" in row.columns and row.has("last_ts") and row.has("event_ts"):
        first, last = (datetime.fromisoformat(row.text(c).replace("Z", "+00:00")) for c in ("event_ts", "last_ts"))
        before -= (last - first).total_seconds()
    quiet = facts.table("quiet_end").first
    if quiet is not None and quiet.has("progress_ts") and quiet.has("quiet_s"):
        on = before - (quiet.number("quiet_s") or 0.0)
        if on > max(LONG_S, _REPORTS * (quiet.number("usual_gap_s") or 0.0)):
            return claim(f"Training went on for long after it: the last report came at {quiet['progress_ts']}.")
    own = next((g for g in facts.table("gpu_summary") if same_gpu(g, row)), None)
    if own is None or before < 2 * LONG_S or (own.number("late_samples") or 0) < 2:
        return None
    usual, late = own.number("sm_mean") or 0.0, own.number("sm_late") or 0.0
    if usual < _WORK or late < _AS_BEFORE * usual:  # a GPU that waits in a collective is busy by its engine alone
        return None
    return claim(
        f"That GPU worked on to the end: its mean SM activity was {own['sm_late']} in the last minutes, {own['sm_mean']} over the run."
    )


def same_gpu(a: RowView, b: RowView) -> bool:
    """Whether two rows speak of one GPU, by what both of them call it."""
    return a.get("node") == b.get("node") and same(a, b)


def spoken_of(facts: Facts) -> bool:
    """Whether the job's own errors speak of a GPU that failed: the runtime's or NCCL's word, or an error that it can have caused."""
    if facts.table("cuda_errors").where(lambda r: r.text("code") in (*RUNTIME, *_OPEN)) or facts.of_role("ecc"):
        return True
    return bool(facts.table("nccl_events").where(lambda r: r.text("name") == "cuda_error"))


def in_doubt(facts: Facts, row: RowView) -> Holding | None:
    """What makes it doubtful that the GPU of this row was the job's; None where it was, or where nothing else explains the end."""
    held = holding(facts, row)
    if held.whose == "open":
        return held
    # Where nothing says that the node was shared, only an end with a cause of its own makes it worth the doubt.
    told = held.whose == "unsaid" and not facts.lone_nodes and not spoken_of(facts)
    return held if told and (facts.causes or facts.ending.says(*OUTSIDE)) else None


def unowned(facts: Facts, row: RowView, held: Holding) -> Assessment:
    """A fault of a GPU that may have been another job's: to be looked at, and no explanation of how this job ended."""
    result = Assessment("B2", "suspected", confidence=UNOWNED, attribution="undetermined")
    result.headline = f"A GPU failed on a node of the job, and whether the job held it is not known: {gpu_of(row)}."
    said = fault_said(row)
    doubt = held.said or "Nothing says which of the node's GPUs the job held, or that it held them all."
    result.speaks_for += [claim(said), claim(doubt)]
    result.missing.append(WHOSE)
    result.actions.append(claim("Have that GPU looked at, and see whose it was before the job's end is laid to it."))
    result.counterfactual = f"{said} It is not known to have been a GPU of the job."
    result.warnings.append(claim(f"{said} It may have been another job's GPU: {doubt} Have it looked at."))
    return result


def met_by(facts: Facts, row: RowView) -> Claim | None:
    """The rank that failed on the node of that GPU under the GPU's own number, as the log and the launcher tell of it."""
    own = [r for r in facts.fatal if r.role not in ("wrapper", "peer", "collective") and r.row.number("ranks") == 1]
    for raised in own[:_RAISED]:
        rank = raised.row.number("rank")
        place = facts.table("rank_place", rank=int(rank)).first if rank is not None else None
        if place is None or place.text("known_by") == "order" or place.get("node") != row.get("node"):
            continue
        if row.has("gpu") and place.has("local_rank") and place.get("local_rank") == row.get("gpu"):
            return claim(
                f"Rank {place['rank']}, which ran there as number {place['local_rank']}, raised {raised.name_ref} ({raised.where_ref})."
            )
    return None
