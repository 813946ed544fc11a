"""older_checkpoint: a run that goes on from an older checkpoint than the last one saved is told of, and may have been meant to."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.families import e2_silent_restart as e2
from tests.agent_tools.families.logkit import facts_of, looped

SAVED = "  successfully saved checkpoint from iteration {:>7} to {}\n"
LOADED = "  successfully loaded checkpoint from {} at iteration {}\n"
STOP = "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-03-01T10:00:00 DUE TO JOB REQUEUE ***\n"


def resumed(at: int, saved_to: str = "/ckpt/a", loaded_from: str = "/ckpt/a", first: int | None = None) -> str:
    before = looped(10, 1200) + SAVED.format(1200, saved_to) + STOP
    return before + LOADED.format(loaded_from, at) + looped(first or at + 10, 1500)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (resumed(400), "suspected"),
        (resumed(1200), "ruled_out"),
        (resumed(400, loaded_from="/ckpt/b"), "ruled_out"),  # weights of another run
        (looped(10, 1200) + SAVED.format(1200, "/ckpt/a") + LOADED.format("/ckpt/a", 400), "ruled_out"),  # a test of the best
    ],
    ids=["older", "the last", "of another folder", "no training after it"],
)  # fmt: skip
def test_which_checkpoint_a_run_went_on_from(text: str, status: str, tmp_path: Path) -> None:
    found = e2.assess(facts_of(text, tmp_path))
    assert found.status == status, found.counterfactual
    assert bool(found.warnings) == (status == "suspected")
    assert found.confidence < 0.5
