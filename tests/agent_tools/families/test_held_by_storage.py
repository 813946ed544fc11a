"""C2: a read of storage that failed beside a collective's time-out may be what the others waited for."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.families import c2_collective_hang as c2
from tests.agent_tools.families.logkit import facts_of

STEPS = "".join(f"2026-03-01 11:0{n}:01 step={n}00 loss=2.{9 - n} lr=0.001\n" for n in range(1, 5))
TIMED_OUT = (
    "2026-03-01 11:34:25 [rank1]:[E301 11:34:25.1 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=901, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=1800000) ran for 1800031 milliseconds before timing out.\n"
)


def raised(said: str) -> str:
    return (
        f'Traceback (most recent call last):\n  File "/home/u/loader.py", line 20, in _read\n    open(path)\n{said}\n'
    )


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("OSError: [Errno 116] Stale file handle: '/nfs/a.tar'", True),
        ("OSError: [Errno 5] Input/output error", True),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/nfs/a.tar'", False),
        ("KeyError: 'a.tar'", False),
    ],
)
def test_a_server_that_was_lost_is_told_as_a_hypothesis(said: str, told: bool, tmp_path: Path) -> None:
    found = c2.assess(facts_of(STEPS + TIMED_OUT + raised(said), tmp_path))
    assert (found.status, found.attribution) == ("confirmed", "undetermined")
    assert [c.status for c in found.implies if "may have stood in that call" in c.text] == ["hypothesis"] * told
