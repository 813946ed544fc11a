"""Settling an attempt: its verdict is in the lake; now it is counted and put into the outbox, in one transaction, once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from inquest.watch.attempt import Attempt
from inquest.watch.notify.base import Notifier
from inquest.watch.outbox import put
from inquest.watch.state import State, count
from inquest.watch.words import unmarked


def settle(state: State, attempt: Attempt, summary: dict[str, Any], notifiers: Sequence[Notifier]) -> bool:
    """Whether it was this call that settled it."""
    note = note_of(attempt, summary)
    labels = (str(note["family"]), str(note["attribution"]), attempt.partition or "")
    now = time.time()
    with state.change() as db:
        if not db.execute(
            "UPDATE attempt SET done = ?, owner = NULL, lease = NULL WHERE key = ? AND done IS NULL", (now, attempt.key)
        ).rowcount:
            return False
        count(db, "verdicts", 1, *labels)
        count(db, "held", note["held"] or 0.0, *labels)
        count(db, "wasted", note["wasted"] or 0.0, *labels)
        count(db, "late", min(max(now - attempt.ended, 0.0), 86_400.0) if attempt.ended else 0.0)
        for notifier in notifiers:
            if notifier.filter.wants(note):
                told = {**note, "rendered": summary.get("rendered")} if notifier.whole else note
                put(db, notifier.name, told, group=notifier.group(note))
    return True


def note_of(attempt: Attempt, summary: dict[str, Any]) -> dict[str, Any]:
    """What is told of a verdict."""
    rendered: dict[str, Any] = summary.get("rendered") or {}
    actions: list[object] = rendered.get("What to do") or []
    return {
        "id": attempt.key,
        "kind": "verdict",
        "family": summary["family"],
        "mode": summary["mode"],
        "confidence": summary["confidence"],
        "attribution": summary["attribution"],
        "headline": summary["headline"],
        "disposition": unmarked(rendered.get("disposition", "")),
        "actions": [unmarked(a) for a in actions[:3]],
        "held": summary["gpu_hours_held"],
        "wasted": summary["gpu_hours_wasted"],
        **of_job(attempt),
    }


def of_job(attempt: Attempt) -> dict[str, Any]:
    """What is told of a job, whatever happened to it."""
    return {
        "cluster": attempt.cluster,
        "job": attempt.job_id,
        "attempt": attempt.attempt,
        "array": attempt.array,
        "name": attempt.name,
        "user": attempt.user,
        "partition": attempt.partition,
        "nodes": attempt.nodes,
        "state": attempt.state,
        "recorded": not attempt.unrecorded,
        "start": attempt.start_ts,
        "end": attempt.end_ts,
        "work_dir": attempt.work_dir,
        "stdout": attempt.stdout_path,
    }
