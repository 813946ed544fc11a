"""Kill -9 at random moments. INQUEST_CRASH_SECONDS and INQUEST_CRASH_KILLS make it longer; INQUEST_CRASH_SEED repeats it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.crash
@pytest.mark.timeout(0)
def test_killed_writers_nodes_takers_and_compactors_lose_double_or_half_show_nothing(tmp_path: Path) -> None:
    seconds = float(os.environ.get("INQUEST_CRASH_SECONDS", "40"))
    kills = os.environ.get("INQUEST_CRASH_KILLS", "250")
    seed = os.environ.get("INQUEST_CRASH_SEED", str(os.getpid()))
    command = [sys.executable, str(HERE / "crash_nursery.py"), str(tmp_path / "lake"), kills, str(seconds), seed]
    env = {**os.environ, "PYTHONPATH": str(HERE.parent.parent)}
    out = subprocess.run(command, env=env, capture_output=True, text=True, timeout=seconds * 3 + 120)
    assert out.returncode == 0, out.stderr
    report = json.loads(out.stdout)
    assert report["failed"] == 0, out.stderr
    assert (report["wrong"], report["findings"]) == ([], [])
    assert [look["wrong"] for look in report["looks"]] == [[], []], f"seed {seed}"
    assert report["kills"]["write"] >= 20
    assert report["kills"]["compact"] >= 10
    assert report["kills"]["hand"] >= 10
    assert report["kills"]["take"] >= 20
    assert report["incoming"] == []
    assert report["batches"] >= 5
    assert report["files"] == report["segments"], "nothing that died is left on disk after a clean-up"
