"""`python -m evals.mutations [FAMILY ...]`: invert each family's deciding conditions; exit status 1 where a mutant lives.

For every condition: the family's own cases are run against the changed code, until one that is right otherwise is judged
wrong. With --wide conditions are removed as well, and those that only choose between confirmed and suspected are looked at
too; what lives of these is only listed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context

from agent_tools.families.registry import families
from evals.mutations.hunt import CASES, Hunted, hunt_family
from evals.mutations.mutants import mutants


def main(argv: Sequence[str] | None = None) -> int:
    """Hunt, print the table, and say by the exit status whether every mutant was caught."""
    options = _options(argv)
    known = families()
    codes = [c.upper() for c in options.families] or list(known)
    if unknown := [c for c in codes if c not in known]:
        print(f"no family {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    found: dict[str, list[Hunted]] = {}
    begun = time.monotonic()
    with ProcessPoolExecutor(min(options.workers, len(codes)), get_context("spawn")) as pool:
        waiting = {pool.submit(hunt_family, code, options.limit, options.all, options.wide): code for code in codes}
        for future in as_completed(waiting):
            code = waiting[future]
            found[code] = future.result()
            if not options.json:
                print("\n".join(map(_line, found[code])), flush=True)
            print(
                f"{len(found)} of {len(codes)} families, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True
            )
    hunts = [h for code in codes for h in found[code]]
    lived = [h for h in hunts if h.survived]
    standing = {m for code in codes for m in mutants(code)}
    failed = [h for h in lived if h.mutant in standing]
    unseen = [code for code in codes if all(h.survived for h in found[code])]
    if options.json:
        print(json.dumps([{**asdict(h), "survived": h.survived} for h in hunts], indent=1))
    else:
        print(f"{len(hunts) - len(lived)} of {len(hunts)} mutants of {len(codes)} families were caught")
    return 1 if failed or unseen else 0


def _line(h: Hunted) -> str:
    caught = ", ".join(f"{case} ({why})" for case, why in h.caught) or f"LIVED through {h.tried} cases"
    return f"{h.mutant.code}  {h.mutant.how:8}  line {h.mutant.line:3}  {h.mutant.text[:80]:80}  {caught}"


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evals.mutations", description="Would the suite notice?")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="only these, by code (default: all)")
    parser.add_argument("--limit", type=int, default=CASES, metavar="N", help="cases of a family at most")
    parser.add_argument("--wide", action="store_true", help="also remove conditions, and look at more; only listed")
    parser.add_argument("--all", action="store_true", help="name every case that catches a mutant, not only the first")
    parser.add_argument("--workers", type=int, default=min(os.cpu_count() or 1, 8), metavar="N", help="processes")
    parser.add_argument("--json", action="store_true", help="the table as JSON")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
