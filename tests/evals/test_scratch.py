"""Cases lie in memory where it has room, and nowhere else where somebody chose a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.scratch import scratch


def test_memory_is_taken_where_it_has_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    assert scratch(tmp_path, room=1) == str(tmp_path)
    assert scratch(tmp_path, room=1 << 62) is None
    assert scratch(tmp_path / "none", room=1) is None
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    assert scratch(tmp_path, room=1) is None, "whoever chose a folder gets it"
