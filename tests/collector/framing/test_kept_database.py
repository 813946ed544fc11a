"""A kept database finds what a fresh one finds, and a damaged or foreign one is never used."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from collector.framing.matcher import AnchorMatcher

pytest.importorskip("hyperscan")

LITERALS = [["loss: ", "NCCL WARN"], ["Traceback (most recent", "loss: "]]
TEXT = b"loss: 1\nnothing\nNCCL WARN x\nTraceback (most recent call last)\n"
WHOLE = list(AnchorMatcher(LITERALS, fast=False).segments(TEXT))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "inquest"


def found() -> list[tuple[int, int, int]]:
    return list(AnchorMatcher(LITERALS).segments(TEXT))


def test_the_second_time_it_is_read_and_finds_the_same(cache: Path) -> None:
    assert found() == WHOLE
    (kept,) = cache.iterdir()
    before = kept.stat().st_ino
    assert found() == WHOLE
    assert kept.stat().st_ino == before, "it was read, not made again"
    assert (kept.stat().st_mode & 0o777, cache.stat().st_mode & 0o777) == (0o600, 0o700)


def _cut(raw: bytes) -> bytes:
    return raw[: len(raw) // 2]


def _flipped(raw: bytes) -> bytes:
    return raw[:100] + bytes([raw[100] ^ 1]) + raw[101:]


def _no_database(_raw: bytes) -> bytes:
    return hashlib.sha256(b"no database").digest() + b"no database"


@pytest.mark.parametrize("damage", [_cut, _flipped, _no_database, lambda _: b""])
def test_a_damaged_one_is_made_again(cache: Path, damage) -> None:  # type: ignore[no-untyped-def]
    found()
    (kept,) = cache.iterdir()
    good = kept.read_bytes()
    kept.write_bytes(damage(good))
    assert found() == WHOLE
    assert kept.read_bytes() == good


def test_one_that_others_may_write_is_not_used(cache: Path) -> None:
    found()
    (kept,) = cache.iterdir()
    kept.chmod(0o666)
    assert found() == WHOLE
    assert kept.stat().st_mode & 0o777 == 0o600


def test_other_literals_have_another_one(cache: Path) -> None:
    found()
    AnchorMatcher([["other"]])
    assert len(list(cache.iterdir())) == 2


def test_where_nothing_can_be_kept_it_works_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert found() == WHOLE
