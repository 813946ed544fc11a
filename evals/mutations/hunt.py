"""Run a family's own cases against its mutants, until one of them is judged wrong.

Lakes are built once and their answers remembered, so that a mutant costs little more than the reasoning: the question to
the lake is the same, and what the mutated code makes of the answer is all that differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from agent_tools.families.registry import families
from evals.asking import Settings, posed
from evals.mutations.mutants import Mutant, installed, mutants
from evals.outcome import Outcome
from evals.scenarios.cases import CaseId, variants
from evals.suite import run_one
from store import Reader
from store.result import Result

CASES = 60
"""Cases of a family at most, one of each variant."""


@dataclass(frozen=True, slots=True)
class Hunted:
    """What became of a mutant. `caught` are the cases that are right without it and wrong with it, with what was wrong."""

    mutant: Mutant
    caught: tuple[tuple[str, str], ...] = ()
    tried: int = 0
    broken: tuple[str, ...] = ()
    """Cases that are wrong without any mutant: they can catch nothing."""

    @property
    def survived(self) -> bool:
        """No case noticed."""
        return not self.caught


def slice_of(stem: str, limit: int = CASES) -> list[CaseId]:
    """One case of each variant of a family's folder, its faults first."""
    order = {kind: i for i, kind in enumerate(("fault", "twin", "healthy", "blind"))}
    held = list(enumerate(variants(stem)))
    held.sort(key=lambda pair: (order[pair[1].kind], pair[0]))
    return [CaseId(stem, v.name, 1000 * (i + 1)) for i, v in held][:limit]


def hunt(cases: Sequence[CaseId], wanted: Sequence[Mutant], *, every: bool = False) -> list[Hunted]:
    """Mutants of one family against cases. `every` goes on after the first case that catches a mutant."""
    found: list[Hunted] = []
    with _Prepared() as prepared:
        order = list(cases)
        for mutant in wanted:
            caught: list[tuple[str, str]] = []
            broken: list[str] = []
            tried = 0
            for case in list(order):
                tried += 1
                wrong = prepared.outcome(case, mutant)
                if wrong.right:
                    continue
                if not prepared.outcome(case).right:
                    broken.append(str(case))
                    continue
                caught.append((str(case), wrong.error or "; ".join(name for name, _ in wrong.failures)))
                if not every:
                    # The next mutant of the same code is likely to be seen by the same case.
                    order.remove(case)
                    order.insert(0, case)
                    break
            found.append(Hunted(mutant, tuple(caught), tried, tuple(broken)))
    return found


def hunt_family(code: str, limit: int = CASES, every: bool = False, wide: bool = False) -> list[Hunted]:
    """A family's mutants against its own cases, at most `limit` of them."""
    return hunt(slice_of(families()[code].stem, limit), mutants(code, wide=wide), every=every)


class _Prepared(ExitStack):
    """Lakes of cases that have been needed, open, and the outcomes without a mutant."""

    def __init__(self) -> None:
        super().__init__()
        self.readers: dict[CaseId, tuple[Reader, str]] = {}
        self.plain: dict[CaseId, Outcome] = {}

    def outcome(self, case: CaseId, mutant: Mutant | None = None) -> Outcome:
        """The outcome of a case with a mutant in place, or with the code as it is."""
        if mutant is None and case in self.plain:
            return self.plain[case]
        ready = self.readers.get(case)
        if ready is None:
            reader, job_id = self.enter_context(posed(case, Settings()))
            ready = self.readers[case] = (remembering(reader), job_id)
        if mutant is not None:
            with installed(mutant):
                return run_one(case, ready=ready)
        self.plain[case] = run_one(case, ready=ready)
        return self.plain[case]


def remembering(reader: Reader) -> Reader:
    """The same reader, which asks each question of its lake once."""
    asked: dict[Any, Result] = {}
    ask = reader.ask

    def remembered(query: str, *, max_rows: int = 200, **params: Any) -> Result:
        key = (query, max_rows, tuple(sorted(params.items(), key=lambda p: p[0])))
        if key not in asked:
            asked[key] = ask(query, max_rows=max_rows, **params)
        return asked[key]

    reader.ask = remembered
    return reader
