"""The suite: cases run by several processes, each answer graded by every scorer, in outcomes that are plain data.

Each worker evaluates a pydantic-evals dataset of one case, so scorers and their failures are that library's business; the
pool is ours, since asking keeps a core busy and a dataset evaluates in one process.
"""

from __future__ import annotations

import gc
import logging
import os
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from fnmatch import fnmatch
from multiprocessing import get_context
from typing import Any

from evals import labelled
from evals.asking import LABELLED, RECORDED, Ready, Settings, expectation
from evals.outcome import Abstained, Outcome
from evals.recorded import cases as recorded_cases
from evals.scenarios.cases import CaseId
from evals.scorers.base import Answer, Expected, read
from evals.scratch import scratch

_TUNABLES = "GLIBC_TUNABLES"


def selected(cases: Sequence[CaseId], glob: str | None) -> list[CaseId]:
    """The cases whose `stem/variant/seed` matches a pattern (or begins with it)."""
    return [c for c in cases if glob is None or fnmatch(str(c), glob) or fnmatch(str(c), f"{glob}*")]


def recorded() -> list[CaseId]:
    """The recorded examples as cases."""
    return [CaseId(RECORDED, c.name, 0) for c in recorded_cases()]


def of_corpus(settings: Settings) -> list[CaseId]:
    """The labelled files of the settings' folder as cases. Raises LabelError for a file that cannot be used."""
    if settings.corpus is None:
        return []
    names = labelled.names(settings.corpus)
    for name in names:
        labelled.read(settings.corpus, name)
    return [CaseId(LABELLED, name, 0) for name in names]


def run_one(case: CaseId, settings: Settings | None = None, run: int = 1, ready: Ready | None = None) -> Outcome:
    """Make a case (or take the lake that is `ready`), ask, grade. An exception is an error of that case and ends nothing else."""
    settings = settings or Settings()
    begun = time.monotonic()
    try:
        return _graded(case, settings, run, begun, ready)
    except Exception as error:
        seconds = time.monotonic() - begun
        return Outcome(str(case), case.stem, run=run, seconds=seconds, error=f"{type(error).__name__}: {error}"[:500])


def _graded(case: CaseId, settings: Settings, run: int, begun: float, ready: Ready | None) -> Outcome:
    from evals.dataset import ask, dataset

    kind, expected = expectation(case, settings)
    report = dataset([case], settings).evaluate_sync(ask(settings, ready), progress=False)
    seconds = time.monotonic() - begun
    asked_for: dict[str, Any] = {
        "case": str(case), "stem": case.stem, "kind": kind, "run": run, "truth": expected.families, "seconds": seconds,
        "expected_attribution": expected.attribution, "decided": expected.decided,
    }  # fmt: skip
    if report.failures:
        return Outcome(**asked_for, error=report.failures[0].error_message[:500])
    graded = report.cases[0]
    verdict = graded.output.verdict
    provenance = verdict.provenance
    spent = {k: float(graded.scores[k].value) for k in ("turns", "tokens", "seconds")}
    why = next((n for n in provenance.notes if n.startswith("The model ")), "")[:500]
    if provenance.failed == "endpoint":
        return Outcome(**asked_for, invalid=why, spent=spent)
    if provenance.failed == "answer":
        return Outcome(**asked_for, failures=(("answer", why),), spent=spent)
    broken = [f for f in graded.evaluator_failures if f.name != "Prose"]
    remarks = [r.reason for n, r in graded.scores.items() if n == "prose" and r.reason]
    remarks += [f.error_message for f in graded.evaluator_failures if f.name == "Prose"]
    return Outcome(
        **asked_for,
        family=verdict.family,
        mode=verdict.mode,
        attribution=verdict.attribution,
        confidence=verdict.confidence,
        abstained=_abstained(graded.output, expected, {n: a.value for n, a in graded.assertions.items()}),
        failures=tuple((n, a.reason or "") for n, a in graded.assertions.items() if not a.value),
        error="; ".join(f"{f.name}: {f.error_message}" for f in broken)[:500],
        headline=read(verdict, [verdict.headline])[0],
        scores={n: a.value for n, a in graded.assertions.items()},
        spent=spent,
        measures={n: float(s.value) for n, s in graded.scores.items() if n not in spent},
        remarks=tuple(r[:300] for r in remarks),
    )


def _abstained(answer: Answer, expected: Expected, said: dict[str, bool]) -> Abstained:
    """What became of the question whether to answer at all; "" where it was decided and there was something to decide."""
    from evals.scorers.abstention import held_back

    right = said.get("abstention", False)
    if expected.decided:
        return "" if right else "declined"
    return "right" if right else "unnamed" if held_back(answer.verdict) else "wrong"


def run(
    cases: Sequence[CaseId],
    workers: int,
    on_done: Callable[[Outcome], None] | None = None,
    *,
    settings: Settings | None = None,
    repeat: int = 1,
) -> list[Outcome]:
    """All cases `repeat` times, in their order; `on_done` hears of each as it ends. One worker runs in this process."""
    wanted = [(c, n) for c in cases for n in range(1, repeat + 1)]
    found: dict[tuple[str, int], Outcome] = {}
    for outcome in _outcomes(wanted, workers, settings or Settings()):
        found[outcome.case, outcome.run] = outcome
        if on_done is not None:
            on_done(outcome)
    return [found[str(c), n] for c, n in wanted]


def _outcomes(wanted: Sequence[tuple[CaseId, int]], workers: int, settings: Settings) -> Iterator[Outcome]:
    if workers <= 1 or len(wanted) <= 1:
        for case, n in wanted:
            yield run_one(case, settings, n)
        return
    with (
        _allocating(),
        ProcessPoolExecutor(min(workers, len(wanted)), get_context("spawn"), initializer=_begin) as pool,
    ):
        try:
            for future in as_completed([pool.submit(run_one, c, settings, n) for c, n in wanted]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _allocating() -> Generator[None]:
    """Planning thousands of questions, the engine allocates and frees little pieces without end: with more of them kept at hand by
    each of glibc's threads than seven of a size, a case takes a twelfth less. Other libraries leave the setting alone."""
    given = os.environ.get(_TUNABLES)
    os.environ[_TUNABLES] = ":".join(filter(None, (given, "glibc.malloc.tcache_count=1000")))
    try:
        yield
    finally:
        if given is None:
            del os.environ[_TUNABLES]
        else:
            os.environ[_TUNABLES] = given


def _begin() -> None:
    """A worker makes many short-lived objects and few cycles; and what a library warns of has no place in the progress.

    What is temporary lies where its cases do: one engine then serves them all, and starting one takes as long as several questions.
    """
    gc.set_threshold(100_000, 20, 50)
    tempfile.tempdir = scratch() or tempfile.tempdir
    logging.disable(logging.WARNING)
