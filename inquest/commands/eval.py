"""`inquest eval`: how often is the verdict right? The suite with the examiner or any model, for people and for CI.

Exit status: 0 every case is right, or with --baseline none is worse than it was; 1 otherwise; 2 usage; 4 the run is
invalid, because the model's endpoint failed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from inquest import safe
from inquest.commands import INVALID, USAGE, Failure
from inquest.options import add_json, count, print_json, seconds

if TYPE_CHECKING:
    from evals.asking import Settings
    from evals.baseline import Comparison
    from evals.outcome import Outcome
    from evals.scenarios.cases import CaseId


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.epilog = (
        "Exit status: 0 every case is right, or with --baseline none is worse than it was; 1 otherwise; 2 usage; "
        "4 the run is invalid, because the model's endpoint failed."
    )
    parser.add_argument("--model", metavar="M", help="a model behind an OpenAI-compatible endpoint; else the examiner")
    parser.add_argument(
        "--small-model", action="store_true", help="ask less of it, as `inquest why --small-model` does"
    )
    parser.add_argument("--seconds", type=seconds, metavar="S", help="at most so long for one answer (default 240)")
    parser.add_argument("--cases", metavar="GLOB", help="only cases FOLDER/VARIANT/SEED that match or begin like this")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--draw", type=count, metavar="N", help="N fresh draws of every variant, and nothing else")
    which.add_argument("--corpus", type=Path, metavar="DIR", help="labelled cases of your own, and nothing else")
    parser.add_argument(
        "--as-files", action="store_true", help="made-up jobs as files of other tools that are imported, not as rows"
    )
    parser.add_argument("--seed", type=count, default=1, metavar="S", help="seed of the fresh draws (default 1)")
    parser.add_argument("--repeat", type=count, default=1, metavar="K", help="ask every case K times; reports pass^k")
    parser.add_argument("--baseline", type=Path, metavar="FILE", help="an earlier --json, to compare case by case")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write JUnit XML")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write one self-contained page")
    parser.add_argument("--judge", metavar="M", help="a model's opinion of the prose; it never decides pass or fail")
    parser.add_argument("--max-turns", type=count, metavar="N", help="an answer of more requests to the model is wrong")
    parser.add_argument("--max-tokens", type=count, metavar="N", help="an answer of more tokens is wrong")
    parser.add_argument("--max-seconds", type=seconds, metavar="N", help="a slower answer is wrong")
    parser.add_argument(
        "--workers",
        type=count,
        default=min(os.cpu_count() or 1, 8),
        metavar="N",
        help="processes (default: cores, to 8)",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Ask, grade, report."""
    for path in (args.junit, args.html):
        _writable(path)
    from evals import baseline, report
    from evals.asking import Settings
    from evals.suite import run as run_all

    settings = Settings(
        args.model,
        args.judge,
        args.corpus,
        args.max_turns,
        args.max_tokens,
        args.max_seconds,
        args.as_files,
        args.small_model,
        args.seconds,
    )
    cases = _cases(args, settings)
    try:
        before = baseline.read(args.baseline) if args.baseline else None
    except baseline.BaselineError as error:
        raise Failure(str(error), USAGE) from None
    progress = Progress(len(cases) * args.repeat)
    outcomes = run_all(cases, args.workers, progress, settings=settings, repeat=args.repeat)
    progress.end()
    comparison = baseline.compare(before, outcomes) if before is not None else None
    if args.junit:
        args.junit.write_text(report.as_junit(outcomes), encoding="utf-8")
    if args.html:
        from inquest.render.scores import scores_page

        args.html.write_text(scores_page(outcomes, comparison, model=args.model), encoding="utf-8")
    if args.json:
        print_json(report.as_json(outcomes, comparison))
    else:
        for line in report.lines(outcomes, comparison):
            print(safe.plain(line))
    return status(outcomes, comparison)


def status(outcomes: list[Outcome], comparison: Comparison | None) -> int:
    """The exit status of a run."""
    if any(o.invalid for o in outcomes):
        return INVALID
    if comparison is not None:
        return 0 if comparison.held else 1
    return 0 if all(o.right for o in outcomes) else 1


def _cases(args: argparse.Namespace, settings: Settings) -> list[CaseId]:
    from evals.labelled import LabelError
    from evals.scenarios.cases import drawn, standing
    from evals.suite import of_corpus, recorded, selected

    try:
        if args.corpus:
            cases = of_corpus(settings)
        else:
            cases = drawn(args.draw, args.seed) if args.draw else [*recorded(), *standing()]
    except LabelError as error:
        raise Failure(str(error), USAGE) from None
    chosen = selected(cases, args.cases)
    if not chosen:
        folders = ", ".join(sorted({c.stem for c in cases}))
        raise Failure(f"no case matches {args.cases!r}; the folders are {folders}", USAGE)
    return chosen


def _writable(path: Path | None) -> None:
    """Found out before the run, not after it."""
    if path is not None and (path.is_dir() or not path.resolve().parent.is_dir()):
        raise Failure(f"cannot write {path}: it is a folder, or its folder is not there", USAGE)


SILENT_S = 60.0
"""Without a terminal, nobody is left without a word for longer."""


class Progress:
    """A line that keeps up on a terminal; elsewhere one for each tenth or minute; and always one for each wrong case."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.wrong, self.invalid = total, 0, 0, 0
        self.begun = self.said = time.monotonic()
        self.live = sys.stderr.isatty()

    def __call__(self, outcome: Outcome) -> None:
        """One more is done."""
        from evals.baseline import reason

        self.done += 1
        self.invalid += bool(outcome.invalid)
        if not outcome.right:
            self.wrong += not outcome.invalid
            word = "invalid" if outcome.invalid else "wrong"
            self._say(safe.line(f"{word} {outcome.case}: {reason(outcome)}")[:400])
        late = time.monotonic() - self.said > SILENT_S
        tenth = self.done * 10 // self.total > (self.done - 1) * 10 // self.total
        if self.live:
            print(f"\r\x1b[K{self._state()}", end="", file=sys.stderr, flush=True)
        elif tenth or late:
            self.said = time.monotonic()
            self._say(self._state())

    def end(self) -> None:
        """Leave a terminal's line clean."""
        if self.live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _say(self, text: str) -> None:
        start = "\r\x1b[K" if self.live else ""
        print(f"{start}{text}", file=sys.stderr, flush=True)

    def _state(self) -> str:
        passed = time.monotonic() - self.begun
        left = passed / self.done * (self.total - self.done)
        invalid = f", {self.invalid} invalid" if self.invalid else ""
        return f"{self.done} of {self.total}, {self.wrong} wrong{invalid}, {passed:.0f} s, about {left:.0f} s left"
