"""E3: a completed run of a handful of optimizer steps. Nothing else about it can be assessed.

Decided by the number of steps and by completion. Not E3: short but complete runs of many steps, and logs that are cut.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from agent_tools.facts import Facts
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.say import count, lacks, own_failure, quoted, say
from store import lazy

CODE = "E3"
EXPLAINS = ("G1", "D1", "D2", "D3", "E1", "E2", "F2")

HANDFUL = 5
MAY_BE_MEANT = 8
FEW = 12
_BEGINNING = 0.1
"""Share of the first epoch in which so few steps cannot be all of a small data set."""
SCANT = 32
"""So few samples in all cannot train a model, whatever the batch was; the number of steps is at most that."""
_UPDATES = lazy.compile(r"after (\d{1,9}) (?:optimizer )?(?:updates?|steps?|iterations?)\b", re.IGNORECASE)
_CAPPED = lazy.compile(r"\bstopped early after \d", re.IGNORECASE)
"""A plan of so many updates that an epoch did not hold them all: no measure that stopped to improve."""
_NO_TIME = lazy.compile(r"\bend of training\b.{0,20}\btime (?:consumed|used|elapsed|taken):? *0:00:00\b", re.IGNORECASE)
"""An end that came in the second of the beginning: nothing was left to train."""
_NO_LOSS = lazy.compile(
    r"['\"]train_runtime['\"]: ['\"]?0\.\d{1,9}\b.{0,300}['\"]train_loss['\"]: ['\"]?0(?:\.0{1,9})?['\"]?\s?[,}]"
)
"""The Trainer's summary of a loop that was over within a second and summed up no loss. Its rate is that of the plan all the same."""
# Megatron's two words around its loop, with the time of each.
_BEGAN = lazy.compile(r"\[before the start of training step\] datetime: (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_DONE = lazy.compile(r"\[after training is done\] datetime: (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_TEST = lazy.compile(
    r"\b(?:smoke[ _-]?tests?|dry[ _-]?run|sanity[ _-]?(?:test|run)|fast_dev_run)\b(?!['\"]?\)?\s*[=:]\s*['\"]?(?:False|None|0|no|off)\b)"
    r"|(?:^|[ _-])smoke(?:$|[ -])",
    re.IGNORECASE,
)
"""What a run is called that is to show that it runs, and not to train."""
_OTHERS_TEST = lazy.compile(
    r"\b(?:nodes?|gpus?|cuda|nccl|rccl|nvlink|fabric|network|infiniband|ib|hardware|health|prolog|driver|storage|import|container|all[_-]?reduce)\b",
    re.IGNORECASE,
)
"""A test of what the run runs on, which scripts and prologs make before every run."""


@dataclass(frozen=True, slots=True)
class Steps:
    """How many optimizer steps the run made, the reference that says so, and whether it completed."""

    number: float
    ref: str
    completed: bool
    planned: bool


def steps_of(facts: Facts) -> Steps | None:
    """The run's optimizer steps by the best sign there is, None where nothing tells them."""
    row = facts.table("short_run").first
    if row is None:
        return None
    finished = count(row, "ends") > 0 or facts.ending.succeeded
    last, total = row.number("last_step"), row.number("total_steps")
    reached = last is not None and total is not None and last >= total
    bar = facts.table("progress_hints").first
    found: list[Steps] = []
    if total is not None and (reached or finished):
        found.append(Steps(total, f"{row['total_steps']}", True, True))
    if row.has("end_step"):
        found.append(Steps(count(row, "end_step"), f"{row['end_step']}", True, False))
    if row.has("steps_by_rate") and not count(row, "resumed"):
        number = max(count(row, "steps_by_rate"), 0.0)
        found.append(Steps(number, f"{row['steps_by_rate']}", True, False))
    if (
        not found
        and bar is not None
        and bar.has("bar_total")
        and bar.number("bar_step") == bar.number("bar_total")
        # A bar for each epoch counts batches. The last state of one bar may stand there twice.
        and not count(bar, "bar_epochs")
        and count(bar, "bar_fulls") <= 2
        and finished
    ):
        found.append(Steps(count(bar, "bar_total"), f"{bar['bar_total']}", True, True))
    if not found and row.has("epoch_steps"):
        end = facts.table("run_ending").first
        whole = end is not None and end.has("epochs_done")
        found.append(Steps(count(row, "epoch_steps"), f"{row['epoch_steps']}", whole or finished, whole))
    if not found:
        words = _by_words(facts)
        if words is not None:
            found.append(words)
    # Less than the epochs that were reached, and told more often than there are such steps: it is a batch of each epoch.
    within = last is not None and last < count(row, "last_epoch") and count(row, "reports") > last + 1
    if not found and last is not None and not within:
        found.append(Steps(last, f"{row['last_step']}", finished and own_failure(facts) == "", False))
    if not found:
        return None
    # Steps of different meaning (a bar of epochs, a rate that was rounded): the highest is the careful answer.
    return max(found, key=lambda s: s.number)


def _by_words(facts: Facts) -> Steps | None:
    for line in facts.table("log_tail"):
        match = _UPDATES.search(line.text("text"))
        if match and re.search(r"stop|finish|complet|done|end", line.text("text"), re.IGNORECASE):
            return Steps(float(match[1]), f'"{line["text"]}"', True, False)
    return None


def short_of_epoch(facts: Facts, share: float) -> str:
    """How far the last epoch came where its last report stands below a share of it; a loop that counts through all epochs prints the
    whole plan in the place of an epoch's batches, and is as short then.
    """
    row = facts.table("short_run").first
    if row is None or not row.has("epoch_at") or count(row, "epoch_at") >= count(row, "epoch_batches") * share:
        return ""
    return f"{row['epoch_at']} of {row['epoch_batches']} steps of its last epoch"


def assess(facts: Facts) -> Assessment:
    """Judge the number of steps."""
    if facts.progress.simulates:
        text = "The steps are those of a simulation, which has nothing to learn."
        return Assessment(CODE, "ruled_out", confidence=0.01, counterfactual=text)
    row = facts.table("short_run").first
    steps = steps_of(facts)
    if not own_failure(facts) and not facts.ending.failed:
        if (summed := _without_loss(facts, row)) is not None:
            return _nothing_left(facts, summed, planned=True)
        if steps is None and (over := _over_at_once(facts)) is not None:
            return _nothing_left(facts, over)
    if row is not None and steps is None and few_samples(row):
        return _scant(row)
    if row is None or steps is None:
        return Assessment(
            CODE,
            "undecidable",
            counterfactual="No number of steps could be read from the log.",
            missing=[lacks("How many steps the run made.", "progress lines or an end message on standard output")],
        )
    failure = own_failure(facts)
    reports = count(row, "reports")
    # A plan that was printed counts steps; a loop may report each of them, and both splits' losses beside it.
    most = 2 * steps.number + 2 if steps.planned and row.number("total_steps") == steps.number else 0
    if steps.number > FEW or reports > max(FEW, most):
        return Assessment(CODE, "ruled_out", confidence=0.01, counterfactual=_many(row, steps))
    if failure or facts.ending.failed:
        text = "The run did not complete, so few steps are a consequence and not a step budget that was too low."
        return Assessment(CODE, "ruled_out", confidence=0.02, counterfactual=text)
    if not steps.completed:
        return Assessment(
            CODE,
            "undecidable",
            confidence=0.15,
            counterfactual=f"The log shows step {steps.ref} and no end: it may be cut or still running.",
            missing=[lacks("Whether the run was complete.", "the end of the log, or sacct (slurm_job)")],
        )
    meant = _test_run(facts)
    if meant:
        return _meant_so(steps, 0.05, f"and was meant as a test: {meant}", f"as a test does: {meant}")
    stopped = facts.table("phases").where(
        lambda r: r.text("name") == "early_stop" and not _CAPPED.search(r.text("message"))
    )
    if stopped and steps.number > 1:
        rule = quoted(stopped[0], "message", "line_no")
        why = f"and its own rule for stopping early ended it: {rule}"
        return _meant_so(steps, 0.1, why, f"then stopped early by its own rule: {rule}")
    if steps.number > MAY_BE_MEANT and not _early_in_epoch(row):
        return Assessment(
            CODE,
            "suspected",
            confidence=0.3,
            attribution="job",
            headline=f"The run made only {steps.ref} optimizer steps.",
            speaks_for=say(f"The run completed after {steps.ref} optimizer steps."),
            counterfactual=f"{steps.ref} steps are few, but a short test run may have meant them.",
            warnings=say(f"The run made only {steps.ref} optimizer steps: too few to say much about what it learned."),
        )
    sure = facts.ending.succeeded or count(row, "ends") > 0 or steps.planned
    if steps.number > HANDFUL:
        return _undertrained(row, steps, 0.65 if steps.number <= MAY_BE_MEANT else 0.6)
    return _undertrained(row, steps, 0.9 if sure else 0.75)


def _early_in_epoch(row: RowView) -> bool:
    """Whether the run ended near the beginning of its first epoch: by a number of steps that was set, and not for want of data."""
    epoch = row.number("last_epoch")
    return epoch is not None and 0 < epoch < _BEGINNING


def _meant_so(steps: Steps, confidence: float, why: str, told: str) -> Assessment:
    """Few steps that were no mistake: why not, and how a warning tells it."""
    return Assessment(
        CODE,
        "ruled_out",
        confidence=confidence,
        counterfactual=f"The run made {steps.ref} optimizer steps, {why}.",
        warnings=say(f"The run made only {steps.ref} optimizer steps, {told}."),
    )


def _test_run(facts: Facts) -> str:
    """Who calls the run a test, in words with a reference: the program in its last lines, or whoever named or submitted the job."""
    lines = facts.table("log_tail").where(lambda r: _TEST.search(r.text("text")) is not None)
    line = next((r for r in lines if _OTHERS_TEST.search(r.text("text")) is None), None)
    if line is not None:
        return f"the log says {quoted(line, 'text', 'line_no')}"
    o = facts.overview
    if o is not None and "name" in o.columns and _TEST.search(o.text("name")):
        return f"the job is called {o['name']}"
    rows = facts.table("job_attempts").where(lambda r: _TEST.search(r.text("submit_line")) is not None)
    return f"it was submitted as {rows[0]['submit_line']}" if rows else ""


def _without_loss(facts: Facts, row: RowView | None) -> RowView | None:
    """The line with a Trainer's summary of no step, where no step was reported either."""
    if count(row, "reports"):
        return None
    return next((line for line in facts.table("log_tail") if _NO_LOSS.search(line.text("text"))), None)


def _over_at_once(facts: Facts) -> RowView | None:
    tail = facts.table("log_tail")
    told = next((line for line in tail if _NO_TIME.search(line.text("text"))), None)
    if told is not None:
        return told
    # Between the two words not a step was reported, and not a second passed.
    for line, following in pairwise(tail):
        began, done = _BEGAN.search(line.text("text")), _DONE.search(following.text("text"))
        if began is not None and done is not None and began[1] == done[1]:
            return following
    return None


def _nothing_left(facts: Facts, line: RowView, planned: bool = False) -> Assessment:
    """A trainer that came to its end in the second of its beginning; `planned` where its plan is known to hold steps."""
    signs = facts.table("resume_signs").first
    resumed = signs is not None and signs.has("load_message")
    shows = [f"The log says: {quoted(line, 'text', 'line_no')}."]
    if signs is not None and resumed:
        shows.append(f"It went on from a saved run: {quoted(signs, 'load_message', 'load_line')}.")
    done = "the run that it went on from had reached the planned end"
    why = done if resumed or planned else "its plan held no step"
    return Assessment(
        CODE,
        "confirmed",
        None,
        0.8,
        "job",
        "The run completed without a single optimizer step.",
        say(*shows),
        implies=say(f"Nothing was trained; most likely {why}.", status="supported"),
        missing=[lacks("Whether that was meant.", "the training configuration, which telemetry does not hold")],
        actions=say("Compare the planned number of steps or epochs with where the run began, and raise it."),
    )


def few_samples(row: RowView | None) -> bool:
    """Whether the trainer's own end message states so few samples in all that they cannot have trained a model."""
    return row is not None and 0 < count(row, "samples") <= SCANT and count(row, "reports") <= SCANT


def _scant(row: RowView) -> Assessment:
    return Assessment(
        CODE,
        "suspected",
        None,
        0.55,
        "job",
        f"The run completed, but it saw only {row['samples']} samples in all: at most as many optimizer steps.",
        say(f"By its own run time and rate the trainer went through {row['samples']} samples."),
        counterfactual=f"The trainer went through {row['samples']} samples; how many steps they made is not printed.",
        missing=[
            lacks("How many optimizer steps the samples made.", "train_steps_per_second or a progress bar in the log")
        ],
        actions=say(
            "Check that the whole data set was given, and that the number of epochs or max_steps is what was meant."
        ),
    )


def _undertrained(row: RowView, steps: Steps, confidence: float) -> Assessment:
    shows = [f"The run completed after {steps.ref} optimizer steps in all."]
    if row.has("runtime_s"):
        shows.append(f"The trainer states a run time of {row['runtime_s']}.")
    if row.has("last_epoch"):
        shows.append(f"It had reached epoch {row['last_epoch']}.")
    waste = f" The allocation held {row['gpu_hours']} of GPU time for it." if row.has("gpu_hours") else ""
    if not steps.number:
        return _untrained(steps, confidence, shows, waste)
    return Assessment(
        CODE,
        "confirmed",
        None,
        confidence,
        "job",
        f"The run completed but trained for only {steps.ref} optimizer steps: the step budget was far too low.",
        say(*shows),
        implies=say(
            f"The model has practically not been trained, and whether training works cannot be judged from so few steps.{waste}",
            "The cause is the configuration (steps, epochs, or a data set smaller than a batch), not the cluster and not the throughput.",
            status="supported",
        ),
        missing=[
            lacks(
                "Whether so few steps were meant (a smoke test).",
                "the training configuration, which telemetry does not hold",
            ),
            lacks("Whether the model learns.", "a run of more steps"),
        ],
        actions=say(
            "Raise the step budget (max_steps, number of epochs, train-iters) and submit again.",
            "Check that the data set is not smaller than batch size times gradient accumulation times ranks.",
        ),
    )


def _untrained(steps: Steps, confidence: float, shows: list[str], waste: str) -> Assessment:
    """Not a step was made: a larger budget is then no remedy where the data gave no batch."""
    return Assessment(
        CODE,
        "confirmed",
        None,
        confidence,
        "job",
        f"The run came to its end after {steps.ref} optimizer steps: it was given no batch to train on, or no step to make.",
        say(*shows),
        implies=say(
            f"The model has not been trained at all.{waste}",
            "The data loader was empty, or the limits of the run or the checkpoint that it went on from left no step to make.",
            status="supported",
        ),
        missing=[
            lacks(
                "Whether the data were empty or the budget was spent.",
                "the length of the data loader and the step budget, printed at the start",
            )
        ],
        actions=say(
            "Print the length of the data set and of its loader at the start: an empty folder, a filter that keeps nothing, "
            "or a data set smaller than the batch that is dropped at the end.",
            "Check the step budget against the step of the checkpoint that the run starts from.",
        ),
    )


def _many(row: RowView, steps: Steps) -> str:
    if steps.number > FEW:
        verb = "was to make" if steps.planned else "made"
        return f"The run {verb} {steps.ref} steps: that is no handful."
    return f"The log holds {row['reports']} progress lines: that is no handful of steps."
