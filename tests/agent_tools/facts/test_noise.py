"""How much a series of figures trembles, and figures whose few digits hide whether it does."""

from __future__ import annotations

import pytest

from agent_tools.facts.curve import Point, read
from agent_tools.facts.noise import coarse


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0023, True), (0.004, True), (-0.0041, True), (0.00237, False), (0.0, False), (0.5, False), (0.013, False)],
)
def test_a_small_figure_of_two_digits_is_coarse(value: float, expected: bool) -> None:
    assert coarse(value) is expected


@pytest.mark.parametrize(
    ("level", "shape"), [(0.0023, "level"), (0.00237, "flat"), (0.0, "flat"), (0.6931, "flat"), (1.5, "flat")]
)
def test_a_loss_that_its_logger_rounds_to_one_figure_may_still_fall(level: float, shape: str) -> None:
    """Four decimals leave two digits of what a trained model still loses; a loss of zero, or of guessing, is another matter."""
    assert read([Point(float(i), level) for i in range(14)]).shape == shape
