"""What a line of a log does not say itself is no time of what it tells: an earlier line's is hours off in many logs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent_tools.questions.investigation import Investigation
from agent_tools.tools.log_events import log_events
from agent_tools.tools.read_log import read_log
from agent_tools.tools.timeline import timeline
from store import Reader, Writer
from store.rows import LogEvent, LogLine, Row, SlurmJob
from tests.agent_tools.questions.lookupkit import T, asked

pytestmark = pytest.mark.anyio


def event(line: int, kind: str, name: str, told: str = "carried") -> LogEvent:
    return LogEvent(
        job_id="20", attempt=1, file="o", line_no=line, kind=kind, name=name, severity="info", ts=T, ts_kind=told
    )


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A run of five hours whose first line alone has a time."""
    end = T + timedelta(hours=5)
    rows: list[Row] = [
        SlurmJob(job_id="20", attempt=1, state="COMPLETED", node_list="n1", ts=end, start_ts=T, end_ts=end),
        event(1, "train_begin", "began", "embedded"),
        event(30, "checkpoint", "saved"),
        event(60, "train_end", "completed"),
        LogLine(job_id="20", attempt=1, file="o", line_no=60, ts=T, ts_kind="carried", text="training is over"),
    ]
    Writer(tmp_path / "lake", durable=False).append(rows, batch="b")
    return tmp_path / "lake"


def test_a_save_is_told_without_the_time_of_an_earlier_line(lake: Path):
    with Reader(lake) as reader:
        assert asked(reader, "did it save a checkpoint?", "20")[1] == "Checkpoint: saved (line 30)."


async def test_no_tool_shows_it_as_when_a_line_was_printed(lake: Path):
    with Reader(lake) as reader:
        investigation = Investigation(reader)
        investigation.open("20")
        ctx: Any = SimpleNamespace(deps=investigation.deps())
        moments = await timeline(ctx)
        assert "train_begin began" in moments
        assert "completed" not in moments and "checkpoint" not in moments
        ended = next(row for row in (await log_events(ctx)).splitlines() if "train_end" in row)
        assert "2026-" not in ended
        for shown in (await read_log(ctx, pattern="is over"), await read_log(ctx, file="o", line=60)):
            assert "training is over" in shown and "2026-" not in shown.split("Caveat")[0]
