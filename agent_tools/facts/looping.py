"""Whether an exception came out of a loop over batches, by its frames: it may then be of the first one or of any that came later."""

from __future__ import annotations

import re

from agent_tools.facts.core import Facts
from agent_tools.facts.exceptions import Raised
from agent_tools.facts.views import RowView
from store import lazy

# Frames of a loop over batches: how many of them came before is what a cut log does not tell.
_ITERATING = lazy.compile(
    r"torch/utils/data/|accelerate/data_loader|\bin (?:forward|backward|\w*train(?:ing)?_(?:step|epoch|batch|loop)|train_one_epoch"
    r"|_inner_training_loop|fit\w*|step|run_\w*(?:step|epoch|batch)|run_iter|epoch_loop|train)$",
    re.MULTILINE,
)

# What a program does once, before its loop: it builds its model.
_BUILDING = lazy.compile(
    r"\bin (?:(?:create|build|get|make|init|initiali[sz]e|load|setup|construct)_(?:\w*_)?(?:models?|network|backbone|net|tokenizer|datasets?)|from_pretrained|from_config)$",
    re.MULTILINE,
)

# A trainer's loop asks its loader for a batch: the first one, or any that came later.
_NEXT_BATCH = lazy.compile(
    r"(?:/loops/(?:fit_loop|training_epoch_loop|epoch/training_epoch_loop)\.py|\bin (?:_inner_training_loop|train_one_epoch|train_epoch|run_epoch)$)"
    r"(?:.|\n)*?torch/utils/data/dataloader\.py",
    re.MULTILINE,
)

# A row of a table: its head stood above what is there of the log.
_FIGURES = lazy.compile(r"\s*\d{1,15}(?:\s+-?\d[\d.]*(?:[eE][-+]?\d{1,3})?){4,40}\s*")
# A tracker of experiments is written to from the first step to the last.
_TRACKER = lazy.compile(r"\bhost='(?:[\w-]{1,40}\.){0,4}(?:wandb\.(?:ai|io)|comet\.(?:com|ml)|neptune\.ai|clear\.ml)'")
_KERNEL = lazy.compile(r"device-side assert|illegal memory access")


def any_time(cause: Raised) -> bool:
    """Nothing in it is of a start: frames of a program that is wrong are met at its first step as well as after days."""
    fault, frames = cause.fault, cause.calls
    of_code = fault.mode == "code" and bool(frames)
    told = _TRACKER.search(cause.message) is not None
    return told or cause.in_loop or of_code or fault.certainty < 0.6 or _ITERATING.search(frames) is not None


def on_a_batch(cause: Raised) -> bool:
    """A kernel met a batch that it cannot take, which is any batch: the first one, or one after many."""
    return _KERNEL.search(cause.message) is not None and (cause.in_loop or _ITERATING.search(cause.calls) is not None)


def at_next_batch(cause: Raised) -> bool:
    """The loader of a training loop failed, and nothing that was printed tells how many batches it had given before."""
    row = cause.row
    return "in DataLoader worker process" in row.text("message") or _NEXT_BATCH.search(row.text("calls")) is not None


def in_a_loop(facts: Facts, cut: Raised) -> bool:
    """Whether a frame is one of a loop over batches, and none below it builds the model: `train` is what many a program calls its whole.

    Not where the loop's bar stands at its beginning: no batch came before then.
    """
    hints = facts.table("progress_hints").first
    if hints is not None and hints.number("bar_zeros") and not hints.has("bar_step"):
        return False
    found = list(_ITERATING.finditer(cut.calls))
    return bool(found) and _BUILDING.search(cut.calls, found[-1].end()) is None


def amid_figures(facts: Facts, row: RowView) -> bool:
    """Whether the log begins inside a table: what its rows count is not told."""
    line = row.number("line_no") or 0
    above = facts.table("log_tail").where(
        lambda r: r.text("file") == row.text("file") and (r.number("line_no") or 0) < line
    )
    return bool(above) and all(_FIGURES.fullmatch(r.text("text")) for r in above)
