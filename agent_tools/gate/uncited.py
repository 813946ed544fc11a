"""What may stand without a cell, and is said as what it is: an offer of the rules, or an advice that only looks, or a question.

`as_offered` puts what repeats an offer into the offer's own words and references; what is left over, `looking` judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import TypeVar

from agent_tools.families.base import Assessment
from agent_tools.gate.backing import Backing
from agent_tools.gate.causes import Stand
from agent_tools.gate.denials import affirmed
from agent_tools.gate.grounds import Grounds, title
from agent_tools.gate.looking import Looking
from agent_tools.gate.offers import Offers
from agent_tools.gate.sentences import check
from agent_tools.gate.words import spoken_of, stems
from agent_tools.questions.answer import Answer
from agent_tools.references import cited
from agent_tools.verdict import Draft, Missing
from store.catalog import catalog
from store.rows import columns, tables

_Said = TypeVar("_Said", Answer, Draft)


@cache
def _names() -> frozenset[str]:
    """What telemetry is called in the store: its tables, their columns, and what is asked of them."""
    return frozenset([*tables(), *catalog(), *(c.name for t in tables().values() for c in columns(t))])


class Uncited:
    """The judge of what needs no cell, for what was found and offered on the jobs that were opened."""

    def __init__(
        self,
        grounds: Grounds,
        stand: Stand,
        backing: Backing,
        assessments: Sequence[Assessment],
        drafts: Sequence[Draft],
    ) -> None:
        self.grounds, self.stand, self.backing = grounds, stand, backing
        self._assessments, self._drafts = assessments, drafts
        self._rows = Backing(grounds.ledger, ())
        self._offered: set[str] = set()
        self._told: set[str] = set()

    @cached_property
    def offers(self) -> Offers:
        """What the rules offer on the jobs that were opened."""
        return Offers(self.grounds.ledger, self._assessments, self._drafts)

    @cached_property
    def _found(self) -> frozenset[str]:
        """What was found, in words, where one job was opened: of several, each has its own."""
        if len(self.offers.jobs - {""}) > 1:
            return frozenset()
        found = (a for a in self._assessments if a.status in ("confirmed", "suspected") and a.code != "U0")
        return stems("\n".join([*map(affirmed, self.grounds.facts), *(affirmed(title(a.code)) for a in found)]))

    def as_offered(self, said: _Said, opens: str, beside: Sequence[str] = ()) -> _Said:
        """An answer or a draft with what repeats an offer in the offer's own words; `opens` is where it has what is left open."""
        missing: list[Missing] = getattr(said, opens)
        if not (said.actions or missing):
            return said
        done, asked = self.offers.actions, self.offers.open
        put = [c.model_copy(update={"text": self._quoted(c.text, done, beside)}) for c in said.actions]
        left = [
            Missing(text=self._quoted(m.text, asked, beside), signal=self._quoted(m.signal, asked, beside)[:300])
            for m in missing
        ]
        return said.model_copy(update={"actions": put, opens: left})

    def advice(self, text: str) -> list[str]:
        """What is wrong with an advice, with the remedy."""
        if text in self._offered or not (why := self._looking(text).advice(text)):
            return []
        named = self._named(self.offers.actions)
        offered = f"copy one that the tools offer ({named}), or only" if named else "only"
        return [
            f"{text[:60]!r}: {why}. What to do is quoted: {offered} check, compare or ask ('Check ... for ...', 'Ask ... whether ...')"
        ]

    def open(self, text: str) -> list[str]:
        """What is wrong with a question that is left open, or with what would decide it; with the remedy."""
        if not text.strip() or text in self._offered or not (why := self._looking(text).open(text)):
            return []
        named = self._named(self.offers.open)
        return [
            f"{text[:60]!r}: {why}. Ask 'Whether ...' of what was shown, cite what you ask the reason of, or name a log or table"
            + (f"; or copy one that is open ({named})" if named else "")
        ]

    def _named(self, offered: Sequence[tuple[str, str]]) -> str:
        """What is offered, named once in a report."""
        named = self.offers.named(offered)
        told, self._told = named in self._told, {*self._told, named}
        return "named above" if told and named else named

    def _quoted(self, text: str, offered: Sequence[tuple[str, str]], beside: Sequence[str]) -> str:
        if found := self.offers.quoted(text, offered, beside):
            self.grounds.admit(found)
            self._offered.add(found)
        return found or text

    def _looking(self, text: str) -> Looking:
        refs = cited([text])
        known = self.backing.vocabulary(refs) if refs else self._found
        return Looking(lambda w: spoken_of(w, known), self._is_name, self._claimed)

    def _is_name(self, token: str) -> bool:
        """Whether a name is one of ours, or was shown."""
        return token.lower() in _names() or self.grounds.contains(token)

    def _claimed(self, word: str, text: str) -> bool:
        """Whether what is asked for holds as a claim: the rows of its cells say it, without what was found of others beside them;
        or the rules ask so."""
        return bool(self.offers.quoted(f"{word} {text}", self.offers.open, ())) or (
            bool(cited([text]))
            and not check(text, self.grounds).problems
            and not self._rows.unbacked(text)
            and not self.stand.causal(text)
            and not self.stand.blames(text)
        )
