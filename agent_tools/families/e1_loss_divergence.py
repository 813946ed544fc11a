"""E1: the run's infrastructure was fine and its loss was not: not finite, spiked, dead on a high plateau, or flat.

Decided by the shape of the loss. Not E1: noise, warm-up, the first steps, a NaN that recovers, losses that may rise
(reinforcement and preference learning), a level that moves with the logging window, and curves of too few points.
"""

from __future__ import annotations

import re

from agent_tools.facts import Facts
from agent_tools.facts.curve import Point, Reading, read
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.families.diverging import actions_of, cause_of
from agent_tools.families.loss_scales import lost_scale, without_scale
from agent_tools.families.loss_words import told
from agent_tools.families.reward_collapse import collapsed
from agent_tools.say import count, lacks, own_failure, quoted, say
from store import lazy

CODE = "E1"
EXPLAINS = ("G1", "A1", "A3", "D1", "D2", "D3", "F2", "F3", "F4")

_REWARDS = lazy.compile(
    r"\b(?:grpo|ppo|rloo|dapo|gspo|rlhf)\b|\brewards?\b(?:[/_]\w+)*'?\s*[:=|]?\s*-?\d|\badvantages?\b|\bpolicy[_ ]loss|\bpg=-?\d",
    re.I,
)
_REWARD_LINES = 3
MAY_RISE = lazy.compile(r"grpo|ppo|dpo|rloo|kto|orpo|cpo|simpo|reward|rlhf|gan|online|rl\b", re.IGNORECASE)
_MEDIAN = 3
"""Reports of which a level is the median at least."""
_UNSCORED = 3
"""Evaluations at the end of a log, one after another, whose loss is no number: what has been learned cannot be used."""
_HIGH, _UNMOVED, _MANY = 4.0, 0.97, 30
"""A loss as high as that of a guess, the share of its first value that it never got clearly below, and the reports for it."""
DIVERGED = ("non_finite", "spike", "plateau", "flat")


def reading_of(facts: Facts) -> Reading:
    """The shape of the job's training loss."""
    shape = facts.table("loss_shape").first
    if shape is None:
        return Reading("none", 0)
    bins = facts.table("loss_curve")
    points = [
        Point(
            r.number("first_step"),
            r.number("loss"),
            r.number("grad_norm"),
            r.number("learning_rate"),
            bad=count(r, "bad_points") > 0 and r.get("loss") is None,
            epoch=r.number("epoch"),
        )
        for r in bins
    ]
    may_rise = rises_by_right(shape)
    trailing = int(count(shape, "trailing_bad"))
    reading = read(points, may_rise=may_rise, trailing_bad=trailing)
    if reading.shape in DIVERGED and reading.shape != "non_finite" and not may_rise and _rewarded(facts):
        reading = read(points, may_rise=True, trailing_bad=trailing)
    if reading.shape != "non_finite" and trailing and count(shape, "bad_points"):
        return Reading("non_finite", reading.points, int(count(shape, "bad_points")), trailing, None, trailing >= 2)
    return reading


def rises_by_right(shape: RowView) -> bool:
    """Whether the level of this loss says nothing: that of a policy, or of evaluations (one that rises is overfitting)."""
    named = f"{shape.text('objective')} {shape.text('loss_name')}"
    return MAY_RISE.search(named) is not None or shape.text("split") == "eval"


def _rewarded(facts: Facts) -> bool:
    """Whether the reports speak of rewards: a policy's loss is near zero and carries no meaning in its level."""
    return sum(_REWARDS.search(r.text("text")) is not None for r in facts.table("log_tail")) >= _REWARD_LINES


def figures(shape: RowView) -> tuple[str, str]:
    """The loss at the start and at the end, as references: medians of three reports each, single ones where there are too few."""
    few = count(shape, "finite_points") < 2 * _MEDIAN
    first, last = ("first_loss", "last_loss") if few else ("start_loss", "end_loss")
    return f"{shape[first]}", f"{shape[last]}"


def assess(facts: Facts) -> Assessment:
    """Judge the loss."""
    shape = facts.table("loss_shape").first
    end = facts.table("run_ending").first
    reading = reading_of(facts)
    if shape is None or reading.shape == "none":
        return _without_curve(facts, end)
    if reading.shape == "non_finite":
        return _not_finite(facts, shape, end, reading)
    if end is not None and _stopped_by_nan(facts, end, reading):
        return _named(facts, end)
    if reading.shape in ("spike", "plateau", "flat"):
        return _lasting(facts, shape, end, reading)
    scale = lost_scale(facts) if reading.shape not in ("falling", "transient") else None
    if scale is not None:
        return without_scale(facts, scale, CODE)
    steps = facts.progress.steps
    if steps is not None and count(steps, "broken_evals") >= _UNSCORED and own_failure(facts) == "":
        return _unscored(shape, steps)
    if reading.shape == "transient" and not reading.strong and own_failure(facts) == "":
        return _mostly(shape)
    fallen = collapsed(facts) if rises_by_right(shape) else None
    return fallen or _not_it(shape, end, reading)


def _mostly(shape: RowView) -> Assessment:
    """More reports without a number than with one, and a number at the end: no recovery that anything shows."""
    return Assessment(
        CODE,
        "suspected",
        "non_finite",
        0.5,
        "job",
        "The loss was not finite in most of its reports, though it was at the end.",
        say(
            f"{shape['bad_points']} of {shape['points']} loss reports are not finite (NaN or infinite); "
            f"the last one is {shape['last_loss']}."
        ),
        implies=say(
            "The weights gave a number after them, so what spoiled the loss may come and go: a bad batch, a rate that is too high.",
            status="hypothesis",
        ),
        missing=[
            cause_of(),
            lacks("Whether the training recovered.", "more loss reports after those that are not finite"),
        ],
        actions=actions_of("non_finite", shape)[1:],  # which checkpoint is worth something is not known
    )


def _unscored(shape: RowView, steps: RowView) -> Assessment:
    """The loss of training is finite and that of the evaluations is not: in training a model may run otherwise than when it is used."""
    known = shape["start_loss"].value is not None and shape["end_loss"].value is not None
    figured = " ({} near the start, {} near the end)".format(*figures(shape)) if known else ""
    return Assessment(
        CODE,
        "suspected",
        "non_finite",
        0.5,
        "job",
        f"The last {steps['broken_evals']} evaluations gave a loss that is no number, though that of the training is one.",
        say(
            f"The loss of the last {steps['broken_evals']} evaluations is NaN or infinite.",
            f"The training's own loss is finite{figured}.",
        ),
        implies=say(
            "The data of the evaluation hold what the loss cannot take, or the model's outputs are not finite where it is not training.",
            status="hypothesis",
        ),
        missing=[
            lacks(
                "Whether the model or the data that it is evaluated on is at fault.",
                "the data of the evaluation, and the model's outputs on them",
            )
        ],
        actions=say(
            "Evaluate the last checkpoint on a few batches of the training data: finite there, the evaluation's data are at fault.",
            "Look in the evaluation's data for empty samples, masked labels and values that are not finite.",
        ),
    )


def _stopped_by_nan(facts: Facts, end: RowView, reading: Reading) -> bool:
    """Whether words about NaN ended a run whose reported losses are finite, or are too few to tell."""
    complete = count(end, "ends") and end.text("end_name") != "exited"
    if facts.ending.succeeded or complete or (end.number("done") or 0) >= 1:
        return False
    if count(end, "nan_stops"):
        return True
    return count(end, "nan_errors") >= 3 and reading.shape in ("none", "too_few")


def _not_finite(facts: Facts, shape: RowView, end: RowView | None, reading: Reading) -> Assessment:
    stopped = end is not None and count(end, "nan_stops") > 0
    other = own_failure(facts, causes_only=stopped)
    share = count(shape, "trailing_bad") / max(count(shape, "points"), 1)
    named = end is not None and count(end, "nan_errors") > 0
    sure = reading.strong or named or reading.points == 0
    confidence = 0.93 if sure and (count(shape, "trailing_bad") >= 2 or named) else 0.62
    if other:
        confidence = 0.3
    when = f" from step {shape['end_bad_step']}" if shape.has("end_bad_step") else ""
    # Some trainers print no loss of their own beside the norm: then nothing is said of the loss itself.
    norm = not shape.has("loss_name") and not count(shape, "finite_points")
    shows = [
        f"The gradient norm is not finite in {shape['trailing_bad']} of {shape['points']} reports at the end of the log{when}; "
        "they name no loss."
        if norm
        else f"{shape['trailing_bad']} of {shape['points']} loss reports at the end of the log are not finite (NaN or infinite, also "
        f"where the gradient norm says so){when}."
    ]
    if shape.has("end_bad_text") and f"{shape.get('end_bad_step') or ''}" in shape.text("end_bad_text"):
        shows.append(f'The first of them reads "{shape["end_bad_text"]}".')
    if shape.has("last_good_loss"):
        at = f" at step {shape['last_good_step']}" if shape.has("last_good_step") else ""
        shows.append(f"The last finite loss was {shape['last_good_loss']}{at}.")
    if named and end is not None:
        shows.append(f"The log says so in words: {quoted(end, 'nan_message', 'nan_line')}.")
    if shape.has("highest_grad_norm"):
        shows.append(f"The highest finite gradient norm was {shape['highest_grad_norm']}.")
    implies = say(
        "The weights hold NaN from there on: every later step was wasted, and checkpoints saved after it are worthless."
        if share > 0
        else "",
        "This is a failure of the training itself and not of the cluster.",
        status="supported",
    )
    warnings = say(f"The run also failed otherwise: {other}." if other else "")
    return Assessment(
        CODE,
        "confirmed" if confidence >= 0.6 else "suspected",
        "non_finite",
        confidence,
        "job",
        f"{'The gradient norm was not finite' if norm else 'The loss became NaN or infinite'}{when} and never recovered: the model "
        "learned nothing after that.",
        say(*shows),
        implies=implies,
        missing=[cause_of()],
        warnings=warnings,
        actions=actions_of("non_finite", shape),
    )


def _named(facts: Facts, end: RowView) -> Assessment:
    often, said = count(end, "nan_errors") > 1, quoted(end, "nan_message", "nan_line")
    confidence = 0.85 if count(end, "nan_stops") else 0.7
    confidence = confidence if own_failure(facts, causes_only=True) == "" else 0.35
    return Assessment(
        CODE,
        "confirmed" if confidence >= 0.6 else "suspected",
        "non_finite",
        confidence,
        "job",
        "The run stopped because a value was not finite."
        if count(end, "nan_stops")
        else f"The log names {'values that are not finite again and again' if often else 'a value that is not finite'}.",
        say(f"The log names it {end['nan_errors']} times, first as {said}." if often else f"The log says: {said}."),
        implies=say("The training diverged; the cluster was not the cause.", status="supported"),
        missing=[cause_of(), lacks("When the loss began to go wrong.", "progress lines with loss and gradient norm")],
        actions=actions_of("non_finite", None),
    )


def _in_words(words: RowView) -> Assessment:
    share = count(words, "nans") / max(count(words, "lines"), 1)
    confidence = (0.75 if count(words, "nans") >= 3 else 0.6) if share > 0.3 else 0.45
    return Assessment(
        CODE,
        "confirmed" if confidence >= 0.6 else "suspected",
        "non_finite",
        confidence,
        "job",
        "The log names NaN again and again: the training diverged.",
        say(
            f"{words['nans']} of the last {words['lines']} lines name NaN, the first is {quoted(words, 'nan_text', 'nan_line')}."
        ),
        implies=say("The model's values are not finite, so it learns nothing.", status="supported"),
        missing=[cause_of(), lacks("What the loss was, and since when.", "progress lines with a loss (train_step)")],
        actions=actions_of("non_finite", None),
    )


def _lasting(facts: Facts, shape: RowView, end: RowView | None, reading: Reading) -> Assessment:
    other = own_failure(facts)
    mode = reading.shape
    confidence = 0.9 if reading.strong else 0.45
    if other:
        confidence = min(confidence, 0.3)
    headline, shows = told(facts, shape, reading)
    return Assessment(
        CODE,
        "confirmed" if confidence >= 0.6 else "suspected",
        mode,
        confidence,
        "job",
        headline,
        say(*shows),
        implies=say(
            "The machines did their work; what they trained is not usable. Because nothing crashed, no error says so.",
            status="supported",
        ),
        missing=[cause_of(mode)],
        warnings=say(f"The run also failed otherwise: {other}." if other else ""),
        actions=actions_of(mode, shape, from_start=reading.why in ("exploded", "huge")),
    )


def _not_it(shape: RowView, end: RowView | None, reading: Reading) -> Assessment:
    known = shape["start_loss"].value is not None and shape["end_loss"].value is not None
    figured = "{} near the start, {} near the end".format(*figures(shape)) if known else ""
    warnings = []
    status, confidence = "ruled_out", 0.02
    if reading.shape == "falling":
        text = f"The loss fell ({figured})."
    elif reading.shape == "transient":
        text = f"{shape['bad_points']} loss reports were not finite, but the loss recovered ({figured})."
        warnings = say(
            f"The loss was not finite in {shape['bad_points']} reports and recovered; watch the loss scale and the rate."
        )
        confidence = 0.12
    elif reading.shape == "shifted":
        text = f"The level of the loss moved where the logging window changed or while it was recovering ({figured}): that is no divergence."
        status, confidence = "undecidable", 0.15
    elif reading.shape == "too_few":
        text = f"{shape['finite_points']} loss reports are too few to judge a shape."
        status, confidence = "undecidable", 0.05
    else:
        text = f"The loss shows no clear fall ({figured}), and nothing that stands out from its noise."
        status, confidence = "undecidable", 0.12
        warnings = say(f"The loss did not clearly fall over {shape['points']} reports ({figured}).")
    missing = [lacks("Whether the model learned.", "more loss reports")] if status == "undecidable" else []
    return Assessment(CODE, status, None, confidence, "job", warnings=warnings, missing=missing, counterfactual=text)


def _without_curve(facts: Facts, end: RowView | None) -> Assessment:
    scale = lost_scale(facts)
    if scale is not None:
        return without_scale(facts, scale, CODE)
    if end is not None and count(end, "nan_errors"):
        return _named(facts, end)
    words = facts.table("end_words").first
    last = words is not None and words.number("nan_last_line") == words.number("last_line")
    lasting = words is not None and count(words, "nans") >= (2 if last else 3) and count(words, "losses_after") < 2
    if words is not None and lasting and own_failure(facts) == "":
        return _in_words(words)
    missing = [lacks("Whether the training was correct.", "progress lines with a loss on standard output (train_step)")]
    return Assessment(
        CODE,
        "undecidable",
        None,
        0.02,
        missing=missing,
        counterfactual="No loss is there that could be read, so the correctness of the training cannot be verified.",
    )


def never_moved(shape: RowView) -> bool:
    """High at the start and as high at the end, over many reports: a fine-tuning that hardly falls is low from its start."""
    start = count(shape, "start_loss")
    return start > _HIGH and count(shape, "end_loss") > _UNMOVED * start and count(shape, "points") >= _MANY


def above(shape: RowView) -> bool:
    """The loss ended above where it began: one that was not finite for a while and came back has not fallen by that."""
    return count(shape, "end_loss") > count(shape, "start_loss")
