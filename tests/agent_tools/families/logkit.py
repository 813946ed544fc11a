"""Draft a verdict from the text of a log alone, the whole way: text to rows to lake to facts to draft."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from agent_tools import differential
from agent_tools.evidence import Ledger
from agent_tools.facts import Facts
from agent_tools.families.registry import families
from agent_tools.verdict import Draft
from collector.importers.base import ImportContext
from collector.importers.job_log import JobLog
from store import Reader, Writer
from store.rows import SourceHealth


def facts_of(text: str, folder: Path) -> Facts:
    """The facts of a lone log under a name that tells nothing. A folder that is not there yet is made."""
    folder.mkdir(exist_ok=True)
    path = folder / "job.log"
    path.write_text(text, encoding="utf-8")
    ctx = ImportContext(name="job.log", zone=UTC, job_id="1", modified=datetime.now(UTC), size=path.stat().st_size)
    rows = [*JobLog().rows(path, ctx)]
    rows += [SourceHealth(job_id="1", source="job_log", covers=t, ok=True) for t in JobLog.covers]
    Writer(folder / "lake", durable=False, threads=1).append(rows, batch="b")
    return Facts(Reader(folder / "lake", threads=1, settled=True), Ledger(), "1")


def drafted(text: str, folder: Path) -> Draft:
    """What the examiner makes of the text."""
    return differential.draft(facts_of(text, folder))


def among(facts: Facts, *codes: str) -> Draft:
    """The draft where these families and U0 alone are asked: for a choice between a few. A whole verdict asks twenty more."""
    return differential.arranged(facts, {code: families()[code].assess(facts) for code in (*codes, "U0")})


def looped(first: int, last: int) -> str:
    """Every tenth step of a plain loop whose loss falls."""
    return "".join(f"step {n}/9000 loss: {3 - n / 1000:.3f} lr: 0.0003\n" for n in range(first, last, 10))
