"""Loss scales at their lowest (loss_scales), and what only resembles them; what a model that diverged leaves open (diverging)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import among, drafted, facts_of

LOWERED = "[2026-05-02 10:0{n}:11,472] [INFO] [fused_optimizer.py:312:_update_scale] Reducing dynamic loss scale from {a} to {b}\n"
SKIPPED = "[2026-05-02 10:0{n}:11,473] [INFO] [logging.py:60:log_dist] [Rank 0] Overflow detected. Skipping step. Attempted loss scale: {a}, reducing to {b}\n"
ROW = "      {n}/99      3.51G {losses}         31        640:  {n}%|##        | 21/125 [00:07<00:31,  3.12it/s]\n"
NONE, SOME = "       nan        nan        nan", "    0.0391   0.003032   0.003846"


@pytest.mark.parametrize(
    ("scales", "family"),
    [
        ([(1, 1), (1, 1), (1, 1)], "E1"),
        ([(1, 1), (1, 1)], "U0"),  # too few
        (
            [(65536, 32768), (32768, 16384), (65536, 32768), (65536, 32768)],
            "U0",
        ),  # found again and again: as it should be
        ([(128, 128)] * 4, "U0"),  # a floor that still multiplies
    ],
)
@pytest.mark.parametrize("line", [LOWERED, SKIPPED])
def test_overflows_at_the_lowest_scale(tmp_path: Path, line: str, scales: list[tuple[int, int]], family: str) -> None:
    log = "".join(line.format(n=n, a=a, b=b) for n, (a, b) in enumerate(scales))
    draft = among(facts_of("fp16: true\n" + log, tmp_path), "E1", "G1")
    assert draft.family == family, draft.headline
    if family == "E1":
        assert (draft.mode, draft.confidence, draft.attribution) == ("non_finite", 0.5, "job")
        assert any("between" in m.text for m in draft.cannot_decide)


def test_scales_that_are_found_again_are_no_other_familys_either(tmp_path: Path) -> None:
    log = "".join(LOWERED.format(n=n, a=65536, b=32768) for n in range(4))
    assert drafted("fp16: true\n" + log, tmp_path).family == "U0"


@pytest.mark.parametrize(
    ("rows", "family"),
    [
        ([SOME, SOME, NONE, NONE], "E1"),
        ([SOME, NONE, SOME, SOME], "U0"),
        ([SOME, SOME, SOME, SOME], "U0"),
    ],
)
def test_columns_that_are_no_numbers(tmp_path: Path, rows: list[str], family: str) -> None:
    log = "".join("2026-05-02T10:00:42.3244865Z" + ROW.format(n=49, losses=losses) for losses in rows)
    assert drafted(log, tmp_path).family == family
