"""Whoever asks through a guarded reader sees own jobs only, by whatever road."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_tools.agent import diagnose
from agent_tools.questions.investigation import Investigation
from agent_tools.viewer import Forbidden, Guarded, Viewer, seen_by
from store import Reader, Writer
from store.catalog import catalog
from store.rows import GpuSample, LogLine, SlurmJob

T = datetime(2026, 3, 1, 10, tzinfo=UTC)
SECRET = "the other's loss went up"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    tmp_path = tmp_path_factory.mktemp("viewer")
    rows = [
        SlurmJob(job_id="1", attempt=1, user="ada", name="run", state="FAILED", node_list="n1", start_ts=T, ts=T),
        SlurmJob(job_id="2", attempt=1, user="bob", name="run", state="FAILED", node_list="n2", start_ts=T, ts=T),
        LogLine(job_id="2", attempt=1, ts=T, file="slurm-2.out", line_no=1, text=SECRET),
        LogLine(job_id="3", attempt=1, ts=T, file="slurm-3.out", line_no=1, text=SECRET),
        GpuSample(node="n2", gpu=0, ts=T, temp_c=77.0),
    ]
    Writer(tmp_path / "lake", durable=False).append(rows, batch="b")
    with Reader(tmp_path / "lake") as reader:
        yield reader


def test_own_jobs_are_seen_and_others_are_not(reader: Reader):
    ada = seen_by(reader, Viewer("ada"))
    assert [r["job_id"] for r in ada.ask("find_jobs").dicts()] == ["1"]
    assert ada.ask("job_attempts", job_id="1").row_count == 1
    for job in ("2", "3", "99"):
        with pytest.raises(Forbidden, match=f"no job {job} of ada"):
            ada.ask("log_search", job_id=job, pattern=".")
    with pytest.raises(Forbidden):
        ada.ask("find_jobs", user="bob")
    assert diagnose(ada, "1").family


def test_the_samples_of_a_node_are_its_jobs_owners(reader: Reader):
    ada = Guarded(reader, Viewer("ada"))
    for asked in ({"job_id": "1", "nodes": "n2"}, {"nodes": "n2"}):
        with pytest.raises(Forbidden):
            ada.ask("gpu_metric", metric="temp_c", **asked)
    assert ada.ask("node_states", nodes="n2").row_count == 0


@pytest.mark.parametrize("name", sorted(catalog()))
def test_no_question_of_the_catalog_shows_what_another_wrote(reader: Reader, name: str):
    """Every question, with every parameter set to what the other's job would need."""
    values = {
        "job_id": "2",
        "job": "2",
        "user": "bob",
        "node": "n2",
        "nodes": "n2",
        "pattern": ".",
        "file": "slurm-2.out",
    }
    values |= {"metric": "temp_c", "from_ts": "2026-02-01T00:00:00Z", "to_ts": "2026-04-01T00:00:00Z"}
    others = {"VARCHAR": "x", "BIGINT": 1, "DOUBLE": 0.5, "BOOLEAN": True, "TIMESTAMP": "2026-03-01T00:00:00Z"}
    params = {p.name: values.get(p.name, others[p.sql_type]) for p in catalog()[name].params}
    for given in (params, {k: v for k, v in params.items() if k not in ("user", "job_id", "job")}):
        try:
            answer = str(Guarded(reader, Viewer("ada")).ask(name, **given).rows)
        except Exception as error:
            answer = str(error)
        assert SECRET not in answer
        assert "77" not in answer


def test_an_operator_sees_all_and_only_an_operator_has_free_sql(reader: Reader):
    assert seen_by(reader, Viewer("root", operator=True)) is reader
    assert seen_by(reader, None) is reader
    assert not hasattr(seen_by(reader, Viewer("ada")), "lake")


def test_an_investigation_of_a_viewer_cannot_open_another_s_job(reader: Reader):
    reply = Investigation(seen_by(reader, Viewer("ada"))).ask("why did job 2 fail?")
    assert SECRET not in reply.model_dump_json()
    assert "bob" not in reply.model_dump_json()


def test_an_answer_says_whose_jobs_it_speaks_of(reader: Reader):
    """ "No such job in the store" would be false of a store of which a user sees a part."""
    reply = Investigation(seen_by(reader, Viewer("ada"))).ask("which jobs failed?")
    assert "Only the jobs of ada" in "\n".join(reply.provenance.notes)
    assert not Investigation(reader).ask("which jobs failed?").provenance.notes


def test_a_job_that_accounting_tells_of_later_is_seen_from_then_on(tmp_path: Path):
    """One reader serves a client for weeks: what it refused once, and the nodes that it knew, are no lasting truth."""
    writer = Writer(tmp_path / "lake", durable=False)
    other = SlurmJob(job_id="8", attempt=1, user="bob", node_list="n8", ts=T)
    writer.append([other], batch="a")
    with Reader(tmp_path / "lake") as reader:
        ada = Guarded(reader, Viewer("ada"))
        with pytest.raises(Forbidden):
            ada.ask("job_attempts", job_id="9")
        writer.append([SlurmJob(job_id="9", attempt=1, user="ada", node_list="n1", ts=T)], batch="b")
        assert ada.ask("job_attempts", job_id="9").row_count == 1
        with pytest.raises(Forbidden, match="n2 did not run job 9"):
            ada.ask("gpu_metric", metric="temp_c", job_id="9", nodes="n2")
        writer.append([SlurmJob(job_id="9", attempt=2, user="ada", node_list="n2", ts=T)], batch="c")
        assert ada.ask("gpu_metric", metric="temp_c", job_id="9", nodes="n1,n2").row_count == 0
        with pytest.raises(Forbidden, match="n8 did not run job 9"):
            ada.ask("gpu_metric", metric="temp_c", job_id="9", nodes="n8")
