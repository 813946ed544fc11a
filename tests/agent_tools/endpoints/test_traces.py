"""Traces are off by default; with them, spans follow the conventions and carry no text of the cluster unless asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai.models import instrumented

from agent_tools.endpoints.traces import VARIABLE
from agent_tools.questions.investigation import Investigation
from store import Reader
from tests.agent_tools.casekit import INJECTION, lake
from tests.agent_tools.endpoints.endpoint import message, serving
from tests.agent_tools.questions.test_investigation import QUICK, answer, play

pytestmark = pytest.mark.usefixtures("allow_model_requests")
STEPS = (message(calls=[("read_log", {"file": "slurm-7.out", "line": 2})]), answer("It printed [[E2.text]]."))


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(instrumented, "get_tracer_provider", lambda: provider, raising=False)
    yield exporter


def asked(folder: Path, monkeypatch: Any) -> None:
    with Reader(lake(folder)) as reader, serving(play(*STEPS), monkeypatch):
        Investigation(reader, "7").ask("what did it print?", model="openai:scripted", limits=QUICK)


def test_without_the_variable_nothing_is_traced(spans: InMemorySpanExporter, tmp_path: Path, monkeypatch: Any):
    monkeypatch.delenv(VARIABLE, raising=False)
    asked(tmp_path, monkeypatch)
    assert spans.get_finished_spans() == ()


def test_spans_name_model_and_tools_without_their_content(
    spans: InMemorySpanExporter, tmp_path: Path, monkeypatch: Any
):
    monkeypatch.setenv(VARIABLE, "1")
    asked(tmp_path, monkeypatch)
    found = spans.get_finished_spans()
    said = "".join(span.to_json() for span in found)
    assert "gen_ai.request.model" in said
    assert "gen_ai.usage.input_tokens" in said
    assert "read_log" in said
    assert INJECTION not in said
    assert "what did it print?" not in said
