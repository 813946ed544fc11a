"""slurmrestd's answers of a newer release: versions found, numbers as objects, errors with their remedies."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from collector.slurm.access import ENDED_NAMES, NotAllowed
from collector.slurm.replay import Replay
from collector.slurm.rest import Rest, configured
from collector.sources.base import SourceUnavailable
from store.rows import SlurmControllerSample, SlurmJob, SlurmJobEvent, SlurmNodeSample, SlurmNodeState, SlurmStep

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
T0 = 1772359200
META = {"slurm": {"version": {"major": "24", "micro": "1", "minor": "11"}, "release": "24.11.1", "cluster": "sky"}}


def n(value: int) -> dict[str, Any]:
    """A number as data parsers from v0.0.40 on write it."""
    return {"set": True, "infinite": False, "number": value}


def code(status: int, signal: int = 0) -> dict[str, Any]:
    return {
        "status": ["SUCCESS" if not status else "ERROR"],
        "return_code": n(status),
        "signal": {"id": n(signal), "name": ""},
    }


PATHS = {f"/{api}/v0.0.{v}/{q}/": {} for v in (40, 41, 42) for api in ("slurm", "slurmdb") for q in ("jobs",)}
PATHS |= {f"/slurm/v0.0.42/{q}/": {} for q in ("ping", "nodes", "diag")} | {"/slurmdb/v0.0.42/clusters/": {}}
ACCOUNTED = {
    "job_id": 4812,
    "cluster": "sky",
    "name": "train",
    "user": "mira",
    "account": "ml",
    "partition": "gpu",
    "qos": "normal",
    "association": {"account": "ml", "cluster": "sky", "user": "mira", "id": 7},
    "array": {"job_id": 0, "task_id": {"set": False, "infinite": False, "number": 0}},
    "het": {"job_id": 0, "job_offset": {"set": False, "infinite": False, "number": 0}},
    "state": {"current": ["FAILED"], "reason": "NonZeroExitCode"},
    "exit_code": code(3),
    "derived_exit_code": code(3),
    "restart_cnt": 1,
    "nodes": "gpu[01-02]",
    "allocation_nodes": 2,
    "time": {
        "submission": T0,
        "eligible": T0,
        "start": T0 + 10,
        "end": T0 + 70,
        "elapsed": 60,
        "suspended": 0,
        "limit": n(60),
    },
    "tres": {
        "allocated": [
            {"type": "cpu", "name": "", "id": 1, "count": 16},
            {"type": "gres", "name": "gpu", "id": 1001, "count": 8},
        ],
        "requested": [],
    },
    "steps": [
        {
            "step": {"id": "4812.0", "name": "python"},
            "state": ["FAILED"],
            "exit_code": code(3),
            "time": {"start": n(T0 + 11), "end": n(T0 + 70), "elapsed": 59},
            "nodes": {"range": "gpu[01-02]", "count": 2, "list": ["gpu01", "gpu02"]},
            "tasks": {"count": 8},
            "tres": {},
        }
    ],
}
WAITING = {
    "job_id": 4813,
    "cluster": "sky",
    "name": "later",
    "user_name": "mira",
    "partition": "gpu",
    "qos": "normal",
    "job_state": ["PENDING"],
    "state_reason": "QOSMaxJobsPerUserLimit",
    "submit_time": n(T0),
    "eligible_time": n(T0),
    "start_time": n(T0 + 9999),
    "end_time": n(0),
    "restart_cnt": 0,
    "array_job_id": n(4813),
    "array_task_id": {"set": False, "infinite": False, "number": 0},
    "array_task_string": "2-3%1",
    "time_limit": n(60),
    "node_count": n(1),
    "cpus": n(8),
    "exit_code": code(0),
    "het_job_id": n(0),
    "batch_host": "",
}
NODE = {
    "name": "gpu01",
    "state": ["MIXED", "DRAIN"],
    "reason": "bad dimm",
    "reason_changed_at": n(T0),
    "reason_set_by_user": "root",
    "cpu_load": 250,
    "cpus": 64,
    "alloc_cpus": 16,
    "real_memory": 1000,
    "alloc_memory": 500,
    "free_mem": n(400),
    "tres": "cpu=64,gres/gpu=8",
    "tres_used": "cpu=16,gres/gpu=4",
    "boot_time": n(T0 - 100),
    "cluster_name": "sky",
}
STATISTICS = {
    "server_thread_count": 3,
    "agent_queue_size": 0,
    "dbd_agent_queue_size": 2,
    "req_time": n(T0),
    "req_time_start": n(T0 - 60),
    "rpcs_by_message_type": [
        {"message_type": "REQUEST_JOB_INFO", "type_id": 2003, "count": 5, "average_time": n(100), "total_time": 500}
    ],
}
ANSWERS: dict[str, dict[str, Any]] = {
    "/openapi/v3": {"paths": PATHS},
    "/slurm/v0.0.42/ping/": {"pings": []},
    "/slurmdb/v0.0.42/clusters/": {"clusters": [{"name": "sky"}, {"name": "sea"}]},
    "/slurmdb/v0.0.42/jobs/": {"jobs": [ACCOUNTED]},
    "/slurm/v0.0.42/jobs/": {"jobs": [WAITING]},
    "/slurm/v0.0.42/nodes/": {"nodes": [NODE]},
    "/slurm/v0.0.42/diag/": {"statistics": STATISTICS},
}


def served(
    asked: list[httpx.Request], other: Callable[[httpx.Request], httpx.Response | None] = lambda _: None, **options: Any
) -> Rest:
    """A slurmrestd of 24.11 that answers from above; `other` may answer first."""

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        found = other(request)
        if found is not None:
            return found
        body = ANSWERS.get(request.url.path)
        if body is None:
            return httpx.Response(404, text="Unable find requested URL")
        return httpx.Response(200, json={**body, "meta": META, "errors": [], "warnings": []})

    return Rest("http://head:6820", transport=httpx.MockTransport(answer), **options)


def test_the_newest_version_is_found_and_used():
    """Of each question the highest version that the OpenAPI description names, with its own slash."""
    rest = served([])
    rest.probe()
    assert (rest.release, rest.cluster, rest.versions) == ((24, 11), "sky", {"slurm": "v0.0.42", "slurmdb": "v0.0.42"})


def test_accounting_gives_jobs_steps_and_events():
    """Numbers as objects, exit codes with signals, the attempt by its restarts; the question names window and states."""
    asked: list[httpx.Request] = []
    rows = list(served(asked).accounting(NOW, NOW))
    (job,) = [r for r in rows if isinstance(r, SlurmJob)]
    assert (job.job_id, job.attempt, job.state, job.exit_code, job.gpus) == ("4812", 2, "FAILED", 3, 8)
    assert (job.node_list, job.time_limit_s) == ("gpu01,gpu02", 3600.0)
    (step,) = [r for r in rows if isinstance(r, SlurmStep)]
    assert (step.step_id, step.exit_code, step.tasks) == ("0", 3, 8)
    assert {"submitted", "started", "ended", "requeued"} == {
        r.event for r in rows if isinstance(r, SlurmJobEvent) and r.event != "eligible"
    }
    query = asked[-1].url.params
    assert (query["start_time"], query["end_time"]) == (f"uts{int(NOW.timestamp())}", f"uts{int(NOW.timestamp()) + 1}")
    # A real 24.11 and 26.05 refuse a comma, however it is written, and short names.
    assert query.get_list("state") == list(ENDED_NAMES)


def test_before_v0_0_40_a_list_is_one_parameter():
    """A real 22.05 takes nothing else."""
    asked: list[httpx.Request] = []
    old = {"paths": {p.replace("42", "38").replace("40", "38").replace("41", "38"): {} for p in PATHS}}
    body = {"jobs": [], "meta": META, "errors": []}
    rest = served(asked, lambda r: httpx.Response(200, json=old if "openapi" in r.url.path else body))
    list(rest.accounting(NOW, NOW))
    assert asked[-1].url.params["state"] == "CD,CA,F,TO,NF,PR,OOM,BF,DL,RQ"
    list(rest.accounting(NOW, None, ["1", "2"]))
    assert asked[-1].url.params["step"] == "1,2"


@pytest.mark.parametrize("version", [40, 41])
def test_of_several_values_that_version_heeds_one_alone(version: int):
    """A real 23.11 heeds the last state or job that it is given: no state is named, and one job at a time."""
    asked: list[httpx.Request] = []
    old = {
        "paths": {
            p.replace("42", str(version)).replace("40", str(version)).replace("41", str(version)): {} for p in PATHS
        }
    }
    body = {"jobs": [], "meta": META, "errors": []}
    rest = served(asked, lambda r: httpx.Response(200, json=old if "openapi" in r.url.path else body))
    list(rest.accounting(NOW, NOW))
    assert "state" not in asked[-1].url.params
    list(rest.accounting(NOW, None, ["1", "2"]))
    assert [r.url.params.get_list("step") for r in asked[-2:]] == [["1"], ["2"]]


def test_jobs_are_asked_for_in_batches_by_id():
    """An address holds 200 ids."""
    asked: list[httpx.Request] = []
    list(served(asked).accounting(NOW, None, [str(i) for i in range(450)]))
    sizes = [len(r.url.params.get_list("step")) for r in asked if "step" in r.url.params]
    assert sizes == [200, 200, 50]


def test_queue_nodes_and_controller():
    """What waits, with its reason and without an estimate; a draining node; sdiag with its RPCs."""
    rest = served([])
    (job,) = [r for r in rest.queue() if isinstance(r, SlurmJob)]
    assert (job.job_id, job.state, job.state_reason, job.start_ts) == (
        "4813_[2-3%1]",
        "PENDING",
        "QOSMaxJobsPerUserLimit",
        None,
    )
    state, sample = rest.nodes()
    assert isinstance(state, SlurmNodeState) and (state.state, state.reason) == ("DRAINING", "bad dimm")
    assert isinstance(sample, SlurmNodeSample) and (sample.gpus, sample.gpus_alloc, sample.cpu_load) == (8, 4, 2.5)
    (health,) = rest.controller()
    assert isinstance(health, SlurmControllerSample)
    assert (health.dbd_agent_queue, health.rpc_count, health.rpc_time_us) == (2, 5, 500)


def test_the_token_is_read_anew_for_each_request(tmp_path: Path):
    """Tokens expire: whoever renews the file need not restart us."""
    file = tmp_path / "token"
    file.write_text("SLURM_JWT=first\n")
    asked: list[httpx.Request] = []
    rest = served(asked, user="inquest", token_file=file)
    list(rest.nodes())
    file.write_text("second")
    list(rest.nodes())
    assert [r.headers["X-SLURM-USER-TOKEN"] for r in asked if "nodes" in r.url.path] == ["first", "second"]
    assert asked[0].headers["X-SLURM-USER-NAME"] == "inquest"
    file.unlink()
    with pytest.raises(SourceUnavailable, match="token file"):
        list(rest.nodes())


@pytest.mark.parametrize(
    ("answer", "reason", "remedy"),
    [
        (httpx.Response(401, text="Authentication failure"), "does not accept us", "scontrol token"),
        (
            httpx.Response(500, json={"errors": [{"error": "Unable to connect to database", "error_number": 1}]}),
            "Unable to connect to database",
            "systemctl restart slurmdbd",
        ),
        (httpx.Response(200, text="<html>a proxy's page</html>"), "nothing", None),
    ],
)
def test_an_answer_that_is_none_names_its_remedy(answer: httpx.Response, reason: str, remedy: str | None):
    """Refused, down, or not Slurm at all: never an empty list of jobs."""
    rest = served([], lambda r: answer if "/slurmdb/v0.0.42/jobs" in r.url.path else None)
    with pytest.raises(SourceUnavailable) as told:
        list(rest.accounting(NOW))
    assert reason in told.value.reason or reason == "nothing"
    assert remedy is None or remedy in str(told.value.remedy)


def test_nothing_found_is_an_empty_answer():
    """Slurm calls an empty list an error."""
    nothing = {"errors": [{"error": "Nothing found with query", "error_number": 9003}], "jobs": [], "meta": META}
    rest = served([], lambda r: httpx.Response(200, json=nothing) if "/slurmdb/v0.0.42/jobs" in r.url.path else None)
    assert list(rest.accounting(NOW)) == []


def test_an_answer_that_breaks_off_is_none():
    """Behind a proxy its length is not told; half a queue must not be taken for all of it."""
    whole = json.dumps({"jobs": [{**ACCOUNTED, "job_id": 4800 + n} for n in range(20)], "errors": []})
    given = {"whole": whole, "half": whole[: len(whole) // 2]}
    for name, text in given.items():
        rest = served(
            [], lambda r, text=text: httpx.Response(200, text=text) if r.url.path.endswith("/jobs/") else None
        )
        if name == "whole":
            assert len({r.job_id for r in rest.accounting(NOW) if isinstance(r, SlurmJob)}) == 20
        else:
            with pytest.raises(SourceUnavailable, match="breaks off"):
                list(rest.accounting(NOW))


def test_nobody_listens_names_its_remedy(tmp_path: Path):
    """A socket that is not there."""
    with pytest.raises(SourceUnavailable) as told:
        Rest(f"unix:{tmp_path}/none.sock").probe()
    assert told.value.remedy == "systemctl start slurmrestd"


def test_a_comment_goes_to_the_job_or_beside_when_it_has_ended():
    """slurmrestd comments what the controller holds; an ended job is for the commands."""
    ended = {"errors": [{"error": "Job has already finished", "error_number": 2084}]}
    sent: list[dict[str, Any]] = []

    def post(request: httpx.Request) -> httpx.Response | None:
        if request.method != "POST":
            return None
        sent.append(json.loads(request.content))
        return httpx.Response(
            200 if "/4813" in request.url.path else 500, json={} if "/4813" in request.url.path else ended
        )

    beside = Replay({})
    rest = served([], post, beside=beside)
    rest.set_comment("4813", "waits")
    rest.set_comment("4812", "failed")
    assert sent == [{"comment": "waits"}, {"comment": "failed"}] and beside.comments == {"4812": "failed"}
    with pytest.raises(NotAllowed, match="already finished"):
        served([], post).set_comment("4812", "failed")


@pytest.mark.parametrize(
    ("said", "number", "kind"),
    [
        ("Unexpected message received", 1000, SourceUnavailable),
        ("Unable to contact slurm controller (connect failure)", 1011, SourceUnavailable),
        ("Invalid user id", 2010, NotAllowed),
        ("Access/permission denied", 2002, NotAllowed),
    ],
)
def test_a_comment_that_the_controller_did_not_get_may_be_written_later(said: str, number: int, kind: type[Exception]):
    """22.05 says the first of a slurmctld that is away: no right of the user's would mend that."""
    refused = {"errors": [{"error": said, "error_number": number, "description": "job update failed"}]}
    rest = served([], lambda r: httpx.Response(500, json=refused) if r.method == "POST" else None)
    with pytest.raises(kind, match=said.partition(" (")[0]):
        rest.set_comment("4812", "failed")


def test_the_environment_says_where_it_is(tmp_path: Path):
    """An address alone is enough; none is none."""
    assert configured(environ={}) is None or Path("/run/slurmrestd").exists()
    found = configured(environ={"SLURMRESTD_URL": "http://head:6820", "SLURM_JWT": "t"})
    assert isinstance(found, Rest)
