"""A word of an end that another training follows is of one model of several, and the run has no end of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted

LOGGED = "2026-05-04 10:{:02d}:00 | INFO | "
"""The head of a logger's line, one a minute."""


def training(at: int, *losses: float) -> list[str]:
    return [
        LOGGED.format(at + i) + f"Epoch {i * 10:3d}: loss={x:.4f}, val_f1=0.3, lr=1e-04" for i, x in enumerate(losses)
    ]


def log(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def stopped(at: int) -> str:
    return LOGGED.format(at) + "Early stopping at epoch 35"


@pytest.mark.parametrize("first", [(2.0, 1.6, 1.2, 0.9), ()])
def test_the_end_of_the_first_model_is_not_that_of_the_second(tmp_path: Path, first: tuple[float, ...]) -> None:
    begun = training(1, *first)
    draft = drafted(log(*begun, stopped(6), *training(7, 2.1, 1.7, 1.3, 1.0)), tmp_path)
    assert draft.family == "G1"
    assert draft.confidence < 0.6
    assert "finished" not in " ".join(c.text for c in draft.shows)


def test_the_end_of_the_last_model_is_that_of_the_run(tmp_path: Path) -> None:
    second = training(7, 2.1, 1.7, 1.3, 1.0)
    draft = drafted(
        log(*training(1, 2.0, 1.6, 1.2, 0.9), stopped(6), *second, LOGGED.format(12) + "Training complete."), tmp_path
    )
    assert (draft.family, draft.confidence >= 0.6) == ("G1", True)


def test_reports_that_were_written_late_leave_the_end_as_it_is(tmp_path: Path) -> None:
    draft = drafted(log(stopped(30), *training(7, 2.1, 1.7, 1.3, 1.0)), tmp_path)
    assert (draft.family, draft.confidence >= 0.6) == ("G1", True)
