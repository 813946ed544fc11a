"""E2: a run that should have gone on from a checkpoint began from scratch (silent), or crashed at the load (load_crash).

Silent is decided by three things together: the run was meant to resume, no marker of a load was printed, and the loss (or
the step count) is back at the start. Not E2: a first run, a resume that prints its marker, a base model that cannot be loaded.
"""

from __future__ import annotations

import re

from agent_tools.facts import Facts
from agent_tools.facts.failed_loads import failed_load, names_saved_run
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.families.begun_again import begun_again
from agent_tools.families.nothing_saved import (
    by_turns,
    first_of_all,
    path_first,
    ran_before,
    reached_before,
    restarted,
    save_first,
    tied,
    unsaved,
)
from agent_tools.families.older_checkpoint import older_loaded
from agent_tools.say import count, lacks, own_failure, quoted, say
from agent_tools.verdict import Missing
from store import lazy

CODE = "E2"
EXPLAINS = ("A1", "A3", "E1", "F2", "G1")

_RESUMES = lazy.compile(r"\bresum(?:ed|ing)\b|continuing training", re.I)

_STOPPED = frozenset({"TIMEOUT", "PREEMPTED", "NODE_FAIL"})
"""Ends of a run whose work was meant to go on: it had neither failed nor completed."""
_BESIDES = 0.5
"""Highest confidence where the run failed of its own after that: then it did not end because of it."""
_CHAINED = 0.4
"""Highest confidence where nothing but a dependency says that the run belongs to the one before."""
_UNSAVED = 0.8
"""Highest confidence where no log tells of a checkpoint that there was to go on from: many programs save without a word."""
_BY_NAME = 0.62
"""Highest confidence where the run before is known by its name and folder alone, and its log is not there."""
_RESTARTED = 0.72
"""Highest confidence where Slurm restarted the job, and what it had done before is not known."""
_LONG_MIN, _START, _LEARNT = 60.0, 0.1, 0.4

# The idiom of scripts that look only where --resume says.
_NAMED_FILE = lazy.compile(r"=> no checkpoint found at ")
# An option with a file of weights; a folder, "auto" or "latest" stands in scripts from their first run on.
_A_FILE = lazy.compile(r"\.(?:pth?|ckpt|bin|pkl|tar|safetensors|npz|h5|hdf5|msgpack|pdparams)\b")


def assess(facts: Facts) -> Assessment:
    """Judge whether the run resumed."""
    signs = facts.table("resume_signs").first
    if signs is None:
        return Assessment(CODE, "undecidable", counterfactual="Nothing tells whether the run was meant to resume.")
    crash = _load_crash(facts, signs)
    if crash is not None:
        return crash
    if count(signs, "loads") and (older := older_loaded(facts, signs)) is not None:
        return older
    if count(signs, "loads"):
        text = f"The run did load its checkpoint: {quoted(signs, 'load_message', 'load_line')}."
        return Assessment(CODE, "ruled_out", confidence=0.01, counterfactual=text)
    again = begun_again(facts)
    if again is not None:
        return again
    asked = _asked(signs)
    if not asked:
        return _not_meant(signs)
    return _silent(facts, signs, asked)


def _asked(signs: RowView) -> list[str]:
    """Why the run was meant to resume, in sentences with references."""
    asked: list[str] = []
    if signs.has("asked_by"):
        asked.append(f'The command asks to resume: "{signs["asked_by"]}".')
    elif signs.has("restart_message") and count(signs, "fresh"):
        asked.append("Slurm had started the job before, and it looked for a checkpoint to go on from.")
    if _NAMED_FILE.search(signs.text("fresh_message")):
        asked.append("It looked for a checkpoint that it had been told of, and the file was not there.")
    if count(signs, "earlier_attempts") and (count(signs, "earlier_saves") or signs.has("earlier_last_step")):
        asked.append(f"{signs['earlier_attempts']} earlier attempts of the job had trained before it.")
    if signs.has("dependency") and (signs.has("parent_last_step") or count(signs, "earlier_saves")):
        asked.append(f"The job was submitted to follow job {signs['parent_job']} ({signs['dependency']}).")
    elif signs.has("dependency") and count(signs, "fresh") and _cut_off(signs):
        asked.append(
            f"It looked for a checkpoint, and the job of the same name that it follows, {signs['parent_job']}, had been stopped "
            f"as {signs['parent_state']} after {signs['parent_min']}."
        )
    return asked


def _cut_off(signs: RowView) -> bool:
    """Whether the run before is one of its own kind that was stopped after long work."""
    stopped = signs.text("parent_state") in _STOPPED and signs.get("parent_alike") is True
    return stopped and count(signs, "parent_min") >= _LONG_MIN


def _follows(signs: RowView) -> bool:
    """Whether more than a dependency ties it to the job before: checkpoints to go on from, its own name, or a search for one."""
    return count(signs, "earlier_saves") > 0 or signs.get("parent_alike") is True or count(signs, "fresh") > 0


def _before(signs: RowView) -> tuple[str, float, float] | None:
    """Prefix of the columns of the run before, with its first and last loss."""
    for prefix in ("earlier", "parent"):
        first, last = signs.number(f"{prefix}_first_loss"), signs.number(f"{prefix}_last_loss")
        if first is not None and last is not None:
            return prefix, first, last
    return None


def _silent(facts: Facts, signs: RowView, asked: list[str]) -> Assessment:
    before = _before(signs)
    start = signs.number("start_loss")
    shows = [*asked, "No line of the log says that a checkpoint was loaded or that training goes on from a step."]
    fresh = count(signs, "fresh") > 0
    if fresh:
        shows.append(f"The log says: {quoted(signs, 'fresh_message', 'fresh_line')}.")
    back: bool | None = None
    if before is not None and start is not None:
        prefix, first, last = before
        learnt = first - last
        if learnt > 0.05 * abs(first):
            back = start - last > 0.5 * learnt
            shows.append(
                f"The run before had brought the loss from {signs[prefix + '_first_loss']} to {signs[prefix + '_last_loss']}; "
                f"this one began at {signs['start_loss']}."
            )
    first_step, reached = signs.number("first_step"), reached_before(signs)
    steps_back = first_step is not None and reached is not None and reached[1] >= 10 and first_step < 0.5 * reached[1]
    if reached is not None and first_step is not None:
        shows.append(
            f"The run before had reached step {signs[reached[0]]}; this one's first report is step {signs['first_step']}."
        )
    asked_step = signs.number("asked_step")
    if reached is None and first_step is not None and asked_step is not None and asked_step >= 10:
        steps_back = first_step < 0.5 * asked_step
        shows.append(
            f"The checkpoint that it names is of step {signs['asked_step']}; its first report is step {signs['first_step']}."
        )
    explicit = signs.has("asked_by") or count(signs, "earlier_attempts") > 0
    if back is False:
        text = f"The loss went on where the run before had left it (began at {signs['start_loss']}), so the checkpoint was loaded."
        return Assessment(CODE, "ruled_out", confidence=0.04, counterfactual=text)
    missing: list[Missing] = []
    if back:
        confidence = 0.93 if (steps_back or fresh or not explicit) else 0.85
        if not explicit and not (steps_back or fresh):
            confidence = 0.7
        if not explicit and not _follows(signs):
            # Jobs are chained to take turns, to clean up or to try something else as well as to go on.
            confidence = min(confidence, _CHAINED)
            missing.append(
                lacks(
                    "Whether it was to go on from that job's checkpoint, or only to wait for it.",
                    "a resume option in its command or script, checkpoints that the run before saved",
                )
            )
    elif fresh and (
        _cut_off(signs)
        or signs.has("restart_message")
        or (signs.has("asked_by") and (ran_before(signs) or asked_step is not None))
    ):
        sure = signs.has("asked_by") and (tied(signs) or asked_step is not None)
        confidence = 0.85 if sure else _RESTARTED if (explicit and restarted(signs)) or tied(signs) else _BY_NAME
        if signs.has("restart_message"):
            shows.append(f"Slurm had started the job before: {quoted(signs, 'restart_message', 'restart_line')}.")
        missing.append(
            lacks("How far the run before had come.", "the log of the run before (train_step of the parent job)")
        )
    elif fresh and (_NAMED_FILE.search(signs.text("fresh_message")) or _A_FILE.search(signs.text("asked_by"))):
        # A first run whose script names the file from the start prints the same.
        confidence = 0.55
        missing.append(lacks("Whether a run before had written that file.", "the log of the run before"))
    elif fresh and not ran_before(signs):
        return first_of_all(signs, asked)
    elif (anew := _from_the_start(signs)) is not None:
        confidence = 0.62
        shows += anew
        missing.append(
            lacks(
                "How far the run before had come, and whether it had saved a checkpoint.",
                "the log of the run before (train_step of the parent job)",
            )
        )
    elif steps_back and explicit:
        confidence = 0.75
        missing.append(lacks("Whether the loss is back at its start.", "losses of the run before"))
    else:
        return Assessment(
            CODE,
            "undecidable",
            "silent",
            0.25,
            "job",
            counterfactual=f"{asked[0]} No load marker was printed, but whether training began anew cannot be told.",
            missing=[
                lacks(
                    "Whether the checkpoint was loaded.",
                    "the log of the run before, with its losses; progress lines of this run",
                )
            ],
        )
    lost = unsaved(signs)
    if lost:
        # A run that came to its end, and neither saved nor is asked for, was most likely all there was to do of that one.
        done = by_turns(signs) and not fresh and not explicit
        confidence = min(confidence, _CHAINED if done else _UNSAVED)
        shows.append("No line of the logs before it says that a checkpoint was saved.")
        missing.append(
            lacks(
                "Whether the run before had saved anything at all: not every program says so.",
                "the contents and times of its checkpoint folder; how often it saves",
            )
        )
    failure = own_failure(facts)
    if failure:
        # What ended the run came after that and is another matter.
        confidence = min(confidence, _BESIDES)
        shows.append(f"It failed of something else: {failure}.")
    known = before is not None or count(signs, "earlier_attempts") > 0 or signs.has("asked_by")
    wasted = " The training of the run before was thrown away." if known else ""
    meant = f"The checkpoint was not honoured.{wasted}"
    if lost:
        found = "and this one found none" if fresh else "and this one loaded none"
        meant = f"The run before told of no checkpoint {found}: if it was stopped before its first save, its training was lost then."
    head = "The run was meant to go on from a checkpoint but silently trained from scratch."
    if confidence <= _CHAINED:
        head = f"The run follows job {signs['parent_job']} and trained from scratch; whether it should have gone on from there is not known."
    elif lost:
        head = "The run trained from scratch after another one, and no checkpoint is known that it could have gone on from."
    elif confidence < 0.6 and fresh:
        head = "The run looked for a checkpoint, found none there and trained from scratch."
    return Assessment(
        CODE,
        "confirmed" if confidence >= 0.6 else "suspected",
        "silent",
        confidence,
        "job",
        head,
        say(*shows),
        implies=say(
            f"{meant} Loss and hardware look healthy, so nothing else shows it.",
            status="hypothesis" if lost else "supported",
        ),
        missing=missing
        if lost
        else [
            *missing,
            lacks("Why the checkpoint was not loaded.", "the job script's paths and the checkpoint folder's contents"),
        ],
        actions=save_first() if lost else path_first(),
    )


def _from_the_start(signs: RowView) -> list[str] | None:
    """What a run shows that learns from the start, though it follows one of its own kind that was stopped after long work.

    Only where that run's log is not there: with it, its steps and losses decide.
    """
    first, last, start = signs.number("first_step"), signs.number("last_step"), signs.number("start_loss")
    if not (signs.has("asked_by") and signs.has("dependency") and _cut_off(signs)):
        return None
    end = signs.number("last_loss")
    if signs.has("parent_last_step") or first is None or last is None or start is None or end is None:
        return None
    if first > _START * last or start - end < _LEARNT * abs(start):
        return None
    return [
        f"The job before it of the same name, {signs['parent_job']}, was stopped as {signs['parent_state']} after "
        f"{signs['parent_min']}.",
        f"This one began at step {signs['first_step']} with a loss of {signs['start_loss']}, and brought it down to "
        f"{signs['last_loss']} by step {signs['last_step']}, as a run does that learns from the start.",
    ]


def _load_crash(facts: Facts, signs: RowView) -> Assessment | None:
    load = failed_load(facts, signs)
    if load is None:
        return None
    meant = (
        bool(_asked(signs))
        or (signs.has("asked_by"))
        or (signs.has("dependency") and count(signs, "earlier_saves") > 0)
    )
    loading = count(signs, "load_starts") > 0 and names_saved_run(signs.text("load_start_message"))
    # "Resuming from ..." is printed before the load as often as after it.
    said = "load_start_message" if loading else "load_message"
    loading = loading or (count(signs, "loads") > 0 and _RESUMES.search(signs.text("load_message")) is not None)
    shows = [f"The load failed with {load.quote}{load.where}."]
    if not (meant or load.of_saved_run or loading or load.resumes or load.of_slot):
        return Assessment(
            CODE,
            "undecidable",
            "load_crash",
            0.25,
            "job",
            counterfactual=f"A load failed with {load.quote}{load.where}, but nothing shows that this was a resume and not a base model or an adapter.",
            missing=[
                lacks(
                    "Whether the run was meant to resume.",
                    "the submit line or command (slurm_job), or a resume message in the log",
                )
            ],
        )
    shows += _asked(signs)
    if loading:
        shows.append(f'It was loading: "{signs[said]}".')
    if not load.text:
        confidence = 0.7 if loading and load.resumes else 0.62 if load.surely_resumes else 0.45
    elif meant or load.of_saved_run or loading:
        confidence = 0.92
    else:
        confidence = 0.7 if load.of_slot else 0.62
    kind, advice = load.kind
    return Assessment(
        CODE,
        "confirmed" if confidence >= 0.6 else "suspected",
        "load_crash",
        confidence,
        "job",
        f"The run crashed while it loaded the checkpoint that it should go on from: {kind}.",
        say(*shows),
        implies=say(
            "The checkpoint and the run do not fit, or the checkpoint is broken; the cluster is not at fault.",
            status="supported" if load.text else "hypothesis",
        ),
        missing=[
            lacks(
                "How the checkpoint came to be like that.",
                "the log of the run that saved it, and the folder's contents",
            )
        ],
        actions=say(advice, "Until it is clear, keep the older checkpoints; do not let the run overwrite them."),
    )


def _not_meant(signs: RowView) -> Assessment:
    missing = [
        lacks("Whether the run was meant to resume.", "the submit line, the command or the parent job (slurm_job)")
    ]
    text = "Nothing shows that the run was meant to go on from a checkpoint."
    if signs.has("dependency"):
        text = f"The job depends on another ({signs['dependency']}), but nothing shows that it should load a checkpoint of it."
    elif count(signs, "fresh"):
        text = f'The log says "{signs["fresh_message"]}", which is what a first run says; nothing shows that it should have resumed.'
    return Assessment(
        CODE, "ruled_out", confidence=0.02, counterfactual=text, missing=missing if signs.has("dependency") else []
    )
