"""Notes and deliveries for tests of what is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from inquest.watch.outbox import Delivery, put
from inquest.watch.state import State

HOSTILE = "<!channel> @here [click](https://evil.example/x) \x1b]8;;https://evil\x07 AKIAABCDEFGHIJKLMNOP\r\nBcc: all@x *b* `c`"


def note(job: str = "4812", **more: Any) -> dict[str, Any]:
    """A verdict on a failed job, as it is put into the outbox."""
    return {
        "id": f"verdict:lab:{job}:2026-03-01T10:00:00+00:00",
        "kind": "verdict",
        "family": "A3",
        "mode": "data",
        "confidence": 0.9,
        "attribution": "job",
        "headline": "KeyError: 'scan_02011'",
        "disposition": "Slurm: FAILED, exit status 1.",
        "actions": ["Look at the record."],
        "held": 2.0,
        "wasted": 0.5,
        "cluster": "lab",
        "job": job,
        "attempt": 1,
        "array": None,
        "name": "train",
        "user": "mira",
        "partition": "batch",
        "nodes": "gpu01",
        "state": "FAILED",
        "start": "2026-03-01T10:00:00+00:00",
        "end": "2026-03-01T11:00:00+00:00",
        "work_dir": None,
        "stdout": None,
        **more,
    }


def delivery(*notes: dict[str, Any], id: str = "d1") -> Delivery:
    return Delivery(id, "channel", list(notes) or [note()], 0.0, 0)


def filled(folder: Path, channel: str, notes: list[dict[str, Any]], group: str = "g") -> State:
    """A state whose outbox holds notes of one group."""
    state = State(folder)
    with state.change() as db:
        for n in notes:
            put(db, channel, n, group=group)
    return state
