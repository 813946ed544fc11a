"""What a sentence does: does it state something, where it was only to ask, to name what is missing, or to advise?

Under "what it cannot decide" and "what to do" nothing has to be cited, so nothing may be claimed there: "Whether the card is
faulty" and "Run the diagnostics" are in their place, "The card is faulty" is not.
A question and an advice suppose, too: of what they take for granted `supposed` tells.
LIMIT: judged by words (`english` refuses other languages before); a phrase without a finite verb states nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

from agent_tools.gate.blame import blames_hardware, own_words
from agent_tools.gate.causes import states_cause
from agent_tools.gate.supposed import supposed
from agent_tools.references import cited

Place = Literal["open", "advice"]
REMEDY: dict[Place, str] = {
    "open": "say what is open ('Whether ...') or what would decide it",
    "advice": "say what to do, and leave observations to shows",
}

_CLAUSE = re.compile(r"(?<=[.;!?:])\s+|\n+|\s[–—-]\s|,?\s\b(?:but|because|since)\b\s", re.IGNORECASE)
_OPEN = re.compile(
    r"(?i)\b(?:whether|if|which|who|whom|whose|why|how|when|where|what(?! (?:is|was|seems) (?:certain|clear|sure|known|evident|true|plain))"
    r"|would|could|might|may|not|no|never|nobody|nothing|none|neither|nor|without|missing|unknown|unclear|undecided|unavailable|absent"
    r"|lacks?|lacking|cannot|can't|\w+n't|should|must|only)\b"
)
_SOUGHT = re.compile(r"(?i)\broot(?: causes?)?\b|\b(?:cause|reason)s? (?:of|for|behind)\b")
"""A cause that is looked for: a name of it, and no claim."""
_FINITE = re.compile(
    r"(?i)\b(?:is|are|was|were|has|have|had|did|does|do|came|finished|completed|succeeded|failed|crashed|died|ended|ran|went|lost|broke"
    r"|converged|diverged|recovered|started|began|stopped|worked|passed|happened|occurred|exited|returned|hung|stalled|caused|killed)\b"
)
_ENDS_SO = re.compile(r"(?i)\b(?!need|requir|ask|suppos|expect|us)[a-z]{3,}ed\W*$")
"""A verb that ends a clause: `the loss exploded`."""
_ASIDE = re.compile(
    rf"(?i),\s+(?=(?:and |so )?(?:the|its|their|this|that|it|they|there|these|those)\b[^,]*{_FINITE.pattern.removeprefix('(?i)')})"
)
"""Before a second sentence behind a comma."""
_DENIES = re.compile(
    r"(?i)^\W*(?:(?:and|so|then) )?(?:nothing(?! (?:more |else |further )?to\b)|nobody|none|neither|no(?! (?:need|point|use|action)\b))\b(?!.*\b(?:needs?|needed|necessary|required|has to|have to|must|should|can|could|would|may)\b)"
)
"""A clause that says of something that it is not so; that nothing has to be done is an advice."""
_GIVEN = re.compile(r"(?i)\b(?:because|since)\s*$")
"""Behind it stands what is taken to be so."""
_SUPPOSING = re.compile(r"(?i)\b(?:if|whether|unless|once|when|in case|until|so that|before)\b")
_SUBJECT = re.compile(
    r"(?i)\W*(?:the|a|an|this|that|these|those|it|its|they|their|all|every\w*|some\w*|any\w*|there|gpus?|ranks?|nodes?|hosts?|jobs?|runs?"
    r"|training|users?|hardware|memory|networks?|slurm|loss|cuda|nccl)\b"
)


def _clauses(text: str) -> Iterator[str]:
    for clause in _CLAUSE.split(text):
        yield from [clause] if _SUPPOSING.search(clause) else _ASIDE.split(clause)


def stated(text: str, place: Place, speaks_of: Callable[[str], bool] = lambda _: False) -> str:
    """The clause of a text that claims something without a cell; "" where there is none.

    "open": what cannot be decided, or what would decide it; "advice": what to do. `speaks_of` says whether what was shown
    speaks of a word.
    """
    for clause in _clauses(text):
        words = own_words(clause)
        if supposed(clause, place, speaks_of):
            return clause.strip()
        accuses = blames_hardware(clause) or states_cause(_SOUGHT.sub("", clause))
        asks, given = _OPEN.search(words), place == "advice" and _GIVEN.search(text[: text.index(clause)])
        if place == "advice":
            denies = _DENIES.match(words)
            asks = None if denies or given else asks
            acted = _FINITE.search(words) or _ENDS_SO.search(words)
            claims = (denies or given or _SUBJECT.match(words)) is not None and acted is not None
        else:
            claims = _FINITE.search(words) is not None or accuses
        if claims and not asks and (accuses or given or not cited([clause])):
            return clause.strip()
    return ""
