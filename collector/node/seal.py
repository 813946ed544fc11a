"""A short-lived child that turns spooled chunks into segments of the lake: `python -m collector.node.seal SPOOL LAKE NODE`.

It holds the engine (some 100 MB) for about a second, so that the collector never does: for a node whose chunks nobody takes in, and
for a spool without a collector.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from collector.node.hand_over import handed_over, why_not
from store.lake import Lake, locked, nonce
from store.result import StoreError
from store.take_in import Taken, take_in


def seal(spool: Path, lake: Path, node: str) -> Taken:
    """Publish every chunk of the node that waits, in the spool or in the lake."""
    place = Lake(lake)
    problem: str | None = None
    with locked(spool / "seal.lock", wait=False) as ours:
        if not ours:
            return Taken(error="another seal is at work")
        try:
            for source in sorted(spool.glob("ready-*")):
                handed_over(source, place, node)
        except (StoreError, OSError) as error:
            problem = why_not(error, place)  # the lake is full or away: what waits stays, and is tried again
        done = take_in(place, node=node)
    done.error = problem or done.error
    replace(spool / "seal.json", asdict(done))
    return done


def replace(path: Path, value: Any) -> None:
    """Write a small file at once or not at all."""
    fresh = path.with_name(f".{path.name}.{nonce()}")
    fresh.write_text(json.dumps(value))
    fresh.rename(path)


def main(words: list[str]) -> int:
    """Exit status 0 when nothing had to stay."""
    spool, lake, node = words
    return 1 if seal(Path(spool), Path(lake), node).error else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
