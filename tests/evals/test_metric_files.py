"""metric_files: a job's metrics in every form that they are kept in, read back by the importers."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.intake.bundle import import_paths
from evals.scenarios import healthy
from evals.scenarios.bundle import bundle
from evals.scenarios.metric_files import FORMS, drawn
from store import Reader


@pytest.mark.parametrize("form", FORMS)
def test_each_form_tells_the_same_of_the_gpus(tmp_path: Path, form: str) -> None:
    plan = healthy(3, gpus=4, minutes=20)
    made = bundle(plan, tmp_path, form)
    names = {p.name for p in (made / "metrics").iterdir()}
    assert ("DCGM_FI_PROF_SM_ACTIVE.json" in names) == (form == "by_metric")
    assert ("dcgm.om" in names) == (form == "exposed")
    import_paths([made], tmp_path / "lake", durable=False)
    with Reader(tmp_path / "lake") as reader:
        gpus = reader.ask("gpu_summary", job_id=plan.job_id, nodes=",".join(plan.nodes)).dicts()
    assert len(gpus) == 4
    for gpu in gpus:
        assert gpu["samples"] > 10
        assert gpu["sm_mean"] is not None and abs(gpu["sm_mean"] - plan.duty) < 0.3
        assert gpu["peak_gib"] and gpu["sm_clock_free_mhz"], "clocks are told apart by bits, also from two files"


def test_the_form_is_the_seed_s() -> None:
    assert {drawn(str(n), n) for n in range(40)} == set(FORMS)
    assert drawn("7", 1.5) == drawn("7", 1.5)
