"""F1: the cluster lost a node of the job under it.

Decided by the scheduler: state NODE_FAIL, a node that Slurm names, a node of the job that went down as the job ended.
Not F1: a node that was drained afterwards or that was none of the job's, GPU health flags, and an earlier attempt whose
rerun completed (F2).
"""

from __future__ import annotations

import re

from agent_tools.facts import Facts
from agent_tools.facts.finished import done_without_node
from agent_tools.facts.views import RowView, View
from agent_tools.families.base import Assessment
from agent_tools.families.lone_kernel import lone_death
from agent_tools.families.lone_state import lone_state
from agent_tools.families.wording import by_log
from agent_tools.say import UNENDED, count, lacks, own_failure, quoted, recorded, say
from store import lazy

CODE = "F1"
EXPLAINS = ("A1", "A2", "A3", "C1", "C2", "C3", "D3", "E2", "F2", "F3", "F4", "G1")

LONG_S = 600.0
"""A node that was down for longer than this before the wall had not fallen by the wall."""
_DYING_S = 1800.0
"""How long before the job's end a node said its last words at most: Slurm waits for it first (SlurmdTimeout)."""
_WHETHER = "Whether a node of the job went down."
NEVER_BY_NODE = {"COMPLETED", "TIMEOUT", "OUT_OF_MEMORY", "DEADLINE", "PREEMPTED"}


def assess(facts: Facts) -> Assessment:
    """Judge the nodes at the end of the run."""
    overview = facts.overview
    end = facts.table("run_ending").first
    nodes = facts.table("node_failures")
    fallen = _fallen(nodes)
    state = facts.state
    says = end if end is not None and count(end, "node_failures") else None
    history = facts.table("requeue_history").first
    booted = next(iter(facts.table("slurm_messages").one_of("name", "boot_failed")), None)
    if booted is not None and not state and not facts.progress.begun:
        text = f"The nodes had not come up yet: {quoted(booted, 'message', 'line_no')}."
        return Assessment(CODE, "ruled_out", confidence=0.05, counterfactual=text)
    if says is not None and state == "COMPLETED" and done_without_node(says):
        text = f"The run went on after that to its end: {quoted(says, 'stop_message', 'stop_line')}."
        return Assessment(
            CODE, "ruled_out", confidence=0.05, counterfactual=text, warnings=say(f"A node was lost. {text}")
        )
    failed_before = history if history is not None and count(history, "node_fail_attempts") else None
    if state == "NODE_FAIL" or says is not None or (overview is not None and overview.has("failed_node")):
        return _confirmed(facts, overview, says, fallen, 0.97 if state == "NODE_FAIL" else 0.93)
    if failed_before is not None and overview is not None and (held := _launch_failed(overview)):
        return Assessment(CODE, "ruled_out", confidence=0.05, counterfactual=held)
    if failed_before is not None:
        return _before(facts, failed_before)
    if "node_fail" in facts.ending.marks:
        return _confirmed(facts, overview, None, fallen, 0.93)
    fallen = [] if _stood_at_the_end(overview, fallen) else fallen
    if fallen and state == "TIMEOUT" and (count(fallen[0], "before_end_s") > LONG_S):
        quiet = facts.table("quiet_end").first
        if quiet is None or _together(quiet, fallen[0]):
            return _waited_out(facts, overview, fallen, quiet)
    if fallen and state and state not in NEVER_BY_NODE:
        # What its other ranks raise of a peer that is gone is what a lost node does to them.
        own = own_failure(facts) if facts.causes or facts.of_role("cuda_oom") else ""
        if own and count(end, "errors"):
            return _secondary(fallen[0], own)
        return _confirmed(facts, overview, None, fallen, 0.88)
    dead = facts.table("launcher_failures").one_of("name", "ray_node_died", "lost_daemon")
    if dead and overview is None and not facts.causes and not facts.ending.marks and not _outlived(dead[0], end):
        return _unheard(dead[0])
    return lone_death(facts) or lone_state(facts) or _not_it(facts, nodes.rows, fallen, state)


def _stood_at_the_end(overview: RowView | None, fallen: list[RowView]) -> bool:
    """Whether a job's only node had told of the program's own exit before it went down; a shutdown's signal is none."""
    if overview is None or overview.text("state") != "FAILED" or count(overview, "node_count") != 1:
        return False
    own = 0 < (overview.number("exit_code") or 0) < 128 and not count(overview, "exit_signal")
    return own and all(count(r, "after_end_s") for r in fallen)


def _launch_failed(overview: RowView) -> str:
    """The controller writes of a prolog or a launch that failed on a node what it writes of a node that failed."""
    waits = overview.text("state") == "PENDING"
    if not waits or re.search(r"launch[ _]failed", overview.text("state_reason"), re.IGNORECASE) is None:
        return ""
    return f"The node did not fail: by the reason {overview['state_reason']} it was the launch that failed on it."


def _outlived(row: RowView, end: RowView | None) -> bool:
    """Whether the run went on or came to its own end, or somebody stopped it, in which a cluster loses its nodes too."""
    if any(count(end, column) for column in ("ends", "keyboard", "hangups")):
        return True
    return count(end, "progress_line") > count(row, "line_no")


def _unheard(row: RowView) -> Assessment:
    """Ray's head or mpirun no longer hears of a node: it is down, or what they run on it is."""
    ray = row.text("name") == "ray_node_died"
    node = "a node" if ray or not row.has("host") else f"{row['host']}"
    return Assessment(
        CODE,
        "suspected",
        None,
        0.6,
        "infrastructure",
        f"{'Ray' if ray else 'The launcher'} lost {node} under the run.",
        say(f"{'Ray' if ray else 'The launcher'} says: {quoted(row, 'message', 'line_no')}."),
        implies=say(
            "A node that is no longer heard of is down, was cut off, or what ran on it was ended; the workers on it are gone.",
            status="supported",
        ),
        missing=[
            lacks(
                "Whether the node failed, or only the network to it, or the launcher's own process on it.",
                "the node's kernel log, sacct, or the cloud's record of its machines",
            )
        ],
        actions=say("Look at that node; let the run be restarted from its last checkpoint (max_failures)."),
    )


def _together(quiet: RowView, row: RowView) -> bool:
    """Whether the silence before the wall began as the node went down: then the ranks that were left waited for it."""
    apart = count(quiet, "quiet_s") - count(row, "before_end_s")
    return count(quiet, "times_usual") >= 20 and -300 <= apart <= 900


def _waited_out(facts: Facts, overview: RowView | None, fallen: list[RowView], quiet: RowView | None) -> Assessment:
    """A node that went down long before the wall, and was down still when the wall came."""
    result = _confirmed(facts, overview, None, fallen, 0.93 if quiet is not None else 0.85)
    if quiet is not None:
        result.speaks_for += say(
            f"Training stood still from then on: its last report came at {quiet['progress_ts']}, {quiet['quiet_min']} before the wall."
        )
    result.implies += say(
        "The ranks that were left waited for the lost ones until the wall: the hang and the time limit are its consequences.",
        status="supported",
    )
    return result


_NAMED = lazy.compile(r"\b(?:[Nn]ode failure on|NODE \S+ FAILURE)")
"""Words of srun's and of older releases that name the node that failed, and not the one that speaks."""


def _confirmed(
    facts: Facts, overview: RowView | None, says: RowView | None, fallen: list[RowView], confidence: float
) -> Assessment:
    shows: list[str] = []
    where = ""
    if overview is not None and facts.state == "NODE_FAIL":
        shows.append(f"Slurm recorded the end of the job as {overview['state']}.")
    if overview is not None and overview.has("failed_node"):
        where = f" {overview['failed_node']}"
        shows.append(f"Slurm names the failed node: {overview['failed_node']}.")
    if says is not None:
        shows.append(f"The log holds the scheduler's own words: {quoted(says, 'stop_message', 'stop_line')}.")
        if not where and says.has("stop_host") and _NAMED.search(says.text("stop_message")):
            where = f" {says['stop_host']}"
        named = next(
            (r for r in facts.table("slurm_messages") if r.has("host") and _NAMED.search(r.text("message"))), None
        )
        if not where and named is not None:
            where = f" {named['host']}"
            shows.append(f"srun names the node: {quoted(named, 'message', 'line_no')}.")
        elif not where and says.has("stop_host") and not fallen:
            shows.append(f"The message was written on {says['stop_host']}, which need not be the node that failed.")
    elif "node_fail" in facts.ending.marks:
        mark = facts.ending.marks["node_fail"]
        shows.append(
            f'The scheduler said so: "{mark["message"]}".'
            if mark.has("message")
            else "The scheduler recorded a node failure."
        )
    for row in fallen[:3]:
        reason = f' with the reason "{row["reason"]}"' if row.has("reason") else ""
        # Slurm writes both times, and the node's may be the later one by seconds.
        later = f"; the job ended {row['before_end_s']} later" if count(row, "before_end_s") > 0 else ""
        shows.append(f"Node {row['node']} was {row['state']} from {row['since_ts']}{reason}{later}.")
        where = where or f" {row['node']}"
    likely = _still_down(facts) if not where and not fallen else None
    if likely is not None:
        reason = f' with the reason "{likely["reason"]}"' if likely.has("reason") else ""
        shows.append(
            f"Of the job's nodes {likely['node']} alone is recorded as lost since ({likely['state']}{reason}), from "
            f"{likely['since_ts']} by the clock of that record."
        )
        where = f" a node, most likely {likely['node']},"
    only = (
        facts.table("job_nodes").where(lambda r: bool(r.get("accounted")))
        if not where and facts.state == "NODE_FAIL"
        else []
    )
    if len(only) == 1 and count(overview, "node_count") == 1:
        where = f" {only[0]['node']}"
        shows.append(f"The job had a single node: {only[0]['node']}.")
    if fallen and (count(fallen[0], "job_nodes") > count(fallen[0], "bad_nodes")):
        shows.append(
            f"In trouble at the job's end: {fallen[0]['bad_nodes']} of its {fallen[0]['job_nodes']} nodes, and none of the others."
        )
    if facts.progress.phrase:
        shows.append(f"Until then {facts.progress.phrase}.")
    own = overview.text("start_ts") if overview is not None else ""
    before = facts.table("job_attempts").where(
        lambda r: r.text("state").upper() == "NODE_FAIL" and r.has("end_ts") and r.text("end_ts") < own
    )
    failed = {overview.text("failed_node")} if overview is not None else set[str]()
    last = _last_words(facts, failed | {r.text("node") for r in fallen})
    if last is not None:
        shows.append(f"The kernel of {last['node']} said last, at {last['event_ts']}: {last['message']}")
    wanted = "its management controller, or the site's operators"
    missing = [lacks("Why the node failed.", f"its kernel log, {wanted}" if last is None else wanted)]
    if not fallen and likely is None:
        missing.append(
            lacks(
                "When it went down." if where else "Which node it was and when it went down.",
                "slurm_node_state (sacctmgr show event, scontrol show node)",
            )
        )
    return Assessment(
        CODE,
        "confirmed",
        None,
        confidence,
        "infrastructure",
        f"The cluster lost {where.strip() or 'a node'} under the job; the job itself was not at fault.",
        say(*shows),
        implies=say(
            "The run died because a node vanished. Errors that its other ranks printed afterwards are consequences.",
            status="supported",
        ),
        missing=missing,
        warnings=say(
            *(
                f"An earlier attempt lost a node too: it ended as {r['state']} at {r['end_ts']}"
                + (f", by {r['failed_node']}." if r.has("failed_node") else ".")
                for r in before[:2]
            )
        ),
        actions=say(
            "Submit the job again; nothing in the code needs a change.",
            f"Ask the operators to look at the node{'' if likely is not None else where} before it takes jobs again, or exclude it with --exclude.",
        ),
    )


def _last_words(facts: Facts, lost: set[str]) -> RowView | None:
    """What the kernel of the node that was lost told of its own death: a panic, else a machine check, shortly before the end."""
    rows = facts.table("host_events").one_of("event", "panic", "mce")
    near = [r for r in rows if r.text("node") in lost and 0 <= (r.number("before_end_s") or -1.0) <= _DYING_S]
    return max(near, key=lambda r: r.text("event") == "panic", default=None)


def _still_down(facts: Facts) -> RowView | None:
    """The only node of the job that is down and has not come back, where no record's time matches the end.

    scontrol prints the cluster's local time, which nothing beside may place: a node that failed is then hours away from it.
    """
    lost = facts.table("node_failures").where(lambda r: bool(r.get("down")) and not r.has("until_ts"))
    return lost[0] if len({r.text("node") for r in lost}) == 1 else None


def _before(facts: Facts, history: RowView) -> Assessment:
    """A node failed under an earlier attempt: the job's end only as long as no later attempt has one of its own."""
    last = history.text("last_state").upper()
    text = f"Of {history['attempts']} attempts {history['node_fail_attempts']} ended because a node failed; the last attempt is {history['last_state']}."
    lost = (
        f" The attempts before held {history['earlier_gpu_hours']} of GPU time."
        if history.has("earlier_gpu_hours")
        else ""
    )
    fallen = fallen_before(facts)
    again = fell_twice(facts, fallen)
    shows = [text + lost, *lost_node(fallen), *again]
    where = f"Node {fallen[0]['node']}" if fallen else "A node"
    open_still = last in ("NODE_FAIL", "PENDING", "RUNNING", "REQUEUED")
    recovered = last == "COMPLETED"
    return Assessment(
        CODE,
        "confirmed" if open_still else "suspected",
        None,
        0.85 if open_still else 0.25,
        "infrastructure",
        f"{where} failed under an earlier attempt of the job and Slurm ran it again"
        + (", and the rerun completed." if recovered else "."),
        say(*shows),
        implies=say("The cluster lost a node; the job was not at fault.", status="supported"),
        missing=[] if fallen else [lacks("Which node it was.", "slurm_node_state (sacctmgr show event)")],
        actions=say(
            "Nothing has to be done about the job if the rerun completed; have the node looked at.",
            "Keep the job off that node meanwhile (--exclude)." if again else "",
        ),
        counterfactual="" if open_still else f"{text} That is not how the last attempt ended.",
        warnings=say(text),
    )


def lost_node(fallen: list[RowView]) -> list[str]:
    """The node that went down under the attempt before, in a sentence; empty where no record names it."""
    if not fallen:
        return []
    named = fallen[0]
    reason = f' with the reason "{named["reason"]}"' if named.has("reason") else ""
    return [f"Node {named['node']} of that attempt was {named['state']} from {named['since_ts']}{reason}."]


def fell_twice(facts: Facts, fallen: list[RowView]) -> list[str]:
    """That the node which ended the last of these attempts had ended one before it as well, in a sentence; empty where it had not."""
    if not fallen:
        return []
    for number in _lost_attempts(facts)[-2::-1]:
        for row in _fallen(facts.table("node_failures", attempt=number)):
            if row.text("node") == fallen[0].text("node"):
                return [
                    f"{row['node']} had failed under an attempt before that, too: it was {row['state']} from {row['since_ts']}."
                ]
    return []


def _lost_attempts(facts: Facts) -> list[int]:
    """The attempts that ended because a node failed, in their order."""
    lost = facts.table("job_attempts").where(lambda r: r.text("state").upper() == "NODE_FAIL" and r.has("attempt"))
    return [int(r.number("attempt") or 0) for r in lost]


def _fallen(nodes: View) -> list[RowView]:
    """Those that Slurm names as failed, or that were down as the run ended."""
    return nodes.where(lambda r: bool(r.get("named")) or (bool(r.get("at_end")) and bool(r.get("down"))))


def fallen_before(facts: Facts) -> list[RowView]:
    """The nodes that went down under the last attempt that a node's failure ended."""
    lost = _lost_attempts(facts)
    return _fallen(facts.table("node_failures", attempt=lost[-1])) if lost else []


def _secondary(row: RowView, own: str) -> Assessment:
    return Assessment(
        CODE,
        "suspected",
        None,
        0.3,
        "infrastructure",
        f"Node {row['node']} went down around the end of the run.",
        say(f"Node {row['node']} was {row['state']} from {row['since_ts']}."),
        counterfactual=f"Node {row['node']} was {row['state']} around the end, but {own}.",
        warnings=say(f"Node {row['node']} was {row['state']} around the end of the run."),
        missing=[lacks("What came first.", "time stamps in the log, slurm_job.failed_node")],
    )


def _not_it(facts: Facts, rows: list[RowView], fallen: list[RowView], state: str) -> Assessment:
    if fallen:
        row = fallen[0]
        text = (
            f"Node {row['node']} was {row['state']} around the end, but Slurm recorded the job as {facts.overview['state']}."
            if facts.overview
            else ""
        )
        return Assessment(CODE, "ruled_out", confidence=0.05, counterfactual=text, warnings=say(text))
    if rows:
        row = rows[0]
        if row.get("at_end") and not row.get("down"):
            text = f"Node {row['node']} was taken out of service at {row['since_ts']} ({row['state']}), which ends no job that runs there."
        elif state in UNENDED and facts.overview:
            text = f"Node {row['node']} was {row['state']} from {row['since_ts']}; {recorded(facts.overview)}."
        elif row.get("after_end_s"):
            text = f"Node {row['node']} was {row['state']} from {row['since_ts']}, {row['after_end_s']} after the job had ended."
        else:
            text = f"Node {row['node']} was {row['state']} from {row['since_ts']}, which does not match the end of the job (its begin lies {row['before_end_s']} before the end)."
        return Assessment(CODE, "ruled_out", confidence=0.03, counterfactual=text, warnings=say(text))
    if state:
        text = f"{recorded(facts.overview)} and names no failed node." if facts.overview else ""
        if facts.has("slurm_node_state"):
            return Assessment(
                CODE, "ruled_out", confidence=0.01, counterfactual=text + " No node of the job changed to a bad state."
            )
        status = "ruled_out" if state in NEVER_BY_NODE or facts.causes else "undecidable"
        return Assessment(
            CODE,
            status,
            confidence=0.02,
            counterfactual=text,
            missing=[lacks(_WHETHER, "slurm_node_state (sacctmgr show event, scontrol show node)")],
        )
    return Assessment(
        CODE,
        "undecidable",
        confidence=0.02,
        counterfactual=by_log(
            facts, "No line of the log says that a node failed; from a log alone a lost node cannot be excluded."
        ),
        missing=[lacks(_WHETHER, "sacct and sacctmgr show event (slurm_job, slurm_node_state)")],
    )
