"""What a node handed over a moment ago counts in the verdict, though nobody has taken it in."""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from collector.node.spool_out import encoded
from inquest.watch import worker
from inquest.watch.attempt import ended
from inquest.watch.hand import Hand
from store import Writer, incoming
from store.lake import Lake
from store.rows import GpuEvent, Row, SourceHealth
from tests.inquest.watch.accounts import Accounts, record

NOW = datetime.now(UTC).replace(microsecond=0)


def handed(lake: Path, name: str, rows: list[Row]) -> None:
    source = lake.parent / name
    source.mkdir()
    for row in rows:
        with (source / f"{row.TABLE}.csv").open("ab") as file:
            file.write(encoded(row))
    incoming.put(Lake(lake), "gpu01", name, source)


def looked(until: datetime) -> SourceHealth:
    return SourceHealth(
        node="gpu01", ts=until - timedelta(minutes=1), end_ts=until, source="nvml", covers="gpu_event", ok=True
    )


def test_the_watcher_waits_for_what_the_nodes_hand_over_and_no_longer(tmp_path: Path) -> None:
    """The collector of the job's node has looked up to before the end; two seconds later it hands over the rest, with an XID."""
    lake = tmp_path / "lake"
    accounts = Accounts(tmp_path / "accounts.jsonl")
    record(accounts.path, NOW, "4812", user="root", node_list="gpu01")
    rows = list(accounts.accounting(NOW - timedelta(days=1)))
    Writer(lake).append(rows, batch="rows")
    (attempt,) = ended(rows, "lab")
    assert attempt.nodes == "gpu01" and attempt.end_ts is not None
    end = datetime.fromisoformat(attempt.end_ts)
    handed(lake, "before", [looked(end - timedelta(seconds=5))])
    xid = GpuEvent(node="gpu01", ts=end - timedelta(seconds=1), job_id="4812", gpu=3, event="xid", xid=79)
    late = threading.Timer(2.0, handed, (lake, "after", [looked(end + timedelta(seconds=2)), xid]))
    late.start()
    begun, hand = time.monotonic(), Hand()
    try:
        summary = worker.examined(hand, json.loads(worker.request(attempt, lake, timezone="UTC", patience_s=60.0)))
    finally:
        hand.close()
        late.join()
    took = time.monotonic() - begun
    assert 2.0 <= took < 50.0
    assert (summary["family"], summary["attribution"]) == ("B2", "infrastructure")
    assert len(incoming.waiting(Lake(lake))) == 2
