"""The tools: what they show counts as shown, an empty answer says what was searched, and failure is not emptiness."""

from __future__ import annotations

import asyncio
import inspect
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai import ModelRetry

from agent_tools.evidence import Ledger
from agent_tools.tools import registry
from agent_tools.tools.assess import assess
from agent_tools.tools.base import MAX_SHOWN, Deps, picked, show
from agent_tools.tools.differential import differential
from agent_tools.tools.find_jobs import find_jobs
from agent_tools.tools.log_events import log_events
from agent_tools.tools.look import VIEWS, look
from agent_tools.tools.overview import overview
from agent_tools.tools.question import question
from agent_tools.tools.read_log import read_log
from agent_tools.tools.sql import SECONDS, sql
from agent_tools.tools.timeline import timeline
from agent_tools.tools.training_curve import training_curve
from agent_tools.verdict import FAMILIES
from agent_tools.viewer import Guarded, Viewer
from prompts import digest, load, names, playbook
from store import Reader, Writer, free_sql
from store.result import Result, ResultColumn, StoreError
from store.rows import LogLine, NcclSample
from tests.agent_tools.casekit import INJECTION, TOKEN, found, lake

pytestmark = pytest.mark.anyio


@pytest.fixture
def ctx(tmp_path: Path):
    with Reader(lake(tmp_path)) as reader:
        ledger = Ledger()
        made = found(ledger, reader)
        yield SimpleNamespace(deps=Deps(reader, ledger, "7", None, made.assessments, made.draft, lake=reader.lake))


async def test_the_overview_shows_accounting_and_who_looked(ctx: Any):
    text = await overview(ctx)
    assert "state = FAILED" in text
    assert "elapsed_s = 45 min" in text
    assert "source = sacct" in text
    assert ctx.deps.ledger.is_shown("E1", 0, "state")
    assert not ctx.deps.ledger.is_shown("E1", 0, "failed_node")


async def test_only_the_rows_that_were_printed_can_be_cited(ctx: Any, tmp_path: Path):
    lines = [
        LogLine(job_id="7", file="big.out", line_no=n, ts=datetime(2026, 3, 1, tzinfo=UTC), text=f"line {n}")
        for n in range(1, 150)
    ]
    Writer(tmp_path / "lake").append(lines, batch="big")
    with Reader(tmp_path / "lake") as reader:
        ctx.deps.reader = reader
        text = await read_log(ctx, pattern="^line")
    evidence = ctx.deps.ledger.all()[-1]
    assert f"149 rows, {MAX_SHOWN} shown" in text
    assert ctx.deps.ledger.is_shown(evidence.id, MAX_SHOWN - 1, "text")
    assert not ctx.deps.ledger.is_shown(evidence.id, MAX_SHOWN, "text")


async def test_a_rank_without_a_dump_is_shown_beside_the_collectives_of_the_others(ctx: Any, tmp_path: Path):
    assert "undumped_ranks" not in await look(ctx, "collectives")
    waiting = [
        NcclSample(job_id="7", ts=datetime(2026, 3, 1, tzinfo=UTC), rank=r, comm="0:default_pg", comm_size=4, **values)
        for r in (0, 1, 3)
        for values in (
            {"last_enqueued_seq": 812, "last_completed_seq": 811},
            {"collective": "all_reduce", "seq": 812, "state": "started"},
        )
    ]
    Writer(tmp_path / "lake").append(waiting, batch="dumps")
    with Reader(tmp_path / "lake") as reader:
        ctx.deps = Deps(reader, Ledger(), "7", None, ctx.deps.assessments, ctx.deps.draft, lake=reader.lake)
        text = await look(ctx, "collectives")
    named = next(e for e in ctx.deps.ledger.all() if e.query == "undumped_ranks")
    assert f"{named.id} undumped_ranks: 1 rows" in text and ctx.deps.ledger.is_shown(named.id, 0, "rank")


async def test_log_text_is_fenced_and_without_secrets(ctx: Any):
    text = await read_log(ctx, file="slurm-7.out", line=2)
    inside = text[text.index(ctx.deps.fence.opening) : text.index(ctx.deps.fence.closing)]
    assert INJECTION in inside
    assert TOKEN not in text


class Torn:
    """A store whose disk is torn."""

    def ask(self, query: str, **params: Any) -> Result:
        raise StoreError(f"{query}: cannot read a segment")


async def test_empty_unavailable_and_failed_are_three_answers(ctx: Any):
    empty = await log_events(ctx, kind="cuda_oom")
    unavailable = await training_curve(ctx)
    literal = await read_log(ctx, pattern="shard (bad")
    ctx.deps.reader = Torn()
    failed = await read_log(ctx, pattern="torn")
    assert "Empty: searched log_event" in empty
    assert "Unavailable: no table that this question reads has any data" in unavailable
    assert "no regular expression" in literal
    assert "failed, which is not the same as empty" in failed


async def test_that_no_job_of_anybody_is_in_a_state_can_be_cited(ctx: Any):
    """Of one user's jobs, or in another spelling, or for one who sees own jobs alone, an empty answer says nothing of the others."""
    told = await find_jobs(ctx, state="TIMEOUT")
    shown = re.findall(r"Cite that as \[\[(E\d+)\.row_count\]\] \(= 0 rows\): 'No job ended as TIMEOUT", told)
    assert shown
    assert all(ctx.deps.ledger.is_shown(id, 0, "row_count") for id in shown)
    assert "Cite that" not in await find_jobs(ctx, state="TIMEOUT", user="ada")
    assert "Cite that" not in await find_jobs(ctx, state="time out")
    assert "Cite that" not in await find_jobs(ctx, state="FAILED")
    ctx.deps.reader = Guarded(ctx.deps.reader, Viewer("ada"))
    assert "Cite that" not in await find_jobs(ctx, state="PREEMPTED")


async def test_the_timeline_joins_the_stores(ctx: Any):
    text = await timeline(ctx)
    assert " | started | " in text
    assert "exception ValueError" in text
    assert "No data at all in: " in text


async def test_any_question_of_the_catalog_can_be_asked(ctx: Any):
    assert "- job_attempts(job_id, attempt?): " in await question(ctx)
    assert "state = FAILED" in await question(ctx, "job_overview")
    assert "no parameter" in await question(ctx, "jobs", {"nonsense": 1})


async def test_free_sql_runs_in_its_own_process_and_is_recorded(ctx: Any):
    assert "slurm_job: " in await sql(ctx, "tables")
    text = await sql(ctx, "SELECT count(*) AS lines FROM log_line")
    assert "lines = 3" in text
    assert ctx.deps.ledger.all()[-1].query == "sql"
    assert "failed" in await sql(ctx, "COPY log_line TO '/tmp/x'")


@pytest.mark.parametrize("tool", [*registry.tools(), *registry.offered(fleet=True)], ids=lambda t: t.name)
def test_every_tool_says_what_it_answers_its_cost_what_an_empty_answer_means_and_its_arguments(tool: Any):
    said = tool.description or ""
    assert len(said) > 60
    assert re.search(r"\b(Short|Medium|Long|Slow)\b", said)
    assert re.search(r"[Ee]mpty|Not assessed|Silence", said)
    properties = tool.function_schema.json_schema.get("properties", {})
    assert all("description" in p or re.search(rf"\b{name}\b", said) for name, p in properties.items())
    assert inspect.iscoroutinefunction(tool.function)


def test_what_is_not_offered_by_itself_is_a_view():
    offered = {t.name: t.description or "" for t in registry.offered(fleet=True)}
    assert all(f"\n{view}: " in offered["look"] for view in VIEWS)
    others = {"assess": "differential", "question": "look", "coverage": "look"}
    assert set(registry.functions()) == {*offered, *VIEWS, *others} - {"look"}


async def test_a_view_is_asked_by_its_name_and_any_other_name_is_a_question(ctx: Any):
    assert " | started | " in await look(ctx, "timeline")
    assert "state = FAILED" in await look(ctx, "job_overview")
    assert "lines = 3" in await look(ctx, "sql", query="SELECT count(*) AS lines FROM log_line")
    assert "slurm_job: " in await look(ctx, "sql")
    assert "job_id = 7" in await look(ctx, "find_jobs", parameters={"state": "FAILED"})
    assert "- job_attempts(job_id, attempt?): " in await look(ctx, "nonsense")
    assert "Of hosts: load1" in await look(ctx, "metric")
    assert "node_states: " in await look(ctx, "node_states", node="gpu-01")
    with pytest.raises(ModelRetry, match="compare_ranks takes no rank; it takes no argument"):
        await look(ctx, "compare_ranks", rank=3)


async def test_the_differential_names_every_family_and_has_the_findings_of_one(ctx: Any):
    said = str((await differential(ctx)).return_value)
    assert all(
        re.search(rf"\b{code} {title.split()[0]}", said) for code, (title, _) in FAMILIES.items() if code != "U0"
    )
    own = str((await differential(ctx, "a1")).return_value)
    assert "Playbook. Its modes: data, config, env, asset, code." in own
    ctx.deps.assessments = ()
    assert "Not assessed: A2 Signal kill, A3 Application crash" in str((await differential(ctx)).return_value)


def test_prompts_are_found_by_name_and_digested():
    assert "system" in names()
    assert load("system").startswith("You find out why")
    assert len(digest()) == 64
    assert playbook("B1").strip() == playbook("b1").strip()
    with pytest.raises(KeyError, match="there are"):
        load("no-such-prompt")


def _answer(columns: list[str], rows: list[tuple[Any, ...]]) -> Result:
    found = tuple(ResultColumn(c, "VARCHAR") for c in columns)
    return Result("made_up", "", {}, found, tuple(rows), len(rows), False, (), "", 0.0)


async def test_what_every_row_has_is_said_once_and_can_be_cited_for_each(ctx: Any):
    evidence = ctx.deps.ledger.record(_answer(["node", "gpu", "ok"], [("n1", g, True) for g in range(3)]), "t", {})
    text = show(ctx.deps, evidence)
    assert text.count("n1") == 1
    assert "in every row: node = n1; ok = yes\nrow | gpu\n0 | 0\n1 | 1\n2 | 2" in text
    assert all(ctx.deps.ledger.is_shown(evidence.id, row, "node") for row in range(3))


async def test_a_giant_line_is_cut_and_never_reads_as_an_empty_answer(ctx: Any):
    rows = [(1, "a" * 50_000), (2, "b" * 50_000)]
    text = show(ctx.deps, ctx.deps.ledger.record(_answer(["line", "text"], rows), "t", {}), limit=100)
    assert "2 rows, 1 shown. The rest is not shown" in text
    assert "characters cut" in text
    assert len(text) < 1000
    lone = show(ctx.deps, ctx.deps.ledger.record(_answer(["line", "text"], rows[:1]), "t", {}), limit=100)
    assert "1 rows, 1 shown" in lone


async def test_of_many_gpus_the_odd_one_is_shown(ctx: Any):
    rows = [("n1", g, 60.0 + g % 3, 91.0 if g == 77 else 61.0 + g % 2) for g in range(100)]
    evidence = ctx.deps.ledger.record(_answer(["node", "gpu", "sm", "temp"], rows), "t", {})
    assert 77 in picked(evidence, 8, "odd")
    assert picked(evidence, 3, "spread") == [0, 50, 99]
    assert picked(evidence, 4, "ends") == [0, 97, 98, 99]
    assert picked(evidence, 8, ("node",)) == [0]


async def test_findings_are_told_once_in_a_run(ctx: Any):
    said = str((await differential(ctx)).return_value)
    assert "for: Rank [[" in said
    again = await assess(ctx, "A1")
    assert "Its findings were shown above." in again
    assert "Playbook." in again
    assert "for: Rank [[" not in again


async def test_a_value_stands_where_its_reference_comes_first(ctx: Any):
    """Findings are sent again with every request: what is told twice is paid for twice."""
    said = str((await differential(ctx)).return_value)
    refs = re.findall(r"\[\[(E[0-9]+[^\]]*)\]\]", said)
    twice = [ref for ref in refs if refs.count(ref) > 1]
    assert twice
    assert all(said.count(f"[[{ref}]] (= ") == 1 for ref in refs)


async def test_free_sql_ends_with_the_run(ctx: Any):
    ctx.deps.deadline = time.monotonic() + 0.2
    begun = time.monotonic()
    text = await sql(ctx, "SELECT count(*) FROM range(10000000) a, range(10000000) b")
    assert "failed, which is not the same as an empty answer" in text
    assert "ran past 0.5 s" in text
    assert time.monotonic() - begun < SECONDS


async def test_free_sql_of_a_run_that_is_called_off_is_stopped(ctx: Any, monkeypatch: pytest.MonkeyPatch):
    """A loop that ends waits for its threads: Ctrl-C would be obeyed when the query is through."""
    ends: list[str] = []

    def watched(*args: Any, **options: Any) -> Result:
        try:
            return free_sql.run(*args, **options)
        except StoreError as error:
            ends.append(str(error))
            raise

    monkeypatch.setattr("agent_tools.tools.sql.free_sql", SimpleNamespace(run=watched, Unwanted=free_sql.Unwanted))
    asked = asyncio.create_task(sql(ctx, "SELECT count(*) FROM range(30000000000) WHERE hash(range) = 0"))
    await asyncio.sleep(0.5)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await asyncio.get_running_loop().shutdown_default_executor()
    assert ends == ["sql: nobody waits for the answer any more"]
