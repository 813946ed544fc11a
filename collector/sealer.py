"""When and how the spool is sealed: now and then, soon after something happened, never two at a time, never waited for."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from collector.clock import Clock
from collector.spool_out import SpoolOut

SEAL_S = 300.0
SETTLE_S = 2.0
"""After an alarm, so that what follows at once is in the same batch."""
GAP_S = 10.0
"""At least so long between two seals: a verdict waits some ten seconds for us."""
SHARE, BURST_S, FIRST_COST_S = 0.001, 5.0, 0.3
"""What seals that alarms ask for may cost: this share of a core, saved up to so many CPU seconds; a seal takes about so many.
The others may cost as much: where one takes more than 0.3 CPU seconds they come less often, down to every second time."""
LIMIT_S = 300.0
"""A child that takes longer is killed; what it published stays, the rest is tried again."""

_ROOT = Path(__file__).resolve().parent.parent


class Sealer:
    """Starts `collector.seal` children. All methods belong to one thread, save `hurry`."""

    def __init__(
        self,
        spool: SpoolOut,
        lake: Path,
        node: str,
        clock: Clock,
        *,
        seal_s: float = SEAL_S,
        settle_s: float = SETTLE_S,
    ) -> None:
        self._spool, self._lake, self._node, self._clock = spool, lake, node, clock
        self._every, self._settle = seal_s, settle_s
        self._due = clock.steady() + seal_s
        self._last = float("-inf")
        self._cost, self._credit, self._credit_at = FIRST_COST_S, BURST_S, clock.steady()
        self._child: int | None = None
        self._begun = 0.0
        self.problem: str | None = None
        """Why the last seal did not get everything into the lake; None when it did."""

    def hurry(self, _reason: str) -> None:
        """Seal soon; in a storm of alarms as often as their share of the CPU pays for it, and at the latest as usual."""
        now = self._clock.steady()
        saved = min(BURST_S, self._credit + SHARE * (now - self._credit_at))
        earned = now + max(0.0, self._cost - saved) / SHARE
        self._due = min(self._due, max(now + self._settle, self._last + GAP_S, earned))

    def spent(self, cpu_s: float) -> None:
        """What the last seal cost."""
        now = self._clock.steady()
        saved = min(BURST_S, self._credit + SHARE * (now - self._credit_at))
        self._cost, self._credit, self._credit_at = cpu_s, max(0.0, saved - cpu_s), now

    @property
    def due(self) -> bool:
        """Is it time, and no child at work?"""
        return self._child is None and self._clock.steady() >= self._due

    def start(self) -> None:
        """Start a child for the chunks that wait."""
        now = self._clock.steady()
        self._last, self._due = now, now + min(2 * self._every, max(self._every, self._cost / SHARE))
        if self._child is not None or not self._spool.waiting:
            return
        words = [sys.executable, "-P", "-m", "collector.seal", str(self._spool.folder), str(self._lake), self._node]
        env = {**os.environ, "PYTHONPATH": str(_ROOT)}
        quiet = [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_RDWR, 0) for n in (0, 1)]
        # posix_spawn costs no copy of our memory, and needs no thread of subprocess.
        self._child = os.posix_spawn(words[0], words, env, file_actions=quiet, setsigmask=[])
        self._begun = now

    def poll(self) -> bool:
        """Look after the child; True when one has just ended."""
        if self._child is None:
            return False
        try:
            pid, status, used = os.wait4(self._child, os.WNOHANG)
            cost = used.ru_utime + used.ru_stime
        except ChildProcessError:  # somebody else reaped it
            pid, status, cost = self._child, 0, self._cost
        if pid:
            self._child = None
            self.spent(cost)
            self._read(os.waitstatus_to_exitcode(status))
            return True
        if self._clock.steady() - self._begun > LIMIT_S:
            os.kill(self._child, signal.SIGKILL)
            self.problem = f"a seal took longer than {LIMIT_S:g} s and was ended: is {self._lake} there?"
        return False

    def wait(self, limit_s: float) -> bool:
        """Wait for the child at the end of the collector; True when it ended by itself."""
        import time

        deadline = self._clock.steady() + limit_s
        while self._child is not None and self._clock.steady() < deadline:
            if self.poll():
                return True
            time.sleep(0.05)
        return self._child is None

    def _read(self, status: int) -> None:
        try:
            told: dict[str, Any] = json.loads((self._spool.folder / "seal.json").read_text())
        except (OSError, ValueError):
            told = {}
        if status:
            self.problem = told.get("error") or f"seal ended with status {status}"
        elif told.get("laid_aside"):
            files = told["laid_aside"]
            self.problem = f"{len(files)} files could not be read and lie in {self._spool.folder}/bad: {files[0]}"
        else:
            self.problem = None
