"""C1, rendezvous or process-group initialisation hang: the ranks could not find each other before any collective.

FOR      a store, socket or rendezvous message that gave up (time-out, refused, unresolved, address in use); silence at start
AGAINST  training began; an application's exception on one rank that the others then waited for in vain (A1); a port that was
         taken on the only node of the job, whose start failed at once (A1)
DECIDES  the message itself; where there is none: every rank cold, no communicator, no output until the end
"""

from __future__ import annotations

from agent_tools.facts import Facts, RowView, View
from agent_tools.facts.exceptions import beside_workers
from agent_tools.facts.ports import one_node, port_taken, several_nodes, unreached
from agent_tools.families.base import Assessment
from agent_tools.families.c2_collective_hang import transfer_failed
from agent_tools.families.last_at_start import launched, stuck_at_start
from agent_tools.families.link_words import down_at_start
from agent_tools.families.no_way import set_up_told
from agent_tools.families.node_words import at_driver
from agent_tools.families.too_few_nodes import lay_at_command
from agent_tools.families.wording import UNSAID, claim, missing
from store import lazy

CODE = "C1"
EXPLAINS = ("A2", "C2", "C3", "D1", "E3", "F3", "F4")

_HARD = (
    "address_in_use",
    "unresolved",
    "timeout",
    "refused",
    "mesh_failed",
    "pmi_failed",
    "bind_failed",
    "device_process",
    "closed",
)
_PORT = 0.75
"""Confidence where a port was taken, and nothing tells of other nodes that had to wait."""
_FEWER = 0.75
"""Confidence where some of the processes never said their place, and the run waited for them until its limit."""
_AGAIN = 3
"""So often a rank has to say that it waits: each of them once is how a group forms."""
_LOST = lazy.compile(r"RendezvousConnectionError|C10d store has failed")
# Open MPI's word on how it was built and launched: no rank got as far as to look for another.
_UNLAUNCHED = lazy.compile(r"not built with SLURM'?s? PMI|OPAL ERROR: Not initialized in file pmix")
_SAYS = {
    "address_in_use": "the port that the rendezvous needs is taken",
    "unresolved": "a host name that the rendezvous needs cannot be resolved",
    "timeout": "the ranks waited for each other until the limit was reached",
    "refused": "the coordinator's address refused the connection",
    "mesh_failed": "the ranks could not connect to each other",
    "pmi_failed": "MPI or PMI could not start",
    "bind_failed": "the coordinator could not listen on its address",
    "device_process": "the process that connects the NPUs could not start",
    "closed": "the store or the coordinator went away",
}
_ACTIONS = {
    "device_process": "Look for processes of an earlier job on the nodes' NPUs (npu-smi info), end them, wait a little and start again.",
    "address_in_use": "Take another port for the rendezvous (derive it from the job id), and look for a process that was left behind.",
    "unresolved": "Check the coordinator's host name and the name service on every node of the job.",
    "mesh_failed": "Set the network interface that the ranks shall use (GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME) and check names.",
}


def assess(facts: Facts) -> Assessment:
    """Judge C1 from rendezvous messages and, where there are none, from a start that never ended."""
    if facts.progress.begun:
        text = f"The ranks had found each other: {facts.progress.phrase or 'training was under way'}."
        return Assessment(CODE, "ruled_out", counterfactual=text)
    row = _hard(facts)
    raised = facts.of_role("rendezvous")
    if one_node(facts) and (taken := port_taken(facts)) is not None:
        text = f"The job's start failed on its only node, over a port that was taken (line {taken['line_no']})."
        return Assessment(CODE, "ruled_out", counterfactual=text)
    if row is not None or raised:
        return _found(facts, row)
    events = facts.table("nccl_events")
    failed = events.one_of("name", "connect_failed", "no_interface", "system_error", "bootstrap_clash") or _unpaired(
        events
    )
    gone = [] if transfer_failed(facts) else events.one_of("name", "remote_error")
    if (failed or gone) and not facts.causes and not facts.ending.succeeded:
        return at_driver(facts, _communicator(failed[0])) if failed else _peer_gone(gone[0])
    waiting = _waits(facts)
    return _waiting(facts, waiting) if waiting is not None else _silent(facts)


def _unpaired(events: View) -> list[RowView]:
    """The verb that brings up a queue pair failed: two ranks whose cards cannot reach each other."""
    return [r for r in events.one_of("name", "ib_error") if "ibv_modify_qp" in r.text("message")]


def _waits(facts: Facts) -> RowView | None:
    """A rank that says again and again that it waits for others, and nothing after that; None where there is none.

    A traceback that the log ends inside of, in the call that forms the group, is the end of that wait.
    """
    if facts.ending.succeeded:
        return None
    rows = facts.table("rendezvous_events").where(lambda r: r.text("name") == "waiting" and _long_waited(r))
    if facts.raised:
        cut = facts.cut_short
        return next(iter([*rows, *unreached(facts)]), None) if cut is not None and cut.forming else None
    last = facts.table("end_words").first
    ends = last.number("last_line") if last is not None else None
    return next((r for r in rows if r.number("last_line") == ends), None)


def _long_waited(row: RowView) -> bool:
    """Whether a rank that knows of whom it waits for said so again and again; XLA says it only once it has waited long."""
    if not row.has("world_size"):
        return False
    return (row.number("events") or 0) >= _AGAIN or "may be stuck" in row.text("message")


def _waiting(facts: Facts, row: RowView) -> Assessment:
    result = Assessment(CODE, "suspected", confidence=0.6, attribution="undetermined")
    many = (row.number("joined") or 0) > (row.number("world_size") or 0) > 0
    result.headline = "The ranks wait for each other at the start, and the log ends there."
    if facts.cut_short is not None:
        result.headline = "The ranks waited for each other at the start; the log ends in the traceback of that wait."
    often = f", {row['events']} times" if (row.number("events") or 0) > 1 else ""
    if row.text("name") == "retry":
        result.confidence = UNSAID
        result.headline = (
            "A rank could not reach the address at which the ranks meet; the log ends in the traceback of that call."
        )
    result.speaks_for.append(claim(f"The log says{often}: {row['message']} ({row['file']} line {row['line_no']})."))
    if row.has("world_size") and row.has("joined"):
        result.speaks_for.append(claim(f"{row['joined']} had joined a group of {row['world_size']}."))
    if many:
        result.implies.append(
            claim(
                "More processes joined than the group has ranks: an earlier launch has left its counter or its processes behind.",
                "hypothesis",
            )
        )
    result.missing.append(
        missing(
            "Whether the group formed after all, and how the job ended.", "the rest of the log, or sacct (slurm_job)"
        )
    )
    result.actions.append(
        claim(
            "Look for processes of an earlier launch, take another port, and check that every rank is started once."
            if many
            else "Check that every rank was started and reaches the coordinator's address and port."
        )
    )
    result.counterfactual = "Ranks are seen waiting for each other."
    return result


def _hard(facts: Facts) -> RowView | None:
    if facts.ending.succeeded:
        return None
    watched = any(beside_workers(r.calls) for r in facts.raised)
    rows = facts.table("rendezvous_events").where(
        lambda r: (
            r.text("name") in _HARD
            and (r.text("severity") in ("error", "fatal") or r.text("name") == "mesh_failed")
            and not (watched and _LOST.search(r.text("message")))
        )
    )
    return min(rows, key=lambda r: _HARD.index(r.text("name")), default=None)


def _found(facts: Facts, row: RowView | None) -> Assessment:
    result = Assessment(CODE, "confirmed", confidence=0.91, attribution="undetermined")
    raised = facts.of_role("rendezvous")
    name = row.text("name") if row is not None else "timeout"
    taken = port_taken(facts)
    if taken is not None:
        name = "address_in_use"
    if row is not None:
        peer = f" ({row['peer']})" if row.has("peer") else ""
        result.headline = f"The ranks never formed their process group: {_SAYS[name]}{peer}."
        result.speaks_for.append(
            claim(f"The log says, {row['events']} times: {row['message']} ({row['file']} line {row['line_no']}).")
        )
        if row.has("joined") and row.has("world_size"):
            result.speaks_for.append(claim(f"{row['joined']} of {row['world_size']} had joined."))
        if row.has("timeout_s"):
            result.speaks_for.append(claim(f"The limit was {row['timeout_s']} s."))
        if "localhost" in row.text("peer") or "127.0.0.1" in row.text("peer"):
            result.attribution = "job"
        if name == "closed" and not raised:
            result.status, result.confidence = "suspected", 0.5
        if _UNLAUNCHED.search(row.text("message")):
            return _unlaunched(result)
    if taken is not None and not several_nodes(facts):
        result.confidence = _PORT
        result.missing.append(
            missing(
                "Whether the job had further nodes, which waited: on a single node it is that node's start that failed.",
                "sacct or scontrol show job (slurm_job)",
            )
        )
    if raised:
        first = raised[0]
        if row is None:
            result.headline = f"The ranks never formed their process group: {first.name_ref}: {first.message_ref}"
        if row is None and "unhandled" in first.message:
            result.status, result.confidence = (
                "suspected",
                0.6,
            )  # what NCCL met there, a driver or a network, it does not say
        result.speaks_for.append(claim(f"{first.name_ref}: {first.message_ref} ({first.where_ref})."))
    result.speaks_for.append(claim("No training step was reported."))
    _radius(facts, result)
    result.implies.append(
        claim(
            f"This is coordination before the first collective: {_SAYS[name]}. Model, data and GPUs play no part.",
            "supported",
        )
    )
    result.actions.append(
        claim(
            _ACTIONS.get(
                name,
                "Check that every rank was given the same reachable coordinator (MASTER_ADDR, MASTER_PORT, --rdzv-endpoint), "
                "that all ranks started, and that no firewall stands between the nodes.",
            )
        )
    )
    tried = facts.table("rendezvous_events").where(lambda r: r.text("name") == "retry" and "errno" in r.text("message"))
    if tried:
        result.speaks_for.append(
            claim(
                f"Before that, {tried[0]['events']} times: {tried[0]['message']} ({tried[0]['file']} line {tried[0]['line_no']})."
            )
        )
    laid = name == "timeout" and lay_at_command(facts, result)
    if not laid and name in ("timeout", "refused", "mesh_failed"):
        result.missing.append(
            missing(
                "Whether a wrong address, a firewall, the name service or a rank that never started was the trigger.",
                "the output of every rank and node; a connection test from each node to the coordinator's port",
            )
        )
    result.counterfactual = "Rendezvous messages are there."
    return down_at_start(facts, result)


def _unlaunched(result: Assessment) -> Assessment:
    """No rank got as far as to look for another: nearer to a job that could not be launched than to a network's fault."""
    result.confidence, result.attribution = 0.6, "job"
    result.headline = "The ranks could not be started: this Open MPI was built without what srun launches it by."
    result.implies.append(claim("Every rank ends in MPI_Init; network, model and GPUs play no part.", "supported"))
    result.missing.append(missing("What the site's Slurm and MPI offer.", "srun --mpi=list; ompi_info | grep -i pmi"))
    text = "Launch it with mpirun inside the allocation, with srun --mpi=pmix, or with an Open MPI that was built for this Slurm."
    result.actions.append(claim(text))
    result.counterfactual = "MPI says that it cannot be launched as it was."
    return result


def _radius(facts: Facts, result: Assessment) -> None:
    o = facts.overview
    if o is not None and o.has("node_count") and o.has("gpu_hours_held"):
        result.speaks_for.append(
            claim(f"The whole allocation was held in vain: {o['node_count']} nodes, {o['gpu_hours_held']} GPU-hours.")
        )
    if facts.has("gpu_sample"):
        busiest = max(facts.table("gpu_summary"), key=lambda r: r.number("engine_mean") or 0.0, default=None)
        if busiest is not None and busiest.has("engine_mean") and (busiest.number("engine_mean") or 0) < 0.05:
            result.confidence = min(0.97, result.confidence + 0.04)
            result.speaks_for.append(
                claim(f"No GPU worked: the busiest had a mean engine activity of {busiest['engine_mean']}.")
            )


def _communicator(row: RowView) -> Assessment:
    result = Assessment(CODE, "suspected", confidence=0.6, attribution="undetermined")
    result.headline = f"The process group could not be set up: {row['message']}"
    result.speaks_for.append(claim(f"The log says: {row['message']} ({row['file']} line {row['line_no']})."))
    result.speaks_for.append(claim("No training step was reported."))
    result.implies.append(
        claim(
            "The network between the ranks failed while the communicator was set up, or another rank had gone.",
            "hypothesis",
        )
    )
    result.missing.append(
        missing("Which rank failed first, and which interface was used.", "NCCL_DEBUG=INFO output of every rank")
    )
    result.actions.append(
        claim("Rerun with NCCL_DEBUG=INFO and check interface names and reachability between the nodes.", "supported")
    )
    return set_up_told(row, result)


def _peer_gone(row: RowView) -> Assessment:
    """Only the word of a survivor: its peer closed the connection, whenever that was."""
    result = _communicator(row)
    result.confidence = 0.35
    result.headline = f"Another rank went away, and this one lost its connection to it: {row['message']}"
    result.missing.append(missing("Why the other rank went away.", "the output of every rank, from its beginning"))
    return result


def _silent(facts: Facts) -> Assessment:
    o = facts.overview
    banner = facts.table("phases").one_of("name", "dist_init")
    ended_late = facts.state in ("TIMEOUT", "CANCELLED", "RUNNING", "DEADLINE") or facts.ending.says("time_limit")
    many = o is not None and (o.number("node_count") or 0) > 1
    joined = bool(facts.table("nccl_progress")) or bool(facts.table("nccl_setup").one_of("name", "init"))
    long_enough = o is not None and (o.number("elapsed_s") or 0) > 300
    last = stuck_at_start(facts)
    cold = facts.cold or bool(banner) or last is not None
    if ended_late and many and long_enough and cold and not joined and not facts.causes:
        return _never_began(facts, facts.cold, banner, last)
    if o is None and facts.ending.says("time_limit") and last is not None:
        return _announced(_never_began(facts, False, banner, last), banner)
    if not facts.has_log:
        return Assessment(
            CODE,
            "undecidable",
            counterfactual="Without the job's output it is not known whether the ranks found each other.",
            missing=[missing("Whether the process group formed.", "the output of every rank")],
        )
    return Assessment(CODE, "ruled_out", counterfactual="No message says that the ranks failed to find each other.")


def _announced(result: Assessment, banner: list[RowView]) -> Assessment:
    """Lightning has every process say its place, and the first one that all are there: fewer said theirs, and it never did."""
    row = banner[-1]
    if "MEMBER: " in row.text("message") and 0 < (row.number("events") or 0) < (row.number("world_size") or 0):
        result.confidence = _FEWER
        result.speaks_for.append(
            claim(f"{row['events']} of {row['world_size']} processes said that they had begun, the others never.")
        )
    return result


def _never_began(facts: Facts, cold: bool, banner: list[RowView], last: RowView | None) -> Assessment:
    """No message, only silence: every GPU cold, or a banner of the start and nothing after it."""
    # A source that watched collectives and saw none says as much as a banner does: they never got that far.
    sure = cold and (bool(banner) or last is not None or facts.has("nccl_sample"))
    # What a program prints tells whether it had begun at all: without it nothing says that it ever came to the ranks' meeting.
    heard = facts.has_log
    result = Assessment(CODE, "confirmed" if sure else "suspected", confidence=UNSAID)
    result.confidence = 0.86 if sure else 0.6 if last or (cold and heard) else 0.5 if cold else UNSAID
    result.headline = "The ranks hung at the start, before any collective."
    if last is not None and launched(last) and not sure:
        result.confidence = 0.5
        result.missing.append(
            missing("Whether what the program printed was lost in a buffer.", "python -u, GPU activity (gpu_sample)")
        )
    if cold:
        result.speaks_for.append(claim("No GPU of the job worked at any time, on any of its nodes."))
    if facts.has("nccl_sample"):
        result.speaks_for.append(claim("Collectives were watched, and none was ever seen."))
    if last is not None:
        result.speaks_for.append(
            claim(f"The program's last word is {last['text']} ({last['file']} line {last['line_no']}).")
        )
    elif banner:
        result.speaks_for.append(
            claim(f"The last word of the start is {banner[-1]['message']} (line {banner[-1]['last_line']}).")
        )
    o = facts.overview
    if o is not None and o.has("elapsed_min"):
        result.speaks_for.append(claim(f"The job held its nodes for {o['elapsed_min']} min and reported no step."))
    guess = claim(
        "The ranks wait for each other: the coordinator cannot be reached.", "supported" if heard else "hypothesis"
    )
    result.implies.append(guess)
    if not heard:
        result.missing.append(missing("Whether the program had begun.", "the job's standard output and error (logs/)"))
    result.missing.append(
        missing("What the ranks wait for.", "a stack of a waiting rank (py-spy), the output of every rank")
    )
    result.actions.append(
        claim("Check the coordinator's address and port from every node, and set a shorter rendezvous time-out.")
    )
    return down_at_start(facts, result)
