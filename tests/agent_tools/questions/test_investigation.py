"""Questions over HTTP to a scripted model, and without any: memory, refusals, and what stands when a model fails."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_tools.endpoints.drive import Limits
from agent_tools.questions.investigation import Investigation
from agent_tools.references import plain
from collector.intake.bundle import import_paths
from inquest.commands.demo import EXAMPLES
from store import Reader, Writer
from store.rows import SlurmJob
from tests.agent_tools.casekit import INJECTION, TOKEN, T, lake
from tests.agent_tools.endpoints.endpoint import Reply, Request, message, serving

pytestmark = pytest.mark.usefixtures("allow_model_requests")
QUICK = Limits(seconds=20, retry_s=2, requests=8, tool_calls=10, output_retries=2)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with Reader(lake(tmp_path)) as reader:
        yield reader


def play(*replies: Reply):
    def script(turn: int, request: Request) -> Reply:
        return replies[min(turn, len(replies)) - 1]

    return script


def answer(short: str, **fields: Any) -> Reply:
    return message(calls=[("final_result", {"short": short, **fields})])


def test_a_model_finds_a_job_opens_it_and_answers(reader: Reader, monkeypatch: Any):
    steps = [
        message(calls=[("find_jobs", {"state": "FAILED"})]),
        message(calls=[("open_job", {"job": "7"})]),
        message(calls=[("overview", {}), ("log_events", {})]),
        answer("Job [[E2.job_id]] ended as [[E2.state]]."),
    ]
    asked = Investigation(reader)
    with serving(play(*steps), monkeypatch) as endpoint:
        reply = asked.ask("which jobs failed?", model="openai:scripted", limits=QUICK)
    assert plain(reply.short, asked.ledger) == "Job 7 ended as FAILED."
    assert reply.provenance.model == "openai:scripted"
    assert reply.job == "7"
    assert TOKEN not in endpoint.text
    assert [r["id"] for r in reply.evidence if r["rows"] is not None] == ["E2"]


def test_a_tool_without_an_open_job_says_so_instead_of_finding_nothing(reader: Reader, monkeypatch: Any):
    steps = [message(calls=[("overview", {})]), message(calls=[("find_jobs", {})]), answer("There is [[E2.job_id]].")]
    with serving(play(*steps), monkeypatch) as endpoint:
        Investigation(reader).ask("what is there?", model="openai:scripted", limits=QUICK)
    assert "No job is open" in endpoint.text


def test_an_invented_cause_never_reaches_the_reader(reader: Reader, monkeypatch: Any):
    lie = answer("Job [[E2.job_id]] failed because its GPU is broken.")
    asked = Investigation(reader)
    with serving(play(message(calls=[("find_jobs", {})]), lie), monkeypatch):
        reply = asked.ask("why did the jobs fail?", model="openai:scripted", limits=QUICK)
    assert reply.provenance.model == "examiner"
    assert "broken" not in reply.model_dump_json()
    assert "gave no answer" in reply.provenance.notes[0]
    assert reply.tables


def test_what_to_do_is_copied_from_what_is_offered(tmp_path: Path, monkeypatch: Any):
    """What changes something is quoted: the rules' offers are shown beside their findings, and what is made up is told which they are."""
    import_paths([EXAMPLES / "killed-rank"], tmp_path, durable=False)
    with Reader(tmp_path, threads=1) as reader:
        asked = Investigation(reader)
        asked.open("4805")

        def script(turn: int, request: Request) -> Reply:
            if turn == 1:
                return message(calls=[("overview", {}), ("differential", {})])
            offered = re.findall(r"to do: (.+?)(?=\\n|$)", json.dumps(request))
            done = (
                [{"text": "Lower the batch size."}] if turn == 2 else [{"text": offered[0]}, {"text": "Check the log."}]
            )
            return answer(asked.drafts[0][1].headline, actions=done)

        with serving(script, monkeypatch) as endpoint:
            reply = asked.ask("what should I do now?", model="openai:scripted", limits=QUICK)
    assert reply.provenance.notes == []
    said = [c.text for c in reply.actions]
    assert said == [asked.drafts[0][1].actions[0].text, "Check the log."]
    assert "copy one that the tools offer" in endpoint.text


def test_a_dead_endpoint_ends_in_the_tables(reader: Reader, monkeypatch: Any):
    with serving(play(Reply({"error": {"message": "no"}}, status=500)), monkeypatch):
        reply = Investigation(reader, "7").ask("what did it print?", model="openai:scripted", limits=QUICK)
    assert "gave no answer" in reply.provenance.notes[0]
    assert reply.provenance.model == "examiner"


def test_the_second_question_knows_the_first(reader: Reader, monkeypatch: Any):
    asked = Investigation(reader, "7")
    steps = [
        message(calls=[("overview", {}), ("log_events", {})]),
        answer("It raised an exception on a rank.", cannot_answer=[{"text": "Why.", "signal": "the log"}]),
        answer("See before.", cannot_answer=[{"text": "Why.", "signal": "the log"}]),
    ]
    with serving(play(*steps), monkeypatch) as endpoint:
        asked.ask("what happened?", model="openai:scripted", limits=QUICK)
        asked.ask("and which rank?", model="openai:scripted", limits=QUICK)
    told = endpoint.requests[-1]["messages"]
    assert [m["role"] for m in told if m["role"] != "system"][:3] == ["user", "assistant", "user"]
    assert "what happened?" in str(told)
    assert INJECTION not in str(told), "what a tool brought in an earlier turn is not sent again"


def test_without_a_model_a_question_for_the_cause_gets_the_differential_s_words(reader: Reader):
    asked = Investigation(reader, "7")
    reply = asked.ask("why did it fail?")
    assert reply.short == asked.found["7", None].draft.headline
    assert reply.provenance.model == "examiner"


def test_a_question_that_is_asked_again_later_sees_what_has_come_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = lake(tmp_path)
    with Reader(folder) as reader:
        asked = Investigation(reader)
        first = asked.ask("how many jobs are there?")
        later = SlurmJob(job_id="8", attempt=1, state="FAILED", ts=T, start_ts=T, end_ts=T)
        Writer(folder, durable=False).append([later], batch="later")
        assert asked.ask("how many jobs are there?").tables == first.tables, "within a minute an answer stands"
        monkeypatch.setattr("agent_tools.questions.investigation.FRESH_S", -1.0)
        again = asked.ask("how many jobs are there?")
    listed = [asked.ledger.get(t) for t in again.tables]
    assert "8" in {row["job_id"] for e in listed if e.query == "find_jobs" for row in e.dicts()}


def test_without_a_model_words_choose_tables_and_it_says_that_it_does_not_reason(reader: Reader):
    asked = Investigation(reader)
    reply = asked.ask("show me the errors of job 7")
    assert asked.job_id == "7"
    assert "ValueError" in plain(reply.short, asked.ledger)
    assert "does not reason" in reply.cannot_answer[0].text
    assert [asked.ledger.get(t).query for t in reply.tables] == ["log_events"]
    nothing = Investigation(reader).ask("is the moon made of cheese?")
    assert nothing.short.startswith("These words name nothing that is looked up without a model. What can be asked: ")
    assert nothing.tables == [], "the jobs that there are would answer another question"
