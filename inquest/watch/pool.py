"""The watcher's side of its worker processes: hands out work, takes answers, ends a worker that takes too long."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WORKER = (sys.executable, "-P", "-m", "inquest.watch.worker")
"""-P: modules that lie in the folder which the watcher was started in are not ours."""
LIFE = 200
"""Attempts after which a worker is replaced, so that nothing it leaks can add up."""


LEAST, MOST = 2, 6


def usual_size(processors: int) -> int:
    """How many workers a host is given: a quarter of its processors, which are Slurm's; six of them take some 1.2 GB."""
    return max(LEAST, min(MOST, processors // 4))


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request: `ok` is the worker's summary, else `error` says what went wrong."""

    key: str
    ok: dict[str, Any] | None
    error: str = ""


class Pool:
    """At most `size` workers: one from the start, the others when there is more to do at once, for each takes some 200 MB."""

    def __init__(self, size: int, *, limit_s: float, command: Sequence[str] = WORKER) -> None:
        self.size = size
        self._limit_s = limit_s
        self._command = list(command)
        self._work: queue.Queue[tuple[str, str] | None] = queue.Queue()
        self._answers: queue.Queue[Answer] = queue.Queue()
        self._threads: list[threading.Thread] = []
        self.busy = 0

    def start(self) -> None:
        """Start a worker, so that it is warm when the first attempt ends."""
        if not self._threads:
            self._more()

    def _more(self) -> None:
        thread = threading.Thread(target=self._serve, name="worker", daemon=True)
        self._threads.append(thread)
        thread.start()

    def put(self, key: str, request: str) -> None:
        """Hand out a request."""
        self.busy += 1
        if len(self._threads) < min(self.busy, self.size):
            self._more()
        self._work.put((key, request))

    @property
    def free(self) -> int:
        """How many more requests would be worked on at once."""
        return self.size - self.busy

    def take(self, wait_s: float) -> list[Answer]:
        """The answers that are there, after at most `wait_s` seconds."""
        found: list[Answer] = []
        try:
            found.append(self._answers.get(timeout=wait_s) if wait_s > 0 else self._answers.get_nowait())
            while True:
                found.append(self._answers.get_nowait())
        except queue.Empty:
            pass
        self.busy -= len(found)
        return found

    def close(self) -> None:
        """Let the workers end after what they do now."""
        for _ in self._threads:
            self._work.put(None)
        for thread in self._threads:
            thread.join(timeout=5.0)

    def _serve(self) -> None:
        worker: subprocess.Popen[str] | None = None
        done = 0
        try:
            worker = self._start()
            while (item := self._work.get()) is not None:
                if worker.poll() is not None or done >= LIFE:
                    _end(worker)
                    worker, done = self._start(), 0
                self._answers.put(self._one(worker, *item))
                done += 1
        finally:
            _end(worker)

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def _one(self, worker: subprocess.Popen[str], key: str, request: str) -> Answer:
        assert worker.stdin is not None
        assert worker.stdout is not None
        begun = time.monotonic()
        timer = threading.Timer(self._limit_s, worker.kill)
        timer.daemon = True
        timer.start()
        try:
            worker.stdin.write(request + "\n")
            worker.stdin.flush()
            line = worker.stdout.readline()
        except OSError:
            line = ""
        finally:
            timer.cancel()
        if not line:
            worker.kill()
            worker.wait()
            late = time.monotonic() - begun >= self._limit_s
            why = f"ran past {self._limit_s:g} s" if late else f"the worker ended (status {worker.returncode})"
            return Answer(key, None, why)
        answer = json.loads(line)
        return Answer(key, answer.get("ok"), str(answer.get("error", "")))


def _end(worker: subprocess.Popen[str] | None) -> None:
    if worker is None:
        return
    if worker.stdin is not None and not worker.stdin.closed:
        try:
            worker.stdin.close()
        except OSError:
            worker.kill()
    try:
        worker.wait(timeout=2.0)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()
    if worker.stdout is not None:
        worker.stdout.close()
