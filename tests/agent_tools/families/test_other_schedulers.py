"""Ends that batch systems other than Slurm tell of, by the log alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.test_log_endings import drafted

STEPS = "".join(f"step {n}/900 loss {4 - n / 300:.3f} lr 3.0e-4\n" for n in range(10, 400, 10))
LSF = "\n---\nSender: LSF System <lsf@c4>\nSubject: Job 81: <fit> in cluster <east> Exited\n\n{why}\nExited with exit code {code}.\n"
OWNER = "TERM_OWNER: job killed by owner."
LIMIT = "TERM_RUNLIMIT: job killed after reaching LSF run time limit."


@pytest.mark.parametrize(
    ("end", "family", "mode"),
    [
        (LSF.format(why=LIMIT, code=140), "F3", None),
        ("/tmp/81.shell: line 9: 712 Killed     python fit.py\n" + LSF.format(why=LIMIT, code=137), "F3", None),
        (LSF.format(why=OWNER, code=130), "F4", "user"),
        ("/tmp/81.shell: line 9: 712 Killed     python fit.py\n" + LSF.format(why=OWNER, code=137), "F4", "user"),
        (LSF.format(why="TERM_ADMIN: job killed by root or LSF administrator.", code=130), "F4", "operator"),
        (LSF.format(why="TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.", code=137), "A2", None),
        ("=>> PBS: job killed: walltime 7212 exceeded limit 7200\nTerminated\n", "F3", None),
    ],
)
def test_a_batch_system_says_how_it_ended(tmp_path: Path, end: str, family: str, mode: str | None) -> None:
    draft = drafted(STEPS + end, tmp_path)
    assert (draft.family, draft.mode, draft.confidence >= 0.5) == (family, mode, True), draft.headline


def test_an_exception_before_its_owner_killed_it_is_the_cause(tmp_path: Path) -> None:
    error = "Traceback (most recent call last):\n  File \"fit.py\", line 3, in <module>\n    main()\nKeyError: 'lr'\n"
    assert drafted(error + LSF.format(why=OWNER, code=1), tmp_path).family == "A1"
