"""From an ended attempt to its stored verdict: in workers that may hang or die, and never twice."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tools.verify import verify
from inquest.watch import loop, worker
from inquest.watch.attempt import Attempt
from inquest.watch.hand import Hand
from inquest.watch.loop import Options, Watcher
from inquest.watch.notify.webhook import Webhook
from inquest.watch.outbox import Policy
from inquest.watch.pool import WORKER, Pool, usual_size
from inquest.watch.shared import Shared
from inquest.watch.state import State
from inquest.watch.teller import Teller
from store import Reader
from tests.inquest.watch.accounts import TRACEBACK, Accounts, record
from tests.inquest.watch.http_server import serving

NOW = datetime.now(UTC).replace(microsecond=0)
ECHO = "import json,sys\nfor l in sys.stdin: print(json.dumps({'key': json.loads(l)['key'], 'ok': {}}), flush=True)"
HANG = "import time\ntime.sleep(600)"
DIE = "import sys\nsys.stdin.readline(); sys.exit(7)"


def _take(pool: Pool, n: int) -> list[tuple[str, bool, str]]:
    found: list[tuple[str, bool, str]] = []
    while len(found) < n:
        found += [(a.key, a.ok is not None, a.error) for a in pool.take(5.0)]
    return found


@pytest.mark.parametrize(("script", "limit_s", "why"), [(HANG, 0.5, "ran past 0.5 s"), (DIE, 60.0, "status 7")])
def test_a_worker_that_hangs_or_dies_costs_one_try(script: str, limit_s: float, why: str) -> None:
    pool = Pool(1, limit_s=limit_s, command=[sys.executable, "-c", script])
    pool.put("a", json.dumps({"key": "a"}))
    pool.put("b", json.dumps({"key": "b"}))
    answers = _take(pool, 2)
    pool.close()
    assert [k for k, _, _ in answers] == ["a", "b"]
    assert all(not ok and why in error for _, ok, error in answers)
    assert pool.free == 1


def test_a_large_host_judges_more_at_a_time() -> None:
    """Dozens of jobs that end at once are judged in time there; the most of its processors stay Slurm's."""
    assert [usual_size(n) for n in (1, 2, 8, 16, 24, 128)] == [2, 2, 2, 4, 6, 6]


def test_workers_answer_and_end_with_the_pool() -> None:
    pool = Pool(2, limit_s=30.0, command=[sys.executable, "-c", ECHO])
    for key in "abc":
        pool.put(key, json.dumps({"key": key}))
    assert {(k, ok) for k, ok, _ in _take(pool, 3)} == {("a", True), ("b", True), ("c", True)}
    pool.close()


def test_a_second_worker_is_started_when_there_is_more_to_do_at_once(tmp_path: Path) -> None:
    script = f"import os\nopen({str(tmp_path)!r} + f'/{{os.getpid()}}', 'w').close()\n{ECHO}"
    pool = Pool(3, limit_s=30.0, command=[sys.executable, "-c", script])
    pool.start()
    for key in "abc":
        pool.put(key, json.dumps({"key": key}))
        _take(pool, 1)
    assert len(list(tmp_path.iterdir())) == 1
    for key in "abcde":
        pool.put(key, json.dumps({"key": key}))
    assert sorted(k for k, _, _ in _take(pool, 5)) == list("abcde")
    pool.close()
    assert len(list(tmp_path.iterdir())) == 3


def _attempt(folder: Path, job: str = "4812", **more: Any) -> Attempt:
    """An attempt whose row is in the lake."""
    from store import Writer

    accounts = Accounts(folder / f"{job}.jsonl")
    record(accounts.path, NOW, job, user="root", **more)
    rows = list(accounts.accounting(NOW - timedelta(days=1)))
    Writer(folder / "lake", durable=False).append(rows, batch=f"rows {job}")
    from inquest.watch.attempt import ended

    return ended(rows, "lab")[0]


def _examined(folder: Path, attempt: Attempt, **more: object) -> dict[str, Any]:
    hand = Hand()
    try:
        return worker.examined(hand, json.loads(worker.request(attempt, folder / "lake", timezone="UTC", **more)))
    finally:
        hand.close()


def test_the_stored_document_verifies_and_says_what_the_summary_says(tmp_path: Path) -> None:
    log = tmp_path / "slurm-4812.out"
    log.write_text(TRACEBACK)
    summary = _examined(tmp_path, _attempt(tmp_path, stdout_path=str(log)))
    assert summary["family"] == "A3"
    assert "[E" not in summary["headline"]
    with Reader(tmp_path / "lake") as reader:
        row = reader.ask("verdict_given", job_id="4812").dicts()[0]
        document = json.loads(str(row["document"]))
        assert verify(document, reader).ok
    assert document["sha256"] == row["sha256"]


def test_a_second_examination_gives_the_first_ones_verdict(tmp_path: Path) -> None:
    """Also when the log has changed since: the verdict was given."""
    log = tmp_path / "slurm-4812.out"
    log.write_text(TRACEBACK)
    attempt = _attempt(tmp_path, stdout_path=str(log))
    first = _examined(tmp_path, attempt)
    log.write_text("nothing")
    assert _examined(tmp_path, attempt) == first


def test_a_run_that_is_followed_by_another_meanwhile_is_not_taken_for_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run, which was cancelled while it waited, comes to be known after the number was looked for."""
    from agent_tools import agent
    from store import Writer
    from store.rows import SlurmJob

    diagnose = agent.diagnose
    attempt = _attempt(tmp_path)

    def late(reader: Reader, job: str, **more: Any) -> Any:
        cancelled = SlurmJob(cluster="lab", job_id=job, attempt=2, state="CANCELLED", cancelled_by="root", ts=NOW)
        Writer(tmp_path / "lake", durable=False).append([cancelled], batch="next")
        return diagnose(reader, job, **more)

    monkeypatch.setattr(agent, "diagnose", late)
    _examined(tmp_path, attempt)
    with Reader(tmp_path / "lake") as reader:
        document = json.loads(str(reader.ask("verdict_given", job_id="4812").dicts()[0]["document"]))
    assert document["attempt"] == 1
    assert document["family"] != "F4"


def test_output_that_cannot_be_read_is_said_in_the_verdict(tmp_path: Path) -> None:
    _examined(tmp_path, _attempt(tmp_path, stdout_path=str(tmp_path / "absent.out")))
    with Reader(tmp_path / "lake") as reader:
        document = json.loads(str(reader.ask("verdict_given", job_id="4812").dicts()[0]["document"]))
    assert any("absent.out" in n for n in document["provenance"]["notes"])


def test_an_empty_output_is_nothing_that_could_not_be_read(tmp_path: Path) -> None:
    """A job that printed no error leaves such a file: that is no fault of the reading."""
    (tmp_path / "slurm-4812.out").write_text(TRACEBACK)
    (tmp_path / "slurm-4812.err").write_text("")
    outputs = {"stdout_path": str(tmp_path / "slurm-4812.out"), "stderr_path": str(tmp_path / "slurm-4812.err")}
    _examined(tmp_path, _attempt(tmp_path, **outputs))
    with Reader(tmp_path / "lake") as reader:
        document = json.loads(str(reader.ask("verdict_given", job_id="4812").dicts()[0]["document"]))
    assert not [n for n in document["provenance"]["notes"] if "empty" in n]


def test_after_tries_that_broke_off_the_verdict_says_only_that(tmp_path: Path) -> None:
    log = tmp_path / "slurm-4812.out"
    log.write_text(TRACEBACK)
    attempt = _attempt(tmp_path, stdout_path=str(log))
    summary = _examined(tmp_path, attempt, tries=worker.GIVE_UP)
    assert (summary["family"], summary["attribution"]) == ("U0", "undetermined")
    assert "each try broke off" in summary["headline"]


def test_jobs_that_write_to_one_path_in_turn_keep_what_each_left(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    for job, error in (("1", "KeyError: 'one'"), ("2", "ValueError: two")):
        log.write_text(TRACEBACK.replace("KeyError: 'scan_02011'", error))
        _examined(tmp_path, _attempt(tmp_path, job, stdout_path=str(log)))
    with Reader(tmp_path / "lake") as reader:
        names = {j: {r["name"] for r in reader.ask("exceptions", job_id=j).dicts()} for j in ("1", "2")}
    assert names == {"1": {"KeyError"}, "2": {"ValueError"}}


def test_once_judges_all_that_ended_and_tells_it(tmp_path: Path) -> None:
    """A hundred alike would be one message, as three are; what ended before is not looked at."""
    log = tmp_path / "slurm.out"
    log.write_text(TRACEBACK)
    accounts = Accounts(tmp_path / "accounts.jsonl")
    for n in range(3):
        record(
            accounts.path, NOW, f"4700_{n}", raw=str(4701 + n), array_job_id="4700", stdout_path=str(log), user="root"
        )
    record(accounts.path, NOW - timedelta(days=9), "1")
    state, pool = State(tmp_path / "state"), Pool(1, limit_s=120.0)
    with serving() as served:
        hook = Webhook(name="w", url=served.url, policy=Policy(quiet_s=60))
        options = Options(lake=tmp_path / "lake", quiet_s=0.0, timezone="UTC", since=NOW - timedelta(days=1))
        Watcher(Shared(accounts), state, pool, options, [hook]).once()
        pool.close()
        assert Teller(state, tmp_path, [hook]).tell_all() == 0
    told = [json.loads(body) for _, body in served.got]
    assert [(t["count"], {i["job"] for i in t["items"]}) for t in told] == [(3, {"4700_0", "4700_1", "4700_2"})]
    assert "3 tasks of array 4700" in told[0]["subject"]
    assert {(n, v) for n, _, _, _, v in state.tallies() if n == "verdicts"} == {("verdicts", 3.0)}


def test_a_lake_that_is_away_for_a_while_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attempt is noticed and judged when the lake is back."""
    monkeypatch.setattr(loop, "AGAIN_S", 0.2)
    accounts = Accounts(tmp_path / "accounts.jsonl")
    record(accounts.path, NOW, "4812")
    lake = tmp_path / "lake"
    lake.write_text("not a folder: nothing can be stored here")
    state, pool = State(tmp_path / "state"), Pool(1, limit_s=120.0)
    state.set_mark("began", (NOW - timedelta(days=1)).isoformat())
    options = Options(lake=lake, poll_s=0.3, quiet_s=0.0, patience_s=0.0, warn_s=0.0, timezone="UTC")
    watcher = Watcher(Shared(accounts), state, pool, options)
    for _ in range(3):
        watcher.safe_turn()
    assert state.tallies() == []
    lake.unlink()
    deadline = time.monotonic() + 90
    while not state.tallies() and time.monotonic() < deadline:
        watcher.safe_turn()
    pool.close()
    assert ("verdicts", 1.0) in {(n, v) for n, _, _, _, v in state.tallies()}


def test_a_worker_loads_no_module_of_the_folder_that_the_watcher_was_started_in(tmp_path: Path) -> None:
    for name in ("json.py", "random.py", "statistics.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'loaded')!r}, 'w')")
    done = subprocess.run(WORKER, stdin=subprocess.DEVNULL, capture_output=True, cwd=tmp_path, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "loaded").exists()
