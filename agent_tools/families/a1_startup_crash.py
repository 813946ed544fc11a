"""A1, startup crash: the application raised an exception before any training step.

FOR      an exception of the application itself (no wrapper, no peer's echo), no step, no GPU work
AGAINST  steps were reported (A3), out of CUDA memory (B1), a rendezvous that failed (C1), a resumed run's checkpoint (E2)
DECIDES  the exception's type, text and frames give the fault class: data, config, env, asset or code
"""

from __future__ import annotations

from dataclasses import replace

from agent_tools.facts import Facts, RowView
from agent_tools.facts.earlier import closing_down
from agent_tools.facts.evaluating import worked_at
from agent_tools.facts.exceptions import Raised
from agent_tools.facts.faults import Fault, classify, file_system_fails
from agent_tools.facts.looping import amid_figures, any_time, at_next_batch, in_a_loop, on_a_batch
from agent_tools.facts.memory import of_either
from agent_tools.facts.ports import network_before, one_node, port_taken, unformed, unreached
from agent_tools.facts.rank_place import say_where
from agent_tools.facts.setups import setup_before, unfit_setup
from agent_tools.families.adapter_names import whose_names
from agent_tools.families.application_xids import asserted
from agent_tools.families.base import Assessment
from agent_tools.families.lone_node import tell_lone_node
from agent_tools.families.node_words import tell_node, tell_words
from agent_tools.families.own_words import LOOK_AT_LINE, ends_it, gave_up, last_words, own_words
from agent_tools.families.remedies import BY_CLASS, remedy, surroundings
from agent_tools.families.shared_segment import shared_segment, unshared
from agent_tools.families.unfit_device import unfit_device
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
    outlived_by_log,
    spread,
)
from store import lazy

CODE = "A1"
EXPLAINS = ("A2", "A3", "C1", "C2", "C3", "E3", "F4", "G1", "D1")

_CLASS = {
    "data": "the data that it reads",
    "config": "its configuration",
    "env": "its environment: a package, a driver or a library",
    "asset": "a model, tokenizer or checkpoint that cannot be loaded",
    "code": "the program itself",
}

_BROKEN = "The file system that the program was reading or writing failed, or went away; the program is not to blame."

_WHOSE_MEMORY = 0.45
"""Highest confidence where the words do not tell the host's memory from a GPU's, which would be B1."""
_UNFIT = Fault("env", 0.72, "the CUDA libraries that are there do not fit, as the log says before it")
_EITHER_TIME = 0.6
"""Highest confidence of a kernel's error on a batch, where nothing tells which batch it was."""
_UNSET = lazy.compile(r"CU(?:BLAS|DNN)_STATUS_NOT_INITIALIZED")
_WHY_UNSET = missing(
    "Why the library could not be set up: a full card, a library that does not fit, or a kernel that had failed before.",
    "the GPU's memory at that moment (gpu_sample), a rerun with CUDA_LAUNCH_BLOCKING set",
)
_BEFORE = missing("Whether training steps came before it.", "the log from its beginning")
_EVALUATING = 0.55
"""Highest confidence of a crash in an evaluation, before which nothing tells of training."""
_CAUGHT = 0.7
"""Highest confidence where the program caught the exception and printed its text, the last of the log."""
_TEXTLESS = 0.6
"""Highest confidence where only the class of the exception is left."""


def assess(facts: Facts) -> Assessment:
    """Judge A1 from exceptions, progress and, where there is one, the GPU's memory."""
    if not facts.causes:
        return _without_cause(facts)
    cause = facts.causes[0]
    if facts.progress.begun and facts.after_steps(cause):
        text = f"The application's exception {cause.name_ref} came when {facts.progress.phrase or 'training was under way'}."
        return Assessment(CODE, "ruled_out", counterfactual=text)
    if facts.after_steps(cause):
        text = f"{cause.name_ref} came while a checkpoint was being written, and what is saved has been trained."
        if not cause.saving:
            text = f"{cause.name_ref} came out of what a trainer does after a step or an epoch, so training had begun."
        done = facts.evaluated(cause)
        if done is not None:
            text = f"{cause.name_ref} came when {worked_at(done)[1]}."
        elif not cause.trained:
            text = f"Before {cause.name_ref} the program said that its training was complete."
        return Assessment(CODE, "ruled_out", counterfactual=text)
    unfit = unfit_setup(facts, cause)
    if unfit is not None:
        cause = replace(cause, fault=_UNFIT)
    result = Assessment(CODE, "confirmed", mode=cause.fault.mode, attribution="job")
    result.attribution = "infrastructure" if file_system_fails(cause.message) else "job"
    result.confidence = _confidence(facts, cause)
    if cause.headless and any_time(cause):
        # A text that says nothing of a start, and no line before it: as well one of a run that had trained for days.
        result.confidence = UNSAID
        result.missing.append(_BEFORE)
    if cause.textless:
        result.confidence = min(result.confidence, _TEXTLESS)
        result.missing.append(missing("What the exception says.", "the lines after its traceback"))
    if cause.untyped:
        result.confidence = min(result.confidence, _CAUGHT)
        result.missing.append(missing("Whether the program ended of it.", "its exit status, from sacct (slurm_job)"))
    if cause.missed:
        result.confidence, result.mode = UNSAID, "code"
    if cause.evaluating:
        result.confidence = min(result.confidence, _EVALUATING)
        result.missing.append(missing("Whether steps came before the evaluation.", "progress lines of its training"))
    if facts.hardware_word is not None and cause.fault.certainty < 0.8:
        result.confidence = 0.35
    if _UNSET.search(cause.message) and unfit is None:
        result.confidence = min(result.confidence, _TEXTLESS)
        result.missing.append(_WHY_UNSET)
    if facts.host_oom or (facts.copied_xid is not None and "CUDA error" in cause.message):
        result.confidence = 0.35
    if _either(facts, cause):
        result.confidence, result.attribution = min(result.confidence, UNSAID), "undetermined"
    if closing_down(cause, facts.table("run_ending").first):
        result.confidence = 0.35
        result.speaks_against.append(
            claim("Just before it the log says that the run was interrupted from the keyboard.")
        )
    outlived_by_log(facts, cause, result)
    if result.confidence < 0.6:
        result.status = "suspected"
    when = "in an evaluation, with no training before it in the log" if cause.evaluating else "before training began"
    said = f": {cause.message_ref}" if cause.message.strip() else "."
    result.headline = f"The job crashed {when} ({cause.fault.why}): {cause.name_ref}{said}"
    if cause.missed:
        result.headline = f"A bound that the run checks itself was not met: {cause.message_ref}"
    _tell(facts, cause, result)
    if unfit is not None:
        text = f"Before it the log says: {unfit['message']} ({unfit['file']} line {unfit['line_no']})."
        result.speaks_for.append(claim(text))
    return result


def _confidence(facts: Facts, cause: Raised) -> float:
    value = 0.5 + 0.45 * cause.fault.certainty
    if cause.fault.certainty < 0.6:
        value = 0.6
    if facts.of_role("rendezvous", "collective", "cuda_oom", "ecc", "worker_killed"):
        value -= 0.1
    if cause.in_loop or cause.fault.other:
        value = min(value, 0.75)
    if on_a_batch(cause) or at_next_batch(cause):
        value = min(value, _EITHER_TIME)
    if facts.ending.failed:
        value += 0.03
    if facts.ending.says("time_limit") or facts.ending.says("preempted"):
        value -= 0.2
    if of_either(cause):
        value = min(value, _WHOSE_MEMORY)
    return max(0.3, min(value, 0.96))


def _either(facts: Facts, cause: Raised) -> bool:
    """A kernel was lost, and neither its own code nor the GPU is named; what the runtime says of set-ups is the environment's."""
    return cause.fault.mode == "code" and alike(facts, cause) and lost(cause.message)


def _tell(facts: Facts, cause: Raised, result: Assessment) -> None:
    row = cause.row
    said = f": {cause.message_ref}" if cause.message.strip() else ""
    result.speaks_for.append(claim(f"{spread(row)} raised {cause.name_ref}{said} ({cause.where_ref})."))
    result.speaks_for += [*goes_back(cause), *asserted(facts, cause)]
    if row.has("user_frame"):
        result.speaks_for.append(claim(f"The innermost frame outside installed packages is {row['user_frame']}."))
    elif row.has("frame"):
        result.speaks_for.append(claim(f"It came out of {row['frame']}."))
    result.speaks_for.append(claim("No training step was reported before it."))
    overview = facts.overview
    if overview is not None and overview.has("elapsed_s"):
        result.speaks_for.append(claim(f"Slurm records {overview['state']} after {overview['elapsed_s']} s."))
    if cause.missed:
        result.implies.append(claim(MISSED, "supported"))
        result.actions.append(claim(LOOK_AT_FIGURE))
        return
    if _either(facts, cause):
        result.implies.append(claim(ALIKE, "hypothesis"))
        result.actions.append(claim(LOOK_FOR_XID))
        result.missing.append(
            missing(
                "Whether the driver reported a GPU fault at that moment.", "kernel logs of the job's nodes (gpu_event)"
            )
        )
        return
    if not row.has("node") and (row.number("ranks") or 0) < (
        overview.number("gpus") or 0 if overview is not None else 0
    ):
        say_where(facts, row.number("rank"), result)
    if tell_node(facts, cause, result) or tell_lone_node(facts, cause, result):
        return
    near = surroundings(cause.fault)
    lies = near or _CLASS[cause.fault.mode].partition(":")[0]
    text = f"The fault lies in {lies}: {cause.fault.why}. The nodes and GPUs are not to blame."
    broken = file_system_fails(cause.message)
    result.implies.append(
        claim(_BROKEN if broken else text, "established" if cause.fault.certainty >= 0.85 else "supported")
    )
    result.implies += whose_names(cause.message)
    result.actions.append(claim(LOOK_AT_MOUNT if broken else remedy(cause.fault)))
    if on_a_batch(cause):
        text = "The labels or indices of the batch may be at fault as well as the code."
        result.implies.append(claim(text, "supported"))
    if on_a_batch(cause) or at_next_batch(cause):
        result.missing.append(missing("Whether steps came before it.", "progress lines of the training"))
    if of_either(cause):
        result.missing.append(WHOSE_MEMORY)
    if cause.fault.other and not near:
        text = f"It may as well lie in {_CLASS[cause.fault.other]}; the message fits both."
        result.implies.append(claim(text, "supported"))
    if cause.fault.certainty < 0.8:
        result.missing.append(
            missing(
                "Whether the program, its settings or its input is at fault cannot be told from this message alone.",
                "the run's configuration and the source of the frame that is named",
            )
        )
    if not facts.has("gpu_sample") and not facts.has("cuda_sample"):
        result.missing.append(
            missing("Whether any GPU had begun to work is not recorded.", "GPU samples (gpu_sample) of the job's nodes")
        )


def _without_cause(facts: Facts) -> Assessment:
    if not facts.has_log:
        return Assessment(
            CODE,
            "undecidable",
            counterfactual="Nothing that the job printed is there, so a start-up exception can be neither seen nor ruled out.",
            missing=[missing("Whether the program raised an exception.", "the job's standard output and error")],
        )
    if (told := facts.device_error) is not None and not (facts.progress.begun or facts.said_done(told)):
        return _device(facts, told)
    if (unfit := unfit_device(facts)) is not None:
        return unfit
    if not facts.progress.begun and not facts.ending.succeeded and (rows := unshared(facts)):
        return shared_segment(rows, CODE)
    if one_node(facts) and not facts.progress.begun and (taken := port_taken(facts)) is not None:
        return _port(taken)
    plain = facts.table("plain_errors").first
    if plain is not None and not (facts.progress.begun or facts.ending.succeeded or facts.said_done(plain)):
        if plain.get("known"):
            return _plain(facts, plain)
        words = plain if gave_up(facts) or ends_it(plain) else last_words(facts)
        if words is not None and not facts.raised and not unformed(facts):
            return _worded(facts, words)
    cut = facts.cut_short
    if cut is not None and not (_sought(facts, cut) or facts.after_steps(cut) or in_a_loop(facts, cut)):
        return _cut(facts, cut)
    if facts.wrapped_only:
        text = f"The only exceptions are wrappers and echoes ({facts.raised[0].name_ref}); they report a failure and explain none."
        return Assessment(CODE, "ruled_out", counterfactual=text)
    if told := facts.of_role("ecc"):
        text = f"What was raised is the driver's word of the hardware, given through the runtime: {told[0].name_ref} ({told[0].where_ref})."
        return Assessment(CODE, "ruled_out", counterfactual=text)
    return Assessment(CODE, "ruled_out", counterfactual="The log holds no exception of the application itself.")


def _sought(facts: Facts, cut: Raised) -> bool:
    """Whether it came out of the call by which ranks meet, and some waited for others or could not reach them."""
    return cut.forming and bool(facts.table("rendezvous_events").one_of("name", "waiting") or unreached(facts))


def _cut(facts: Facts, cut: Raised) -> Assessment:
    """The log ends inside the program's traceback: where it failed is known, and how is not."""
    fault = classify("", "", cut.calls)
    mode = fault.mode if fault.certainty >= 0.6 else "code"
    result = Assessment(CODE, "suspected", mode=mode, attribution="job", confidence=0.45)
    result.headline = f"The program raised an exception before training began; the log ends {cut.cut_in}."
    begins = "is announced" if cut.row.text("parser") == "heralded" else "begins"
    result.speaks_for.append(claim(f"A traceback {begins} at {cut.where_ref} and has no last line."))
    result.speaks_for.append(claim("No training step was reported before it."))
    if (setup := setup_before(facts, cut)) is not None:
        result.mode = mode = "env" if fault.certainty < 0.6 else mode
        result.speaks_for.append(
            claim(f"Before it the log says: {setup['message']} ({setup['file']} line {setup['line_no']}).")
        )
    result.implies.append(claim(f"The fault may lie in {_CLASS[mode]}.", "hypothesis"))
    result.actions.append(claim(BY_CLASS[mode], "supported"))
    result.missing.append(missing("Which exception it was.", "the rest of the log"))
    return result


def _device(facts: Facts, row: RowView) -> Assessment:
    """A kernel went wrong before the first step, and the process was aborted or the log cut before a stack was printed."""
    result = Assessment(CODE, "confirmed", mode="code", confidence=0.7, attribution="job")
    either = facts.open_error and lost(row.text("message"))
    if either:
        result.status, result.confidence, result.attribution = "suspected", UNSAID, "undetermined"
    if facts.copied_xid is not None:
        result.status, result.confidence = "suspected", 0.4
    result.headline = f"A CUDA kernel of the program failed before training began: {row['message']}"
    result.speaks_for.append(claim(f"The log says: {row['message']} ({row['file']} line {row['line_no']})."))
    if (row.number("line_no") or 0) <= 1:
        result.status, result.confidence = "suspected", min(result.confidence, UNSAID)
        result.headline = f"A CUDA kernel of the program failed, and the log begins with that: {row['message']}"
        result.missing.append(_BEFORE)
    elif amid_figures(facts, row):
        result.status, result.confidence = "suspected", min(result.confidence, UNSAID)
        result.headline = (
            f"A CUDA kernel of the program failed, and nothing stands before that but figures: {row['message']}"
        )
        result.missing.append(_BEFORE)
    else:
        result.speaks_for.append(claim("No training step was reported before it."))
    if (network := network_before(facts, row)) is not None:
        # The first word is of the network: what a rank met after that need not be its own doing.
        result.status, result.attribution = "suspected", "undetermined"
        result.confidence = min(result.confidence, UNSAID)
        result.speaks_for.append(claim(f"Before it the log says: {network['message']} (line {network['line_no']})."))
    if either:
        result.implies.append(claim(ALIKE, "hypothesis"))
        result.actions.append(claim(LOOK_FOR_XID))
    else:
        usual = "A label or an index outside its range is the usual cause: the data or the model's sizes."
        result.implies.append(claim(usual, "supported" if network is None else "hypothesis"))
        check = "Check labels and indices against the sizes that the model was built with."
        result.actions.append(claim(check, "supported"))
    result.missing.append(missing("Which call it was.", "the traceback, with CUDA_LAUNCH_BLOCKING set"))
    return result


def _port(row: RowView) -> Assessment:
    """A launcher on the only node of the job wanted a port that something else there listens on."""
    result = Assessment(CODE, "confirmed", mode="env", confidence=0.88, attribution="job")
    result.headline = f"The job could not start: a port that it needs was taken on its node: {row['message']}"
    result.speaks_for.append(claim(f"The log says: {row['message']} ({row['file']} line {row['line_no']})."))
    result.speaks_for.append(claim("The job had a single node, so no other waited for it."))
    result.implies.append(
        claim("An earlier run that was left behind, or another job on the node, holds the port.", "hypothesis")
    )
    result.actions.append(
        claim(
            "Take another port (derive it from the job id), and look for a process that was left behind.", "supported"
        )
    )
    result.missing.append(missing("Which process holds the port.", "ss -ltnp on the node, while it lasts"))
    return result


def _plain(facts: Facts, row: RowView) -> Assessment:
    """The program gave up with a message and no traceback: an argument parser, the interpreter, the loader."""
    fault = classify("", row.text("text"), "")
    mode = fault.mode if fault.certainty >= 0.7 else "config"
    result = Assessment(CODE, "confirmed", mode=mode, attribution="job", confidence=0.8)
    if any(r.get("exit_code") in (1, 2, 127) for r in facts.failed_children) or facts.ending.failed:
        result.confidence = 0.9
    result.headline = f"The program gave up before training began: {row['text']}"
    result.speaks_for.append(claim(f"{spread(row)} printed: {row['text']} ({row['file']} line {row['line_no']})."))
    child = next((r for r in facts.failed_children if r.has("exit_code")), None)
    if child is not None:
        result.speaks_for.append(claim(f"The launcher reports exit status {child['exit_code']}."))
    result.speaks_for.append(claim("No training step was reported, and there is no traceback."))
    if mode == "env" and tell_words(facts, row.text("text"), result):
        return result
    result.implies.append(claim(f"The fault lies in {_CLASS[mode]}. The nodes and GPUs are not to blame."))
    result.actions.append(claim(remedy(fault) if mode == fault.mode else BY_CLASS[mode]))
    return result


def _worded(facts: Facts, row: RowView) -> Assessment:
    """The program ended with an exit status and, near its end, a line in its own words that speaks of failure."""
    fault = classify("", row.text("text"), "")
    sure = fault.certainty >= 0.7
    mode = fault.mode if sure else "config"
    result = own_words(facts, row, CODE, mode, sure=sure)
    result.headline = f"The program gave up before training began, and near its end it says: {row['text']}"
    result.speaks_for.append(claim("No training step was reported, and there is no traceback."))
    if sure and mode == "env" and tell_words(facts, row.text("text"), result):
        return result
    if sure:
        result.implies.append(claim(f"The fault lies in {_CLASS[mode]}.", "supported"))
        result.actions.append(claim(remedy(fault), "supported"))
    else:
        result.implies.append(claim(f"The fault may lie in {_CLASS[mode]}.", "hypothesis"))
        result.actions.append(claim(LOOK_AT_LINE, "supported"))
    return result
