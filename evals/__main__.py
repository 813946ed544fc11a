"""`python -m evals`: recorded jobs and scenarios with the examiner, a table by family; exit status 1 where anything is wrong.

SELECTION  --cases GLOB (`d3_*`, `recorded/*`, `b2_gpu_fault/ecc`), --draw N --seed S for fresh cases besides
OUTPUT     progress on standard error; the report on standard output, as JSON with --json; JUnit XML with --junit FILE
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from evals import report
from evals.scenarios.cases import drawn, standing
from evals.suite import Outcome, recorded, run, selected


def main(argv: Sequence[str] | None = None) -> int:
    """Run, report, and say by the exit status whether all was right (2: nothing was selected)."""
    options = _options(argv)
    cases = [*recorded(), *standing()] if not options.draw else drawn(options.draw, options.seed)
    cases = selected(cases, options.cases)
    if not cases:
        print(f"no case matches {options.cases!r}", file=sys.stderr)
        return 2
    progress = _Progress(len(cases))
    outcomes = run(cases, options.workers, progress)
    if options.junit:
        Path(options.junit).write_text(report.as_junit(outcomes), encoding="utf-8")
    print(report.as_json(outcomes) if options.json else "\n".join(report.lines(outcomes)))
    return 0 if all(o.right for o in outcomes) else 1


class _Progress:
    """One line a wrong case, and a count now and then."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.wrong, self.begun = total, 0, 0, time.monotonic()

    def __call__(self, o: Outcome) -> None:
        self.done += 1
        self.wrong += not o.right
        if not o.right:
            got = o.family + (f":{o.mode}" if o.mode else "")
            said = o.error or "; ".join(f"{scorer}: {why}" for scorer, why in o.failures)
            print(f"wrong {o.case}: {got} at {o.confidence:.2f}. {said}", file=sys.stderr, flush=True)
        if self.done % 20 == 0 or self.done == self.total:
            seconds = time.monotonic() - self.begun
            print(f"{self.done} of {self.total} done, {self.wrong} wrong, {seconds:.0f} s", file=sys.stderr, flush=True)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evals", description="Does inquest find the planted cause?")
    parser.add_argument("--cases", metavar="GLOB", help="only cases stem/variant/seed that match")
    parser.add_argument(
        "--draw", type=int, default=0, metavar="N", help="N fresh draws of every variant, and nothing else"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="seed of the fresh draws")
    parser.add_argument("--workers", type=int, default=min(os.cpu_count() or 1, 8), metavar="N", help="processes")
    parser.add_argument("--json", action="store_true", help="the report and every outcome as JSON")
    parser.add_argument("--junit", metavar="FILE", help="write JUnit XML besides")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
