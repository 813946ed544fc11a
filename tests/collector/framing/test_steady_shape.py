"""Where lines of a loop of no framework may be read many at once: their figures cannot change what is found in them."""

from __future__ import annotations

import random

import pytest

from collector.framing.learned import learn
from collector.parsers.base import Line
from collector.parsers.steady_lines import GIVE_UP, LONGEST, SteadyLines

SURE = (
    "epoch {n} step {n} loss {x}",
    "[{n}, {n}] loss: {x}",
    "step {n} loss {x}",
    "iteration {n}: loss {x}",
    "update {n}/{n} train_loss={x}, lr={x}, gnorm={x}",
    "Step {n}, speed {x}, Loss: {x}, lr: {x} (best {x})",
    "batch #{n} of {n}, test loss {x}",
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


@pytest.mark.parametrize("template", SURE)
def test_each_line_of_the_wording_is_read_alike(template: str) -> None:
    rng = random.Random(template)
    learned = learn(SteadyLines, worded(template.replace("{n}", "7"), rng))
    assert learned is not None
    assert SteadyLines.alike(learned.tried)
    fits = 0
    for n in range(400):
        line = Line(worded(template, rng), n, "a.out")
        found = learned.wording.match(line.text)
        if found is not None and not learned.odd(found):
            fits += 1
            assert list(SteadyLines.reader().feed(line)) == [line.first_of(learned.steps(found))], line.text
    assert fits > 40


def test_only_a_wording_that_is_open_is_read_in_blocks() -> None:
    parser, text = SteadyLines(), "step {} loss 0.5"
    for n in (1, 2, 3):
        assert not parser.opens(text.format(9), 20)
        list(parser.feed(Line(text.format(n), n, "a.out")))
    assert parser.opens(text.format(9), 20)
    assert not parser.opens(text.format(9), LONGEST + 1)
    assert not parser.opens("update 9 loss 0.5", 20)
    for n in range(GIVE_UP + 1):
        list(parser.feed(Line(f"the loss of part {chr(97 + n % 26)} is away", n, "a.out")))
    assert not parser.opens(text.format(9), 20)
