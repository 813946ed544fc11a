from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from store import Reader, Writer, free_sql
from store.catalog import QueryInfo
from store.result import QueryTimeout, StoreError
from store.rows import LogLine

T = TypeVar("T")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    Writer(tmp_path / "lake").append([LogLine(text="a", line_no=1), LogLine(text=None, line_no=2)], batch="b")
    return tmp_path / "lake"


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1) TO '{lake}/tables/x.csv'",
        "COPY log_line TO '/tmp/x.csv'",
        "ATTACH '{lake}/x.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '100GB'",
        "RESET lock_configuration",
        "PRAGMA database_list",
        "CREATE TABLE x AS SELECT 1",
        "DROP VIEW log_line",
        "EXPORT DATABASE '{lake}/x'",
        "CALL pragma_version()",
        "SELECT 1; SELECT 2",
        "",
    ],
)
def test_anything_but_one_select_is_refused(sql: str, lake: Path) -> None:
    before = sorted(lake.rglob("*.*"))
    with pytest.raises(StoreError, match=r"only one SELECT|Parser Error"):
        free_sql.run(lake, sql.format(lake=lake))
    assert sorted(lake.rglob("*.*")) == before


@pytest.mark.parametrize(
    "source",
    [
        "read_csv('/etc/passwd')",
        "read_text('/proc/self/environ')",
        "read_blob('{lake}/lake.json')",
        "glob('/*')",
        "glob('{lake}/**')",
        "'/etc/passwd'",
        "read_parquet('http://localhost/x.parquet')",
        "sniff_csv('/etc/passwd')",
    ],
)
def test_no_file_but_the_segments_can_be_read(source: str, lake: Path) -> None:
    with pytest.raises(StoreError, match=r"Permission|disabled|does not exist|Missing Extension"):
        free_sql.run(lake, f"SELECT * FROM {source}".format(lake=lake))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT list_sum(range(2000000000))",
        "SELECT repeat('x', 10000000000)",
        "SELECT printf('%2000000000d', 1)",
        "SELECT list(x) FROM range(1000000000) t(x)",
        "SELECT count(*) FROM range(10000000) a, range(10000000) b",
        "SELECT lpad('x', 2000000000, 'y')",
        "SELECT repeat('x', 30000000) FROM range(3)",
        "WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM t) SELECT count(*) FROM t",
    ],
)
def test_a_bomb_ends_in_a_clear_error_within_the_limits(sql: str, lake: Path) -> None:
    started = time.monotonic()
    with pytest.raises(StoreError, match=r"memory|may use|ran past|maximum supported|bytes"):
        free_sql.run(lake, sql, timeout_s=1.0, memory_mb=256)
    assert time.monotonic() - started < 15


def test_free_sql_counts_all_rows_and_gives_those_asked_for(lake: Path) -> None:
    found = free_sql.run(lake, "SELECT line_no, text FROM log_line ORDER BY line_no", max_rows=1)
    assert (found.rows, found.row_count, found.truncated) == (((1, "a"),), 2, True)
    assert [(c.table, c.rows) for c in found.coverage] == [("log_line", 2)]


def test_the_reader_is_locked(lake: Path) -> None:
    for sql in ("SELECT * FROM read_csv('/etc/passwd')", "SET threads = 4", "ATTACH '/tmp/x.db'", "INSTALL httpfs"):
        with Reader(lake) as reader, pytest.raises(Exception, match=r"Permission|configuration|lock|disabled"):
            reader.run(QueryInfo("q", "", (), (), (), "", sql, {}), {}, 10)


def test_a_time_out_names_the_query_and_leaves_the_reader_usable(lake: Path) -> None:
    slow = QueryInfo("slow", "", (), (), (), "", "SELECT count(*) FROM range(10000000) a, range(10000000) b", {})
    with Reader(lake, timeout_s=0.3) as reader:
        started = time.monotonic()
        with pytest.raises(QueryTimeout, match=r"slow: ran past 0.3 s"):
            reader.run(slow, {}, 10)
        assert time.monotonic() - started < 10
        assert reader.ask("jobs").row_count == 0


@pytest.mark.parametrize(
    "sql", ["FROM range(10000000) a, range(10000000) b", "FROM range(30000000000) WHERE hash(range) = 0"]
)
def test_a_signal_amid_a_question_is_no_error_of_the_question(lake: Path, sql: str) -> None:
    """The engine drops what a handler raises and tells a plain error, which whoever guards a check would take for the check's;
    and where it looks for no signal it would go on to the end of its time."""
    slow = QueryInfo("slow", "", (), (), (), "", f"SELECT count(*) {sql}", {})
    with Reader(lake, timeout_s=60) as reader:
        with pytest.raises(KeyboardInterrupt):
            signalled(signal.SIGINT, 0.3, lambda: reader.run(slow, {}, 10))
        assert reader.ask("jobs").row_count == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGCHLD])
def test_a_handler_that_only_takes_note_leaves_the_question_its_answer(lake: Path, number: signal.Signals) -> None:
    slow = QueryInfo("slow", "", (), (), (), "", "SELECT count(*) FROM range(100000000) WHERE hash(range) = 0", {})
    noted: list[int] = []
    before = signal.signal(number, lambda n, _: noted.append(n))
    read, write = os.pipe2(os.O_NONBLOCK)
    others = signal.set_wakeup_fd(write)
    try:
        with Reader(lake, timeout_s=60) as reader:
            assert signalled(number, 0.05, lambda: reader.run(slow, {}, 10)).rows == ((1,),)
        assert signal.set_wakeup_fd(others) == write
        assert os.read(read, 9) == bytes([number]), "an event loop's own handlers hear of it too"
    finally:
        signal.signal(number, before)
        os.close(read)
        os.close(write)
    assert noted == [number]


def test_a_loop_that_is_stopped_waits_for_no_answer(lake: Path) -> None:
    """The loop's own handler of Ctrl-C calls its first task off and raises nothing, here while another task of it asks."""
    sql = "SELECT count(*) FROM range(30000000000) WHERE hash(range) = 0"
    slow, got = QueryInfo("slow", "", (), (), (), "", sql, {}), threading.Event()

    async def asked(reader: Reader) -> None:
        async def tool() -> None:
            reader.run(slow, {}, 10)
            got.set()

        await asyncio.gather(asyncio.create_task(tool()))

    with Reader(lake, timeout_s=60) as reader:
        with pytest.raises(KeyboardInterrupt):
            signalled(signal.SIGINT, 0.3, lambda: asyncio.run(asked(reader)))
        assert not got.is_set()
        assert reader.ask("jobs").row_count == 0


@pytest.mark.parametrize("after_s", [0.0, 0.5], ids=["before it began", "amid it"])
def test_free_sql_whose_answer_nobody_wants_any_more_is_stopped(lake: Path, after_s: float) -> None:
    unwanted = free_sql.Unwanted()
    said = threading.Timer(after_s, unwanted.tell) if after_s else None
    said.start() if said is not None else unwanted.tell()
    with pytest.raises(StoreError, match="nobody waits"):
        free_sql.run(
            lake, "SELECT count(*) FROM range(30000000000) WHERE hash(range) = 0", timeout_s=60, unwanted=unwanted
        )


def test_free_sql_whose_answer_is_wanted_comes(lake: Path) -> None:
    unwanted = free_sql.Unwanted()
    assert free_sql.run(lake, "SELECT count(*) FROM log_line", unwanted=unwanted).rows == ((2,),)
    unwanted.tell()  # which is too late to hurt anybody


def signalled(number: signal.Signals, after_s: float, ask: Callable[[], T]) -> T:
    """Ask, and be sent a signal meanwhile."""
    sent = threading.Timer(after_s, os.kill, (os.getpid(), number))
    sent.start()
    try:
        return ask()
    finally:
        sent.cancel()


def test_an_answer_of_few_rows_and_many_bytes_is_refused_in_the_child(lake: Path) -> None:
    """A cap on rows is none on bytes: what is too long never reaches the process that asked."""
    length = free_sql.MAX_ANSWER // 4
    with pytest.raises(StoreError, match="the answer has"):
        free_sql.run(lake, f"SELECT repeat('x', {length}) AS a FROM range(5)")
