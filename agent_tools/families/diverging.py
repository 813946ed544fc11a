"""What is left open and what to do where a model did not learn: the same whichever sign told of it."""

from __future__ import annotations

from agent_tools.facts.views import RowView
from agent_tools.say import lacks, say
from agent_tools.verdict import Claim, Missing


def cause_of(mode: str = "") -> Missing:
    """Why it did not learn or diverged is not in telemetry."""
    return lacks(
        "Why it did not learn: learning rate, frozen parameters, or labels and inputs that say nothing."
        if mode == "flat"
        else "Why it diverged: learning rate or schedule, mixed precision, or bad data and labels.",
        "the training configuration and the data, which telemetry does not hold",
    )


def actions_of(mode: str, shape: RowView | None, *, from_start: bool = False) -> list[Claim]:
    """What to do about it; `from_start` where nothing that the run saved is from before it went wrong."""
    before = (
        f" before step {shape['end_bad_step']}"
        if shape is not None and shape.has("end_bad_step")
        else " before it went wrong"
    )
    if mode == "flat":
        return say(
            "Check the learning rate and its schedule: that it is set at all, does not fall to nothing at once, and that the parameters are trainable (not all frozen).",
            "Check that the labels are not all masked.",
        )
    return say(
        "Begin anew: what this run saved is from after it went wrong."
        if from_start
        else f"Go back to the last checkpoint{before}; do not resume from a later one.",
        "Lower the learning rate or lengthen the warm-up, clip gradients, and prefer bf16 to fp16.",
        "Look at the batches around the first bad step for empty or broken samples."
        if mode == "non_finite"
        else "Look at the batches around the step from which it went wrong for empty or broken samples.",
        "Add a check that stops the run when the loss is not finite."
        if mode == "non_finite"
        else "Add a check that stops the run when the loss stays far above its best.",
    )
