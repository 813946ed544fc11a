"""`agent_tools.facts.targets`: a missed bound of a benchmark is neither a mistake nor a setting."""

import pytest

from agent_tools.facts.targets import missed_target


@pytest.mark.parametrize(
    "message",
    [
        "throughput 1190.1 < expected 1500.0",
        "Average throughput of 1190.1 is lower than the expected 1500.0",
        "Step time 1.32s exceeds target 1.10s",
        "expected accuracy to be at least 0.9 but got 0.83",
        "busbw 81.2 GB/s is below 160",
        "tokens/s: 900 (required 1200)",
    ],
)
def test_a_figure_that_fell_short_is_a_missed_target(message: str) -> None:
    assert missed_target("AssertionError", message)
    assert not missed_target("ValueError", message)


@pytest.mark.parametrize(
    "message",
    [
        "batch size 10 must be divisible by the number of GPUs 4",
        "For best performance the hidden size is expected to be a multiple of 64, got 100",
        "expected 3 channels, got 4",
        "loss is not finite",
        "checkpoint version 3 is below 4",
        "Torch not compiled with CUDA enabled",
        "score_mode must be one of max, min",
        "",
    ],
)
def test_other_assertions_miss_none(message: str) -> None:
    assert not missed_target("AssertionError", message)
