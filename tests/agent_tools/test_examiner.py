"""The examiner: the default, deterministic, through the same gate; and what happens when its draft does not hold."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agent_tools import agent as agents
from agent_tools.agent import Limits, diagnose, instructions
from agent_tools.evidence import Ledger
from agent_tools.gate.citations import plain
from agent_tools.seal import ledger_of, seal
from agent_tools.verdict import FAMILIES
from agent_tools.verify import verify
from collector.intake.bundle import import_paths
from store import Reader
from tests.agent_tools.casekit import QUICK, lake, verdict

EXAMPLES = Path(__file__).parents[2] / "inquest" / "examples"


def unanswering() -> FunctionModel:
    """A model whose endpoint is never there, so that the examiner's turn at the end of the chain comes."""

    def gone(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise ConnectionError("nobody listens")

    return FunctionModel(gone)


def test_the_examiner_gives_the_differentials_draft_through_the_gate(tmp_path: Path):
    made = verdict(tmp_path)
    assert (made.provenance.model, made.provenance.requests, made.provenance.tool_calls) == ("examiner", 0, 0)
    assert plain(made.headline, ledger_of(made)) == "The job raised ValueError"
    assert made.provenance.notes == ["noted"]
    assert len(made.provenance.prompt_digest) == 64


def test_the_examiner_needs_no_model_requests_and_says_the_same_each_time(tmp_path: Path):
    first, second = verdict(tmp_path / "a"), verdict(tmp_path / "b")
    drop = {"provenance", "evidence"}
    assert first.model_dump(exclude=drop) == second.model_dump(exclude=drop)
    assert [e["sha256"] for e in first.evidence] == [e["sha256"] for e in second.evidence]


def test_sentences_that_do_not_hold_are_dropped_and_noted_but_the_verdict_stands(tmp_path: Path):
    made = verdict(tmp_path, shows=[{"text": "Rank [[E2.rank]] failed."}, {"text": "It cost 99 hours."}])
    assert [c.text for c in made.shows] == ["Rank [[E2.rank]] failed."]
    assert any("'99' is a typed figure" in n for n in made.provenance.notes)


def test_an_impossible_draft_becomes_undetermined(tmp_path: Path):
    made = verdict(tmp_path, family="Z9", mode=None)
    assert (made.family, made.attribution) == ("U0", "undetermined")
    assert any("'Z9' does not exist" in n for n in made.provenance.notes)


def test_a_job_is_diagnosed_from_its_lake(tmp_path: Path):
    """The whole default path, and the verdict verifies against the lake."""
    told: list[str] = []
    with Reader(lake(tmp_path)) as reader:
        made = diagnose(reader, "7", on_event=told.append, zone_note="UTC (told)")
        assert made.family in FAMILIES
        assert (made.job, made.provenance.zone, made.provenance.model) == ("7", "UTC (told)", "examiner")
        assert made.cost.gpu_hours_held == 6.0
        assert "slurm_job" in {c["table"] for c in made.coverage}
        report = verify(json.loads(json.dumps(seal(made))), reader)
    assert report.ok, report.problems
    assert any("differential" in t for t in told)


def test_a_family_that_breaks_costs_the_differential_and_not_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("password=hunter2222")

    monkeypatch.setattr("agent_tools.differential.differential", broken)
    with Reader(lake(tmp_path)) as reader:
        made = diagnose(reader, "7", limits=QUICK)
    assert (made.family, made.confidence) == ("U0", 0.3)
    assert "ZeroDivisionError: password=[redacted: secret]" in made.provenance.notes[0]


def test_a_running_event_loop_uses_the_other_door(tmp_path: Path):
    async def inside(reader: Reader) -> str:
        return (await agents.diagnose_async(reader, "7", limits=Limits())).provenance.model

    with Reader(lake(tmp_path)) as reader:
        assert asyncio.run(inside(reader)) == "examiner"


def test_the_instructions_hold_no_time_or_mark():
    text = instructions()
    assert instructions() is text
    assert "<<untrusted ...>>" in text


def test_the_package_loads_without_the_agents_framework():
    """What `inquest --help` and `inquest jobs` import stays small; only a diagnosis loads pydantic-ai."""
    code = (
        "import sys, agent_tools, agent_tools.agent, agent_tools.gate.citations, agent_tools.seal, agent_tools.verify, prompts;"
        "print([m for m in ('pydantic_ai', 'openai', 'httpx', 'duckdb') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_verdict_that_asks_no_model_loads_nothing_that_models_need(tmp_path: Path):
    """The framework and its clients are most of a second of start-up, and tens of megabytes."""
    code = (
        "import sys; from inquest.__main__ import main;"
        f"main(['why', '7', '--lake', {str(lake(tmp_path))!r}, '--json']);"
        "print([m for m in ('pydantic_ai', 'openai', 'httpx', 'genai_prices') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    made, loaded = done.stdout.rstrip().rsplit("\n", 1)
    assert (json.loads(made)["provenance"]["model"], loaded) == ("examiner", "[]")


@pytest.mark.parametrize("name", ["killed-rank", "wrong-lora-targets", "preempted-and-resumed", "too-few-steps"])
def test_the_examiner_says_the_same_alone_and_at_the_end_of_a_chain_of_models(name: str, tmp_path: Path):
    """Alone it does without the framework; behind models that failed it is a model as they are, in their agent."""
    import_paths([EXAMPLES / name], tmp_path / "lake", durable=False)
    with Reader(tmp_path / "lake") as reader:
        job = str(reader.ask("jobs_found").dicts()[0]["job_id"])
        alone, last = diagnose(reader, job), diagnose(reader, job, model=unanswering(), limits=QUICK)
    assert alone.model_dump(exclude={"provenance"}) == last.model_dump(exclude={"provenance"})
    assert (alone.provenance.requests, last.provenance.requests, last.provenance.tool_calls) == (0, 2, 2)
    assert "nobody listens" in last.provenance.notes[0]


def test_sentences_that_do_not_hold_are_dropped_alike_at_the_end_of_a_chain(tmp_path: Path):
    wrong = {"shows": [{"text": "Rank [[E2.rank]] failed."}, {"text": "It cost 99 hours."}]}
    alone, last = verdict(tmp_path / "a", **wrong), verdict(tmp_path / "b", model=unanswering(), **wrong)
    drop = {"provenance", "evidence"}
    assert alone.model_dump(exclude=drop) == last.model_dump(exclude=drop)
    assert set(alone.provenance.notes) < set(last.provenance.notes)


def test_what_was_asked_before_a_failure_stays_in_the_ledger(tmp_path: Path):
    with Reader(lake(tmp_path)) as reader:
        ledger = Ledger()
        found = agents.examine(reader, ledger, "7", None)
    assert ledger.all()
    assert found.draft.family in FAMILIES


@pytest.mark.parametrize("name", ["killed-rank", "wrong-lora-targets", "preempted-and-resumed", "too-few-steps"])
def test_nothing_of_a_recorded_jobs_verdict_is_dropped_and_all_of_it_verifies(name: str, tmp_path: Path):
    """The families' own sentences pass the gate on real jobs, and the sealed verdict holds against the lake."""
    import_paths([EXAMPLES / name], tmp_path / "lake", durable=False)
    with Reader(tmp_path / "lake") as reader:
        made = diagnose(reader, str(reader.ask("jobs_found").dicts()[0]["job_id"]))
        report = verify(json.loads(json.dumps(seal(made))), reader)
    assert not any(n.startswith("Dropped") for n in made.provenance.notes), made.provenance.notes
    assert report.ok, report.problems
    assert report.checked > 20
