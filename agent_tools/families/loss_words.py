"""How a loss that went wrong for good is told: what it began with, what it reached and what it came to; figures are references."""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.facts.curve import Reading
from agent_tools.facts.views import RowView
from agent_tools.say import count


def told(facts: Facts, shape: RowView, reading: Reading) -> tuple[str, list[str]]:
    """The headline for this shape of loss, and what the data show of it."""
    last = shape["end_loss"].ref
    if reading.shape == "flat":
        return f"The model did not learn: the loss stayed at {last} from start to end.", _flat(shape, reading)
    norms = _norms(shape)
    if reading.why == "exploded":  # the best of it is of its way back, and says nothing of where it began
        first, high, best = shape["first_loss"], shape["highest_loss"], shape["best_loss"]
        at = f" (step {shape['highest_step']})" if shape.has("highest_step") else ""
        shows = [f"The first loss was {first}, the highest {high}{at}, and at the end it stood at {last}."]
        if (shape.number("best_loss") or 0.0) > (shape.number("first_loss") or 0.0):
            shows.append(f"It did not come back to that: its lowest running median is {best}.")
        return f"The loss diverged: it went from {first} up to {high}, and stood at {last} at the end.", [
            *shows,
            *norms,
        ]
    start, best = shape["start_loss"], shape["best_loss"]
    at = f" (step {shape['best_step']})" if shape.has("best_step") else ""
    shows = [f"The loss began at {start}, reached {best} at its best{at}, and ended at {last}."]
    if reading.why == "huge":  # nothing that is there shows what it gave back
        norm = shape["end_grad_norm"]
        headline = f"The loss stands at {last} and does not fall, with a gradient norm of {norm}: it had diverged before the first report."
        return headline, [*shows, *norms]
    given, high = shape["given_back"], shape["highest_loss"]
    shows.append(f"It gave back {given} and did not come down again; its highest value was {high}.")
    shows += [turned] if (turned := _turned(facts, shape)) else []
    climbed = "climbed" if reading.why == "gradual" else "spiked"
    headline = (
        f"The loss diverged: it {climbed} from {best} to {last} and stayed there."
        if reading.shape == "spike"
        else f"The loss collapsed onto a dead plateau at {last} after having reached {best}."
    )
    return headline, [*shows, *norms]


def _flat(shape: RowView, reading: Reading) -> list[str]:
    start, last = shape["start_loss"], shape["end_loss"]
    shows = [
        f"The loss stayed where it began: {start} near the start, {last} near the end, over {shape['points']} reports."
    ]
    if reading.why == "rate" and shape.has("highest_rate"):
        shows.append(f"The learning rate was never above {shape['highest_rate']}.")
    if shape.has("highest_grad_norm"):
        shows.append(f"The highest gradient norm was {shape['highest_grad_norm']}.")
    return shows


def _norms(shape: RowView) -> list[str]:
    if not shape.has("end_grad_norm"):
        return []
    return [f"The gradient norm went from {shape['start_grad_norm']} to {shape['end_grad_norm']}."]


def _turned(facts: Facts, shape: RowView) -> str:
    """From where on the loss stood nearer to its end than to its best, never to come back; empty where no report tells.

    A person compares it with the rate's schedule, the data's order and the last checkpoint before it.
    """
    best, ended = shape.number("best_loss"), shape.number("end_loss")
    if best is None or ended is None or ended <= best:
        return ""
    bins = [r for r in facts.table("loss_curve") if r.has("loss")]
    back = max((i for i, r in enumerate(bins) if count(r, "loss") <= (best + ended) / 2), default=None)
    if back is None or back + 1 >= len(bins):
        return ""
    after = bins[back + 1]
    at = f"step {after['first_step']}" if after.has("first_step") else f"line {after['line_no']}"
    about = "about " if count(after, "points") > 1 else ""  # of a bin, whose reports need not all stand there
    rate = f"; the learning rate was {after['learning_rate']} then" if count(after, "learning_rate") > 0 else ""
    return f"From {about}{at} on, where it was {after['loss']}, it stayed nearer to its end than to its best{rate}."
