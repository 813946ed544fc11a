"""Whether an exception's frames show that steps had been trained: who evaluates inside of a training has trained before.

Trainers validate after steps or an epoch. Exceptions to that are evaluations at the very start (Lightning's sanity check,
transformers' `eval_on_start`, verl's `val_before_train`), and programs that evaluate and train nothing.
"""

from __future__ import annotations

import re

from agent_tools.facts.views import RowView, View
from store import lazy

_AFTER_STEPS = lazy.compile(
    r"\bin (?:after_train(?:_epoch|_iter)?|after_(?:step|iter)|on_train_(?:epoch|batch)_end|training_epoch_end|test_and_save_results"
    r"|_?maybe_log_save_evaluate|validate_and_save|perform_actual_validation|final_eval|on_advance_end|_do_eval(?:uate)?)$",
    re.MULTILINE,
)
"""Calls that trainers make once a step or an epoch is done (mmengine, detectron2, Lightning, the Trainer, fairseq, nnU-Net,
Ultralytics), and not before."""

_SEQUENCES = lazy.compile(
    # Outermost first: the loop of a trainer, and below it the evaluation that it comes to after an epoch.
    r"ultralytics/\S+/trainer\.py in _?do_train\n(?:.*\n)*?.*\bin validate$"
    r"|/train\.py in train\n(?:.*\n)*?.*/(?:val|test)\.py in (?:run|test)$"
    r"|\bin train\n(?:.*\n)*?(?:mmengine/runner/loops\.py in run\n){2}"
    r"|^keras/\S+ in fit\n(?:.*\n)*?keras/\S+ in evaluate$|^tensorflow/\S*keras/\S+ in fit\n(?:.*\n)*?\S*keras/\S+ in evaluate$"
    r"|/loops/(?:epoch/)?(?:fit_loop|training_epoch_loop)\.py in \w+\n(?:.*\n)*?.*(?:evaluation_loop\.py|\bin (?:_run_validation|validation_step)$)"
    r"|\bin run_training_epoch\n(?:.*\n)*?.*\bin run_evaluation$"
    r"|/nnUNetTrainer\w*\.py in run_training\n(?:.*\n)*?.*\bin (?:validation_step|on_validation_epoch_end)$",
    re.MULTILINE,
)
_NAMES = (
    r"(?:run_|do_)?(?:validat(?:e|ion)|evaluat(?:e|ion)|eval|val|test)"
    r"(?:_(?:model|net|network|epoch|one_epoch|loop|step|batch|fn|all|performance|and_\w+|on_\w+))?"
)
_OWN = lazy.compile(
    # The program's own training function calls its own evaluation.
    r"^~/\S+ in (?:_?train(?:ing)?|_?train_\w+|fit|run_training|training_\w+)\n(?:.*\n)*?"
    rf"~/\S+ in {_NAMES}$",
    re.MULTILINE,
)
_EVALUATION = lazy.compile(
    rf"\bin {_NAMES}$|\bin (?:prediction_loop|prediction_step|predict)$",
    re.MULTILINE,
)
_AT_START = lazy.compile(r"sanity|(?:train|_inner_training_loop)\n\S+ in _evaluate$|^verl/|~/\S*verl/", re.MULTILINE)
_ENTRY = lazy.compile(r"(?:^|[_-])(?:eval|test|val|infer|predict|score)\w*\.py$")
_RIGHT_BELOW = 3
_TRANSFORMERS = lazy.compile(
    r"(?:transformers|trl)/\S*trainer\w*\.py in (?:evaluate|predict|evaluation_loop|prediction_loop)$", re.MULTILINE
)
_TRAINS = lazy.compile(r"(?:transformers|trl)/\S*trainer\w*\.py in (?:train|_inner_training_loop)$", re.MULTILINE)


def came_after_steps(calls: str) -> bool:
    """Whether these frames (of the query `exceptions`) stand only in a run that has trained."""
    if _AT_START.search(calls):
        return _AFTER_STEPS.search(calls) is not None
    return any(p.search(calls) for p in (_AFTER_STEPS, _SEQUENCES, _OWN))


def beside_training(calls: str) -> bool:
    """A trainer of transformers evaluates, and not on behalf of its `train`: where that was begun before, it has ended."""
    return _TRANSFORMERS.search(calls) is not None and _TRAINS.search(calls) is None


def evaluator(entry: str) -> bool:
    """Whether the script that was started goes by the name of an evaluation, a test or an inference."""
    script = entry.rpartition("/")[2]
    return _ENTRY.search(script) is not None and "train" not in script


def counted_before(counts: View, raised: RowView, only: bool) -> RowView | None:
    """The row of `evaluation_progress` that counts the work out of which something was raised; None where none does.

    `only`: the program does nothing else. Otherwise it has to stand right below a count that is not the last one, and of work
    that a training begins with as well (weights are quantised, prompts are answered) none of its frames may train or load.
    """
    line = raised.number("line_no") or 0
    for row in counts.where(lambda r: r.text("file") == raised.text("file")):
        behind = line - (row.number("last_line") or 0)
        short = (row.number("done") or 0) < (row.number("total") or 0)
        if row.text("work") in WORK and _BESIDE_WORK.search(raised.text("calls")):
            continue
        whole = only or row.text("work") == "prompts"  # what writes the answers down comes after the last of them
        if behind > 0 and (whole or (short and behind <= _RIGHT_BELOW)):
            return row
    return None


WORK = {"prompts": ("generating", "prompts had been answered"), "layers": ("quantising", "layers had been quantised")}
_EVALUATED = ("evaluating", "batches had been evaluated")
_BESIDE_WORK = lazy.compile(
    r"\bin (?:from_pretrained|\w*train\w*|fit|learn)$|/\w*train(?:er|ing)?\w*\.py in ", re.MULTILINE
)


def worked_at(row: RowView) -> tuple[str, str]:
    """What the program was doing by a row of `evaluation_progress`, and what its count says of that."""
    doing, counted = WORK.get(row.text("work"), _EVALUATED)
    return doing, f"{row['done']} of {row['total']} {counted}"


def evaluates(calls: str, entry: str) -> bool:
    """The program was evaluating, which it does after an epoch, unless it does nothing else or begins with it."""
    if _AT_START.search(calls) or evaluator(entry):
        return False
    return _EVALUATION.search(calls) is not None
