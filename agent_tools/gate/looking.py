"""What may be said without a cell: an advice that only looks, and a question that takes nothing for granted.

    "Check the kernel log of [[E13.node]] for OOM kills."      looks; every word names what every job has, or what was shown
    "Whether the loader leaked memory."                        asks; of a trouble that is asked for nothing is taken for granted
    "Check the leak of the loader."                            takes a leak for granted: some cited row, or a finding, has to say it
    "Why rank [[E18.rank]] was killed."                        what is asked for has to pass as a claim

The vocabulary is closed, so that nothing has to be known of how one might lie: there is no word for a reason, a purpose, or for which
one is meant by what it did. All else is quoted from what the rules offer (`offers`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from agent_tools.gate import lexicon
from agent_tools.gate.words import stem
from agent_tools.references import MARK
from store import lazy

Known = Callable[[str], bool]

_TOKEN = lazy.compile(r"\*|\"[^\"]*\"|`[^`]*`|[-/~.]*[^\W\d][\w'’]*(?:[-./_=:]+[\w'’]+)*|[^\w\s]")
_PLAIN = lazy.compile(r"[a-z]+(?:-[a-z]+)*(?:['’]s?)?")
_STARTS = lazy.compile(
    r"(?i)^[\W_]*(?:(?:please|then|also|first|next|finally|and|it may help to|you can|if possible,)\s+)*"
)
_LOOK = lazy.compile(
    rf"(?i)(?:{'|'.join(lexicon.LOOKS)})\b"
    r"|ask (?:(?:the|an?|your) )?(?:[a-z']+ ){0,6}?(?:\* )?(?=(?:whether|if|how|about|what|why|who|when)\b|for (?:the |its )?(?:[a-z']+ )?(?:logs?|records?|history|outputs?)\b|\W*$)"
    r"|ask (?=(?:(?!for\b|to\b)[a-z']+ ){0,4}[a-z']+\W*$)"
    r"|run (?=(?:the |a )?[`\"]?(?:dcgmi diag|nvidia-smi|nccl-tests?|inquest|py-spy|nsys|(?:vendor's )?(?:field )?diagnostics|memory profiler)\b)"
)
"""How an advice begins that changes nothing."""
_QUESTION = lazy.compile(r"(?i)\b(?:whether|if)\b|^\W*(?:verify|check|confirm|see|find out)\s+that\b")
"""`Check that ...` asks as `check whether` does."""
_HOW = lazy.compile(r"(?i)\bhow (?:much|many|long|often|far|fast|large|big|full|busy|old)\b")
_WH = lazy.compile(r"(?i)\b(?:who(?:m|se)?|which|what|why|when|where|how)\b(?: or (?:what|who))?")
_TOLD = r"(?:known|recorded|stored|decided|decidable|clear|shown|said|told|answered|determined|established|available|here|there|visible|sampled|collected|in (?:the )?(?:data|store|log|logs|telemetry|record|records))"
_SOURCE = r"(?:telemetry|data|store|logs?|accounting|evidence|rows?|records?|cells?|metrics?|samples?|tools?|verdicts?|assessments?|i|we|it|this|that|nothing|none|slurm|differential|findings?|rules?)"
_NOT_TOLD = lazy.compile(
    rf"(?i)^\W*(?:(?:the|this|that|these|its|no|any|my|our|of|available|collected|stored|shown|job's|slurm's|kernel|job)\s+)*{_SOURCE}(?: (?:of|for|from|in) (?:this|the) (?:job|run|store|lake|node))?(?: here| shown| above)?"
    rf" (?:(?:does|do|did|can|could|is|are|was|were|has|have|will)(?: not|n['’]t|not)(?: yet)?(?: be)?(?: (?:{_TOLD}|say|show|tell|record|hold|decide|answer|name|contain|have|state|see|give|know|explain|cover|determine|establish|include|reveal|identify))*"
    r"|(?:says?|shows?|tells?|records?|holds?|decides?|names?|has|states?|answers?|covers?|explains?)(?: nothing(?: of| about)?)?)\b"
)
"""`The telemetry does not show ...`, `No log says ...`."""
_SAYS_NO = lazy.compile(r"(?i)\bnot\b|n['’]t\b|\bcannot\b|\bno\b|\bnothing\b|\bnone\b")
_OPEN_ENDED = lazy.compile(
    rf"(?i)\s*,?\s*(?:is|are|was|were|remains?)(?: (?:not|n't|un))? ?(?:open|missing|unknown|unclear|undecided|unrecorded|{_TOLD})\W*$"
)
_UNKNOWN = lazy.compile(r"(?i)^\W*(?:unknown|unclear|undecided|open|not known|missing)\b(?: is| remains)?\W*")
_CLAUSE = lazy.compile(r"(?<=[.;!?])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Looking:
    """`backed`: whether what a sentence cites, or what was found, speaks of a word; `named`: whether it is a name that is known;
    `claimed`: whether what stands behind a question word passes as a claim."""

    backed: Known
    named: Known
    claimed: Callable[[str, str], bool]

    def advice(self, text: str) -> str:
        """Why a text is no advice that only looks; "" where it is one."""
        for clause in _CLAUSE.split(_own(text)):
            begun = _STARTS.match(clause)
            rest = clause[begun.end() :] if begun else clause
            verb = _LOOK.match(rest)
            if verb is None:
                return f"{rest.split(' ')[0]!r} is no word for looking, asking or comparing"
            *first, last = verb[0].split()  # the last word tells how to go on: look *for*
            if word := self._strange(first[1:], "look") or self._asked(f"{last} {rest[verb.end() :]}", text, "look"):
                return f"{word!r} is taken for granted"
        return ""

    def open(self, text: str) -> str:
        """Why a text leaves nothing open, or more than that; "" where it only asks, or names what would decide it."""
        for clause in _CLAUSE.split(_own(text)):
            frame = _UNKNOWN.match(clause) or ((m := _NOT_TOLD.match(clause)) and _SAYS_NO.search(m[0]) and m) or None
            rest = clause[frame.end() :] if frame else _OPEN_ENDED.sub("", clause)
            if word := self._asked(rest, _OPEN_ENDED.sub("", text), "told" if frame else "name"):
                return f"{word!r} is taken for granted"
        return ""

    def _code(self, token: str) -> bool:
        """Whether a name, or what stands in marks, is of our own telemetry and tools, or was shown."""
        inner = token.strip('"`')
        return self.named(inner) or (
            inner != token and all(w.lower() in lexicon.ALWAYS or self.named(w) for w in inner.split())
        )

    def _asked(self, words: str, text: str, how: str) -> str:
        """The first word of what is looked at, or asked for, that takes something for granted; "" for none."""
        found = min(
            (m for p in (_QUESTION, _HOW, _WH) if (m := p.search(words))),
            key=lambda m: (m.start(), -m.end()),
            default=None,
        )
        if found is None:
            return self._strange(_TOKEN.findall(words), how)
        if word := self._strange(_TOKEN.findall(words[: found.start()]), how):
            return word
        rest = words[found.end() :]
        if _QUESTION.fullmatch(found[0]):
            return self._strange(_TOKEN.findall(rest), "whether")
        if _HOW.fullmatch(found[0]) and not self._strange(_TOKEN.findall(rest), "how"):
            return ""
        return "" if self.claimed(found[0], _behind(text, found[0])) else found[0]

    def _strange(self, tokens: list[str], how: str) -> str:
        """The first token that is no word of the lexicon, in its place, and of which nothing speaks."""
        asks = how == "whether"
        told = False  # `before it was lost` says that it was
        free, before, verb_may = "asks" if asks else "", "", how == "look"
        for i, token in enumerate(tokens):
            low = token.lower().replace("’", "'")
            then = tokens[i + 1].lower() if i + 1 < len(tokens) else ""
            base = low.removesuffix("'s").removesuffix("'")
            if token == "*":
                free = "asks" if asks else ""
            elif not token[0].isalnum() and len(token) == 1:
                pass
            elif not _PLAIN.fullmatch(low):
                if not (base in lexicon.ALWAYS or self._code(token)):
                    return token
            elif low == "that" and (before == "*" or before in lexicon.DEFINITE or _thing(before)):
                return token  # which one is meant, by what it did
            elif low in lexicon.DEFINITE or (low.endswith(("'s", "s'")) and (_thing(base) or base in lexicon.ALWAYS)):
                free = ""
            elif low in ("for", "any", "a", "an", "signs"):
                free = (
                    "asks" if asks else "" if how == "told" else low
                )  # "shows no leak" would tell that there was none
            elif low in lexicon.GLUE:
                if asks and low in ("before", "after", "while"):
                    told = True
                if not asks and low not in ("or", "and", "of"):
                    free = ""
                if low == "to" and not (then in lexicon.DEFINITE or then in ("*", "a", "an", "another")):
                    return token
            elif told and (low in lexicon.DOES or _troubled(base, "asks")) and not self.backed(base):
                return token
            elif (asks and low in lexicon.DOES) or (how == "how" and low in lexicon.HAS):
                free = "asks" if asks else ""
            elif asks and before and low.endswith(("ed", "s")) and _troubled(base, free="asks") and _ends(tokens, i):
                free = "asks"
            elif low in lexicon.BEFORE:
                if not any(f in lexicon.SEVERAL for f in (then, then.removesuffix("s"))):
                    return token
            elif (verb_may and before in _HEADS and low in lexicon.VERBS_TOO and _object(low, then)) or not (
                base in lexicon.ALWAYS
                or all(_thing(p) for p in base.split("-"))
                or (not asks and low in lexicon.LOOKS_TOO)
                or _troubled(base, free)
                or self.backed(base)
            ):
                return token
            before = low
        return ""


_HEADS = ("", ",", ";", "and", "or", "then", "(")


def _troubled(word: str, free: str) -> bool:
    """Whether a word is of a trouble that its place leaves open: asked for, looked for, or one of which none is told."""
    if free == "asks" and stem(word) in lexicon.FATES:
        return True
    return bool(free) and (
        word in lexicon.TROUBLES
        or (
            free not in ("a", "an")
            and any(w in lexicon.TROUBLES for w in (word.removesuffix("s"), word.removesuffix("es")))
        )
    )


def _object(verb: str, then: str) -> bool:
    """Whether what follows a word is what would be done with: `limit memory`, `end *`; of `step *` it is the number."""
    return (then.isalpha() and then not in lexicon.GLUE) or (then == "*" and verb not in ("step", "host", "rank"))


def _ends(tokens: list[str], i: int) -> bool:
    """Whether a word is the verb of a question: behind a thing, before an object or the end, with no other verb to come."""
    then = tokens[i + 1].lower() if i + 1 < len(tokens) else "."
    behind_thing = i > 0 and (tokens[i - 1] == "*" or _thing(tokens[i - 1].lower()))
    goes_on = then in lexicon.DEFINITE or then in lexicon.GLUE or not then[0].isalnum() or _thing(then)
    return behind_thing and goes_on and not any(t.lower() in lexicon.DOES for t in tokens[i + 1 :])


def _thing(word: str) -> bool:
    """Whether a word names a thing that every job has; of one or of several."""
    forms = (word, word.removesuffix("s"), word.removesuffix("es"), f"{word[:-3]}y" if word.endswith("ies") else word)
    return any(f in lexicon.THINGS for f in forms)


def _own(text: str) -> str:
    return re.sub(r" +", " ", re.sub(r"\*\s*['’]s\b", "* ", MARK.sub(" * ", text))).strip()


def _behind(text: str, word: str) -> str:
    """What stands behind a question word, with its references, up to the end of the clause."""
    at = re.search(rf"(?i)\b{re.escape(word)}\b", text)
    rest = text[at.end() :] if at else text
    return re.split(r"(?<=[.;!?])\s", rest)[0].strip(" .?!")
