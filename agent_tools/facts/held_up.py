"""Which rank held the others up in a collective, and the proof of it: it never entered, died, stands back, or said nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from agent_tools.facts import Facts, RowView, View
from agent_tools.facts.apart import apart
from agent_tools.facts.rank_place import say_where
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, gpu_of, missing

_WORKED = 0.15
"""The least SM activity of a run that worked for a good part of it."""
_SUSTAINED_S, _LONG_S = 600.0, 2400.0
_LEVEL, _NOISE = 1.2, 0.01
"""How much more than in its last minutes a GPU may have done in all of that time."""
_LESS = 2.5
"""NCCL's own kernels keep some SMs busy while they wait: then it is told by how much more there was before."""


def named(facts: Facts, result: Assessment) -> bool:
    """Name the rank that never entered, or died, or stayed silent, with its proof."""
    if apart(facts, result):
        return True
    if _waited_for(facts, result):
        _cold_too(facts, result)
        if not (first := facts.table("nccl_waits").rows[0]).has("node"):
            say_where(facts, first.number("rank"), result)
        return True
    if named := facts.table("nccl_events").one_of("name", "stalled_ranks"):
        result.speaks_for.append(
            claim(
                f"The stall inspector names them: {named[0]['message']} ({named[0]['file']} line {named[0]['line_no']})."
            )
        )
        if named[0].has("missing_ranks"):
            one = named[0].text("missing_ranks").isdecimal()
            who = f"rank {named[0]['missing_ranks']} is" if one else f"ranks {named[0]['missing_ranks']} are"
            result.headline = f"{result.headline.rstrip('.')}; {who} missing."
            if one:
                say_where(facts, float(named[0].text("missing_ranks")), result)
        return True
    for name, who in (("nccl_ranks", "log"), ("nccl_progress", "flight recorder")):
        row = _behind(facts.table(name), who, result)
        if row is not None:
            rank = row.number("rank") or 0.0
            _died(facts, rank, result)
            if not _on(row):
                say_where(facts, rank, result)
            return True
    killed = [r for r in facts.table("fatal_signals") if r.get("signal") in (9, 11, 7, 4, 8) and r.has("rank")]
    if killed:
        first = killed[0]
        result.speaks_for.append(
            claim(f"The trigger is a lost rank: rank {first['rank']} was ended by {first['signal_name']}.", "supported")
        )
        result.attribution = "job" if facts.host_oom else "undetermined"
        result.speaks_for += facts.host_oom.claims
        return True
    if _worker_gone(facts, result) or _undumped(facts, result):
        return True
    silent = facts.table("silent_ranks")
    if silent and silent.row_count <= 2:
        first = silent.rows[0]
        ranks = f"rank {first['rank']}"
        if silent.row_count > 1:
            ranks = f"ranks {first['rank']} and {silent.rows[1]['rank']}"
        result.speaks_for.append(
            claim(
                f"Of {first['world_size']} ranks {first['reported']} reported the time-out; {ranks} did not.",
                "supported",
            )
        )
        result.implies.append(claim(f"The likely cause is with the silent {ranks}.", "hypothesis"))
        result.headline = result.headline.rstrip(".") + f"; {ranks} did not report it."
        for row in silent.rows:
            say_where(facts, row.number("rank"), result)
        return True
    spread = only_spun(facts)
    if spread is not None and spread.number("cold") == 1:
        where = gpu_of(spread, "cold_node", ("cold_gpu", "cold_uuid"))
        result.speaks_for.append(
            claim(f"{spread['spinning']} GPUs spin at the end, and one does nothing: {where}.", "supported")
        )
        result.implies.append(claim("The rank on that GPU is the one that the others wait for.", "hypothesis"))
        return True
    return node_at_rest(facts, result)


def _undumped(facts: Facts, result: Assessment) -> bool:
    """Name the few ranks of which no dump is there, where every dump that is there shows a rank that waits."""
    if not facts.has("nccl_sample"):
        return False
    rows = facts.table("undumped_ranks").rows
    if not rows or rows[0].number("waiting") != rows[0].number("dumped"):
        return False
    first, several = rows[0], len(rows) > 1
    who = f"rank {first['rank']}" if not several else f"ranks {first['rank']} and {rows[1]['rank']}"
    more = " and others" if len(rows) > 2 else ""
    where = f" in {first['collective']} of {first['comm']}, sequence {first['seq']}" if first.has("collective") else ""
    result.headline = f"{result.headline.rstrip('.')}; of {who}{more} no dump is there."
    result.speaks_for.append(
        claim(
            f"Of {first['world_size']} ranks {first['dumped']} left a dump of the flight recorder, and each of them waits{where}; "
            f"{who}{more} left none.",
            "supported",
        )
    )
    result.implies.append(
        claim(
            f"A rank that is dead or stuck on the host writes no dump, and the others wait for it: look at {who} first. A dump that was "
            "written and not collected looks the same.",
            "hypothesis",
        )
    )
    result.missing.append(
        missing(
            f"Whether {who} wrote a dump that is not here, and what it did.",
            "the folder of TORCH_NCCL_DEBUG_INFO_TEMP_FILE on its node, its log, a host stack of it (py-spy)",
        )
    )
    for row in rows[:2]:
        say_where(facts, row.number("rank"), result)
    return True


def _worker_gone(facts: Facts, result: Assessment) -> bool:
    """A rank whose DataLoader lost a worker before anybody gave up waiting: it raised, and the others waited for it."""
    for raised in facts.of_role("worker_killed"):
        row, first = raised.row, facts.table("nccl_events").first
        before = first is None or row.text("file") != first.text("file")
        earlier = before or first is None or (row.number("line_no") or 0) < (first.number("line_no") or 0)
        if not row.has("rank") or not (earlier or _killed_by_kernel(facts, raised.message)):
            continue
        text = f"The trigger is a worker that rank {row['rank']} lost: {raised.message_ref} ({raised.where_ref})."
        result.speaks_for += [claim(text, "supported"), *facts.host_oom.claims]
        result.attribution = "job" if facts.host_oom else "undetermined"
        return True
    return False


def _killed_by_kernel(facts: Facts, message: str) -> bool:
    """Whether a node's kernel tells of having killed the worker, before anybody had waited in vain: output can come late."""
    pids = {int(n) for n in re.findall(r"\bpid(?:\(s\))?\s*(\d+)", message)}
    first = next((r for r in facts.table("nccl_events") if r.has("elapsed_s") and r.has("first_ts")), None)
    for row in facts.table("host_events").one_of("event", "oom_kill"):
        if row.get("hidden") or row.number("pid") not in pids:
            continue
        if first is None or row.text("event_ts") < first.text("first_ts"):
            return True
    return False


def node_at_rest(facts: Facts, result: Assessment) -> bool:
    """Name the node whose GPUs all do nothing while every other GPU of the job spins: the others wait for its ranks."""
    spread = facts.table("gpu_spread").first
    if spread is None or facts.beside is not None or facts.silent_gpus is not None:
        return False
    if not 2 <= (spread.number("cold") or 0) <= (spread.number("spinning") or 0):
        return False
    row = facts.table("gpu_cold_nodes").first
    if row is None or row.number("cold_nodes") != 1 or row.number("spinning") != row.number("others"):
        return False
    result.speaks_for.append(
        claim(
            f"At the end {row['spinning']} GPUs spin (median engine activity {row['spin_engine']}, SM activity "
            f"{row['spin_sm']}), and all {row['cold']} of {row['node']} do nothing.",
            "supported",
        )
    )
    result.implies.append(
        claim(
            f"The ranks on {row['node']} are those that the others wait for: stuck on the host, or dead.", "hypothesis"
        )
    )
    result.actions.append(
        claim(f"Look at {row['node']} first: whether the job's processes live there, their stacks, its kernel log.")
    )
    return True


def _cold_too(facts: Facts, result: Assessment) -> None:
    """Where the rank that is named may have run: a flight recorder knows ranks, and a paged operator looks for a node."""
    spread = only_spun(facts)
    if spread is None or spread.number("cold") != 1:
        return
    where = gpu_of(spread, "cold_node", ("cold_gpu", "cold_uuid"))
    result.speaks_for.append(
        claim(f"At the end {spread['spinning']} GPUs spin, and one does nothing: {where}.", "supported")
    )
    result.implies.append(claim(f"The rank that is named ran on {where}.", "hypothesis"))


def spinning_at_the_end(facts: Facts) -> RowView | None:
    """The job's GPUs, where all of them but one at most only spin in its last minutes: by SM activity, or by memory's without it."""
    spread = facts.table("gpu_spread").first or facts.table("gpu_spin").first
    if spread is None or not 2 <= (spread.number("spinning") or 0) >= (spread.number("used") or 0) - 1:
        return None
    return spread


def only_spun(facts: Facts) -> RowView | None:
    """The same, where those GPUs are all the job's own and were watched to its end."""
    return spinning_at_the_end(facts) if facts.beside is None and facts.silent_gpus is None else None


def came_to_rest(facts: Facts) -> RowView | None:
    """The same, where they had computed before. A slow transport spins all along: its SM activity was never much higher."""
    spread = only_spun(facts)
    if spread is None or "spin_sm" not in spread.columns:
        return spread
    before = max(r.number("all_sm_max") or 0 for r in (spread, first_half(facts)) if r is not None)
    return spread if before >= max(_WORKED, _LESS * (spread.number("spin_sm") or 0)) else None


def first_half(facts: Facts) -> RowView | None:
    """The GPUs in the first half of the run: a hang that takes most of it leaves little of its mean."""
    return facts.half("gpu_spread", second=False)


def rested_long(facts: Facts) -> RowView | None:
    """The same over forty minutes: an evaluation or a save of one rank lets the others spin for ten, and the run goes on."""
    spread, last = came_to_rest(facts), max((r.text("last_ts") for r in facts.table("gpu_summary")), default="")
    if spread is None or "spin_sm" not in spread.columns or not last:
        return None
    begin = (datetime.fromisoformat(last.replace("Z", "+00:00")) - timedelta(seconds=_LONG_S)).isoformat()
    row = facts.table("gpu_spread", from_ts=begin, to_ts=last).first
    most = row.number("all_sm_max") if row is not None else None
    return spread if most is not None and most <= _LEVEL * (spread.number("spin_sm") or 0) + _NOISE else None


def at_work_to_the_end(facts: Facts) -> bool:
    """Whether samples speak of work in the last minutes: an engine alone is as busy in a wait that spins."""
    if facts.table("gpu_spread"):
        return spinning_at_the_end(facts) is None
    row = facts.table("gpu_spin").first
    return row is not None and (row.number("working") or 0) > (row.number("used") or 0) / 2


def unlaunched(facts: Facts) -> RowView | None:
    """A process of a run of several that launched kernels, where none of them did any more in the last ten minutes of samples."""
    launched = facts.table("cuda_activity").where(lambda r: (r.number("launches") or 0) > 0)
    if len(launched) < 2 or facts.silent_launches or any(r.get("launches_late") != 0 for r in launched):
        return None
    return last_launch(launched) if any((r.number("covered_s") or 0) >= _SUSTAINED_S for r in launched) else None


def last_launch(rows: Sequence[RowView]) -> RowView:
    """Of processes in `cuda_activity` the one that was seen to launch a kernel last."""
    return max(rows, key=lambda r: r.text("launched_ts"))


def last_collective(facts: Facts) -> RowView | None:
    """The rank that was seen to complete a collective last, where ranks had completed some and none did in the last minutes of samples."""
    counted = facts.table("nccl_progress").where(lambda r: r.has("completed"))
    still = [r for r in counted if (r.number("completed") or 0) > 0 and r.get("completed_late") == 0]
    return max(still, key=lambda r: r.text("completed_ts")) if still and len(still) == len(counted) else None


def spinning(row: RowView) -> str:
    """What the row of `spinning_at_the_end` says of them."""
    if "spin_sm" in row.columns:
        activity = f"median engine activity {row['spin_engine']}, SM activity {row['spin_sm']}"
    else:
        tensor = f", tensor cores {row['spin_tensor']}" if row.has("spin_tensor") else ""
        power = f", power {row['spin_power_w']}" if row.has("spin_power_w") else ""
        memory = f", memory activity {row['spin_dram']}" if row.has("spin_dram") else ""
        activity = f"median engine activity {row['spin_engine']}{memory}{tensor}{power}"
    text = f"{row['spinning']} of {row['used']} GPUs spin: {activity}."
    if row.number("cold") == 1:
        return f"{text} One is cold: {gpu_of(row, 'cold_node', ('cold_gpu', 'cold_uuid'))}."
    return f"{text} Those that are cold: {row['cold']}." if row.get("cold") else text


def _waited_for(facts: Facts, result: Assessment) -> bool:
    """Dumps of several ranks: those that the others wait for, and that wait for nobody themselves."""
    rows = facts.table("nccl_waits").rows
    if not rows:
        return False
    first, several = rows[0], len(rows) > 1
    who = f"ranks {first['all_culprits']}" if several else f"rank {first['rank']}"
    result.headline = result.headline.rstrip(".") + f"; {who} never entered it."
    result.confidence = 0.96
    for row in rows[:6]:
        on = f" on {row['node']}" if row.has("node") else ""
        what = f"{row['collective']} of {row['comm']}" if row.has("collective") else f"a collective of {row['comm']}"
        done = f" and completed {row['last_completed_seq']}" if row.has("last_completed_seq") else ""
        text = (
            f"Rank {row['rank']}{on} never entered {what}, sequence {row['seq']}, in which {row['waiting']} of "
            f"{row['comm_size']} ranks wait: it had enqueued {row['last_enqueued_seq']}{done}."
        )
        result.speaks_for.append(claim(text))
    own = [r for r in rows if (r.number("unfinished") or 0) > 0]
    if own:
        result.implies.append(
            claim(
                f"Rank {own[0]['rank']} left {own[0]['unfinished']} collectives unfinished that no other rank held up: its GPU "
                "or its process stopped while they ran. A GPU fault looks like this, and so does a killed process.",
                "hypothesis",
            )
        )
        result.missing.append(
            missing(
                f"Why rank {own[0]['rank']} stopped.", "the kernel log of its node, its own output, its GPU's counters"
            )
        )
    else:
        result.implies.append(
            claim(
                f"Everything that rank {first['rank']} enqueued is completed, so its GPU was idle and its host code did not come "
                "to the call: blocked, late, on another path, or dead.",
                "supported",
            )
        )
        result.missing.append(
            missing(f"What rank {first['rank']} did instead.", "a host stack of it (py-spy dump), its own output")
        )
    return True


def _died(facts: Facts, rank: float, result: Assessment) -> None:
    """What ended the process of the rank that the others wait for, where something did before the job's end."""
    row = next(
        (
            r
            for r in facts.table("process_exits")
            if r.number("rank") == rank and (r.get("oom_killed") or (r.number("exit_signal") or 0) not in (0, 2, 15))
        ),
        None,
    )
    if row is None:
        return
    sender = f", sent by {row['signal_sender']}" if row.has("signal_sender") else ""
    at = f" at {row['end_ts']}" if row.has("end_ts") else ""
    result.speaks_for.append(
        claim(f"The trigger: the process of rank {row['rank']} was ended by signal {row['exit_signal']}{sender}{at}.")
    )
    result.attribution = "job" if facts.host_oom else "undetermined"
    result.speaks_for += facts.host_oom.claims


def _behind(view: View, who: str, result: Assessment) -> RowView | None:
    """Name the ranks that never entered, else the few that stand further back than all others; the first of them."""
    everyone = {r.get("rank") for r in view if r.has("rank")}
    absent = _each([r for r in view if r.get("never_entered") and r.has("rank")])
    late = _each([r for r in view if "behind" in r.columns and (r.number("behind") or 0) > 0 and r.has("rank")])
    for rows, absence in ((absent, True), (late, False)):
        if not rows or len(rows) > max(1, len(everyone) // 2):
            continue
        first = rows[0]
        if absence:
            text = (
                f"Rank {first['rank']}{_on(first)} never entered the collective: it had enqueued {first['last_enqueued_seq']} and "
                f"completed {first['last_completed_seq']}, all of it, while others waited further on."
            )
            result.headline = result.headline.rstrip(".") + f"; rank {first['rank']} never entered it."
        else:
            text = (
                f"Rank {first['rank']} stands behind all others: it is {first['behind']} collectives back in "
                f"{first['comm']}, at sequence {first['last_enqueued_seq']}."
            )
            result.headline = result.headline.rstrip(".") + f"; rank {first['rank']} stands furthest back."
        result.speaks_for.append(claim(text))
        result.confidence = 0.96
        result.speaks_for += [
            claim(f"The same holds for rank {r['rank']} (by the {who}).", "supported") for r in rows[1:4]
        ]
        return first
    return None


def _on(row: RowView) -> str:
    return f" on {row['node']}" if "node" in row.columns and row.has("node") else ""


def _each(rows: list[RowView]) -> list[RowView]:
    """One row for each rank, the first."""
    found: dict[object, RowView] = {}
    for row in rows:
        found.setdefault(row.get("rank"), row)
    return list(found.values())
