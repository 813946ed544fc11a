"""Is nothing claimed that must not be: hardware in a failure that is not hardware's, another family's name as the cause?

Looked at are the headline and what the verdict implies, sentence by sentence; a sentence that denies is no claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent_tools.verdict import FAMILIES, Verdict
from evals.scorers.base import Answer, Expected, Score, Scorer
from store import lazy

_HARDWARE = lazy.compile(
    r"\b(?:hardware|(?:faulty|bad|broken|defective|failing|dead) (?:GPU|card|node|link|HCA|NIC)"
    r"|(?:GPU|card|node|link) (?:is|was|has been) (?:faulty|bad|broken|defective|failing)"
    r"|fallen off the bus|RMA|replace the (?:GPU|card))\b",
    re.IGNORECASE,
)
_NAMED = {
    "B2": "hardware fault", "B3": "clock throttling", "C1": "rendezvous hang", "C2": "collective hang", "D3": "straggler",
    "E2": "silent restart", "E3": "undertrained",
}  # fmt: skip
"""Names of families that are no everyday words."""
_DENIED = lazy.compile(
    r"\b(?:no|not|nor|never|neither|nothing|without|rather than|instead of|whether|un(?:likely|affected)|if|may|might|could)\b"
    r"|n't\b",
    re.IGNORECASE,
)
_CODE = lazy.compile(rf"\b(?:{'|'.join(FAMILIES)})\b(?!\w)")
_ENDS = lazy.compile(r"(?<=[.;:!?])\s+")
_QUOTED = lazy.compile(r'"[^"]*"|“[^”]*”')


def _sentences(verdict: Verdict) -> Iterator[str]:
    """What is claimed in the verdict's own words: quotations and cells are the job's."""
    for text in (verdict.headline, *(c.text for c in verdict.implies)):
        own = re.sub(r"\[\[[^\]]*\]\]", "…", text)
        yield from (s for s in _ENDS.split(_QUOTED.sub("…", own)) if not _DENIED.search(s))


@dataclass(repr=False)
class Claims(Scorer):
    """Wrong where such a claim is made. `extra["forbidden"]` lists further words that no claim of the case may hold."""

    title = "forbidden claims"
    blind = True

    def score(self, answer: Answer, expected: Expected) -> Score:
        """Look at every claim that is not a denial."""
        verdict = answer.verdict
        forbidden: list[str] = expected.extra.get("forbidden", [])
        innocent = expected.decided and expected.attribution in ("job", "user", "scheduler", "none")
        bad: list[str] = []
        for sentence in _sentences(verdict):
            if innocent and _HARDWARE.search(sentence):
                bad.append(f"hardware: {sentence}")
            if other := [c for c in _CODE.findall(sentence) if c != verdict.family]:
                bad.append(f"names {', '.join(other)}: {sentence}")
            named = [c for c, name in _NAMED.items() if name in sentence.lower() and c != verdict.family]
            if named and sentence in verdict.headline:
                bad.append(f"names {', '.join(named)}: {sentence}")
            bad += [f"{word!r}: {sentence}" for word in forbidden if word.lower() in sentence.lower()]
        return Score(not bad, "; ".join(bad)[:300])
