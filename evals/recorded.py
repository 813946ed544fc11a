"""The recorded jobs that ship: does the verdict say what happened to them?"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_tools.verdict import Verdict
from evals.scorers import attribution, clean, confidence, facts, family, mode, references
from evals.scorers.base import Expected, Score, Scorer

EXAMPLES = Path(__file__).resolve().parent.parent / "inquest" / "examples"
SCORERS: tuple[Scorer, ...] = (
    family.score,
    mode.score,
    attribution.score,
    confidence.score,
    facts.score,
    references.score,
    clean.score,
)


@dataclass(frozen=True, slots=True)
class Case:
    """A bundle and what it should come out as."""

    name: str
    path: Path
    job: str | None
    expected: Expected


def cases() -> Iterator[Case]:
    """Every recorded example with its expectation, sorted by name."""
    expected: dict[str, dict[str, Any]] = json.loads((EXAMPLES / "expected.json").read_text(encoding="utf-8"))
    for name, want in sorted(expected.items()):
        yield Case(
            name,
            EXAMPLES / name,
            str(want["job"]),
            Expected((want["family"],), want.get("mode"), want.get("attribution"), tuple(want.get("facts", ()))),
        )


def verdict_on(path: Path, job: str | None = None) -> Verdict:
    """Import a bundle or a log into a throw-away lake and ask the examiner. Raises LookupError where no job is meant."""
    from agent_tools.agent import diagnose
    from agent_tools.choose import candidates, meant, nameless
    from collector.bundle import import_paths
    from store import Reader

    with tempfile.TemporaryDirectory(prefix="inquest-") as folder:
        import_paths([path], Path(folder), durable=False)
        with Reader(Path(folder)) as reader:
            found = candidates(reader)
            chosen = job or getattr(meant(found), "job_id", None)
            if chosen is None and not found:
                chosen = nameless(reader, path.name)
            if chosen is None:
                raise LookupError(f"{path}: which of {', '.join(c.job_id for c in found) or 'no jobs'}?")
            return diagnose(reader, chosen)


def scores(verdict: Verdict, expected: Expected) -> list[Score]:
    """What every scorer says."""
    return [s(verdict, expected) for s in SCORERS]
