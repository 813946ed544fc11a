"""Statements that run again and again: parsed once, the files that they read and write given as parameters."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from store import Reader, Writer, statements
from store.rows import GpuSample, LogLine
from store.statements import Given, parsed, run

T = datetime(2026, 3, 1, 10, tzinfo=UTC)


def test_what_was_not_used_for_longest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "_parsed", {})
    monkeypatch.setattr(statements, "MOST", 2)
    con = duckdb.connect()
    one = parsed(con, "SELECT 1")
    parsed(con, "SELECT 2")
    assert parsed(con, "SELECT 1") is one
    parsed(con, "SELECT 3")
    assert list(statements._parsed) == ["SELECT 1", "SELECT 3"]  # pyright: ignore[reportPrivateUsage]
    con.close()


def test_threads_may_parse_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "_parsed", {})
    monkeypatch.setattr(statements, "MOST", 2)

    def many(k: int) -> int:
        with duckdb.connect() as con:
            return sum(run(con, f"SELECT {(i * k) % 5}").fetchall()[0][0] == (i * k) % 5 for i in range(200))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(many, range(1, 9))) == [200] * 8
    assert len(statements._parsed) <= 2  # pyright: ignore[reportPrivateUsage]


def test_one_text_serves_other_values() -> None:
    con = duckdb.connect()
    texts: set[str] = set()
    found: list[object] = []
    for value in ("it's", "$text_0"):
        given = Given()
        more = Given(given)
        sql = f"SELECT {more.text(value)}, {more.number(len(value))}, {more.files([Path(value)])}"
        texts.add(sql)
        found.append(run(con, sql, more).fetchone())
        assert given.values == {}
    assert len(texts) == 1
    assert found == [("it's", 4, ["it's"]), ("$text_0", 7, ["$text_0"])]
    con.close()


@pytest.mark.parametrize("name", ["it's", "[1]", "$files_0", "a*b?"])
def test_a_lake_may_lie_in_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    for throw_away in (True, False):
        lake = tmp_path / name / str(throw_away)
        rows = [LogLine(node=n, ts=T, job_id="7", text=f"line on {n}") for n in ("n1", "n2")]
        gpus = [GpuSample(node=n, ts=T, job_id="7", gpu=0, power_w=100.0) for n in ("n1", "n2")]
        Writer(lake, durable=not throw_away).append([*rows, *gpus], batch="b")
        with Reader(lake) as reader:
            assert reader.ask("log_search", job_id="7", pattern="line on").row_count == 2
            assert reader.ask("gpu_metric", job_id="7", metric="power_w").row_count > 0
