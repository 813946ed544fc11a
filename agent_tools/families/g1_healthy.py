"""G1: the run did what it should: it completed, made progress, and its loss fell; where GPUs were watched they worked.

Health needs positive evidence. That no error was printed is none, nor is a log that stops in the middle.
"""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.facts.curve import Reading
from agent_tools.facts.finished import bar_short_of_end, closing_end, completion, done_without_node, program_end
from agent_tools.facts.last_command import last_command
from agent_tools.facts.on_cpu import on_cpu
from agent_tools.facts.progress import MOST
from agent_tools.facts.status import recorded
from agent_tools.facts.steps import step_words
from agent_tools.facts.views import RowView
from agent_tools.facts.worked import all_unused, at_work, grew_slower, instant, little_used, never_used, unseen_training
from agent_tools.families.bar_alone import BLIND, by_bar, full_bar
from agent_tools.families.base import Assessment
from agent_tools.families.e1_loss_divergence import DIVERGED, above, figures, never_moved, reading_of, rises_by_right
from agent_tools.families.e3_undertrained import few_samples, short_of_epoch
from agent_tools.families.other_hours import done_elsewhere, of_other_hours
from agent_tools.families.reward_collapse import learned
from agent_tools.families.untold_work import left_open
from agent_tools.families.unverified import UNVERIFIED, unverified
from agent_tools.families.wording import gpu_of
from agent_tools.say import count, lacks, left_last, own_failure, quoted, say
from agent_tools.verdict import Missing

CODE = "G1"
EXPLAINS: tuple[str, ...] = ()

HALF = 0.5
"""Share of the plan below which an end needs a reason; reports may stand far apart, so no more than that."""
SAID = 0.6
"""Highest confidence where a script says last that it is done, below a loss that fell."""
UNEXPLAINED = 0.65
"""Highest confidence in the health of a run that became slower on the way, or whose engines were idle, where SM activity was not measured."""
LITTLE = 0.85
"""Highest confidence in the health of a run whose GPUs were little used."""
SLIGHT, FEW_REPORTS = 0.02, 150
"""A fall of the loss below which so few reports do not show that a run from scratch learns."""
_UNSCORED = 2
"""Evaluations whose loss is no number after which health is doubted."""
_NOTHING = 0.2
"""Confidence where nothing shows any work, and there was no time for it: too little to call a job healthy."""
NOTHING = "Nothing has to be done."
_GO_ON = "See by which rule it stopped there. Unless it was meant to, go on from its last checkpoint."
_COMPARE = "Compare a late step with an early one: the GPUs' clocks, the storage, the length of its samples, memory that fills up."
DOUBTED = 0.4
"""Less than that of a weak shape of the loss."""


def assess(facts: Facts) -> Assessment:
    """Look for positive evidence of health."""
    end = facts.table("run_ending").first
    shape = facts.table("loss_shape").first
    reading = reading_of(facts)
    bad = _against(facts, end, reading)
    if bad:
        return Assessment(CODE, "ruled_out", confidence=0.01, attribution="none", counterfactual=bad)
    said = completion(facts, end)
    completed = bool(said) and (facts.overview is None or facts.ending.succeeded)
    closed = [] if completed or (facts.overview is not None and not facts.ending.succeeded) else closing_end(facts, end)
    said += closed
    reports = count(end, "reports")
    if not (completed or closed):
        return _unfinished(facts, end, shape, reading)
    shows = [*said]
    if facts.progress.phrase:
        shows.append(f"By the end {facts.progress.phrase}.")
    confidence = 0.55
    missing: list[Missing] = []
    if shape is not None and reading.shape in ("falling", "transient") and not above(shape):
        begun, ended = figures(shape)
        shows.append(
            f"The loss fell from {begun} near the start to {ended} near the end, over {shape['points']} reports."
        )
        confidence = 0.9 if reading.strong else 0.82
    elif shape is not None and count(shape, "finite_points"):
        (begun, ended), alone = figures(shape), count(shape, "points") == 1
        course = f"The loss was {begun} near the start and {ended} near the end ({shape['points']} reports)."
        shows.append(f"The only report of the loss is {ended}." if alone else course)
        shows += (rewarded := learned(facts))
        unsure = f"Whether the model learned: the loss shows no {'course' if alone else 'clear fall'}."
        missing += [] if rewarded else [lacks(unsure, "more loss reports, or an evaluation")]
        confidence = 0.85 if rewarded else 0.66 if reports >= 3 else 0.6
        if end is not None and end.text("end_name") == "limit_reached" and (end.number("done") or 0) < 1:
            # A limit ended it, not its own plan: then only what it learned could show that it did what it should.
            confidence = BLIND
    else:
        trained = facts.progress.begun or count(end, "ends") > 0
        missing.append(unverified(facts, trained or facts.overview is not None))
        whole = len(said) >= 2
        ended = trained or program_end(facts, end) != ""
        confidence = 0.72 if whole else (0.66 if ended else 0.45)
        if not (whole or ended) and instant(facts):
            confidence = _NOTHING
    gpu, working = at_work(facts)
    if gpu:
        shows.append(gpu)
        confidence = min(0.97, confidence + 0.05) if working else min(confidence, 0.55)
    else:
        missing.append(
            lacks("Whether the GPUs did real work and their counters stayed clean.", "GPU metrics (gpu_sample)")
        )
    if not facts.overview:
        missing.append(lacks("How the job ended in Slurm's eyes.", "sacct (slurm_job)"))
    elif facts.ending.succeeded:
        confidence = min(0.97, confidence + 0.03)
    if not gpu and _watched_otherwise(facts):
        # Where nodes are watched, GPU metrics that are not there are a hole, and slow or idle GPUs may be in it.
        confidence = min(confidence, BLIND)
        lacking = "do not tell work from waiting" if facts.has("gpu_sample") else "are not there"
        shows.append(f"The GPUs' own metrics {lacking} although the job was watched, so health is not proven.")
    if not gpu and (unwatched := unseen_training(facts)):
        confidence = min(confidence, BLIND)
        shows.append(unwatched)
    for most, question in left_open(facts) if not gpu else ():
        confidence = min(confidence, most)
        missing.append(question)
    slower = grew_slower(facts)
    if slower and not gpu:
        # Throttling, a slow peer and storage all look like this, and what would tell them apart is not there.
        confidence = min(confidence, UNEXPLAINED)
        missing.append(
            lacks("Why the steps took longer late in the run.", "clocks, throttle reasons and activity (gpu_sample)")
        )
    if not facts.has_log and shape is None:
        confidence = min(confidence, BLIND)
    if short_of := _short_of_plan(facts, end):
        confidence = min(confidence, BLIND)
        missing.append(lacks(f"Whether it was meant to end at {short_of}.", "the rule by which it stops early, if any"))
    if closed:
        # A script's "done" may be that of a part of its work, so words alone never prove that the whole of it is.
        confidence = min(confidence, SAID if reading.shape == "falling" and reading.strong else BLIND)
        missing.append(
            lacks(
                "Whether these words are of the whole work, and whether the job ended well.",
                "the program's exit status, from sacct (slurm_job)",
            )
        )
    midway = end if not count(end, "ends") and 0 < count(end, "done") < MOST and len(said) < 2 else None
    if midway is not None:
        confidence = min(confidence, BLIND)
        missing.append(
            lacks(
                f"What the run did later: its log stops at {midway['last_step']} of {midway['total_steps']} steps.",
                "the whole of the job's output (log_line)",
            )
        )
    if midway is None and len(said) < 2 and (bar := bar_short_of_end(facts, end)) is not None:
        confidence = min(confidence, BLIND)
        text = f"What the run did later: its bar stands at {bar['bar_step']} of {bar['bar_total']} steps."
        missing.append(lacks(text, "the whole of the job's output (log_line)"))
    short = facts.table("short_run").first
    if short is not None and few_samples(short) and not short.has("last_step") and not short.has("steps_by_rate"):
        confidence = min(confidence, BLIND)
        missing.append(lacks("Whether so few samples can have trained anything.", "the number of optimizer steps"))
    if shape is not None and reading.shape in (*DIVERGED, "shifted") and above(shape):
        # Too weak a shape to rule health out, but a run that ended above where it began did not do what it should for certain.
        confidence = min(confidence, DOUBTED)
    if shape is not None and (before := _given_back(facts, shape)) is not None:
        confidence = min(confidence, DOUBTED)
        shows.append(
            f"The steps of this log begin anew: up to line {before[0]['last_line']} the loss came from {before[0]['first_loss']} to "
            f"{before[0]['last_loss']}, and in the last part of it, from line {before[1]['first_line']} on, it ended at "
            f"{before[1]['last_loss']}."
        )
    resumed = facts.table("resume_signs").first
    went_on = resumed is not None and count(resumed, "loads") > 0
    unmoved = reading.why == "still" or (
        reading.shape in ("level", "flat") and shape is not None and never_moved(shape)
    )
    if unmoved and not went_on:
        # It never moved from where it began: that is no positive evidence, however long it ran.
        confidence = min(confidence, DOUBTED)
    elif shape is not None and not went_on and _slight(shape):
        confidence = min(confidence, UNEXPLAINED)
        missing.append(lacks("Whether the model learned: its loss fell by little.", "a longer run, or an evaluation"))
    unscored = _unscored(facts)
    if unscored is not None:
        confidence = min(confidence, DOUBTED)
        missing.append(
            lacks(
                f"Whether the model is of any use: the loss of its last {unscored['broken_evals']} evaluations is no number.",
                "the data that it is evaluated on, and its outputs on them",
            )
        )
    idle = all_unused(facts)
    slow = little_used(facts)
    if slow:
        # Healthy and starved of input are told apart by how little that is, and only a target for this work would decide.
        # Engine activity is the most that SM activity can be: what it leaves of health is open.
        confidence = min(confidence, LITTLE if facts.table("gpu_spread") else UNEXPLAINED)
    unseen = shape is None or not count(shape, "finite_points")
    if slow and unseen and not facts.progress.begun:
        # An end that a program claims, and GPUs that hardly worked: nothing shows that anything was trained.
        confidence = min(confidence, BLIND)
    head = "The run is healthy: it completed and did what it should."
    if short_of:
        head = f"The run says that it finished, but only at {short_of}."
    elif midway is not None:
        head = f"The job completed, but its log stops at {midway['last_step']} of {midway['total_steps']} steps."
    elif (cpu := on_cpu(facts)) is not None and cpu.sure:
        head = "The run completed, but by its own words without a GPU: its work was done on the CPU."
    elif closed:
        head = "The run looks complete: its log ends with words that it is done."
    elif not facts.progress.begun and facts.overview is None and program_end(facts, end):
        head = "The program came to its normal end."
    elif (risen := _uncorrected(facts)) is not None:
        head = f"The run completed, but {risen['counter']} rose on a GPU of {risen['node']} under it: check what it computed."
    elif unseen and facts.has_log:
        head = f"The run completed; {UNVERIFIED[facts.progress.simulates]} cannot be verified from what it printed."
    elif unscored is not None:
        head = "The run completed; the loss of its evaluations is no number."
    elif confidence <= DOUBTED:
        head = "The run completed; its loss does not show that it did what it should."
    elif slower and not gpu:
        head = "The run completed, but it became slower on the way."
    elif idle is not None:
        head = f"The run completed and never used {_its_gpus(idle)}: nothing of its work was done there."
    elif slow:
        head = "The run is healthy but slow: it completed, and its GPUs were little used."
    elif not facts.has_log and shape is None:
        head = "Slurm recorded that the job completed; whether it did what it should is not known."
    return Assessment(
        CODE,
        "confirmed" if confidence >= 0.6 else "suspected",
        "healthy_but_slow" if (slow and idle is None) or (slower and not gpu) else "healthy",
        confidence,
        "none",
        head,
        say(*shows),
        implies=say("This rests on what the run did, not on the absence of errors.", status="supported")
        + done_elsewhere(idle),
        missing=missing + of_other_hours(idle),
        warnings=say(slow if idle is None else "", slower, _unexited(end)),
        actions=say(*_actions(facts, slow, slower, short_of)),
    )


def _given_back(facts: Facts, shape: RowView) -> tuple[RowView, RowView] | None:
    """The best stretch of a log whose steps begin anew, and its last one, where that ended above all that was before the best.

    Its own loss may have fallen: what had been learned is lost all the same.
    """
    stretches = facts.table("loss_stretches").rows
    known = [r for r in stretches if r.has("first_loss") and r.has("last_loss")]
    if len(known) < 2 or known[-1] is not stretches[-1] or rises_by_right(shape):
        return None
    at = min(range(len(known) - 1), key=lambda i: count(known[i], "last_loss"))
    best, last = known[at], known[-1]
    ended, learned = count(last, "last_loss"), count(best, "last_loss")
    lost = 0 < learned < count(best, "first_loss") and ended >= 2.0 * learned
    return (best, last) if lost and all(ended > count(r, "first_loss") for r in known[: at + 1]) else None


def _slight(shape: RowView) -> bool:
    """Fallen, but by no more than a few reports' noise or a warm-up gives."""
    share = shape.number("fallen_share")
    return share is not None and 0 < share < SLIGHT and count(shape, "finite_points") < FEW_REPORTS


def _unscored(facts: Facts) -> RowView | None:
    """The summary of a run whose last evaluations gave no number."""
    steps = facts.progress.steps
    return steps if steps is not None and count(steps, "broken_evals") >= _UNSCORED else None


def _unexited(end: RowView | None) -> str:
    """Cancelled after its work: the process may have hung where it should have exited."""
    if end is None or end.text("stop_name") != "cancelled" or not (count(end, "ends") or count(end, "done") >= MOST):
        return ""
    return f"The work was done, but the process had not exited when the job was cancelled: {quoted(end, 'stop_message', 'stop_line')}."


def _uncorrected(facts: Facts) -> RowView | None:
    """A counter of errors that no memory corrected, which rose under the run on a GPU of its own."""
    rows = facts.table("gpu_counter_rises").rows if facts.beside is None else []
    return next((r for r in rows if r.get("serious") and count(r, "rise") > 0), None)


def _its_gpus(idle: RowView) -> str:
    return "its only GPU" if count(idle, "gpus_watched") == 1 else f"any of its {idle['gpus_watched']} GPUs"


def _actions(facts: Facts, slow: str, slower: str, short_of: str = "") -> list[str]:
    spare, idle = never_used(facts), all_unused(facts)
    found = ["Look at data loading and at the share of time between steps."] if slow and idle is None else []
    if idle is not None or on_cpu(facts) is not None:
        found.append(
            "Check that the program asks for the GPU and finds it: what torch.cuda.is_available and nvidia-smi say in the job, a build "
            "without CUDA, a device that is set to cpu. If it needs none, run it without."
        )
        return found
    if (risen := _uncorrected(facts)) is not None:
        found.insert(
            0,
            f"Have {gpu_of(risen)} taken out of service and tested, and compare the model's quality with a checkpoint from "
            f"before {risen['risen_ts']}: errors that nothing corrected can spoil results without a crash.",
        )
    if slower:
        found.append(_COMPARE)
    if short_of:
        found.append(_GO_ON)
    if spare is not None:
        found.append(
            "Ask for as many GPUs as the program uses, or see why it left some: too few processes, or a device that falls back to the CPU."
        )
    return found or [NOTHING]


def _watched_otherwise(facts: Facts) -> bool:
    """A source of GPU metrics failed there, or the node's own collectors saw the job and these metrics are missing."""
    failed = any(r.text("table") == "gpu_sample" and r.get("failed") for r in facts.table("coverage_nodes"))
    return failed or any(facts.has(t) for t in ("cuda_sample", "cgroup_sample", "process"))


def _against(facts: Facts, end: RowView | None, reading: Reading) -> str:
    if facts.ending.hidden is not None:
        return f"Slurm's word of completion is the script's: {step_words(facts.ending.hidden)}."
    if facts.ending.by_log:
        return f"Slurm's word of completion is the script's: {own_failure(facts) or 'its program crashed'}."
    if facts.overview is not None and facts.ending.failed:
        return f"Slurm recorded the end as {recorded(facts.overview)}."
    if facts.overview is None and (command := last_command(facts)) is not None:
        return f"Its log ends with a command of the script that failed: {command['message']}."
    if end is None:
        return ""
    outlived = facts.state == "COMPLETED" and done_without_node(end)
    if end.has("stop_name") and end.text("stop_name") != "cancelled" and not outlived:
        return f"The run was ended from outside: {quoted(end, 'stop_message', 'stop_line')}."
    finished = facts.ending.succeeded or count(end, "ends") > 0
    own = own_failure(facts) or left_last(facts)
    if own and not (finished and not count(end, "errors")):
        return f"The run failed: {own}."
    if end.has("stop_name") and not finished:
        return f"The run was cancelled: {quoted(end, 'stop_message', 'stop_line')}."
    if (count(end, "keyboard") or count(end, "hangups")) and not finished:
        return f"The run was interrupted: {quoted(end, 'interrupt_message', 'interrupt_line')}."
    if reading.shape in DIVERGED and reading.strong:
        return "The loss did not behave like that of a model that learns."
    return ""


def _short_of_plan(facts: Facts, end: RowView | None) -> str:
    """How far a run came that says it finished before half of its plan, with no word of stopping early; else empty."""
    steps = facts.progress.steps
    if steps is None or not count(end, "ends") or facts.table("phases").one_of("name", "early_stop", "limit_reached"):
        return ""
    for last, total, what in (("last_step", "total_steps", "steps"), ("last_epoch", "total_epochs", "epochs")):
        if steps.has(last) and steps.has(total) and count(steps, last) + 1 < count(steps, total) * HALF:
            return f"{steps[last]} of {steps[total]} planned {what}"
    return short_of_epoch(facts, HALF)


def _unfinished(facts: Facts, end: RowView | None, shape: RowView | None, reading: Reading) -> Assessment:
    missing = [lacks("How the run ended.", "the end of the log, or sacct (slurm_job)")]
    running = facts.state == "RUNNING"
    moving = (
        shape is not None
        and reading.shape in ("falling", "transient", "level", "rising")
        and count(end, "reports") >= 2
    )
    started = shape is not None or facts.progress.begun
    bar = full_bar(facts)
    if shape is None and bar is not None:
        return by_bar(bar, missing)
    confidence = (BLIND if reading.shape == "falling" else DOUBTED) if moving else (0.3 if started else 0.1)
    if _unscored(facts) is not None:
        confidence = min(confidence, DOUBTED)
    if shape is None or not started:
        text = "There is no sign of completed work: neither an end nor progress with a loss."
        return Assessment(CODE, "undecidable", None, confidence, "undetermined", missing=missing, counterfactual=text)
    shows = [f"{facts.progress.phrase[:1].upper()}{facts.progress.phrase[1:]}."] if facts.progress.phrase else []
    if shape.has("start_loss") and shape.has("end_loss"):
        begun, ended = figures(shape)
        course = f"The loss stood at {begun} near the start and {ended} near the end of what is there."
        shows.append(f"The only report of the loss is {ended}." if count(shape, "points") == 1 else course)
    head = (
        "The run looks healthy so far, and is still running."
        if running
        else "The run looks healthy as far as the log goes; its end is not in it."
    )
    return Assessment(
        CODE,
        "suspected" if moving else "undecidable",
        "healthy",
        confidence,
        "none",
        head,
        say(*shows),
        implies=say("Nothing wrong shows, but that is no proof of health.", status="hypothesis"),
        missing=missing,
        counterfactual="The end of the run is not in the evidence, so health cannot be confirmed.",
        actions=say("Look at the job's state with squeue or sacct, and at the end of its log."),
    )
