"""`collector.parsers.ray_trials`: iterations that Ray's reporter tells."""

from __future__ import annotations

import pytest

from collector.parsers.base import parse_text
from collector.parsers.ray_trials import RayTrials
from store.rows import TrainStep

AT = "at 2026-03-01 10:00:26. Total running time: 41s"


@pytest.mark.parametrize("who", ["Training", "Trial TorchTrainer_0a1b2_00000", "Trial PPO_Pendulum-v1_0a1b2_00003"])
def test_an_iteration_that_is_over_is_a_step_without_a_loss(who: str) -> None:
    (row,) = parse_text(RayTrials(), f"{who} finished iteration 7 {AT}")
    assert isinstance(row, TrainStep)
    assert (row.framework, row.step, row.loss) == ("ray", 7, None)


@pytest.mark.parametrize(
    "line",
    [
        f"Trial PPO_Pendulum-v1_0a1b2_00003 completed after 3 iterations {AT}",
        f"Trial PPO_Pendulum-v1_0a1b2_00003 errored after 3 iterations {AT}",
        f"Trial PPO_Pendulum-v1_0a1b2_00003 started with configuration: {AT}",
        "the solver finished iteration 7 at once",
        "request completed after 3 iterations",
    ],
)
def test_other_words_of_trials_and_iterations_are_neither(line: str) -> None:
    assert parse_text(RayTrials(), line) == []
