"""sinfo's long tables, as they are pasted: below the command, and a line of the time."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest

from collector.importers.base import ImportContext
from collector.importers.sinfo import Sinfo
from store.rows import SlurmNodeState

HEAD = "NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON\n"


def states(path: Path) -> tuple[list[tuple[str | None, str | None, str | None]], int]:
    ctx = ImportContext(path.name, UTC)
    rows = [r for r in Sinfo().rows(path, ctx) if isinstance(r, SlurmNodeState)]
    return [(r.node, r.state, r.reason) for r in rows], ctx.problem_count


def test_a_table_of_nodes_is_read_with_what_stands_above_it(tmp_path: Path) -> None:
    path = tmp_path / "s.txt"
    path.write_text(
        "[mina@login2 ~]$ sinfo -Nel\nTue Mar  3 22:22:36 2026\n"
        f"{HEAD}"
        "gpu07          1      gpu*       down* 128    2:32:2 515000        0      1   (null) Not responding\n"
        "gpu08          1      gpu*        idle 128    2:32:2 515000        0      1     a100 none\n"
        "gpu09          1      gpu*        idle\n"
    )
    assert Sinfo().claims(path, path.read_bytes()) == 90
    assert states(path) == ([("gpu07", "DOWN", "Not responding"), ("gpu08", "IDLE", None)], 1)


def test_a_table_of_partitions_is_read_with_a_reservation_and_without(tmp_path: Path) -> None:
    path = tmp_path / "s.txt"
    path.write_text(
        "PARTITION AVAIL  TIMELIMIT   JOB_SIZE ROOT OVERSUBS     GROUPS  NODES       STATE RESERVATION NODELIST\n"
        "gpu*         up 2-00:00:00 1-infinite   no       NO        all      2    drained* gpu[03-04]\n"
        "gpu*         up 2-00:00:00 1-infinite   no       NO        all      1       maint upgrade_03 gpu05\n"
    )
    found, problems = states(path)
    assert [(node, state) for node, state, _ in found[:2]] == [("gpu03", "DRAINED"), ("gpu04", "DRAINED")]
    assert (found[-1][0], problems) == ("gpu05", 0)


@pytest.mark.parametrize(
    "head", [HEAD.replace("REASON", "WHY"), HEAD.replace("CPUS", "LOSS"), "NODELIST NODES PARTITION STATE CPUS\n"]
)
def test_a_head_that_is_not_sinfos_is_left_alone(head: str) -> None:
    assert Sinfo().claims(Path("x"), f"{head}gpu07 1 gpu down*\n".encode()) == 0
