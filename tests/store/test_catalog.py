from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from store import Reader, Writer
from store.catalog import catalog, parse
from store.result import StoreError

VALUES = {"VARCHAR": "x", "BIGINT": 1, "DOUBLE": 1.0, "TIMESTAMP": "2026-03-01T10:00:00Z", "BOOLEAN": True}


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("empty") / "lake"
    Writer(lake).append([], batch="nothing")
    return lake


@pytest.mark.parametrize("name", sorted(catalog()))
def test_every_query_runs_on_an_empty_lake_and_gives_the_columns_of_its_header(name: str, empty: Path) -> None:
    """Where the header says that empty tables give no row, the engine says so too, of columns of the same types."""
    info = catalog()[name]
    assert info.title
    given = {p.name: VALUES[p.sql_type] for p in info.params}
    needed = {p.name: given[p.name] for p in info.params if not p.optional}
    asked = dict.fromkeys(given) | needed
    with Reader(empty) as reader:
        found = reader.ask(name, **needed)
        ran = [reader.run(replace(info, empty=()), p, 9) for p in (asked, given)]
    assert [c.name for c in found.columns] == [c.name for c in info.columns]
    assert all(r.columns == found.columns and r.rows == found.rows for r in ran if info.empty)


def test_a_query_is_pruned_only_by_what_limits_every_table_it_reads() -> None:
    def prunes(sql: str, tables: str = "gpu_sample") -> set[str]:
        params = "job_id VARCHAR, node VARCHAR, from_ts TIMESTAMP = NULL"
        return set(parse("q", f"-- q: t\n-- TABLES: {tables}\n-- PARAMS: {params}\n{sql}").prunes)

    assert prunes("SELECT 1 FROM gpu_sample WHERE job_id = $job_id") == {"job_id"}
    timed = "SELECT 1 FROM gpu_sample WHERE job_id = $job_id AND ($from_ts IS NULL OR ts >= $from_ts)"
    assert prunes(timed) == {"job_id", "from_ts"}
    assert prunes("SELECT 1 FROM gpu_sample WHERE job_id = $job_id OR node = 'a'") == set()
    assert (
        prunes("SELECT 1 FROM gpu_sample JOIN slurm_job USING (node) WHERE job_id = $job_id", "gpu_sample, slurm_job")
        == set()
    )
    assert prunes("SELECT job_id <> $job_id FROM gpu_sample WHERE job_id = $job_id") == set()
    assert prunes("-- PRUNE: node\nSELECT 1 FROM gpu_sample") == {"node"}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("SELECT 1", "first line"),
        ("-- q: t\n-- nonsense\nSELECT 1", "nonsense"),
        ("-- q: t\n-- PARAMS: a\nSELECT 1", "parameter"),
    ],
)
def test_a_wrong_header_says_which_line(text: str, wrong: str) -> None:
    with pytest.raises(StoreError, match=wrong):
        parse("q", text)
