"""NVSwitches on the job's nodes that reported an error: a fatal one at the end is the hardware's, any other is a warning.

An NVSwitch stands between all GPUs of its node: its error is nobody's code, and it names no GPU. By its driver's word it is fatal or
not, and only that word counts; what is not fatal was dealt with, and ends no job.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.faulted_gpus import LONG_S, ahead_of_end, repeated, runtime_said, spoken_of, trained_on
from agent_tools.families.wording import claim, missing, whose
from agent_tools.verdict import Claim
from store import lazy

FABRIC = ("sxid", "fabric")
"""Events of the switches and of who sets them up: none of a GPU."""
_FATAL = lazy.compile(r"(?<!non-)(?<!non )\bfatal\b", re.IGNORECASE)
_NEAR_S = 1800.0
"""Ranks that wait for each other give up after minutes."""
_AFTER_S = 60.0
"""Links that go down as a job is torn down report it, too: what comes later than this is no cause of the end."""
_SURE, _ALONE, _DOUBTED = 0.85, 0.6, 0.45
_SET_UP_H = 24.0
_MOST = 3


def is_fatal(row: RowView) -> bool:
    """Whether the driver or the Fabric Manager calls this error of a switch fatal."""
    return row.text("event") == "sxid" and _FATAL.search(row.text("message")) is not None


def switch_said(row: RowView) -> str:
    """The event in words."""
    at = f" at {row['pci_bus_id']}" if row.has("pci_bus_id") else ""
    node = f"{row['node']}" if row.has("node") else "a node that is not named"
    stop = "" if row.text("message").rstrip().endswith(".") else "."
    return f"An NVSwitch of {node}{at} reports SXid {row['xid']}{repeated(row)}: {row['message']}{stop}"


def switch_warnings(facts: Facts, told: str) -> list[Claim]:
    """Every error of a switch that is not told already, as something to be looked at."""
    rows = [r for r in facts.table("gpu_events").one_of("event", "sxid") if switch_said(r) not in told]
    said = [
        f"{switch_said(r)} Have that switch looked at."
        if is_fatal(r)
        else f"{switch_said(r)} It is not fatal by its driver's word, and no cause of an end."
        for r in sorted(rows, key=lambda r: not is_fatal(r))
    ]
    return [claim(s) for s in said[:_MOST]]


def switch_fault(facts: Facts) -> Assessment | None:
    """B2 by a fatal error of a switch as the job ended; None where there was none, or where the run trained on after it."""
    rows = [r for r in facts.table("gpu_events") if is_fatal(r)]
    if not rows:
        return None
    if not facts.times_known:
        return _doubted(rows[0], "nothing says when the job ran")
    hung = bool(facts.table("nccl_events"))
    rows = [r for r in rows if _at_the_end(r, _NEAR_S if hung else LONG_S) and trained_on(facts, r) is None]
    if not rows:
        return None
    row = rows[0]
    if facts.beside is not None:
        result = _doubted(row, "the node has more GPUs than the job held")
        result.missing.append(whose())
        return result
    told = spoken_of(facts) or hung
    if not told and facts.causes:
        return _doubted(row, "the program's own error does not speak of a GPU or of the link between them")
    result = Assessment("B2", "confirmed", confidence=_SURE if told else _ALONE, attribution="infrastructure")
    result.headline = f"An NVSwitch of {row['node']} failed: SXid {row['xid']}, fatal by its driver's word."
    result.speaks_for += [claim(switch_said(row)), *ahead_of_end(row)]
    result.speaks_for += [runtime_said(error) for error in facts.table("cuda_errors").rows[:1]]
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"By the log, {facts.progress.phrase}."))
    result.implies.append(
        claim(
            "All GPUs of a node talk over its NVSwitches; a fatal error of one of them ends what runs there, whatever the code.",
            "supported",
        )
    )
    result.missing.append(
        missing(
            "Whether the switch, a link or the GPU at its other end is at fault.",
            "XIDs of that node's GPUs at that moment (gpu_event), nvidia-smi nvlink -e, the vendor's field diagnostics",
        )
    )
    result.actions.append(claim(f"Drain {row['node']}, reset its GPUs and switches or reboot it, and have it tested."))
    result.actions.append(claim("Rerun on other nodes."))
    result.counterfactual = switch_said(row)
    return result


def _doubted(row: RowView, why: str) -> Assessment:
    """A fatal error that is on record, and that may not have been this job's end."""
    said = switch_said(row)
    result = Assessment("B2", "suspected", confidence=_DOUBTED, attribution="undetermined")
    result.headline = f"An NVSwitch of {row['node']} reported a fatal error; whether it ended this job is not known."
    result.speaks_for.append(claim(said))
    result.missing.append(
        missing(f"Whether it ended the job: {why}.", "XIDs of the job's GPUs at that moment (gpu_event)")
    )
    result.actions.append(claim("Have that switch looked at before the job's end is laid to it."))
    result.counterfactual = f"{said} It is not known to have ended this job."
    return result


def fabric_not_up(facts: Facts) -> RowView | None:
    """What the Fabric Manager, or systemd of its service, said of a failure on a node of the job in the day before it began."""
    begin, end = facts.scope["from_ts"], facts.scope["to_ts"]
    if not begin or not facts.scope["nodes"] or facts.lone_nodes:
        return None
    since = datetime.fromisoformat(begin.replace("Z", "+00:00")) - timedelta(hours=_SET_UP_H)
    rows = facts.table("gpu_events", from_ts=since.isoformat(), to_ts=end).one_of("event", "fabric")
    return rows[0] if rows else None


def _at_the_end(row: RowView, most: float) -> bool:
    before = row.number("before_end_s")
    return before is None or -_AFTER_S <= before <= most
