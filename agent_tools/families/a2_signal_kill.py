"""A2, signal kill without a traceback: a fatal signal ended a process before it could print a Python stack.

FOR      a launcher's summary, srun, the shell or the process table names a fatal signal; only wrappers were raised
AGAINST  an exception of the application; a teardown (time limit, preemption, requeue, cancel, a launcher closing its group)
DECIDES  that it was a kill: the signal; who killed: the kernel's log, the cgroup, Slurm's state or the process table
"""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.facts.first_exit import child_exited_first, exited_first, peers_first
from agent_tools.facts.memory import HostOom, before_work
from agent_tools.facts.native import native_crash
from agent_tools.facts.status import WHOLE, status_doubt
from agent_tools.families.bad_memory import bad_memory
from agent_tools.families.base import Assessment
from agent_tools.families.bus_error import bus_error
from agent_tools.families.ended_alike import killed_before
from agent_tools.families.host_memory import host_memory, ran_out
from agent_tools.families.likeliest_sender import known_sender, likeliest_sender, sent_by
from agent_tools.families.lone_kernel import SYSTEM, lone_end
from agent_tools.families.meant_signals import MEANT, meant
from agent_tools.families.wording import UNSAID, claim, missing
from store import lazy

CODE = "A2"
EXPLAINS = ("C1", "C3", "D1", "D2", "E3", "F4", "G1")

_FATAL = {4, 6, 7, 8, 9, 11} | MEANT
_CRASH = {4, 6, 7, 8, 11}
_JUST_BEFORE_S = 120.0
_UNEXPECTED = lazy.compile(r'"exit_type": ?"SYSTEM_ERROR"')
_CRASHED = "WorkerCrashedError"
"""Ray's type for a worker that died under a task; of an actor that died it has another, which is also that of a wanted end."""
_SIGABRT, _SIGBUS, _SIGKILL = 6, 7, 9
_BROKE = ("ib_error", "remote_error", "system_error", "internal_error", "cuda_error", "backend_error", "peer_lost")
"""Errors of a communicator or of a lost peer, at which PyTorch's process group, UCX and JAX's client take their own process down."""
_LOADERS = ("dataloader_killed", "shared_memory", "worker_crashed")
_WORKERS = {**dict.fromkeys(_LOADERS, "A DataLoader worker"), "pool_killed": "A pool's worker"}
_SAID_ABOVE = lazy.compile(r"\bprint statements above for the actual error")
"""Words of a pool that only saw a worker gone: by a signal, or by an exception that the worker printed."""
_BY_STATUS = lazy.compile(r"^(?!step ).* exit \d+(?: signal 0)?$")
"""The job's row in accounting where its exit status alone speaks of a signal."""
_CONVENTION = 0.7
_UNHEARD = 0.6
"""Confidence where accounting alone names the signal, and nothing that the job printed is there."""
_ORDER = {9: 0, 7: 1, 11: 1, 4: 1, 8: 1, 6: 2, 10: 3, 12: 3, 24: 1, 25: 1}


def assess(facts: Facts) -> Assessment:
    """Judge A2 from signals, exceptions, the end and what is known about memory."""
    oom = facts.host_oom
    rows = sorted(
        (r for r in facts.table("fatal_signals") if r.get("signal") in _FATAL and not facts.ending.succeeded),
        # Accounting has a time and knows neither task nor node: whoever names them is heard first.
        key=lambda r: (_ORDER[int(r.number("signal") or 0)], r.text("source") == "accounting", r.index),
    )
    workers = facts.of_role("worker_killed")
    passed = [r for r in rows if passed_by(facts, r)]
    rows = [r for r in rows if r not in passed]
    if passed and not rows and not oom and not workers:
        where = f"{passed[0]['message']} ({passed[0]['file']} line {passed[0]['line_no']})"
        text = f"The line {where} was not its end: it trained on after it, to its end."
        return Assessment(CODE, "ruled_out", counterfactual=text)
    if not rows and not oom and not workers:
        crash = _kernel_crash(facts)
        gone = _vanished(facts)
        if crash is None and gone is not None:
            return _gone(facts, gone)
        if crash is None and (lone := lone_end(facts)) is not None:
            return lone
        return _crashed(facts, crash) if crash is not None else _absent(facts)
    if oom and facts.ending.succeeded and (facts.progress.finished or before_work(facts) or (oom.doubt and not rows)):
        return _beside(oom)
    against = _against(facts, rows, oom)
    if against:
        return Assessment(CODE, "ruled_out", counterfactual=against)
    result = Assessment(CODE, "confirmed", confidence=0.88, attribution="undetermined")
    result.counterfactual = "A process was ended by a signal."
    if rows:
        _signal(facts, rows[0], result)
        if not oom and (broke := _group_broke(facts, rows)) is not None:
            result.status, result.confidence = "suspected", UNSAID
            result.speaks_against.append(claim(f"The process group aborts its process itself: {broke['message']}."))
        if not workers and _went_on(facts, rows[0]):
            result.status, result.confidence = "suspected", UNSAID
            result.speaks_against.append(
                claim("The process that it worked for went on: progress was printed after it.")
            )
    elif workers:
        first = workers[0]
        result.headline = (
            f"A worker process {'died' if _SAID_ABOVE.search(first.message) else 'was killed'}: {first.message_ref}"
        )
        result.speaks_for.append(claim(f"{first.name_ref}: {first.message_ref} ({first.where_ref})."))
        result.confidence = 0.82
        if _SAID_ABOVE.search(first.message) and not oom:
            result.status, result.confidence = "suspected", UNSAID
            result.speaks_against.append(
                claim("A worker whose own exception was printed elsewhere ends in the same words.")
            )
    if facts.wrapped_only:
        result.speaks_for.append(
            claim(
                f"The only exceptions are wrappers such as {facts.raised[0].name_ref}; there is no stack of the cause."
            )
        )
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"By then {facts.progress.phrase}."))
    if oom:
        host_memory(oom, result, killed=bool(rows))
        killed_before(facts, result)
    elif not rows or not bad_memory(facts, rows[0], result):
        _unknown(facts, rows, result)
    return result


def _group_broke(facts: Facts, rows: list[RowView]) -> RowView | None:
    """An error of the process group where all that is known of the signals is an abort, which it ends its process with."""
    if any(r.get("signal") != _SIGABRT for r in rows):
        return None
    return next(iter(facts.table("nccl_events").one_of("name", *_BROKE)), None)


def _beside(oom: HostOom) -> Assessment:
    """Whatever was killed, in a step of Slurm's own or a helper's, the run did not need it: it came to its end, and well."""
    result = Assessment(CODE, "ruled_out", warnings=oom.claims)
    result.counterfactual = (
        oom.doubt.text
        if oom.doubt is not None
        else "The run said that it finished, and Slurm calls it completed: what ran out of memory was not its program."
    )
    return result


def passed_by(facts: Facts, row: RowView) -> bool:
    """Words of a signal in the output of a run that trained before and after them, and then came to its end.

    A model that writes code, and whoever runs it, prints such words; of another program beside it the run took no notice.
    """
    # A shell names the process of whatever it had started beside the run, too.
    beside = row.text("source") == "shell" or (row.text("source") == "program" and not row.has("pid"))
    return beside and facts.trained_past(row)


def _went_on(facts: Facts, row: RowView) -> bool:
    """A worker of a loader crashed and the training went on: it was being taken down at the end of an epoch."""
    steps = facts.progress.steps
    if row.text("name") not in _LOADERS or steps is None or steps.text("file") != row.text("file"):
        return False
    return (steps.number("last_line") or 0) > (row.number("line_no") or 0)


def _kernel_crash(facts: Facts) -> RowView | None:
    """A crash that the kernel of one of the job's nodes recorded just before the end, when nothing else explains the end."""
    if facts.ending.succeeded or facts.ending.torn_down or facts.causes or not facts.times_known:
        return None
    if facts.ending.says("cancelled") or facts.device_error is not None:
        return None
    if not facts.ending.failed and facts.overview is not None:
        return None
    for row in facts.table("host_events").one_of("event", "segfault", "trap"):
        before = row.number("before_end_s")
        if row.get("hidden"):  # as likely a crash of whoever else was on the node
            continue
        if before is not None and -60.0 <= before <= _JUST_BEFORE_S and row.text("process_name") not in SYSTEM:
            return row
    return None


def _crashed(facts: Facts, row: RowView) -> Assessment:
    own = bool(row.get("of_job"))
    on = f" on {row['node']}" if row.has("node") else ""
    who = f"{row['process_name']}" if row.has("process_name") else "A process"
    result = Assessment(CODE, "confirmed" if own else "suspected", confidence=0.88 if own else 0.65, attribution="job")
    result.headline = f"{who}{on} crashed in native code ({row['event']}), with no Python traceback."
    result.speaks_for.append(claim(f"The kernel says{on}, {row['before_end_s']} before the end: {row['message']}"))
    if not own:
        result.missing.append(
            missing("Whether that process was the job's.", "the process table (process) of that node")
        )
    result.counterfactual = f"A native crash is on record{on}."
    _unknown(facts, [row], result, crash=True)
    return result


def _vanished(facts: Facts) -> RowView | None:
    """A worker of Ray's whose process went away without an exception of its own, when nothing else explains the end.

    Ray brings an exception that a worker raised to the driver, and gives a process that was told to end another type of exit:
    what is left is a kill or a native crash.
    """
    if facts.ending.succeeded or facts.ending.torn_down or facts.ending.says("cancelled"):
        return None
    if any(r.role not in ("wrapper", "peer", "cut") for r in facts.fatal) or facts.device_error is not None:
        return None
    told = facts.table("launcher_failures")
    if told.one_of("name", "ray_node_died") or facts.table("oom_events") or facts.table("signals"):
        return None
    done = facts.progress.finish_line or float("inf")  # what dies below the last word of the work is a teardown's
    died = [r for r in told.one_of("name", "ray_worker_died") if (r.number("line_no") or 0) < done]
    return next((r for r in died if _unexpected(r)), None)


def _unexpected(row: RowView) -> bool:
    """Whether Ray had no part in that end: by the type that it gives it, or by the words of versions that knew no types."""
    said = row.text("message")
    return (
        _UNEXPECTED.search(row.text("detail")) is not None
        or _CRASHED in said
        or ("by an unexpected system error" in said and "exit type" not in said)
    )


def _gone(facts: Facts, row: RowView) -> Assessment:
    result = Assessment(CODE, "confirmed", confidence=0.65, attribution="undetermined")
    result.headline = "A worker process of Ray's went away with no exception: it was killed, or crashed in native code."
    result.speaks_for.append(claim(f"Ray says: {row['message']} ({row['file']} line {row['line_no']})."))
    result.counterfactual = "A worker process went away without an exception."
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"By then {facts.progress.phrase}."))
    _unknown(facts, [], result)
    return result


def _signal(facts: Facts, row: RowView, result: Assessment) -> None:
    who = _WORKERS.get(row.text("name"), "A process")
    if (row.number("ranks") or 0) > 1:
        who = f"Ranks {row['all_ranks']}"
    elif row.has("rank"):
        who = f"Rank {row['rank']}"
    elif row.has("tasks"):  # srun's number: with a launcher of its own in each task it is no rank
        who = f"Task {row['tasks']}" if row.text("tasks").isdigit() else f"Tasks {row['tasks']}"
    on = f" on {row['host']}" if row.has("host") else ""
    if on and (row.number("hosts") or 0) > 1 and not who.startswith("Task"):
        on += " and other nodes"
    were = "were" if who.startswith(("Ranks", "Tasks")) else "was"
    oom = facts.host_oom
    known = bool(oom) and oom.doubt is None and row.get("signal") == _SIGKILL
    end = f"killed because {ran_out(oom)}" if known else f"ended by {row['signal_name']}{_stack(facts)}"
    result.headline = f"{who}{on} {were} {end}."
    where = f" ({row['file']} line {row['line_no']})" if row.has("file") else ""
    said = f": {row['message']}" if row.has("message") else ""
    result.speaks_for.append(
        claim(f"{who}{on} {were} ended by signal {row['signal']} ({row['signal_name']}){said}{where}.")
    )
    if who.startswith("Task") and (row.number("events") or 0) > 1:
        result.speaks_for.append(claim(f"srun tells of {row['events']} such ends, and of this one first."))
    if (sent := sent_by(facts, row)) is not None:
        result.speaks_for.append(claim(f"The signal came from {sent['sender']}."))
    if row.has("frame"):
        result.speaks_for.append(claim(f"The crash handler's innermost frame is {row['frame']}."))
    if row.text("source") == "shell" and not facts.failed_children:
        result.confidence = 0.88
    if row.text("source") == "accounting" and not facts.has_log:
        # srun ends the tasks of a step by SIGKILL after one of them had failed, and its status is then that of the step.
        result.confidence = _UNHEARD
        result.missing.append(
            missing(
                "Whether an exception came before it: what the job printed is not there.", "the job's output (logs/)"
            )
        )
    if row.text("source") == "accounting" and _BY_STATUS.search(row.text("message")):
        # Nobody but the status says so, and a program or a wrapper script may end with any status.
        result.confidence = _CONVENTION
        result.headline = f"By its exit status the job's last command was ended by {row['signal_name']}{_stack(facts)}."
        result.missing.append(
            missing(
                "Whether a signal ended it: a shell gives this status then, and a program may give it of its own.",
                "the job's output, the process table (process), the kernel log (host_event)",
            )
        )


def _stack(facts: Facts) -> str:
    """What the log has of tracebacks: none, that of a process that waited for a worker, or others' about the end."""
    if not facts.has_log:
        return ""
    stacks = [r for r in facts.fatal if r.row.has("frame")]
    if any(r.role == "worker_killed" for r in stacks):
        return "; the traceback is that of the process that waited for it"
    return ", with no Python traceback of its own" if stacks else ", with no Python traceback"


def _unknown(facts: Facts, rows: list[RowView], result: Assessment, crash: bool = False) -> None:
    signal = int(rows[0].number("signal") or 0) if rows and not crash else 9
    if signal == _SIGBUS and not crash:
        bus_error(facts, rows[0], result)
        return
    if crash or signal in _CRASH:
        native_crash(facts, rows[0], result, seen_by_kernel=crash)
        return
    if signal in MEANT:
        meant(rows[0], result)
        return
    if rows and signal == _SIGKILL and (sent := sent_by(facts, rows[0])) is not None:
        known_sender(sent, result)
        return
    likeliest_sender(facts, rows[0].text("host") if rows and "host" in rows[0].columns else "", result)


def _against(facts: Facts, rows: list[RowView], oom: HostOom) -> str:
    if oom:
        return ""
    if facts.ending.torn_down:
        return "The signals belong to the scheduler's teardown of the job."
    cancelled = facts.ending.marks.get("cancelled")
    if rows and cancelled is not None and "line_no" in cancelled.columns:
        line = cancelled.number("line_no") or 0
        if all((r.number("line_no") or line) >= line for r in rows) and not peers_first(facts, line):
            return f"The signals follow the cancellation at line {cancelled['line_no']}."
    if rows and (first := exited_first(facts, rows)) is not None:
        return f"srun killed the other tasks after one had ended by itself: {first['message']}."
    if rows and (first := child_exited_first(facts, rows)) is not None:
        who = f"rank {first['rank']}" if first.has("rank") else "a process"
        return f"The launcher's other processes were killed after {who} had ended by itself, with status {first['exit_code']}."
    cause = next(iter(facts.causes), None)
    if cause is not None and cause.row.text("severity") == "fatal":
        return f"The signals follow {cause.name_ref}, an exception with a traceback of its own."
    if facts.device_error is not None:
        return f"The process was aborted after a CUDA error of its own: {facts.device_error['message']}."
    if facts.of_role("cuda_oom"):
        return "The signals follow a refused request for GPU memory."
    if rows and all(r.get("signal") == _SIGABRT for r in rows):
        if facts.table("oom_events"):
            return "The processes were aborted by a library whose request for GPU memory was refused."
        if facts.table("nccl_events").one_of("kind", "nccl_watchdog"):
            return "The processes were aborted by the process group's own watchdog."
        broke = _group_broke(facts, rows)
        if broke is not None and _own_error(facts, rows):
            return f"The processes were aborted over an error of the process group that each of them reported: {broke['message']}."
        # ROCm's runtime tells of a memory access fault and aborts at once: that is the crash itself.
        errors = facts.table("cuda_errors").where(
            lambda r: r.text("code") != "hip_fault" and r.text("name") != "on_cpu"
        )
        if errors:
            return f"The process aborted itself over an error of CUDA's: {errors[0]['message']}."
    return ""


def _own_error(facts: Facts, rows: list[RowView]) -> bool:
    """Whether each of the ranks that were aborted had reported an error of the process group: none of them crashed by itself."""
    aborted = {rank for r in rows for rank in r.text("all_ranks").split(", ") if rank}
    told = {r.text("rank") for r in facts.table("nccl_events").one_of("name", *_BROKE) if r.has("rank")}
    return bool(aborted) and aborted <= told


def _absent(facts: Facts) -> Assessment:
    doubt = status_doubt(facts)
    if doubt is not None and doubt.get("signal") in _FATAL:
        text = f"The exit status was {doubt['exit_code']}, or {doubt['full_code']}, by which a shell tells of {doubt['signal_name']}: sacct's text leaves the high bit of a status out."
        lacks = missing("Which exit status it was.", WHOLE)
        return Assessment(CODE, "undecidable", counterfactual=text, missing=[lacks])
    if not facts.has_log and not facts.has("process"):
        return Assessment(
            CODE,
            "undecidable",
            counterfactual="Neither the job's output nor its processes were watched, so a kill can be neither seen nor ruled out.",
            missing=[missing("Whether a signal ended a process.", "the job's output, or the process table (process)")],
        )
    return Assessment(
        CODE, "ruled_out", counterfactual="No source names a fatal signal, and none an out-of-memory kill."
    )
