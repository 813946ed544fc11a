"""Every recorded job that ships comes out right: family, mode, blame, cited facts, references, nothing dropped."""

from __future__ import annotations

import pytest

from evals.scenarios.cases import CaseId
from evals.suite import recorded, run_one

ALL = recorded()


def test_there_are_recordings() -> None:
    assert len(ALL) >= 25


@pytest.mark.parametrize("case", ALL, ids=lambda c: c.variant)
def test_a_recorded_job_comes_out_right(case: CaseId) -> None:
    outcome = run_one(case)
    assert outcome.right, (outcome.error, outcome.family, outcome.confidence, outcome.failures)
