"""The recorded jobs that ship: does the verdict say what happened to them?"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_tools.verdict import Verdict
from evals.scorers.base import Expected
from evals.scratch import scratch

if TYPE_CHECKING:
    from store import Reader

EXAMPLES = Path(__file__).resolve().parent.parent / "inquest" / "examples"


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


def case(name: str) -> Case:
    """One recorded example. Raises KeyError."""
    found = next((c for c in cases() if c.name == name), None)
    if found is None:
        raise KeyError(name)
    return found


@contextmanager
def imported(path: Path, job: str | None = None, *, threads: int = 2) -> Generator[tuple[Reader, str]]:
    """A bundle or a log in a throw-away lake, open, with the job that is meant. Raises LookupError where none is."""
    from agent_tools.choose import candidates, meant, nameless
    from collector.intake.bundle import import_paths
    from store import Reader

    with tempfile.TemporaryDirectory(prefix="inquest-", dir=scratch()) as folder:
        import_paths([path], Path(folder), durable=False)
        with Reader(Path(folder), threads=threads, settled=True) as reader:
            found = candidates(reader)
            chosen = job or getattr(meant(found, one_file=path.is_file()), "job_id", None)
            if chosen is None and not found:
                chosen = nameless(reader, path.name)
            if chosen is None:
                raise LookupError(f"{path}: which of {', '.join(c.job_id for c in found) or 'no jobs'}?")
            yield reader, chosen


def verdict_on(path: Path, job: str | None = None) -> Verdict:
    """Import a bundle or a log into a throw-away lake and ask the examiner. Raises LookupError where no job is meant."""
    from agent_tools.agent import diagnose

    with imported(path, job) as (reader, chosen):
        return diagnose(reader, chosen)
