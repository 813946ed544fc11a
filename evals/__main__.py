"""`python -m evals`: run the recorded cases with the examiner and print a table; exit status 1 where anything is wrong."""

from __future__ import annotations

import sys
import time

from evals.recorded import cases, scores, verdict_on


def main() -> int:
    """Run them all; one line a case as it is done."""
    wrong = done = 0
    for case in cases():
        begun = time.monotonic()
        try:
            verdict = verdict_on(case.path, case.job)
        except LookupError as error:
            print(f"wrong {case.name}: {error}", flush=True)
            wrong, done = wrong + 1, done + 1
            continue
        lines = scores(verdict, case.expected)
        bad = [s for s in lines if s.value is False]
        wrong, done = wrong + bool(bad), done + 1
        got = verdict.family + (f":{verdict.mode}" if verdict.mode else "")
        print(
            f"{'wrong' if bad else 'right':6}{case.name:32}{got:20}{verdict.confidence:5.2f}"
            f"{time.monotonic() - begun:6.1f} s",
            flush=True,
        )
        for s in bad:
            print(f"      {s.scorer}: {s.why}")
    print(f"{done - wrong} of {done} recorded cases right")
    return 1 if wrong or not done else 0


if __name__ == "__main__":
    sys.exit(main())
