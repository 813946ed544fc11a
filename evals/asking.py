"""From a case to an answer: its telemetry into a throw-away lake, the question to the examiner or a model, every check."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from evals import labelled, recorded
from evals.scenarios.build import lake
from evals.scenarios.bundle import bundle
from evals.scenarios.cases import CaseId, made
from evals.scorers.base import Answer, Expected
from evals.scratch import ONE_THREAD, scratch
from store import Reader

Ready = tuple[Reader, str]
RECORDED, LABELLED = "recorded", "labelled"


@dataclass(frozen=True, slots=True)
class Settings:
    """How cases are asked, plain data that every worker gets. Without `model` the examiner answers.

    `small` and `seconds` bound what the model may do (`Limits`).
    With `as_files` a made-up job is written as the files of other tools and imported, instead of into a lake.
    """

    model: str | None = None
    judge: str | None = None
    corpus: Path | None = None
    max_turns: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    as_files: bool = False
    small: bool = False
    seconds: float | None = None


def expectation(case: CaseId, settings: Settings) -> tuple[str, Expected]:
    """The kind of a case and what it should come out as. Raises KeyError for one that does not exist."""
    if case.stem == RECORDED:
        return RECORDED, recorded.case(case.variant).expected
    if case.stem == LABELLED:
        return LABELLED, labelled.read(_corpus(settings), case.variant).expected
    variant, _, expected = made(case)
    return variant.kind, expected


@contextmanager
def posed(case: CaseId, settings: Settings) -> Generator[Ready]:
    """The case's lake, open, and the job to ask about."""
    with tempfile.TemporaryDirectory(prefix="inquest-case-", dir=scratch()) as name:
        folder = Path(name)
        if case.stem == RECORDED:
            found = recorded.case(case.variant)
            with recorded.imported(found.path, found.job, threads=ONE_THREAD) as ready:
                yield ready
        elif case.stem == LABELLED:
            placed = labelled.read(_corpus(settings), case.variant).place(folder)
            with recorded.imported(placed, threads=ONE_THREAD) as ready:
                yield ready
        elif settings.as_files:
            _, plan, _ = made(case)
            with recorded.imported(bundle(plan, folder), plan.job_id, threads=ONE_THREAD) as ready:
                yield ready
        else:
            _, plan, _ = made(case)
            with Reader(lake(plan, folder), threads=ONE_THREAD, settled=True) as reader:
                yield reader, plan.job_id


def asked(case: CaseId, settings: Settings, ready: Ready | None = None) -> Answer:
    """The verdict on a case, with every cited query asked a second time while the lake is there.

    `ready` is the case's lake, open, and its job, where the caller has them already.
    """
    from agent_tools.agent import diagnose
    from agent_tools.endpoints.drive import Limits
    from agent_tools.seal import seal
    from agent_tools.verify import verify

    with nullcontext(ready) if ready is not None else posed(case, settings) as (reader, job_id):
        begun = time.monotonic()
        limits = Limits(small=settings.small, seconds=settings.seconds or Limits().seconds)
        verdict = diagnose(reader, job_id, model=settings.model, limits=limits)
        seconds = time.monotonic() - begun
        return Answer(verdict, verify(seal(verdict), reader), seconds)


def _corpus(settings: Settings) -> Path:
    if settings.corpus is None:
        raise KeyError("labelled cases need the folder that they are in")
    return settings.corpus
