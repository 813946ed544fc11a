"""Copies in memory, a window's minutes made once and parse trees change what an answer costs, and nothing of it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

import pytest
from duckdb import DuckDBPyConnection

from store import Reader, Writer, engine, redact_sql, shown, views
from store.catalog import catalog
from store.rows import GpuSample, LogEvent, Row, SlurmJob, TrainStep, columns, tables
from store.statements import Given, run

T = datetime(2026, 3, 1, 10, 0, 30, tzinfo=UTC)
BY_MINUTE = ("gpu_summary", "gpu_counter_rises", "gpu_spin", "gpu_spread", "gpu_duty", "gpu_throttled")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(3)
    rows: list[Row] = [
        GpuSample(
            node="n0", gpu=gpu, job_id=None if gpu else "7", ts=T + timedelta(seconds=7 * i), fb_total_bytes=10**11,
            engine_active=rng.random(), sm_active=rng.random(), throttle_reasons=rng.choice((0, 64)), ecc_sbe_total=i // 9,
            sm_clock_mhz=rng.randint(300, 1980),
        )
        for i in range(90) for gpu in range(4)
    ]  # fmt: skip
    folder = tmp_path_factory.mktemp("shown") / "lake"
    Writer(folder).append(rows, batch="a")
    return folder


def test_few_rows_are_answered_as_many_are(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, their order and their types: over copies and the window's rows, and over views that derive them in the question."""

    def answers() -> list[object]:
        found: list[object] = []
        with Reader(lake, threads=1) as reader:
            later = [T + timedelta(seconds=100 + 40 * n) for n in range(4)]  # with these more than are kept
            for end in (T + timedelta(seconds=333), None, *later, None, *later):
                for question in BY_MINUTE:
                    r = reader.ask(question, job_id="7", nodes="n0", from_ts=T + timedelta(seconds=10), to_ts=end)
                    found.append((r.query, r.columns, r.rows, r.row_count, r.coverage))
        return found

    few = answers()
    monkeypatch.setattr(shown, "SMALL", 0)
    assert few == answers()
    assert len({repr(f) for f in few if "gpu_summary" in repr(f)}) == 6, "each window has an answer of its own"


def _value(kind: type, name: str, n: int) -> object:
    """Of a small set where tables are joined by it, else different in every row."""
    if name == "job_id":
        return "7"
    if name in ("node", "host", "failed_node", "node_list", "file", "cluster"):
        return f"{name}{n % 2}"
    if name in ("attempt", "rank", "gpu"):
        return n % 3
    if name == "kind":
        return ("exception", "checkpoint", "slurm", "cuda_oom", "nccl_watchdog", "launcher_summary")[n % 6]
    if kind is datetime:
        return T + timedelta(seconds=37 * n)
    return {str: f"{name} {n}", int: n, float: n + 0.25, bool: n % 2 == 0}[kind]


def test_every_question_has_one_answer_however_it_is_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over copies in memory, with few of the optimizer's passes, and over the files, with all of them."""
    rows = [
        row(**{c.name: _value(c.python_type, c.name, n) for c in columns(row)})
        for row in tables().values()
        for n in range(24)
    ]
    Writer(tmp_path).append(rows, batch="all")
    given = {"VARCHAR": "7", "BIGINT": 1, "DOUBLE": 1.0, "TIMESTAMP": T + timedelta(minutes=5), "BOOLEAN": True}
    named = {"node": "node1", "nodes": "node0,node1", "metric": "sm_clock_mhz", "file": "file1", "pattern": "text"}

    def answers() -> dict[str, str]:
        found: dict[str, str] = {}
        with Reader(tmp_path, threads=1) as reader:
            for name, info in catalog().items():
                needed = {p.name: named.get(p.name, given[p.sql_type]) for p in info.params if not p.optional}
                r = reader.ask(name, **needed)
                found[name] = repr((r.columns, r.rows, r.row_count))  # NaN is equal to itself there
        return found

    few = answers()
    monkeypatch.setattr(shown, "SMALL", 0)
    monkeypatch.setattr(shown, "_MOST_KEPT", 0)
    many = answers()
    assert {n: few[n] for n in few if few[n] != many[n]} == {}
    assert sum(not r.endswith(", 0)") for r in few.values()) > len(few) // 2


def test_rows_that_come_later_are_in_the_next_answer(lake: Path, tmp_path: Path) -> None:
    def summed(reader: Reader) -> object:
        return sum(int(str(r["samples"])) for r in reader.ask("gpu_summary", job_id="8", nodes="n1").dicts())

    folder = tmp_path / "lake"
    one = GpuSample(node="n1", gpu=0, job_id="8", ts=T, engine_active=0.5)
    Writer(folder).append([one], batch="a")
    with Reader(folder) as reader:
        assert summed(reader) == 1
        Writer(folder).append([replace(one, ts=T + timedelta(minutes=5))], batch="b")
        assert summed(reader) == 2


def test_each_job_keeps_its_own_rows_when_many_are_asked_about_in_turn(tmp_path: Path) -> None:
    """More sets of files than stand aside, as copies and as views, whole tables in between."""
    for job in range(7):
        rows = [SlurmJob(job_id=str(job), attempt=n, ts=T, state="FAILED", name=f"n{job}") for n in range(job + 1)]
        Writer(tmp_path).append(rows, batch=str(job))
    with Reader(tmp_path) as reader:
        for job in (0, 1, 0, 2, 3, 4, 5, 6, 0, 6, 5):
            found = reader.ask("job_overview", job_id=str(job)).dicts()
            assert [(r["name"], r["attempts"]) for r in found] == [(f"n{job}", job + 1)]
            assert reader.ask("jobs_found").row_count == 7


def test_what_two_questions_derive_alike_is_derived_once_for_each_job_and_again_for_new_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More jobs than are kept, in turn; a row that comes later is in the next answer."""
    derived: list[str] = []

    def counting(con: DuckDBPyConnection, sql: str, given: Given | Mapping[str, object] | None = None) -> object:
        derived.extend([sql] * sql.startswith("CREATE OR REPLACE TEMP TABLE losses_kept"))
        return run(con, sql, given)

    def losses(reader: Reader, job: int) -> list[object]:
        asked = {"job_id": str(job)}
        (shape,) = reader.ask("loss_shape", **asked).dicts()
        return [shape["points"], shape["last_loss"], [r["loss"] for r in reader.ask("loss_curve", **asked).dicts()]]

    monkeypatch.setattr(shown, "run", counting)
    for job in range(6):
        rows = [TrainStep(job_id=str(job), file="o", line_no=n, step=n, loss=job + n / 4) for n in range(job + 2)]
        Writer(tmp_path).append(rows, batch=str(job))
    with Reader(tmp_path) as reader:
        for job in (0, 1, 2, 3, 4, 5, 0, 5):
            points = [job + n / 4 for n in range(job + 2)]
            assert losses(reader, job) == [job + 2, points[-1], points]
        assert len(derived) == 7, "the first job's went when the fifth was asked about, the last one's stand"
        Writer(tmp_path).append([TrainStep(job_id="5", file="o", line_no=9, step=9, loss=0.5)], batch="later")
        assert losses(reader, 5)[:2] == [8, 0.5]
        assert reader.ask("loss_curve", job_id="5").sql.startswith("WITH use_split AS ("), "what is cited stands alone"


def test_a_forked_child_writes_with_an_engine_of_its_own(tmp_path: Path) -> None:
    Writer(tmp_path / "lake").append([SlurmJob(job_id="1", ts=T)], batch="a")
    child = get_context("fork").Process(
        target=lambda: Writer(tmp_path / "lake").append([SlurmJob(job_id="2", ts=T)], batch="b")
    )
    child.start()
    child.join(60)
    child.kill()
    assert child.exitcode == 0
    with Reader(tmp_path / "lake") as reader:
        assert reader.ask("jobs_found").row_count == 2


def test_throw_away_lakes_share_an_engine_that_outlives_each_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    writing = engine.writing
    monkeypatch.setattr(engine, "writing", lambda **given: (started.append(given), writing(**given))[1])
    for job in range(3):
        folder = tmp_path / str(job)
        Writer(folder, durable=False, threads=3).append([SlurmJob(job_id=str(job), ts=T)], batch="a")
        with Reader(folder) as reader:
            assert [r["job_id"] for r in reader.ask("jobs_found").dicts()] == [str(job)]
        shutil.rmtree(folder)
    assert len(started) == 1
    Writer(tmp_path / "kept", threads=3).append([SlurmJob(job_id="4", ts=T)], batch="a")
    assert len(started) == 2, "a lake that stays has its own, which spills below it"


@pytest.mark.parametrize("table", sorted(t for t, row in tables().items() if row.KEY))
def test_a_row_alone_reads_as_if_it_were_merged(table: str, tmp_path: Path) -> None:
    """With every column given, and with those missing that others hang on."""
    values = {str: "x", int: 3, float: 0.5, bool: True, datetime: T}
    whole = {c.name: values[c.python_type] for c in columns(tables()[table])}
    lone = {k: v for k, v in whole.items() if k not in tables()[table].BELONGS.values()}
    for number, given in enumerate((whole, lone, {"ts": T})):
        folder = tmp_path / str(number)
        Writer(folder).append([tables()[table](**given)], batch="a")
        with Reader(folder) as reader:
            segments = reader.snapshots.take([table])[table]
            as_many = [(path, replace(s, rows=2)) for path, s in segments]
            con = reader._con  # pyright: ignore[reportPrivateUsage]
            alone, merged = (
                ((done := con.execute(views.view(table, s))).description, done.fetchall()) for s in (segments, as_many)
            )
            assert alone == merged


def test_a_parse_tree_serves_any_connection_and_any_value(lake: Path) -> None:
    Writer(lake).append([SlurmJob(job_id="7", attempt=1, ts=T, state="FAILED")], batch="job")
    seen: list[object] = []
    for job in ("7", "8", "7"):
        with Reader(lake) as reader:
            seen.append([r["state"] for r in reader.ask("job_attempts", job_id=job).dicts()])
    assert seen == [["FAILED"], [], ["FAILED"]]


def test_a_search_never_meets_a_secret_whatever_was_asked_before(tmp_path: Path) -> None:
    """What takes secrets out of a searched text is left out of questions that search nothing, and is back in the next one."""
    key = "hf_" + "Ab3dE6gH9jK2mN5pQ8sT1vW4xY7zAb3dE6"
    rows: list[Row] = [
        SlurmJob(job_id="7", attempt=1, name=f"run-{key}", state="FAILED", ts=T, end_ts=T),
        LogEvent(job_id="7", attempt=1, kind="exception", name="ValueError", message=f"no access with {key}", ts=T),
    ]
    Writer(tmp_path / "lake", durable=False).append(rows, batch="a")
    with Reader(tmp_path / "lake", threads=1) as reader:
        for search, found in ((None, 1), ("access|run-", 1), (key, 0), (None, 1), ("Ab3dE6gH9", 0)):
            assert reader.ask("log_events", job_id="7", pattern=search).row_count == found, search
            assert reader.ask("find_jobs", name=search).row_count == found, search


@pytest.mark.parametrize(
    ("condition", "params", "all_of_it"),
    [
        ("($name IS NULL OR regexp_matches(without_secrets(name), $name))", {"name": None}, True),
        ("($name IS NULL OR regexp_matches(without_secrets(name), $name))", {"name": "a"}, False),
        ("($name IS NULL OR a(without_secrets(x), $name)) AND b(without_secrets(y), $name)", {"name": None}, False),
        ("($name IS NULL OR name = $name) AND b(without_secrets(y), $pattern)", {"name": None}, False),
        ("regexp_matches(without_secrets(text), $pattern)", {"pattern": None}, False),
    ],
)  # fmt: skip
def test_secrets_are_looked_for_wherever_a_search_may_be_made(
    condition: str, params: dict[str, str | None], all_of_it: bool
) -> None:
    assert (" AS t" in redact_sql.macro(condition, params)) == all_of_it
