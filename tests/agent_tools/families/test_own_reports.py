"""d3_straggler by the trainer's own report of slow ranks (stragglers), data_waits by a few of a loop's own; and what is none."""

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


def _loop(waits: list[float]) -> str:
    begin = "03/01 10:0{0}:00 - mmengine - INFO - Epoch(train)  [1][ {1}/9000]  lr: 1.0e-03  eta: 9:00:00"
    end = "  time: 2.5000  data_time: {0}  memory: 900  loss: {1:.4f}\n"
    return "".join((begin.format(n, 50 * n) + end.format(w, 3 - n / 10)) for n, w in enumerate(waits, 1))


def test_a_few_reports_will_do_where_each_of_them_waited_for_nearly_all_of_its_step(tmp_path: Path) -> None:
    found = drafted(_loop([2.3, 2.2, 2.25, 2.2]), tmp_path)
    assert (found.family, found.confidence) == ("D1", 0.45)


@pytest.mark.parametrize(
    "waits",
    [[2.3, 2.2, 2.25], [2.3, 1.5, 1.5, 1.5], [2.3, 2.4, 2.4, 1.1], [2.3, 0.1, 0.1, 0.1]],
    ids=["too few", "not nearly all", "not each", "the start of the workers"],
)
def test_a_few_reports_that_waited_less_say_nothing(waits: list[float], tmp_path: Path) -> None:
    assert drafted(_loop(waits), tmp_path).family == "G1"


@pytest.mark.parametrize(("first", "family"), [(120, "D1"), (20, "G1")], ids=["amid its epoch", "at its beginning"])
def test_the_first_report_counts_where_it_is_not_of_the_start_of_its_epoch(
    first: int, family: str, tmp_path: Path
) -> None:
    line = "epoch: 3/40, iter: {0}/900, iter_time: 2.500s, data_time: 2.100s, total_loss: {1}, lr: 1e-3\n"
    text = "".join(line.format(n, 3 - n / 900) for n in (first, 140, 160))
    assert drafted(text, tmp_path).family == family
