"""Where lines of a loop of no framework may be read many at once: their figures cannot change what is found in them."""

from __future__ import annotations

import random

import pytest

from collector.parsers.base import Line
from collector.parsers.steady_lines import SteadyLines

SURE = (
    "step {n} loss {x}",
    "iteration {n}: loss {x}",
    "update {n}/{n} train_loss={x}, lr={x}, gnorm={x}",
    "Step {n}, speed {x}, Loss: {x}, lr: {x} (best {x})",
    "batch #{n} of {n}, test loss {x}",
)
UNSURE = (
    "epoch {n} step {n} loss {x}",
    "at {x}, step {n} loss {x}",
    "step {n} of 7b, loss {x}",
    "step {n} acc {x}% loss {x}",
    "step {n}/{x} loss {x}",
    "[{n}, {n}] loss: {x}",
    "step {n} loss{x}",
    "12:30:01 step {n} loss {x}",
)


def worded(template: str, rng: random.Random) -> str:
    """A line with other figures in it, in other forms."""
    text = template
    while "{n}" in text:
        text = text.replace("{n}", str(rng.randrange(10 ** rng.randrange(1, 12))), 1)
    while "{x}" in text:
        x = rng.choice(
            (str(rng.randrange(999)), f"{rng.random() * 99 - 50:.4f}", f"{rng.random():e}", "7.", "-0", "+1.5E+3")
        )
        text = text.replace("{x}", x, 1)
    return text


def opened(template: str, rng: random.Random) -> SteadyLines:
    """A parser that knows the wording from lines that count on."""
    parser = SteadyLines()
    for n in range(1, 9):
        list(parser.feed(Line(worded(template.replace("{n}", str(n)), rng), n, "a.out")))
    return parser


@pytest.mark.parametrize("template", SURE)
def test_each_line_of_the_wording_is_read_alike(template: str) -> None:
    rng = random.Random(template)
    parser = opened(template, rng)
    shape = parser.wording
    assert shape is not None and shape.exact
    fits = 0
    for n in range(400):
        line = Line(worded(template, rng), n, "a.out")
        found = shape.match(line.text)
        rows = list(parser.feed(line))
        if found is not None:
            fits += 1
            steps = parser.steps(found)
            assert steps is not None
            assert rows == [line.first_of(steps)], line.text
    assert fits > 300


@pytest.mark.parametrize("template", UNSURE)
def test_other_lines_are_read_one_by_one(template: str) -> None:
    assert opened(template, random.Random(template)).wording is None
