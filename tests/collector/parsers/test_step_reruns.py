"""Megatron's second run of a step: which GPU the first result came from, and what another result says."""

from __future__ import annotations

import pytest

from collector.parsers.base import parse_text
from collector.parsers.step_reruns import NAMES, StepReruns

_AT = "ERROR:megatron.core.rerun_state_machine:Rank {}, node {}, device {}, iteration #{}: {}!"
_SAME = "First rerun: unexpected result is reproducible within the tolerance (31.5 = 31.5). Need to rerun on a different GPU to verify correctness."


def test_the_gpu_is_the_one_that_the_first_result_came_from() -> None:
    text = [_AT.format(9, "n04", 1, 777, _SAME), _AT.format(9, "n11", 6, 777, "Possible persistent error")]
    (row,) = parse_text(StepReruns(), "\n".join(text))
    assert row.name in NAMES
    assert (row.rank, row.host, row.gpu, row.step, row.severity) == (9, "n04", 1, 777, "error")


def test_another_result_on_the_same_gpu_is_a_passing_error_of_it() -> None:
    (row,) = parse_text(StepReruns(), _AT.format(2, "n05", 3, 41, "Possible transient error"))
    assert (row.host, row.gpu) == ("n05", 3) and "transient" in (row.detail or "")


@pytest.mark.parametrize(
    "said", [_SAME.rstrip("!"), "Correct result (but possible Application error) (Spiky loss)", "done"]
)
def test_a_result_that_holds_blames_no_gpu(said: str) -> None:
    assert parse_text(StepReruns(), _AT.format(2, "n05", 3, 41, said)) == []
