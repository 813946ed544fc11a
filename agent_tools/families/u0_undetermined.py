"""U0, undetermined: what is there does not decide, and the verdict says which signal would.

FOR      no other family is confirmed or well suspected
AGAINST  any family that is
DECIDES  nothing: its confidence is the probability that no careful reader could say more
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_tools.facts import Facts, RowView
from agent_tools.facts.status import BY_STATUS, WHOLE, either, status_doubt
from agent_tools.facts.steps import failed_steps, left_by_script, step_words
from agent_tools.facts.worked import instant
from agent_tools.families.base import Assessment
from agent_tools.families.modules import FURTHER, module_not_loaded
from agent_tools.families.wording import SPEAKERS, claim, missing
from agent_tools.say import own_failure
from agent_tools.verdict import Claim

CODE = "U0"
EXPLAINS: tuple[str, ...] = ()


def assess(facts: Facts) -> Assessment:
    """Say what is there, and what is not."""
    result = Assessment(CODE, "suspected", confidence=0.6, attribution="undetermined")
    result.headline = "What is known does not decide what happened to the job."
    if facts.overview is not None and facts.overview.has("state"):
        o = facts.overview
        result.speaks_for.append(claim(f"Slurm records the state {o['state']}."))
    elif facts.has_log:
        extent = facts.table("log_extent").first
        if extent is not None:
            result.speaks_for.append(
                claim(f"The log {extent['file']} ends at line {extent['last_line']} with: {extent['last_text']}.")
            )
    elif facts.has("host_event"):
        result.speaks_for += _kernel(facts)
    steps = failed_steps(facts, of_any=not facts.has_log)
    if steps:
        result.speaks_for += [claim(f"By accounting, {step_words(step)}.") for step in steps[:4]]
    if facts.ending.succeeded:
        _completed(facts, result, steps)
    elif facts.overview is not None and facts.ending.failed:
        _failed(facts, facts.overview, result, steps)
    left = left_by_script(facts)
    if left is not None:
        result.headline = f"The batch script ended while its step {left['step_id']} was still at work, and Slurm ended the step with it."
        result.speaks_for.append(
            claim(f"By accounting, {step_words(left)}, when the script had ended, and nobody cancelled it.")
        )
        result.actions.append(claim(_WAIT, "supported"))
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"By the log, {facts.progress.phrase}."))
    if (unloaded := module_not_loaded(facts)) is not None:
        result.headline = f"The batch script could not load a module, and nothing that is here says what came of it: {unloaded['message']}."
        result.missing.append(missing(*FURTHER))
    if (cut := facts.cut_short) is not None:
        result.headline = f"The program raised an exception that the log does not show: it ends {cut.cut_in}."
        result.missing.append(missing("Which exception it was, and whether steps came before it.", "the whole log"))
    if facts.wrapped_only:
        first = facts.raised[0]
        result.speaks_for.append(
            claim(f"The only exceptions are wrappers or echoes of another failure: {first.name_ref}.")
        )
    exits = facts.table("slurm_messages").where(lambda r: r.text("name") == "task_exit" and bool(r.number("exit_code")))
    if exits:
        first = min(exits, key=lambda r: (r.text("file") != exits[0].text("file"), r.number("line_no") or 0))
        result.speaks_for.append(claim(f"{SPEAKERS.get(first.text('system'), 'srun')} reports it: {first['message']}."))
        if not steps:
            result.headline = (
                f"A task ended with an error status, and nothing that is here says why: {first['message']}."
            )
            result.speaks_for += _last_before(facts, first)
            result.missing.append(missing("Why that task ended.", "its own output: the step's or the rank's log file"))
    elif facts.has_log and facts.ending.failed and not facts.raised and _aborted_over(facts) is None:
        result.missing.append(
            missing(
                "Why it ended: the log that is there gives no reason.",
                "the whole of the job's output, of every rank and to its end (log_line)",
            )
        )
    for table, text, signal in _WANTED:
        if not facts.has(table):
            result.missing.append(missing(text, signal))
    result.actions.append(
        claim(
            "Add the sources that are named as missing, and ask again; the whole log decides most cases.", "supported"
        )
    )
    result.counterfactual = "Another family accounts for what is seen."
    return result


def _completed(facts: Facts, result: Assessment, steps: Sequence[RowView]) -> None:
    """What a job that Slurm calls completed leaves open: a step that failed before all, then an error that was printed."""
    own = own_failure(facts)
    if steps:
        result.headline = f"Slurm records the job as completed, but its {step_words(steps[0])}."
        result.missing.append(missing("Why that step failed.", "what the step itself printed (log_line)"))
        result.actions.append(claim(_STOP, "supported"))
    elif own:
        result.headline = f"Slurm records the job as completed, but by its log {own}."
        result.missing.append(missing(_STATUS, "the program started with srun, or set -e in the batch script"))
    if own:
        result.speaks_for.append(claim(f"By the log, {own}."))
    if instant(facts) and facts.overview is not None:
        text = f"Slurm records the job as completed after {facts.overview['elapsed_s']}, and nothing shows that it did any work."
        if steps or own:
            result.speaks_for.append(claim(text))
        else:
            result.headline = text
        result.missing.append(missing("What it was meant to do.", "the batch script, and what the program printed"))


def _failed(facts: Facts, overview: RowView, result: Assessment, steps: Sequence[RowView]) -> None:
    """What accounting says of a failure that nothing explains, and what such an exit status mostly means."""
    doubt = status_doubt(facts)
    if steps:
        result.headline = f"The job failed: {step_words(steps[0])}, and what it printed of the reason is not here."
    elif (error := _aborted_over(facts)) is not None:
        when = "when its training had finished, " if facts.progress.finished else ""
        result.headline = (
            f"The job failed: {when}its process aborted itself over an error of CUDA's: {error['message']}."
        )
        result.speaks_for.append(claim(f"The log says: {error['message']} ({error['file']} line {error['line_no']})."))
        result.missing.append(
            missing("What led to that error.", "a core file or a faulthandler stack (PYTHONFAULTHANDLER)")
        )
    elif overview.number("exit_code"):
        printed = "nothing that it printed says why" if facts.has_log else "what it printed is not here"
        status = f"{overview['exit_code']}" if doubt is None else either(doubt)
        result.headline = f"The job failed with exit status {status}, and {printed}."
        if (sent := BY_STATUS.get(int(overview.number("exit_code") or 0))) is not None:
            result.headline = f"By its exit status {status} the job's last command was ended by {sent}, and {printed}."
    if doubt is not None:
        by = (
            f", by which a shell tells that {doubt['signal_name']} ended the last command"
            if doubt.has("signal_name")
            else ""
        )
        result.speaks_for.append(
            claim(
                f"sacct's text leaves the high bit of a status out: the exit status was {doubt['exit_code']}, or {doubt['full_code']}{by}."
            )
        )
        result.missing.append(missing("Which exit status it was.", WHOLE))
    meaning = _MEANINGS.get(int(overview.number("exit_code") or 0))
    if meaning:
        result.implies.append(claim(meaning, "hypothesis"))
    if facts.has_log:
        return
    nowhere = facts.table("job_attempts").where(
        lambda r: r.text("stdout_path") == _NOWHERE and r.get("attempt") == overview.get("attempt")
    )
    if nowhere:
        result.speaks_for.append(claim(f"The job sent its output to {nowhere[-1]['stdout_path']}: nobody kept it."))
        result.actions.append(claim("Give the job a file for its output (--output), and run it again.", "supported"))


def _aborted_over(facts: Facts) -> RowView | None:
    """The error of CUDA's runtime over which a process ended itself, where an abort is all that is known to have ended one."""
    killed = facts.table("fatal_signals")
    if not killed or any(r.get("signal") != _SIGABRT for r in killed):
        return None
    return next((r for r in facts.table("cuda_errors") if r.text("code") != "hip_fault"), None)


def _last_before(facts: Facts, exit_: RowView) -> list[Claim]:
    """The last line that is not srun's before its word that a task had ended."""
    before = facts.table("log_tail").where(
        lambda r: (
            r.text("file") == exit_.text("file")
            and (r.number("line_no") or 0) < (exit_.number("line_no") or 0)
            and not r.text("text").startswith(("srun: ", "slurmstepd: "))
        )
    )
    return [claim(f"The last line before that is: {before[-1]['text']}.")] if before else []


def _kernel(facts: Facts) -> list[Claim]:
    """What the kernel says where nothing else is there; what the driver says of GPUs is told beside every verdict."""
    told = [*facts.table("host_events"), *facts.table("link_events")]
    if not told and not facts.table("gpu_events"):
        return [claim("The kernel log that is there tells of no fault, kill or stall.")]
    return [claim(f"The kernel log tells of {row['event']}: {row['message']}.") for row in told[:4]]


_NOWHERE = "/dev/null"
_SIGABRT = 6
_STATUS = "Whether the program failed: the exit status is that of the batch script's last command."
_MEANINGS = {
    2: "Many programs, Python's argparse among them, end with this status where their command line is wrong.",
    124: "The command timeout ends with this status where it has stopped its program at a limit of its own.",
    130: "A shell tells of a program that SIGINT ended by this status: an interrupt, not a crash.",
    143: "A shell tells of a program that SIGTERM ended by this status: somebody, or another program, told it to end.",
}
"""What an exit status mostly means, by convention alone."""
_STOP = "Look at that step's own output; with set -e in the batch script the job ends where a step fails."
_WAIT = "Where the script starts steps in the background (srun &), let it wait for them at its end (wait)."
_WANTED = (
    ("log_line", "What the program printed.", "the job's standard output and error (logs/)"),
    ("slurm_job", "How Slurm recorded the end: state, exit status, time limit.", "sacct or scontrol show job (slurm/)"),
    ("gpu_sample", "Whether the GPUs worked, were full, or stood still.", "GPU metrics of the job's nodes (metrics/)"),
    ("gpu_event", "Whether the driver reported a GPU fault.", "kernel logs of the job's nodes (kernel/)"),
    ("slurm_node_state", "Whether a node of the job went down.", "sacctmgr show event or scontrol show node (slurm/)"),
)
