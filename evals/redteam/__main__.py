"""`python -m evals.redteam --runs N [--seed S]`: N dishonest models, and every attack; the status says whether one succeeded."""

from __future__ import annotations

import argparse
import sys
import time

from evals.redteam.lake import kinds
from evals.redteam.many import many
from evals.redteam.run import attacked


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m evals.redteam", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="dishonest models (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--only-models", action="store_true", help="no attacks")
    asked = parser.parse_args()
    wrong: list[str] = []
    for kind in () if asked.only_models else kinds():
        found = attacked(kind)
        print(f"attack {kind}: {'came to nothing' if not found else f'{len(found)} successes'}", flush=True)
        wrong += [f"{kind}: {w}" for w in found]
    begun = time.process_time()
    tally = many(asked.runs, asked.seed)
    print(
        f"{tally.runs} dishonest models, {time.process_time() - begun:.0f} s of processor, {len(tally.wrong)} that got through, "
        f"{tally.parts} parts of answers shown while they were written"
    )
    for whose, count in sorted(tally.whose.items()):
        print(f"  {whose}: {count}")
    print("\n".join([*wrong, *tally.wrong][:40]), end="")
    return 1 if wrong or tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
