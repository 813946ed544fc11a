"""A3, application crash after training began: the program's own exception ended a run that was making progress.

FOR      an exception of the application after steps were reported
AGAINST  no progress was ever reported (A1), out of CUDA memory (B1), only peers' echoes (then another rank is the cause)
DECIDES  the first exception in time that is neither wrapper nor echo; its kind gives code, data, storage or network
"""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.facts.evaluating import worked_at
from agent_tools.facts.exceptions import Raised
from agent_tools.facts.faults import folder_to_write_is_gone
from agent_tools.facts.last_command import last_command
from agent_tools.facts.left_waiting import hung_before, left_waiting, unreached_service
from agent_tools.facts.memory import of_either
from agent_tools.facts.rank_place import say_where
from agent_tools.families.application_xids import asserted, told_by_driver
from agent_tools.families.base import Assessment
from agent_tools.families.crash_modes import ACTIONS, MAKE_FOLDER, MEANING, attribution, mode_of, mode_of_words
from agent_tools.families.full_disk import tell_full
from agent_tools.families.last_of_it import unplaced
from agent_tools.families.own_words import LOOK_AT_LINE, own_words, stopped_itself
from agent_tools.families.storage_words import tell_storage
from agent_tools.families.wording import (
    ALIKE,
    LOOK_AT_FIGURE,
    LOOK_AT_MOUNT,
    LOOK_FOR_XID,
    MISSED,
    UNSAID,
    WHOSE_MEMORY,
    alike,
    claim,
    goes_back,
    lost,
    missing,
    of_cuda,
    outlived_by_log,
    spread,
)
from agent_tools.verdict import Claim
from store import lazy

CODE = "A3"
EXPLAINS = ("A1", "A2", "C1", "C2", "C3", "D1", "D2", "E3", "F4", "G1")

_HOST_MEMORY = lazy.compile(
    r"\b_?(?:Array)?MemoryError\b|DefaultCPUAllocator|Cannot allocate memory|Errno 12\b|std::bad_alloc"
)
_NO_RAM = (
    "The host had no memory left for what the program asked of it: host RAM or the job's memory limit, not GPU memory."
)
_LESS_RAM = (
    "Ask for more host memory (--mem), or hold less of it at once: results that are gathered over a whole evaluation, data "
    "that is loaded as one piece, one copy per rank."
)

_EITHER = 0.6
_LAST = 0.72
"""Confidence where a logger told of the exception, and the log ends with it, or the other ranks waited for that rank in vain."""
_WAITED = 0.65


def assess(facts: Facts) -> Assessment:
    """Judge A3 from exceptions and progress."""
    if not facts.has_log:
        return Assessment(
            CODE,
            "undecidable",
            counterfactual="Without the job's output an exception of the program can be neither seen nor ruled out.",
            missing=[missing("Whether the program raised an exception.", "the job's standard output and error")],
        )
    if (told := facts.device_error) is not None and (facts.progress.begun or facts.said_done(told)):
        return _device(facts, told)
    cut = facts.cut_short
    if cut is not None and facts.after_steps(cut):
        return _cut(facts, cut)
    if not facts.causes and (command := last_command(facts)) is not None:
        return _command(facts, command)
    if not facts.causes and facts.progress.begun and (word := unreached_service(facts)) is not None:
        return _unreached(facts, word)
    if not facts.causes and (own := stopped_itself(facts)) is not None:
        return _stopped(facts, own)
    if not facts.causes:
        text = "No exception of the application itself stands in the log."
        if told := facts.of_role("ecc"):
            text = f"What was raised is the driver's word of the hardware, given through the runtime: {told[0].name_ref} ({told[0].where_ref})."
        elif facts.wrapped_only:
            text = f"The log's exceptions are wrappers and echoes ({facts.raised[0].name_ref}) that explain nothing."
        return Assessment(CODE, "ruled_out", counterfactual=text)
    cause = facts.causes[0]
    if not facts.after_steps(cause):
        text = f"No training step was reported before {cause.name_ref}: the crash belongs to the start."
        return Assessment(CODE, "ruled_out", counterfactual=text)
    mode = mode_of(cause)
    wait: RowView | None = None
    result = Assessment(CODE, "confirmed", mode=mode, attribution=attribution(mode, cause))
    tested = None if facts.progress.parsed else facts.evaluated(cause)
    result.confidence = 0.92 if facts.progress.parsed else 0.86 if facts.progress.begun or tested is not None else 0.7
    if cause.row.text("severity") != "fatal" and not facts.ending.failed and not facts.failed_children:
        # A logger's word of it may be that of something caught; where the log has nothing after it, hardly.
        last = _last_of_log(facts, cause) and not hung_before(facts, cause.row)
        result.status, result.confidence = ("confirmed", _LAST) if last else ("suspected", 0.55)
        wait = left_waiting(facts, cause.row) if mode in ("network", "storage", "data") else None
        if wait is not None:
            result.status, result.confidence = "confirmed", _LAST
    if cause.missed:
        result.status, result.confidence, result.mode = "suspected", UNSAID, "code"
    if of_either(cause):
        result.status, result.confidence = "suspected", UNSAID
        result.missing.append(WHOSE_MEMORY)
    if facts.host_oom:
        result.status, result.confidence = "suspected", 0.35
    if facts.hardware_word is not None and cause.fault.certainty < 0.8:
        result.status, result.confidence = "suspected", 0.35
    if facts.copied_xid is not None and "CUDA error" in cause.message:
        result.status, result.confidence = "suspected", 0.4
    fault = unplaced(facts, cause)
    either = alike(facts, cause) or fault
    if either:
        highest = UNSAID if lost(cause.message) else _EITHER
        result.confidence, result.attribution = min(result.confidence, highest), "undetermined"
    if fault and not facts.times_known:
        result.status = "suspected"  # a GPU failed beside it, and nothing says that it was not then
    outlived_by_log(facts, cause, result)
    after = _after_the_end(facts, cause)
    doing = (
        "after training had ended"
        if after
        else f"while {worked_at(tested)[0]}"
        if tested is not None
        else "while simulating"
        if facts.progress.simulates
        else "while training"
    )
    result.headline = f"The program crashed {doing}: {cause.name_ref}: {cause.message_ref}"
    if cause.missed:
        result.headline = f"A bound that the run checks itself was not met: {cause.message_ref}"
    result.speaks_for.append(
        claim(f"{spread(cause.row)} raised {cause.name_ref}: {cause.message_ref} ({cause.where_ref}).")
    )
    result.speaks_for += [*goes_back(cause), *asserted(facts, cause)]
    if not cause.row.has("node"):
        say_where(facts, cause.row.number("rank"), result)
    if cause.row.has("user_frame"):
        result.speaks_for.append(claim(f"The innermost frame outside installed packages is {cause.row['user_frame']}."))
    if wait is not None:
        result.speaks_for.append(_waited(wait))
    if tested is not None:
        text = f"By then {worked_at(tested)[1]} (line {tested['last_line']})."
        result.speaks_for.append(claim(text))
    elif not facts.progress.begun:
        text = "It came out of what a trainer does after a step or an epoch."
        text = "It was raised while a checkpoint was being written." if cause.saving else text
        if cause.trained:
            result.speaks_for.append(claim(text, "supported"))
        result.missing.append(missing("How far training had come.", "progress lines before the failure"))
    if facts.progress.phrase and tested is None:
        result.speaks_for.append(claim(f"By the log, {facts.progress.phrase}."))
    echoes = facts.of_role("peer", "collective")
    if echoes:
        result.speaks_for.append(
            claim(f"{echoes[0].name_ref} on other ranks followed: the echo of a rank that had gone.", "supported")
        )
    if after and facts.progress.finish is not None:
        result.speaks_for.append(claim(f"Training itself had ended at line {facts.progress.finish['last_line']}."))
    if either:
        result.implies.append(claim(ALIKE, "hypothesis"))
    meaning = MEANING[mode]
    if after:
        meaning = meaning.replace("while it was training", "in what came after its training").replace(
            "while training ran", "after training had ended"
        )
    elif tested is not None:
        meaning = meaning.replace("while it was training", f"while it was {worked_at(tested)[0]}")
        meaning = meaning.replace("training came to", "that work came to").replace("while training ran", "meanwhile")
    no_ram = mode == "code" and _HOST_MEMORY.search(f"{cause.name}: {cause.message}") is not None
    if cause.missed:
        result.implies.append(claim(MISSED, "supported"))
    elif no_ram:
        result.implies.append(claim(_NO_RAM))
    elif not either:
        unseen = of_cuda(cause) and not facts.has("gpu_event")
        result.implies.append(claim(meaning, "supported" if mode == "network" or unseen else "established"))
    advice = LOOK_AT_FIGURE if cause.missed else _LESS_RAM if no_ram else ACTIONS[mode]
    if mode == "code" and folder_to_write_is_gone(cause.message):
        advice = MAKE_FOLDER
    if mode == "storage" and result.attribution == "infrastructure":
        advice = LOOK_AT_MOUNT
    if mode == "storage":
        advice = tell_full(facts, cause, result) or tell_storage(facts, cause, result) or advice
    result.actions.append(claim(LOOK_FOR_XID if either else advice))
    if not facts.has("gpu_event"):
        result.missing.append(
            missing(
                "Whether the driver reported a GPU fault at that moment.", "kernel logs of the job's nodes (gpu_event)"
            )
        )
    elif of_cuda(cause):
        told_by_driver(facts, result)
    return result


def _waited(wait: RowView) -> Claim:
    return claim(
        f"After it the other ranks waited in vain: rank {wait['rank']} gave up in a collective ({wait['file']} line "
        f"{wait['line_no']}).",
        "supported",
    )


def _unreached(facts: Facts, row: RowView) -> Assessment:
    """One rank tells that a service did not answer, in plain words, and the others then wait for that rank."""
    result = Assessment(CODE, "confirmed", mode="network", confidence=_WAITED, attribution="job")
    rank = f" on rank {row['rank']}" if row.has("rank") else ""
    result.headline = (
        f"A service could not be reached while training{rank}, and the ranks waited for it: {row['message']}"
    )
    result.speaks_for.append(claim(f"The log says{rank}: {row['message']} ({row['file']} line {row['line_no']})."))
    if (wait := left_waiting(facts, row)) is not None:
        result.speaks_for.append(_waited(wait))
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"By the log, {facts.progress.phrase}."))
    result.implies.append(claim(MEANING["network"], "supported"))
    result.missing.append(missing("Whether that rank ended by it.", "the rest of that rank's output, or a stack of it"))
    result.actions.append(claim(ACTIONS["network"]))
    return result


def _last_of_log(facts: Facts, cause: Raised) -> bool:
    """Whether nothing stands in the log after the exception; a message of several lines may hold what came after it.

    That of a thread of its own ends no program.
    """
    last = facts.table("end_words").first
    return (
        last is not None
        and "_bootstrap" not in cause.row.text("entry_frame")
        and "\n" not in cause.message
        and (last.number("last_line") or 0) <= (cause.row.number("line_end") or 0)
    )


def _after_the_end(facts: Facts, cause: Raised) -> bool:
    """Training had said that it ended, in the same file, before the exception and after the last step."""
    end, raised, finish = facts.progress.finish_line, cause.row.number("line_no"), facts.progress.finish
    if end is None or raised is None or finish is None or finish.text("file") != cause.row.text("file"):
        return False
    last = facts.progress.steps.number("last_line") if facts.progress.steps is not None else None
    return (last or 0) <= end < raised


def _cut(facts: Facts, cut: Raised) -> Assessment:
    """The log ends inside the program's traceback: where it failed is known, and how is not."""
    mode = "storage" if cut.saving else "data" if cut.origin.layer == "data" else "code"
    result = Assessment(CODE, "suspected", mode=mode, confidence=0.45, attribution="job")
    result.headline = f"The program raised an exception while training; the log ends {cut.cut_in}."
    begins = "is announced" if cut.row.text("parser") == "heralded" else "begins"
    result.speaks_for.append(claim(f"A traceback {begins} at {cut.where_ref} and has no last line."))
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"By the log, {facts.progress.phrase}."))
    result.implies.append(claim(MEANING[mode], "hypothesis"))
    result.actions.append(claim(ACTIONS[mode], "supported"))
    result.missing.append(missing("Which exception it was.", "the rest of the log"))
    return result


def _stopped(facts: Facts, row: RowView) -> Assessment:
    """The work was under way, and the program left with a line in its own words that speaks of failure."""
    mode, whose = mode_of_words(row.text("text"))
    result = own_words(facts, row, CODE, mode, sure=False)
    result.attribution = whose
    result.headline = f"The program gave up while it worked, and near its end it says: {row['text']}"
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"By the log, {facts.progress.phrase}."))
    own = "It left of its own accord, which is how a program ends over an error that it found."
    result.implies.append(claim(own, "hypothesis"))
    result.actions.append(claim(ACTIONS[mode] if mode == "storage" else LOOK_AT_LINE, "supported"))
    return result


_FULL, _GONE = frozenset({"no_space", "quota"}), frozenset({"read_only", "input_output", "stale"})
"""Codes of a file system that is full, and of one that fails."""


def _command(facts: Facts, row: RowView) -> Assessment:
    """Training was done or under way, and the log ends with a command of the script that failed."""
    code = row.text("code")
    mode = "storage" if code in _FULL | _GONE else "network" if code == "connection" else "code"
    result = Assessment(CODE, "confirmed", mode=mode, confidence=0.85)
    result.attribution = "infrastructure" if code in _GONE else "job"
    if facts.overview is None:
        # A script without set -e may have gone on, and what followed may have printed nothing.
        result.status, result.confidence = "suspected", 0.55
        result.missing.append(missing("Whether the job failed by it.", "sacct (slurm_job)"))
    who = f"{row['tool']}" if row.has("tool") else "the shell"
    what = f" on {row['what']}" if row.has("what") else ""
    result.headline = f"After the training a command of the batch script failed: {row['message']}"
    result.speaks_for.append(
        claim(
            f"The log ends with what {who} says of its failure{what}: {row['message']} ({row['file']} line {row['line_no']})."
        )
    )
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"By the log, {facts.progress.phrase}."))
    if facts.progress.finish is not None:
        result.speaks_for.append(claim(f"Training itself had ended at line {facts.progress.finish['last_line']}."))
    result.implies.append(
        claim("The exit status is that of this command; the program that trained is not what failed.", "supported")
    )
    result.actions.append(
        claim(_MEND.get(code, "Mend what the command names, and run only what follows the training again."))
    )
    return result


_MEND = {
    "no_such_file": "Look whether the path that is named exists on the compute node; then run only what follows the training again.",
    "permission_denied": "Look who may write to the path that is named; then run only what follows the training again.",
    "no_space": ACTIONS["storage"],
    "quota": ACTIONS["storage"],
    "connection": "Run only what follows the training again, with retries.",
}


def _device(facts: Facts, row: RowView) -> Assessment:
    """A kernel went wrong and the process was aborted before Python could print a stack."""
    result = Assessment(CODE, "confirmed", mode="code", confidence=0.8, attribution="job")
    if facts.open_error:
        highest = UNSAID if lost(row.text("message")) else _EITHER
        result.confidence, result.attribution = highest, "undetermined"
    if facts.copied_xid is not None:
        result.status, result.confidence = "suspected", 0.4
    rank = f" on rank {row['rank']}" if row.has("rank") else ""
    result.headline = f"A CUDA kernel of the program failed{rank}: {row['message']}"
    result.speaks_for.append(claim(f"The log says{rank}: {row['message']} ({row['file']} line {row['line_no']})."))
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"By the log, {facts.progress.phrase}."))
    elif facts.said_done(row):
        result.speaks_for.append(claim("Before it the program said that its training was complete."))
    result.implies.append(
        claim(ALIKE, "hypothesis")
        if facts.open_error
        else claim(
            "Such an access is almost always an error of the program; only the driver's word would make it hardware.",
            "supported",
        )
    )
    result.actions.append(
        claim("Rerun a short part with CUDA_LAUNCH_BLOCKING set, so that the traceback names the call.")
    )
    if facts.has("gpu_event"):
        told_by_driver(facts, result)
        return result
    result.missing.append(
        missing("Whether the driver reported a GPU fault at that moment.", "kernel logs of the job's nodes (gpu_event)")
    )
    return result
