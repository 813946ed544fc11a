from __future__ import annotations

import math
import tempfile
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store import Reader, Writer, free_sql
from store.catalog import QueryInfo
from store.result import Cell
from store.rows import LogEvent, LogLine

TEXT = st.one_of(
    st.none(),
    st.text(max_size=40),
    st.text(alphabet="\"',\\\r\n\t\0 N\udc80é\u2028\ufeff;|", max_size=12),
    st.sampled_from(["", "NULL", "null", "\\N", '""', "NaN", "'", " x ", "#", "\r\n", "\x1a", "true", "1e5"]),
)
INTEGERS = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))
FLOATS = st.one_of(st.none(), st.floats())
TIMES = st.one_of(
    st.none(),
    st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
    st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(timezone(timedelta(hours=-7)))),
)
EVENTS = st.builds(
    LogEvent,
    message=TEXT,
    name=TEXT,
    node=TEXT,
    job_id=TEXT,
    seq=INTEGERS,
    elapsed_ms=FLOATS,
    ts=TIMES,
    happened_ts=TIMES,
)
FIELDS = ("message", "name", "node", "job_id", "seq", "elapsed_ms", "ts", "happened_ts")
ALL = QueryInfo(
    "all", "", ("log_event",), (), (), "", f"SELECT {', '.join(FIELDS)} FROM log_event ORDER BY line_no", {}
)


def kept(value: object) -> object:
    """What the lake holds for a value: text that UTF-8 cannot hold as its escape, times as microseconds of UTC."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def same(cell: Cell, value: object) -> bool:
    if isinstance(value, float) and math.isnan(value):
        return isinstance(cell, float) and math.isnan(cell)
    if isinstance(value, datetime):
        return isinstance(cell, str) and datetime.fromisoformat(cell[:-1]) == value
    return cell == value and type(cell) is type(value)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(EVENTS, min_size=1, max_size=8))
def test_every_value_comes_back_as_it_was(rows: list[LogEvent]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        import dataclasses

        numbered = [dataclasses.replace(r, line_no=i) for i, r in enumerate(rows)]
        Writer(Path(folder) / "lake", durable=False, threads=1).append(numbered, batch="b")
        with Reader(Path(folder) / "lake", threads=1) as reader:
            found = reader.run(ALL, {}, 100)
    assert found.row_count == len(rows)
    for cells, row in zip(found.rows, rows, strict=True):
        for cell, field in zip(cells, FIELDS, strict=True):
            assert same(cell, kept(getattr(row, field))), (field, cell, getattr(row, field))


def test_a_line_of_many_megabytes_is_kept(tmp_path: Path) -> None:
    text = "é" * 3_000_000
    Writer(tmp_path / "lake").append([LogLine(text=text, line_no=1), LogLine(text="", line_no=2)], batch="b")
    found = free_sql.run(tmp_path / "lake", "SELECT length(text) FROM log_line ORDER BY line_no")
    assert found.rows == ((3_000_000,), (0,))


def test_a_number_of_more_than_64_bits_becomes_null_and_its_neighbours_stay(tmp_path: Path) -> None:
    rows = [
        LogEvent(job_id="1", kind="warning", name="", message="a", line_no=2**63, node=node) for node in ("n1", "n2")
    ]
    Writer(tmp_path / "lake", durable=False).append([*rows, LogLine(job_id="1", text="b", line_no=7)], batch="b")
    found = free_sql.run(tmp_path / "lake", "SELECT line_no, name, message, node FROM log_event ORDER BY node")
    assert found.rows == ((None, "", "a", "n1"), (None, "", "a", "n2"))
    assert free_sql.run(tmp_path / "lake", "SELECT line_no FROM log_line").rows == ((7,),)


def test_a_csv_file_goes_in_whole_with_constants_and_days(tmp_path: Path) -> None:
    spool = tmp_path / "spool.csv"
    spool.write_text('1,"say ""x""\nnext",2026-03-01 23:59:59.5\n2,,2026-03-02 00:00:00\n3,"",\n')
    done = Writer(tmp_path / "lake").append_csv(
        "log_line", spool, ["line_no", "text", "ts"], batch="b", constants={"job_id": "it's 7", "file": "a.log"}
    )
    assert (done.rows, done.segments) == ({"log_line": 3}, 3)
    found = free_sql.run(tmp_path / "lake", "SELECT line_no, text, ts, job_id, file FROM log_line ORDER BY line_no")
    assert found.rows == (
        (1, 'say "x"\nnext', "2026-03-01T23:59:59.5Z", "it's 7", "a.log"),
        (2, None, "2026-03-02T00:00:00Z", "it's 7", "a.log"),
        (3, "", None, "it's 7", "a.log"),
    )


@pytest.mark.parametrize("node", ["../../etc", "a/b", ".", "..", "", "_", "n" * 300, "n\0", "é"])
def test_a_hostile_node_name_stays_within_the_lake(node: str, tmp_path: Path) -> None:
    Writer(tmp_path / "lake").append([LogLine(text="x", node=node)], batch="b")
    assert {p.name for p in tmp_path.iterdir()} == {"lake"}
    found = free_sql.run(tmp_path / "lake", "SELECT node FROM log_line")
    assert found.rows == ((node,),)
