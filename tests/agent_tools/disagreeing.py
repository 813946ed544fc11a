"""A model that concludes, on the job of `casekit`, a family that the differential rules out, and argues for it with a cell."""

from __future__ import annotations

import re

from tests.agent_tools.endpoints.endpoint import Reply, Request, message

ARGUMENT = "Against the differential: it ran for"


def disagreeing(turn: int, request: Request) -> Reply:
    """Looks, then concludes F4 with high confidence though the program raised an error of its own (A1)."""
    told = "\n".join(str(m["content"]) for m in request["messages"] if m["role"] == "tool")
    if not told:
        return message(calls=[("overview", {}), ("differential", {})])
    job = re.findall(r"(E\d+) job_attempts: ", told)[0]
    draft = {
        "family": "F4",
        "confidence": 0.9,
        "attribution": "user",
        "headline": f"The job ended as [[{job}.state]].",
        "implies": [{"text": f"{ARGUMENT} [[{job}.elapsed_s]].", "status": "hypothesis"}],
    }
    return message(calls=[("final_result", draft)])


def shows_the_disagreement(text: str) -> bool:
    """Whether a verdict that was drawn or sent says what the differential concludes instead, and the model's argument."""
    unlinked = re.sub(r"\[([^\]]*)\]\(#e\d+\)", r"\1", text.replace("\\", ""))
    words = re.sub(r"\s+", " ", unlinked)
    return "The differential concludes A1 (" in words and ") instead: " in words and f"{ARGUMENT} 45 min" in words
