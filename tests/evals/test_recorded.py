"""Every recorded job that ships comes out right: family, mode, blame, cited facts, references, nothing dropped."""

from __future__ import annotations

import pytest

from evals.recorded import Case, cases, scores, verdict_on

ALL = list(cases())


def test_there_are_recordings() -> None:
    assert len(ALL) >= 25


@pytest.mark.parametrize("case", ALL, ids=lambda c: c.name)
def test_a_recorded_job_comes_out_right(case: Case) -> None:
    verdict = verdict_on(case.path, case.job)
    assert [f"{s.scorer}: {s.why}" for s in scores(verdict, case.expected) if s.value is False] == []
