"""Ends that are said in words: an allocation that ran out of time, a training whose total time is printed."""

from __future__ import annotations

import pytest

from collector.parsers.base import LineParser, parse_text
from collector.parsers.finish import Finish
from collector.parsers.slurm import Slurm
from store.rows import LogEvent


def ends(parser: LineParser | Slurm, text: str) -> list[tuple[str | None, str | None]]:
    """Kind and name of what is heard."""
    return [(row.kind, row.name) for row in parse_text(parser, text) if isinstance(row, LogEvent)]


@pytest.mark.parametrize(
    "text",
    [
        "salloc: Job 88 has exceeded its time limit and its allocation has been revoked.",
        "srun: error: Job 88 exceeded its time limit",
    ],
)
def test_an_allocation_that_ran_out_of_time_is_a_time_limit(text: str) -> None:
    assert ends(Slurm(), text) == [("slurm", "time_limit")]


@pytest.mark.parametrize(
    "text",
    [
        "salloc: Job 88's time limit to be exceeded at 12:40:11",
        "srun: error: Exceeded job memory limit",
        "sbatch: error: Requested time limit is invalid (missing or exceeds some limit)",
    ],
)
def test_a_warning_of_the_limit_or_another_limit_is_no_time_limit(text: str) -> None:
    assert ("slurm", "time_limit") not in ends(Slurm(), text)


def test_an_allocation_that_was_revoked_had_been_made() -> None:
    assert ends(Slurm(), "salloc: Job allocation 88 has been revoked.") == []
    assert ends(Slurm(), "salloc: error: Job allocation 88 has been revoked") == [("slurm", "other")]
    assert ends(Slurm(), "srun: error: Job allocation failure") == [("slurm", "allocation_failed")]


@pytest.mark.parametrize(
    "text",
    [
        "[2026-01-21 01:39:34 resnet](main.py 154): INFO Training time 0:18:36",
        "Total Training Time: 4.15 min",
        "Total training time 732.1 seconds",
    ],
)
def test_the_total_time_of_training_is_its_end(text: str) -> None:
    assert ends(Finish(), text) == [("train_end", "completed")]


@pytest.mark.parametrize(
    "text",
    [
        "Estimated total training time: 4.15 min",
        "INFO EPOCH 49 training takes 0:00:20",
        "Total training time so far: 4.15 min, 3 epochs left",
    ],
)
def test_the_time_of_an_epoch_or_of_a_guess_is_no_end(text: str) -> None:
    assert ends(Finish(), text) == []
