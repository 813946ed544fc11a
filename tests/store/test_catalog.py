from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from store import Reader, Writer
from store.catalog import Need, catalog, parse
from store.pruning import Limits
from store.result import StoreError
from store.rows import Column, LogEvent, LogLine, LogRun, columns, tables

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


_FULL = {str: "x", int: 1, float: 1.0, bool: True, datetime: datetime(2026, 3, 1, 10, tzinfo=UTC)}
# In an order that every worker of a parallel run has: that of a set's own text differs between processes.
_NEEDY = sorted(
    {frozenset(line) for info in catalog().values() for line in info.needs if info.empty},
    key=lambda line: sorted((n.table, n.column, sorted(n.values), n.pattern) for n in line),
)


@pytest.mark.parametrize("line", _NEEDY, ids=lambda line: "-".join(sorted(n.table for n in line)))
def test_what_a_query_says_that_it_needs_it_needs(line: frozenset[Need], tmp_path: Path) -> None:
    """Of every other table that they read and every kind there are rows of the job, and the engine finds no row all the same."""
    asking = {name: info for name, info in catalog().items() if info.empty and line in map(frozenset, info.needs)}
    gone = {need.table for need in line if not need.column}
    read = {table for info in asking.values() for table in info.tables} | {LogRun.TABLE}
    sought = {(need.table, need.column): need.pattern for need in line if need.pattern}

    def value(table: str, column: Column) -> Any:
        """What the pattern that is needed there does not find: a number is a zero then."""
        pattern, full = sought.get((table, column.name)), _FULL[column.python_type]
        return 0 if pattern is not None and re.search(pattern, str(full)) else full

    full = [
        (row, {c.name: value(n, c) for c in columns(row)}) for n, row in tables().items() if n in read and n not in gone
    ]
    bare = [(row, {n: v for n, v in values.items() if n in ("job_id", "ts")}) for row, values in full]
    rows = [row(**values) for row, values in (*full, *bare)]
    Writer(tmp_path).append(rows, batch="all")
    with Reader(tmp_path) as reader:
        for name, info in asking.items():
            asked = {p.name: VALUES[p.sql_type] for p in info.params}
            found = reader.ask(name, **asked)
            ran = reader.run(replace(info, empty=()), found.params, 9)
            assert (name, ran.row_count, ran.columns) == (name, 0, found.columns)
            assert (found.rows, found.coverage) == (ran.rows, ran.coverage)


def test_a_question_is_answered_once_what_it_needs_is_there(tmp_path: Path) -> None:
    """The kinds that stood there before are not taken for those that stand there now."""
    with_kind = {kind: LogEvent(job_id="7", kind=kind, name="n", file="f", line_no=1) for kind in ("banner", "signal")}
    Writer(tmp_path).append([with_kind["banner"]], batch="a")
    with Reader(tmp_path) as reader:
        assert not reader.ask("signals", job_id="7").rows
        assert reader.ask("phases", job_id="7").rows
        Writer(tmp_path).append([with_kind["signal"]], batch="b")
        assert [r["kind"] for r in reader.ask("signals", job_id="7").dicts()] == ["signal"]


def test_a_text_that_a_query_needs_is_looked_for_in_each_row(tmp_path: Path) -> None:
    """Above a length that would take longer to look through than the query takes, the query runs."""
    (need,) = catalog()["progress_hints"].needs[0]
    assert (need.table, need.column, bool(need.pattern)) == ("log_line", "text", True)
    said = [(1, "Hello"), (2, None), (3, "training loss: 0.52")]
    Writer(tmp_path).append([LogLine(job_id="7", file="f", line_no=n, text=t) for n, t in said[:2]], batch="a")
    with Reader(tmp_path) as reader:
        assert not reader.ask("progress_hints", job_id="7").rows
        Writer(tmp_path).append([LogLine(job_id="7", file="f", line_no=3, text=said[2][1])], batch="b")
        assert reader.ask("progress_hints", job_id="7").dicts()[0]["first_line"] == 3
    long = [LogLine(job_id="8", file="f", line_no=n, text="x" * 4000) for n in range(1, 300)]
    Writer(tmp_path).append([*long, LogLine(job_id="8", file="f", line_no=301, text=said[2][1])], batch="c")
    with Reader(tmp_path) as reader:
        assert reader.ask("progress_hints", job_id="8").dicts()[0]["first_line"] == 301


def test_a_query_is_pruned_only_by_what_limits_every_table_it_reads() -> None:
    def prunes(sql: str, tables: str = "gpu_sample") -> set[str]:
        params = "job_id VARCHAR, node VARCHAR, from_ts TIMESTAMP = NULL"
        found = parse("q", f"-- q: t\n-- TABLES: {tables}\n-- PARAMS: {params}\n{sql}").prunes
        assert [*found] == tables.split(", ")
        return set(found["gpu_sample"].params)

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


def test_tables_of_a_query_are_each_limited_by_their_own_parameters() -> None:
    text = "-- PRUNE: log_event(job_id), gpu_event(job_id | nodes, from_ts - 10 MINUTE, to_ts + 1 HOUR)"
    found = parse("q", f"-- q: t\n-- TABLES: log_event, gpu_event, slurm_job\n{text}\nSELECT 1").prunes
    us = 1_000_000
    every = frozenset({"job_id", "nodes", "from_ts", "to_ts"})
    assert found == {"log_event": Limits(frozenset({"job_id"})), "gpu_event": Limits(every, True, 600 * us, 3600 * us)}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("SELECT 1", "first line"),
        ("-- q: t\n-- nonsense\nSELECT 1", "nonsense"),
        ("-- q: t\n-- PARAMS: a\nSELECT 1", "parameter"),
        ("-- q: t\n-- TABLES: slurm_job\n-- NEEDS: log_event\nSELECT 1", "need"),
        ("-- q: t\n-- TABLES: log_event\n-- NEEDS: log_event.kind\nSELECT 1", "need"),
        ("-- q: t\n-- TABLES: log_event\n-- NEEDS: log_event.kind ~\nSELECT 1", "need"),
        ("-- q: t\n-- COLUMN a: x\n-- COLUMN b: y\n-- EMPTY: VARCHAR\nSELECT 1", "EMPTY"),
        ("-- q: t\n-- WITH: nowhere\nSELECT 1", "nowhere"),
        ("-- q: t\n-- WITH: parent_run, losses_kept\nSELECT 1", "derived once"),
        ("-- q: t\n-- PRUNE: jobs\nSELECT 1", "jobs"),
        ("-- q: t\n-- TABLES: log_event\n-- PRUNE: log_line(job_id)\nSELECT 1", "log_line"),
        ("-- q: t\n-- TABLES: log_event\n-- PRUNE: log_event(to_ts + 5 YEAR)\nSELECT 1", "YEAR"),
    ],
)
def test_a_wrong_header_says_which_line(text: str, wrong: str) -> None:
    with pytest.raises(StoreError, match=wrong):
        parse("q", text)


def test_what_queries_share_stands_before_their_own_expressions() -> None:
    alone = parse("q", "-- q: t\n-- WITH: attempts_asked\nSELECT 1 FROM j").sql
    assert alone.startswith("WITH v AS (") and alone.endswith(")\nSELECT 1 FROM j")
    beside = parse("q", "-- q: t\n-- WITH: attempts_asked\nWITH x AS (SELECT 1 FROM j)\nSELECT 1 FROM x").sql
    assert beside.count("WITH") == 1 and beside.endswith("), x AS (SELECT 1 FROM j)\nSELECT 1 FROM x")
    both = parse("q", "-- q: t\n-- WITH: attempts_asked, minutes_owned\nSELECT 1 FROM j, owned").sql
    assert both.count("WITH ") == 1 and both.index("j AS (") < both.index("owned AS (")
    assert "--" not in alone
