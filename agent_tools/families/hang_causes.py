"""Why the ranks of a job stood still, as the nodes tell it: a link that failed, a file server, a loader that gave nothing."""

from __future__ import annotations

import re
from collections import Counter

from agent_tools.facts import Facts, RowView
from agent_tools.facts.rests import rest_since
from agent_tools.families.base import Assessment
from agent_tools.families.link_words import by_link, cut_by_link, ill_link, link_said
from agent_tools.families.silent_storage import lay_at_storage, silent_since, silent_to_the_end
from agent_tools.families.wording import claim, missing
from store import lazy

_LINK_NEAR_S = 3600.0
_LOST_STORAGE = lazy.compile(
    r"\[Errno (?:5|107|108|110|116|121)\]|\bStale (?:NFS )?file handle|\bInput/output error|Transport endpoint is not connected"
)
_LOADER = lazy.compile(r"dataloader|_try_get_data|_next_data|data_worker|/data/|dataset", re.IGNORECASE)


def why_they_stood(facts: Facts, result: Assessment, waited: RowView | None = None, at_once: bool = False) -> None:
    """Add what the hosts, the links and the storage say; `waited` is a watchdog's word, `at_once` that a transfer failed.

    The attribution stays what it is where somebody is named already.
    """
    stood, slack = _stood(facts, waited, at_once)
    if not stood:
        downs = facts.table("link_events").one_of("event", "down")
        stood = [r.number("before_end_s") or 0.0 for r in downs if rest_since(facts, r.text("event_ts"))]
    _stacks(facts, result)
    _dumped(facts, result)
    _held_by_storage(facts, result)
    _fabric(facts, result, stood, slack)
    if not stood and result.attribution == "undetermined" and (row := silent_since(facts)) is not None:
        lay_at_storage(facts, row, result)
        return
    for s in stood if result.attribution == "undetermined" else []:
        if (row := silent_to_the_end(facts, s)) is not None:
            lay_at_storage(facts, row, result)
            return


def _stood(facts: Facts, waited: RowView | None, at_once: bool) -> tuple[list[float], float]:
    """Seconds before the end at which the standstill may have begun, and how far the reports of progress may be off."""
    found, slack = [0.0] if at_once else [], 0.0
    if waited is not None:
        found += [v for c in ("elapsed_s", "timeout_s") if (v := waited.number(c))][:1]
    quiet = facts.table("quiet_end").first
    if quiet is not None and quiet.has("quiet_s"):
        found.append(quiet.number("quiet_s") or 0.0)
        slack = 1.5 * (quiet.number("usual_gap_s") or 0.0)
    return found, slack


def _stacks(facts: Facts, result: Assessment) -> None:
    """Where a process that was looked at stands on the host; one that waits for its own loader holds the others up by itself."""
    stacks = facts.table("process_exits").where(lambda r: r.has("host_stack"))
    alike = Counter(r.text("host_stack") for r in stacks)
    # What one rank alone stands in tells more than what all of them wait in.
    for row in sorted(stacks, key=lambda r: alike[r.text("host_stack")])[:2]:
        who = f"rank {row['rank']}" if row.has("rank") else f"process {row['pid']}"
        result.speaks_for.append(claim(f"On the host {who} stands in: {row['host_stack']}."))
    alone = [r for r in stacks if _LOADER.search(r.text("host_stack"))]
    if len(alone) == 1 and alone[0].has("rank") and result.attribution == "undetermined":
        result.attribution = "job"
        result.implies.append(
            claim(
                f"Rank {alone[0]['rank']} waits for its data while the others wait for it: the job's own loading.",
                "supported",
            )
        )


def _held_by_storage(facts: Facts, result: Assessment) -> None:
    """A read that failed for its file server: what the server held up for long is what the others waited for, perhaps."""
    cause = next((c for c in facts.causes if _LOST_STORAGE.search(c.message)), None)
    if cause is not None:
        text = f"The rank that raised {cause.name_ref}: {cause.message_ref} ({cause.where_ref}) may have stood in that call, and held the others up."
        result.implies.append(claim(text, "hypothesis"))


def _dumped(facts: Facts, result: Assessment) -> None:
    """The same where the log holds such stacks: what a single process stands in, and then what the most of them do."""
    told = facts.table("other_events").one_of("name", "host_stack")
    for row in sorted(told, key=lambda r: r.number("events") or 0.0)[:2]:
        who = f"rank {row['rank']}" if row.has("rank") else "a process"
        more = f"; {row['events']} stacks are like it" if (row.number("events") or 0) > 1 else ""
        result.speaks_for.append(
            claim(
                f"By the stacks in the log {who} stands in: {row['message']} ({row['file']} line {row['line_no']}){more}."
            )
        )
    alone = [r for r in told if _LOADER.search(r.text("message")) and r.number("events") == 1]
    if len(told) > 1 and len(alone) == 1 and alone[0].has("rank"):
        text = f"Rank {alone[0]['rank']} waits for its data while the others wait for it: look at its loader and what that reads."
        result.implies.append(claim(text, "supported"))


def _fabric(facts: Facts, result: Assessment, stood: list[float], slack: float) -> None:
    """A link on a node of the job that failed while it ran: beside a stuck collective, where to look first."""
    cut = cut_by_link(facts, stood, slack)
    rows = [
        r
        for r in facts.table("link_events").one_of("event", "down", "flap", "error_burst")
        if r.has("before_end_s") and 0 <= (r.number("before_end_s") or 0) <= _LINK_NEAR_S
    ]
    row = cut if cut is not None else rows[-1] if rows else None
    ill = ill_link(facts, "down")
    if row is None and ill is None:
        return
    if row is not None:
        port = f" port {row['port']}" if row.has("port") else ""
        result.speaks_for.append(
            claim(
                f"The link {row['device']}{port} of {row['node']} failed at {row['event_ts']}, {row['before_end_s']} before the end: "
                f"{row['message']}"
            )
        )
    if ill is not None and (row is None or ill.text("node") == row.text("node")):
        result.speaks_for.append(claim(link_said(ill)))
    result.implies.append(
        claim("A collective that crosses a link while it fails does not finish on any rank.", "hypothesis")
    )
    first = row if row is not None else ill
    assert first is not None
    result.actions.insert(
        0, claim(f"Have the cable, port and switch of {first['device']} on {first['node']} looked at.")
    )
    by_samples = ill is not None and ill.has("since_ts") and row is None and _as_it_began(ill, stood, slack)
    if result.attribution == "undetermined" and (cut is not None or by_samples):
        by_link(first, result)


def _as_it_began(row: RowView, stood: list[float], slack: float) -> bool:
    before = row.number("before_end_s")
    return before is not None and any(abs(before - s) <= max(180.0, slack) for s in stood)


def rested_by_storage(facts: Facts) -> Assessment | None:
    """GPUs that worked until a file server no longer answered, and did nothing from then to the end: without a word in the log."""
    row = silent_since(facts)
    if row is None:
        return None
    result = Assessment("C2", "confirmed", confidence=0.8, attribution="undetermined")
    result.headline = "The GPUs did nothing any more from the moment on at which a file server no longer answered."
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"By the log, {facts.progress.phrase}."))
    lay_at_storage(facts, row, result)
    result.missing.append(
        missing("Which call each rank stood in.", "a host stack of each (py-spy, process.host_stack)")
    )
    result.counterfactual = "The GPUs had come to rest."
    return result
