"""Sentences on rows of jobs: how each ended, and how many there are of each kind, by the tables that count them."""

from __future__ import annotations

from collections.abc import Collection

from agent_tools.evidence import Evidence
from agent_tools.questions.fleet_use import MAX_SAID, of_user
from store import lazy

FAILED = frozenset({"FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "DEADLINE"})
"""Slurm's states of an attempt that failed, as `fleet_tally` counts them."""
FAILED_WORDS = lazy.compile(r"(?i)\b(?:fail\w*|crash\w*|died|broke\w*|break(?:s|ing)?|went wrong|in trouble)\b")
"""Words of a question that are for those."""
HOW_MANY = lazy.compile(r"(?i)\bhow (?:many|much|often)\b|\bcount\b|\bnumber of\b")
"""Words of a question for a number, and not for the jobs themselves."""


def tally(e: Evidence, by: str, only: Collection[str] = ()) -> list[str]:
    """How the attempts of each value ended, from `fleet_tally`; of some values alone where they are named."""
    said: list[str] = []
    rows = [(r, row) for r, row in enumerate(e.dicts()) if not only or row["value"] in only]
    for r, row in rows[:MAX_SAID]:
        if row["value"] is None and by != "family":
            continue
        whose = "In all" if row["value"] == "all" else e.ref("value", r) if row["value"] else "Without a verdict"
        text = f"{whose}: {e.ref('failed', r)} of {e.ref('attempts', r)} attempts failed"
        text += f", {e.ref('cancelled', r)} cancelled" if row["cancelled"] else ""
        if row["infrastructure"]:  # of all attempts, and not of those that failed
            where = "at it" if by == "node" and row["value"] != "all" else "in the infrastructure"
            text += f"; verdicts that see the fault {where}: {e.ref('infrastructure', r)}"
        if row["gpu_hours_wasted"] is not None:
            text += f"; {e.ref('examined', r)} verdicts count {e.ref('gpu_hours_wasted', r)} of GPU time as wasted"
        elif row["value"] == "all":
            text += "; no verdict on them is stored (inquest watch stores them), so what they wasted is not known"
        said.append(f"{text}.")
    return said


def that_failed(e: Evidence) -> list[str]:
    """Those that failed, from `find_jobs`."""
    said = [ended(e, r) for r, row in enumerate(e.dicts()) if row["state"] in FAILED][:MAX_SAID]
    return said or (["None of them failed."] if e.rows else [])


def that_completed(e: Evidence) -> list[str]:
    """Those that ended well, from `find_jobs`."""
    said = [ended(e, r) for r, row in enumerate(e.dicts()) if row["state"] == "COMPLETED"][:MAX_SAID]
    return said or (["None of them completed."] if e.rows else [])


def ended(e: Evidence, r: int) -> str:
    """How one job ended, and what its verdict is, from `find_jobs`."""
    row = e.dicts()[r]
    when = f" at {e.ref('end_ts', r)}" if row["end_ts"] else ""
    why = f"; its verdict: {e.ref('family', r)}, a matter of {e.ref('attribution', r)}" if row["family"] else ""
    how = "is" if row["state"] in ("RUNNING", "PENDING", "COMPLETING") else "ended as"
    return f"Job {e.ref('job_id', r)}{of_user(e, r)} {how} {e.ref('state', r)}{when}{why}."
