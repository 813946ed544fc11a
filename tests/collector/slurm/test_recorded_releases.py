"""What slurmrestd of a real 24.11 and 26.05 answered, as it came: the same scenarios give the same rows.

Recorded on clusters of `evals/recorder` with another Debian's Slurm (`root.sh`); lists of allocated cores and counters per
user are left out.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from collector.slurm.rest import Rest
from store.rows import SlurmControllerSample, SlurmJob, SlurmJobEvent, SlurmNodeState, SlurmStep

SAMPLES = Path(__file__).parent / "samples"
RELEASES = {"24.11.5": ((24, 11), "v0.0.42"), "26.05.5": ((26, 5), "v0.0.45")}
ENDS = {
    # job: attempts with state, exit status, signal, who cancelled
    "4801": [("FAILED", 3, 0, None)],
    "4802": [("FAILED", 0, 11, None)],
    "4803": [("CANCELLED", 0, 0, "dario")],
    "4804": [("CANCELLED", 0, 0, "olga")],
    "4805": [("REQUEUED", 0, 0, None), ("COMPLETED", 0, 0, None)],
    "4806": [("NODE_FAIL", 1, 0, None)],
    "4807": [("COMPLETED", 0, 0, None)],
    "4808": [("COMPLETED", 0, 0, None)],
    "4809_0": [("COMPLETED", 0, 0, None)],
    "4809_1": [("FAILED", 1, 0, None)],
    "4809_2": [("FAILED", 2, 0, None)],
    "4810+0": [("FAILED", 3, 0, None)],
    "4810+1": [("FAILED", 3, 0, None)],
    "4813": [("TIMEOUT", 0, 0, None)],
}


def recorded(release: str) -> Rest:
    """A slurmrestd that answers from the recording, and refuses what that release refused."""
    folder, version = SAMPLES / release, RELEASES[release][1]
    names = {"/openapi/v3": "openapi", f"/slurmdb/{version}/jobs/": "jobs", f"/slurm/{version}/jobs/": "queue"}
    names |= {f"/slurm/{version}/{n}/": n for n in ("nodes", "diag", "ping")}
    names |= {f"/slurmdb/{version}/clusters/": "clusters"}

    def answer(request: httpx.Request) -> httpx.Response:
        if b"," in request.url.query or b"%2C" in request.url.query:
            return httpx.Response(500, text="Unspecified error")
        return httpx.Response(200, content=(folder / f"{names[request.url.path]}.json").read_bytes())

    rest = Rest("http://head:6820", transport=httpx.MockTransport(answer))
    rest.probe()
    return rest


@pytest.mark.parametrize("release", RELEASES)
def test_each_way_to_end(release: str) -> None:
    """States, exit codes, signals and who cancelled, of every attempt; a requeued run is one, though it is called pending."""
    rest = recorded(release)
    assert (rest.release, rest.cluster) == (RELEASES[release][0], "lab")
    assert set(rest.versions.values()) == {RELEASES[release][1]}
    jobs = [
        r
        for r in rest.accounting(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
        if isinstance(r, SlurmJob)
    ]
    found: dict[str, list[tuple[object, ...]]] = {}
    for job in sorted(jobs, key=lambda j: (j.job_id or "", j.attempt or 0)):
        assert job.end_ts is not None and job.submit_ts is not None and job.partition == "batch"
        found.setdefault(job.job_id or "", []).append((job.state, job.exit_code, job.exit_signal, job.cancelled_by))
    assert found == ENDS
    by_id = {j.job_id: j for j in jobs}
    assert (by_id["4807"].suspended_s or 0) > 0
    assert [j.attempt for j in sorted((j for j in jobs if j.job_id == "4805"), key=lambda j: j.attempt or 0)] == [1, 2]
    assert by_id["4801"].stdout_path == "/home/mira/slurm-4801.out"
    assert by_id["4801"].gpus == 1


@pytest.mark.parametrize("release", RELEASES)
def test_steps_events_queue_nodes_and_health(release: str) -> None:
    """A failed step in a job that completed; what waits with its reason; a node that is down with its reason; sdiag."""
    rest = recorded(release)
    rows = list(rest.accounting(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)))
    steps = {s.step_id: (s.state, s.exit_code) for s in rows if isinstance(s, SlurmStep) and s.job_id == "4808"}
    assert (steps["0"], steps["1"]) == (("FAILED", 1), ("COMPLETED", 0))
    told = {e.event for e in rows if isinstance(e, SlurmJobEvent) and e.job_id == "4805"}
    assert {"submitted", "started", "requeued", "ended"} <= told
    queue = {j.job_id: j for j in rest.queue() if isinstance(j, SlurmJob)}
    assert (queue["4812"].state, queue["4812"].state_reason) == ("PENDING", "DependencyNeverSatisfied")
    states = {n.node: (n.state, n.reason) for n in rest.nodes() if isinstance(n, SlurmNodeState)}
    assert states["n02"][1] == "rack power" and states["n02"][0] is not None and "DOWN" in states["n02"][0]
    (health,) = (h for h in rest.controller() if isinstance(h, SlurmControllerSample))
    assert (health.rpc_count or 0) > 0 and health.server_threads is not None


def test_the_newest_names_its_jobs_by_sluid() -> None:
    """The names of 26.05's cgroups; each attempt of a requeued job has its own."""
    rows = recorded("26.05.5").accounting(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
    jobs = [j for j in rows if isinstance(j, SlurmJob)]
    assert len({j.sluid for j in jobs}) == len(jobs)
    assert all(json.dumps(j.sluid).startswith('"s') for j in jobs)
