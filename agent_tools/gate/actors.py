"""Whom and what an advice supposes to be there: "the other team", "the intruder", "yesterday's change", "the checkpoint at step *".

What there is on every cluster (its operators, its scheduler, one's own team) may be asked and told. Another who did something, a change
that was made and a save that was written are claims: somebody has to be named beside them, or what was shown has to speak of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from agent_tools.evidence import Ledger
from agent_tools.gate.vocabulary import EVERYDAY
from agent_tools.gate.words import spoken_of, stems
from agent_tools.references import HOLE, BadReference, marks, masked, resolve

_DEFINITE = r"\b(?:the|that|those|this|these|its|their|his|her|your|our|both|[a-z]+['’]s|\*['’]s)"
_ELSE = r"(?:other|others'|neighbou?r(?:ing)?|compet\w+|conflict\w+|interfer\w+|offending|foreign|alien|rival|co-?located|co-?resident|second|guest|unknown|strange|unauthori[sz]ed|rogue|greedy|noisy|intruding|external)"
_SOMEBODY = (
    r"(?:teams?|groups?|users?|owners?|persons?|people|colleagues?|jobs?|process(?:es)?|programs?|tenants?|projects?|departments?|labs?|students?|customers?"
    r"|applications?|workloads?|services?|containers?|daemons?|sessions?|notebooks?)"
)
_OTHER = re.compile(rf"(?i){_DEFINITE} (?:[a-z]+ )?{_ELSE} (?P<who>(?:[a-z]+ )?{_SOMEBODY})\b")
_ALONE = re.compile(
    r"(?i)(?:\b(?:the|that|those|this|these|its|their|your|our|both)) (?:[a-z]+ )?(?P<who>neighbou?rs?|intruders?|culprits?|offenders?|attackers?|hackers?|perpetrators?|saboteurs?|squatters?|hogs?|thie(?:f|ves)"
    r"|co-?tenants?|tenants?|rivals?|competitors?|strangers?|guests?|colleagues?|interns?|students?|predecessors?|roommates?|vandals?|bullies|trespassers?|(?:persons?|people|somebody)(?= (?:on|in|behind) \*))\b"
)
"""Who is not on every cluster."""
_ENDED = re.compile(
    r"(?i)\b(?:stop|kill|terminate|evict|expel|shut down|get rid of|throw out|chase away)\b (?:the|that|those|this|these|its|their|his|her) (?:[a-z-]+ ){0,2}?(?P<who>[a-z-]+)"
    r"(?= (?:on|in|of|at|from|that|which|who|before|after|first|and|or|by|for|to|with|when|until|now|again|early|sooner|soon|cleanly|gracefully|completely|entirely)\b|\s*[,.;:(*]|\s*$)"
)
"""What is to be ended runs."""
_HAD_ENDED = re.compile(
    r"(?i)\b(?:have|get)\b (?:the|that|those|this|these) (?P<who>[a-z-]+) (?:[a-z-]+ ){0,2}?(?:removed|killed|stopped|ended|evicted|terminated|expelled|banned)\b"
)
_GUILTY = re.compile(
    rf"(?i){_DEFINITE} (?:[a-z]+ )?(?P<who>persons?|people|part(?:y|ies)|somebody|ones?|{_SOMEBODY}|operators?|admins?|administrators?|scripts?|programs?)"
    r" (?:(?:who|that) (?:is|was|are|were) )?(?:responsible for|guilty of|to blame for|at fault for|behind) (?:the |this |that |it|its )*(?:[a-z]+ing\b|kills?|crash\w*|outages?|deletions?|damage|loss|failures?|attacks?|leaks?|cancellations?)"
)
"""Who did it."""
_BY_NAME = re.compile(
    r"(?i)\W*(?:(?:with|called|named|by|of) )?(?:the )?(?:user|job|process|pid|rank|owner|account) \*|\W*(?:called |named )?\*"
)
_QUESTION = re.compile(
    r"(?i)\b(?:(?:for|out|see|check|know|ask|asks|tells?|says?|into|of|on|about|at|to|\*|[a-z]+s) )(?:what(?= [a-z]+ed\b)|who|whether|why|if)\b(?:\[\[[^\]]*\]\]|[^,.;:])*"
)
_HEDGED = re.compile(r"(?i)\b(?:whether|if|in case|unless|for any|any)\b")
_CHANGED = re.compile(
    r"(?i)\b(?:undo|revert|reverse|roll(?:ing)? back|back out|take back|withdraw|go back (?:to|from)|downgrad\w+|return to)\b[^.;,]*?"
    rf"(?:{_DEFINITE}|\b(?:last|recent|latest|newest)) (?:[a-z]+ ){{0,3}}?(?P<what>changes?|commits?|updates?|upgrades?|edits?|modifications?|patch(?:es)?|switch|migration|rollout|release|deployment)\b"
)
_BEFORE = re.compile(
    r"(?i)\bbefore the (?P<what>changes?|updates?|upgrades?|switch|migration|rollout|move|maintenance|deployment|patch)\b"
)
_OF_TIME = re.compile(
    r"(?i)\b(?:yesterday|today|tonight|monday|tuesday|wednesday|thursday|friday|saturday|sunday|(?:last|this) (?:week|month|night|year))['’]s (?:[a-z]+ ){0,2}?(?P<what>[a-z]+)\b"
)
_WHY = re.compile(r"(?i)\b(?:why|how come|what made|for what reason|what(?= [a-z]+ed\b))\b(?P<what>[^,.;:?!]*)")
_SAVED = re.compile(
    r"(?i)(?<!any )(?<!a )\b(?P<what>checkpoints?|snapshots?|backups?|core dumps?|dumps?|saves?|weights|states?)\b[^.;:*]*?(?:\b(?:at|of|from|in|under|for|to)\b|,)[^.;:*]{0,24}$"
)
_KINDS = {
    "weight": "checkpoint save saved saving resumed",
    "state": "state checkpoint save saved saving",
    "checkpoint": "checkpoint save saved saving resumed",
    "save": "checkpoint save saved saving",
}


def presumed(words: str, known: Callable[[str], bool]) -> str:
    """The word of an advice for somebody, or a change, of whom nothing speaks; "" for none.

    `known` says whether what was shown speaks of a word, or has a phrase.
    `words` is the advice with its references as asterisks: who is named by one is known.
    """
    for pattern in (_OTHER, _ALONE, _ENDED, _HAD_ENDED):
        for m in pattern.finditer(words):
            who = m["who"]
            if pattern is _OTHER:
                is_known = known(_another(who))
            elif pattern is _ALONE:
                is_known = known(who)
            else:
                is_known = who.lower() in EVERYDAY or known(who)
            if not (is_known or _HEDGED.search(words[: m.start()]) or _BY_NAME.match(words, m.end("who"))):
                return who
    if m := _GUILTY.search(words):
        return m["who"]
    for pattern in (_CHANGED, _BEFORE):
        for m in pattern.finditer(words):
            if not known(m["what"]):
                return m["what"]
    return next((m["what"] for m in _OF_TIME.finditer(words)), "")


def _another(who: str) -> str:
    """How what was shown tells of one more of them: `another process`."""
    noun = who.split()[-1].lower()
    return f"another {'process' if noun.startswith('process') else noun.removesuffix('s')}"


def reasons(words: str) -> list[str]:
    """What an advice to ask why, or to look for what did it, supposes to have happened."""
    return [m["what"] for m in _WHY.finditer(words) if not _HEDGED.search(words[: m.start()])]


def unasked(text: str) -> str:
    """An advice without what it only asks: `look in the kernel log for what killed it`, `ask whether something kills processes`."""
    return _QUESTION.sub(" ", text)


def unsaved(text: str, ledger: Ledger) -> str:
    """The thing that an advice takes to have been saved where the cell that it cites of it is of nothing of the kind; "" for none."""
    own = re.sub(f"{HOLE}+", lambda m: "*" * len(m[0]), masked(text))
    for mark in marks(text):
        found = _SAVED.search(own[: mark.start])
        if found is None:
            continue
        try:
            cell = resolve(mark.ref, ledger)
        except BadReference:
            continue
        evidence = ledger.get(cell.id)
        row = [str(v) for c in evidence.columns if isinstance(v := evidence.value(c.name, cell.row), str)]
        said = stems(" ".join([evidence.query, cell.column, cell.doc, *row]).replace("_", " "))
        what = found["what"].lower().rstrip("s")
        if not any(spoken_of(w, said) for w in _KINDS.get(what, what).split()):
            return f"{what} of [[{mark.ref}]]"
    return ""
