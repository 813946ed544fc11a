"""Several questions in one message: each is answered, in their order, and the answers become one."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tools.questions.answer import Reply
from agent_tools.references import cited
from agent_tools.verdict import Claim, Missing
from store import lazy

MOST = 4
_END = lazy.compile(r"(?<=\?)\s+(?=\S)")
_ASKS = lazy.compile(
    r"(?i)(?:wh(?:at|ich|o|ose|y|en|ere)|how|is|are|was|were|did|do|does|has|have|can|list|show|give|compare)\b"
)
_LED_IN = lazy.compile(r"(?i)^(?:and|also|then|so|but)[, ]+(?=\w)")
_MAX_SHOWS, _MAX_OTHERS = 24, 12


def parts(question: str) -> list[str]:
    """The questions of a message; the message as it is where one is a single word or none, or where they are too many."""
    found = [_LED_IN.sub("", p.strip()) for p in _END.split(question) if p.strip()]
    asks = all(len(p.split()) > 1 and (p.endswith("?") or _ASKS.match(p)) for p in found)
    return found if asks and 1 < len(found) <= MOST else [question]


def joined(question: str, replies: Sequence[Reply]) -> Reply:
    """One reply of those to a message's parts. What a later one says first stands behind all that the one before it says."""
    first, *others = replies
    shows, implies = [*first.shows], [*first.implies]
    for reply in others:
        (shows if cited([reply.short]) else implies).append(_claim(reply.short))
        shows += reply.shows
        implies += reply.implies
    missing = {(m.text, m.signal): m for r in replies for m in r.cannot_answer}
    made = Reply(
        short=first.short,
        shows=_each_once(shows)[:_MAX_SHOWS],
        implies=_each_once(implies)[:_MAX_OTHERS],
        cannot_answer=[Missing(text=m.text, signal=m.signal) for m in missing.values()][:_MAX_OTHERS],
        actions=_each_once([c for r in replies for c in r.actions])[:_MAX_OTHERS],
        question=question,
        tables=list(dict.fromkeys(t for r in replies for t in r.tables)),
    )
    made.provenance.notes = list(dict.fromkeys(n for r in replies for n in r.provenance.notes))
    return made


def _claim(text: str) -> Claim:
    return Claim(text=text) if cited([text]) else Claim(text=text, status="supported")


def _each_once(claims: Sequence[Claim]) -> list[Claim]:
    return list({c.text: c for c in reversed(claims)}.values())[::-1]
