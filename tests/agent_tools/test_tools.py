"""The tools: what they show counts as shown, an empty answer says what was searched, and failure is not emptiness."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent_tools.evidence import Ledger
from agent_tools.tools import registry
from agent_tools.tools.base import MAX_SHOWN, Deps
from agent_tools.tools.log_events import log_events
from agent_tools.tools.overview import overview
from agent_tools.tools.question import question
from agent_tools.tools.read_log import read_log
from agent_tools.tools.sql import sql
from agent_tools.tools.timeline import timeline
from agent_tools.tools.training_curve import training_curve
from prompts import digest, load, names, playbook
from store import Reader, Writer
from store.rows import LogLine
from tests.agent_tools.casekit import INJECTION, TOKEN, found, lake

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


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


async def test_log_text_is_fenced_and_without_secrets(ctx: Any):
    text = await read_log(ctx, file="slurm-7.out", line=2)
    inside = text[text.index(ctx.deps.fence.opening) : text.index(ctx.deps.fence.closing)]
    assert INJECTION in inside
    assert TOKEN not in text


async def test_empty_unavailable_and_failed_are_three_answers(ctx: Any):
    empty = await log_events(ctx, kind="cuda_oom")
    unavailable = await training_curve(ctx)
    failed = await read_log(ctx, pattern="(")
    assert "Empty: searched log_event" in empty
    assert "Unavailable: no table that this question reads has any data" in unavailable
    assert "failed, which is not the same as empty" in failed


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


def test_every_tool_says_what_it_does_and_describes_its_arguments():
    for tool in registry.tools():
        assert len(tool.description or "") > 20, tool.name
        properties = tool.function_schema.json_schema.get("properties", {})
        assert all("description" in p for p in properties.values()), tool.name
        assert inspect.iscoroutinefunction(tool.function), tool.name


def test_prompts_are_found_by_name_and_digested():
    assert "system" in names()
    assert load("system").startswith("You find out why")
    assert len(digest()) == 64
    assert playbook("B1").strip() == playbook("b1").strip()
    with pytest.raises(KeyError, match="there are"):
        load("no-such-prompt")
