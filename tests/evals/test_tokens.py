"""What a model is sent stays within its bounds, in any order of its tools."""

from __future__ import annotations

from typing import Any

import pytest

from bench.tokens_bench import TOKENS, TURNS, common, made_of, measured, serving, uncached
from evals.scenarios.cases import standing

pytestmark = pytest.mark.usefixtures("allow_model_requests")


@pytest.mark.parametrize(
    ("name", "seeds"), [("c2_collective_hang/lost-peer", 3), ("b3_clock_throttle/thermal", 0), ("b1_cuda_oom/full", 0)]
)
def test_a_model_that_says_only_right_things_is_right_within_turns_and_tokens(
    name: str, seeds: int, monkeypatch: pytest.MonkeyPatch
):
    """The cases whose findings are the longest; `bench/tokens_bench.py` measures all."""
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    monkeypatch.setenv("OPENAI_API_KEY", "")
    case = next(c for c in standing() if f"{c.stem}/{c.variant}" == name)
    with serving() as use:
        runs = list(measured(case, seeds, use))
    assert {r.order for r in runs} >= {
        "shortest",
        "one tool a turn",
        "small model",
        *(f"random {n}" for n in range(seeds)),
    }
    assert [r.wrong for r in runs if r.wrong] == []
    assert max(r.turns for r in runs) == TURNS
    assert max(r.billed for r in runs) / 4 <= TOKENS
    assert all(abs(sum(r.parts.values()) - r.billed) < 20 * r.turns for r in runs)


def test_what_comes_after_the_longest_common_beginning_is_new():
    assert common("abc", "abd") == 2
    assert uncached(["abc", "abd", "abde"]) == 3 + 1 + 1


def test_a_request_is_made_of_its_parts():
    def said(role: str, text: str) -> dict[str, Any]:
        return {"role": role, "content": text}

    tools = [{"function": {"name": "look"}}, {"function": {"name": "final_result"}}]
    talk = [said("system", "s"), said("user", "u"), said("assistant", ""), said("tool", "old"), said("assistant", "")]
    made = made_of({"tools": tools, "messages": [*talk, said("tool", "new one")]})
    assert made["new results"] == made["sent again"] + len("new one") - len("old")
    assert set(made) == {"words", "tools", "answer's form", "calls", "new results", "sent again"}
