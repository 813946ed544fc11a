"""What an undetermined verdict leaves open: what would decide stands first, and the rest is one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.references import Span
from agent_tools.verdict import Missing, Verdict
from inquest.render.document import FIRST, document
from tests.agent_tools.families.world import World


def drawn(family: str, open_: int) -> list[str]:
    lacking = [Missing(text=f"Whether {n}.", signal=f"samples of {n}") for n in range(open_)]
    verdict = Verdict(
        family=family,
        confidence=0.6,
        attribution="undetermined",
        headline="It failed.",
        disposition="FAILED.",
        cannot_decide=lacking,
    )
    told = document(verdict, lambda text: [Span("text", text)])
    section = next(s for s in told.sections if s.title == "What it cannot decide")
    assert len(verdict.cannot_decide) == open_
    return ["".join(s.text for s in i.spans) for i in section.items]


@pytest.mark.parametrize(("family", "open_", "shown"), [("U0", 9, FIRST + 1), ("U0", 4, 4), ("A2", 9, 9)])
def test_what_else_is_open_is_one_sentence(family: str, open_: int, shown: int) -> None:
    items = drawn(family, open_)
    assert len(items) == shown
    if open_ > shown:
        assert "6 further questions" in items[-1]


def test_what_ends_runs_is_asked_before_what_slows_them(tmp_path: Path) -> None:
    draft = differential.draft(World(tmp_path).job("FAILED", minutes=0.1).text("hello").facts())
    assert draft.family == "U0"
    asked = [m.text for m in draft.cannot_decide]
    fault, slow = (next(n for n, t in enumerate(asked) if w in t) for w in ("GPU failed", "throughput"))
    assert fault < slow
