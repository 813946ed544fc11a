"""d3_straggler by the trainer's own report of slow ranks (stragglers), and what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted, looped

SLOW = "STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: [37]\n"


@pytest.mark.parametrize(("often", "confidence"), [(2, 0.75), (1, 0.6)])
def test_a_trainers_own_straggler_report_names_the_rank(often: int, confidence: float, tmp_path: Path) -> None:
    text = "".join(looped(500 * n, 500 * n + 400) + SLOW for n in range(often)) + looped(1500, 1600)
    found = drafted(text, tmp_path)
    assert (found.family, found.confidence) == ("D3", confidence)


@pytest.mark.parametrize(
    "word",
    [
        "Worst performing 5/64 ranks:\n  Rank=37 Node=n5 Score=0.98\n",
        SLOW.replace("have worse relative performance", "performance dropped"),
        SLOW.replace("[37]", "[]"),
    ],
    ids=["scores alone", "against itself", "none"],
)
def test_what_names_no_rank_that_is_behind_the_others_is_no_straggler(word: str, tmp_path: Path) -> None:
    assert drafted(looped(0, 400) + word + looped(400, 600), tmp_path).family == "G1"
