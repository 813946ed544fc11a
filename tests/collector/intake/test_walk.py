"""Which files an import is about."""

from __future__ import annotations

from pathlib import Path

from collector.intake.walk import walk


def test_links_that_lead_nowhere_out_or_to_themselves_are_named_and_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    (tmp_path / "secret.log").write_text("x")
    (folder / "a.log").write_text("a")
    (folder / "loop.log").symlink_to("loop.log")
    (folder / "one.log").symlink_to("two.log")
    (folder / "two.log").symlink_to("one.log")
    (folder / "out.log").symlink_to("../secret.log")
    (folder / "gone.log").symlink_to("nothing.log")
    (folder / "again").symlink_to(folder)
    found = {f.name: f.why_not for f in walk([folder])}
    assert found["a.log"] == ""
    assert all("leads to itself" in found[n] for n in ("loop.log", "one.log", "two.log"))
    assert "leads out of the folder" in found["out.log"]
    assert found["gone.log"]
    assert len(found) == 6
