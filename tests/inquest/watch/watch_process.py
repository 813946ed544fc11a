"""One watcher as a process for the crash test: `watch_process.py LAKE STATE ACCOUNTS SPOOL TOLD SECONDS_OFF`.

TOLD gets a line for each message that was sent. SECONDS_OFF shifts this process's clock.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from inquest.watch import noticing  # noqa: E402
from inquest.watch.hand import Hand  # noqa: E402
from inquest.watch.loop import Options, Watcher  # noqa: E402
from inquest.watch.notify.base import Channel, Temporary  # noqa: E402
from inquest.watch.outbox import Delivery, Policy  # noqa: E402
from inquest.watch.pool import Pool  # noqa: E402
from inquest.watch.shared import Shared  # noqa: E402
from inquest.watch.spool import Spool  # noqa: E402
from inquest.watch.state import State  # noqa: E402
from inquest.watch.teller import Teller  # noqa: E402
from tests.inquest.watch.accounts import Accounts  # noqa: E402


@dataclass(slots=True, kw_only=True)
class ToFile(Channel):
    """Appends one line in one system call, and fails now and then as a web server would."""

    path: Path

    def send(self, delivery: Delivery) -> None:
        if random.random() < 0.2:
            raise Temporary("not now")
        line = json.dumps({"id": delivery.id, "keys": [n["id"] for n in delivery.notes]}) + "\n"
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(fd, line.encode())
        os.close(fd)


def main() -> None:
    lake, state_folder, accounts, spool, told, off = sys.argv[1:7]
    seconds = float(off)
    real = time.time
    time.time = lambda: real() + seconds

    class Jumped(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(seconds=seconds)

    noticing.datetime = Jumped
    hand = Hand()
    state = State(Path(state_folder))
    options = Options(
        lake=Path(lake), poll_s=0.5, quiet_s=0.1, patience_s=1.0, warn_s=0.0, timezone="UTC",
        since=datetime.now(UTC) - timedelta(days=2),
    )  # fmt: skip
    channel = ToFile(name="told", path=Path(told), policy=Policy(quiet_s=0.3, array_quiet_s=0.3, again_s=0.5))
    teller = Teller(state, Path(state_folder), [channel])
    teller.start()
    Watcher(
        Shared(Accounts(Path(accounts))), state, Pool(2, limit_s=60.0), options, [channel], Spool(Path(spool))
    ).run()
    del hand


main()
