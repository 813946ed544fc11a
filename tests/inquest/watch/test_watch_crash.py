"""Kill -9 of two watchers at random moments: no verdict missing, none twice. INQUEST_CRASH_SECONDS makes it longer."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from inquest.watch.state import State
from store import Reader
from store.doctor import doctor
from tests.inquest.watch.accounts import TRACEBACK, record

HERE = Path(__file__).parent


class Nursery:
    """Starts watchers and ends them."""

    def __init__(self, folder: Path, states: list[str], rng: random.Random) -> None:
        self.folder, self.states, self.rng = folder, states, rng
        self.lake, self.accounts, self.spool, self.told = (
            folder / name for name in ("lake", "accounts.jsonl", "spool", "told.jsonl")
        )
        self.spool.mkdir()
        self.children: list[subprocess.Popen[bytes] | None] = [None] * len(states)
        self.kills = 0

    def start(self, i: int, off: float = 0.0) -> None:
        argv = [str(HERE / "watch_process.py"), str(self.lake), str(self.folder / self.states[i])]
        argv += [str(self.accounts), str(self.spool), str(self.told), str(off)]
        with (self.folder / f"watcher{i}.err").open("ab") as err:
            self.children[i] = subprocess.Popen([sys.executable, *argv], stderr=err, start_new_session=True)

    def kill(self, i: int) -> None:
        """The whole family at times, at times the watcher alone, whose workers must then end by themselves."""
        child = self.children[i]
        assert child is not None
        if self.rng.random() < 0.5:
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
        child.wait()
        self.kills += 1

    def stop(self) -> None:
        for child in self.children:
            if child is not None and child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()

    def left(self) -> int:
        total = 0
        for name in set(self.states):
            state = State(self.folder / name)
            total += state.waiting()
            total += int(str(state.ask("SELECT count(*) FROM note WHERE delivery IS NULL")[0][0]))
            total += int(str(state.ask("SELECT count(*) FROM delivery WHERE done IS NULL")[0][0]))
            state.close()
        return total


@pytest.mark.crash
@pytest.mark.timeout(0)
@pytest.mark.parametrize("states", [["state", "state"], ["left", "right"]], ids=["shared", "apart"])
def test_killed_watchers_give_each_attempt_one_verdict_and_tell_it(tmp_path: Path, states: list[str]) -> None:
    """Jobs, tasks of an array and requeued attempts end while two watchers are killed, their clocks jumping by hours."""
    seconds = float(os.environ.get("INQUEST_CRASH_SECONDS", "30")) / 2
    rng = random.Random(os.environ.get("INQUEST_CRASH_SEED", str(os.getpid())))
    nursery = Nursery(tmp_path, states, rng)
    begun = datetime.now(UTC)
    log = tmp_path / "slurm-4812.out"
    log.write_text(TRACEBACK)
    wanted: set[tuple[str, str]] = set()
    try:
        for i in range(2):
            nursery.start(i)
        until, job, last_end = time.monotonic() + seconds, 4800, {}
        while time.monotonic() < until:
            time.sleep(rng.uniform(0.1, 0.8))
            if len(wanted) < seconds * 2:
                end = datetime.now(UTC).replace(microsecond=0)
                job += 1
                attempts = rng.choice((1, 1, 1, 2))
                array = {"array_job_id": "4700", "array_task_id": str(job)} if rng.random() < 0.3 else {}
                name = f"4700_{job}" if array else str(job)
                for n in range(1, attempts + 1):
                    when = end - timedelta(minutes=15 * (attempts - n))
                    state = "FAILED" if n == attempts else "PREEMPTED"
                    path = str(log) if rng.random() < 0.5 else None
                    record(
                        nursery.accounts, when, name, state=state, attempt=n, raw=str(job), stdout_path=path, **array
                    )
                    wanted.add((name, (when - timedelta(minutes=10)).isoformat()))
                if rng.random() < 0.5:
                    (nursery.spool / f"{job}.{attempts - 1}.ended").touch()
                last_end[name] = end
            if rng.random() < 0.35:
                i = rng.randrange(2)
                nursery.kill(i)
                nursery.start(i, rng.choice((0.0, 0.0, -7200.0, 7200.0, 90_000.0)))
        for i in range(2):
            nursery.kill(i)
            nursery.start(i)
        deadline = time.monotonic() + 120 + 5 * seconds
        while (nursery.left() or len(_verdicts(nursery.lake)) < len(wanted)) and time.monotonic() < deadline:
            time.sleep(0.5)
        time.sleep(2.0)  # one more poll: a late doubling would show now
        assert nursery.left() == 0
    finally:
        nursery.stop()

    verdicts = _verdicts(nursery.lake)
    assert Counter(verdicts) == Counter(wanted), "each attempt has one verdict"
    assert nursery.kills >= 5
    assert len(wanted) >= 10
    assert (datetime.now(UTC) - begun).total_seconds() < 3600
    assert not doctor(nursery.lake).findings or doctor(nursery.lake).healthy
    _told_once(nursery.told, {f"verdict:lab:{j}:{s}" for j, s in wanted}, len(set(states)))


def _verdicts(lake: Path) -> list[tuple[str, str]]:
    """Job and start of each stored verdict, by accounting's end of its attempt."""
    if not (lake / "lake.json").exists():
        return []
    with Reader(lake) as reader:
        info = reader.catalog()["verdict_given"]
        found = []
        for job in {str(r["job_id"]) for r in reader.ask("jobs", max_rows=5000).dicts()}:
            for row in reader.run(info, {"job_id": job, "attempt": None}, 5000).dicts():
                end = datetime.fromisoformat(str(row["ts"]))
                found.append((job, (end - timedelta(minutes=10)).isoformat()))
    return found


def _told_once(path: Path, keys: set[str], outboxes: int) -> None:
    """Each attempt stands in one message of each outbox; a message that came twice came under the same id."""
    messages: dict[str, set[str]] = {}
    for line in path.read_text().splitlines():
        told = json.loads(line)
        assert messages.setdefault(told["id"], set(told["keys"])) == set(told["keys"]), "an id stands for one message"
    times = Counter(key for members in messages.values() for key in members)
    assert set(times) == keys, "every attempt was told"
    assert max(times.values()) <= outboxes
