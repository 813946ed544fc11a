"""What an advice or an open question takes for granted: "the user who deleted the checkpoint", "after the power failure".

Nothing has to be cited there, so nothing may be slipped in there: what is supposed has to be spoken of in what was shown. Three
constructions suppose: a question for who or what did something and a clause that tells which one is meant (each word of it that not
every job has must be known); a reason that is given for an advice (the same); and a definite trouble ("the ECC errors", "its leak",
"the overheated card"), where only words of trouble count. A trouble that is asked for ("whether it leaked", "check for XIDs") is none.
Whom an advice supposes, and what was changed or saved, `actors` tells.
LIMIT: by words: a trouble that is in no list passes as the object of an advice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from agent_tools.gate.actors import presumed, reasons
from agent_tools.gate.blame import own_words
from agent_tools.gate.vocabulary import EVERYDAY, GENERIC, MEASURE, ORDINARY

_TROUBLE = re.compile(
    r"(?i)^(?:overheat\w*|overload\w*|throttl\w*|leak\w*|corrupt\w*|crash\w*|hang|hangs|hung|hanging|deadlock\w*|livelock\w*|race|flap\w*|outages?"
    r"|failures?|failing|failed|fails|faults?|faulty|broke|broken|breakage|errors?|erroneous|xids?|ecc|uncorrect\w*|bugs?|buggy|flaky|dying|dead"
    r"|died|death|kill\w*|delet\w*|remov\w*|cancel\w*|preempt\w*|evict\w*|diverge\w*|divergence|explod\w*|spikes?|spiking|overr[au]n\w*|drop|drops"
    r"|dropped|dropping|dropouts?|lost|losing|zombies?|stuck|stall\w*|straggl\w*|slow|slower|slowdowns?|slowness|starv\w*|congest\w*"
    r"|contention|contended|bottlenecks?|oom|ooms|exhaust\w*|shortages?|full|overflow\w*|damag\w*|defect\w*|bad|wrong|incorrect|invalid"
    r"|malfunction\w*|degrad\w*|unstable|instabilit\w*|unhealthy|misconfig\w*|mismatch\w*|incompatib\w*|attacks?|hack\w*|intrusions?|malicious"
    r"|malware|reboot\w*|reset|resets|restarted|disconnect\w*|unreachable|unresponsive|down|downtime|maintenance|interrupt\w*|timeouts?"
    r"|abort\w*|panic\w*|segfault\w*|violations?|nans?|infinit\w*|inf|poison\w*|remap\w*|retired|replays?|oversubscri\w*|fragment\w*|thrash\w*"
    r"|swapp\w*|incidents?|problems?|issues?|anomal\w*|glitch\w*|hiccups?|jitter|blackouts?|brownouts?|truncat\w*|incomplete|stale|outdated"
    r"|noisy|rogue|runaway|orphan\w*|escap\w*|stolen|stole|blocked|blocking|denied|expired|revoked|tripp\w*|burn\w*|melt\w*|loose|unplugged"
    r"|fell|fallen|gone|ruined|wasted|wiped|erased|overwritten|garbled|mangled|tainted|imbalanc\w*|unbalanced|skew\w*|upgrad\w*|downgrad\w*|migrat\w*|lag|lags|lagging|lagged)$"
)
"""Troubles, in the words that tell one."""
_STOP = (
    r"(?:of|in|on|at|to|and|or|for|from|with|by|before|after|around|about|during|near|into|onto|over|under|between|since|that|which|who|while|when"
    r"|whether|what|why|how|as|is|are|was|were|has|had|have|did|does|do|can|could|may|might|will|would|should|came|come|happened|occurred|first|again|next|until|so|if"
    r"|a|an|the|this|any|no|some|it|its|their|they|he|she|went|got)\b"
)
_DEFINITE = re.compile(
    rf"(?i)(?:\b(?:the|this|that|these|those|its|their|his|her|both)|\*(?:'s)?)\s+(?P<what>(?:(?!{_STOP})[a-z][a-z'/-]*\s+){{0,4}}?(?!{_STOP})[a-z][a-z'/-]*)"
    rf"(?=\s+{_STOP}|\s*[,.;:()?!*]|\s*$)"
)
"""A thing that is taken to be there, up to the end of its name."""
_WHICH = re.compile(r"(?i)\b(?P<word>who|whom|whose|which|that)\b(?P<what>[^,.;:?!()]*)")
"""Which one is meant, by what it did."""
_CHECKS = re.compile(r"(?i)\b(?:verify|check|checks|ensure|make sure|confirm|see|test|assert|prove)\b")
_NO_ONE = re.compile(r"(?i)\b(?:so|sure|means|than|such)\s*$")
"""`Make sure that ...`, `so that ...` claim nothing of what follows."""
_IDLE = re.compile(r"(?i)\b(?:can|could|may|might|would|should|will|must|need|needs)\b|^\s*(?:[a-z]+ )?to\b")
"""What something is to be able to do, it has not done."""
_ASKED = re.compile(
    r"(?i)\b(?:who|whom|whose|which|what|why|when|where|how(?: (?:much|many|long|far|often|soon|late|early|fast|old|busy|hot|large|big|high|low))?)\b(?P<what>[^,.;:?!]*)"
)
_REASON = re.compile(
    r"(?i)(?:\b(?:now that|given|considering|seeing|in view of|in light of|in (?:the )?face of|on account of|because of|due to|owing to|thanks to)\b"
    r"|^\W*(?:since|because|as)\b|,\s*as\b(?! (?:a|well|soon|far|long|much)\b)|\bas (?=the\b))(?P<what>[^,.;:?!]*)"
)
_TELLS = re.compile(
    r"(?i)^\W*(?:please )?(?:note|notice|remember|recall|realize|realise|know|observe|consider that|keep in mind|bear in mind|be (?:aware|warned|advised)|mind that)\b"
    r"(?! (?:down|the|which|whether|what|how|if)\b)"
)
"""What is said under the name of an advice."""
_PAST = re.compile(r"ed$|^(?:hung|broke|fell|lost|stuck|died|left|froze|ran|burnt|stole|grew|rose|sank)$")
_THEY = re.compile(r"(?i)\b(?:they|he|she|somebody|someone|you|we)\b(?P<what>(?: [a-z']+){1,3})")
"""`The memory that they took`, without the "that"."""
_BY = re.compile(r"(?i)\s+by\b")
_HEDGED = re.compile(r"(?i)\b(?:whether|if|in case|unless)\b")
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def supposed(text: str, place: str, speaks_of: Callable[[str], bool]) -> str:
    """The word of a clause that takes something for granted of which nothing shown speaks; "" where there is none.

    `place`: "open" or "advice", as in `mood.stated`.
    """
    words = own_words(text)
    if place == "advice" and _TELLS.search(words):
        return "what it tells"
    for span in _spans(words, place):
        for word in _TOKEN.findall(span):
            if word.lower().removesuffix("'s") not in EVERYDAY and not speaks_of(word):
                return word
    if place == "advice" and (who := presumed(words, speaks_of)):
        return who
    named = ((m["what"], words[m.end() :]) for m in _DEFINITE.finditer(words))
    return next((w for name, then in named if (w := _trouble(name, then, speaks_of))), "")


def _spans(words: str, place: str) -> Iterator[str]:
    """The parts of a sentence in which every word supposes."""
    if place == "advice":
        for found in _WHICH.finditer(words):
            before = words[: found.start()]
            checked = found["word"].lower() == "that" and _CHECKS.search(before)
            if not (checked or _NO_ONE.search(before) or _IDLE.search(found["what"])):
                yield found["what"]
        for found in (*_REASON.finditer(words), *_THEY.finditer(words)):
            if not _IDLE.search(found["what"]):
                yield found["what"]
        yield from reasons(words)
        return
    for found in _ASKED.finditer(words):
        if not _IDLE.search(found["what"]) and not _HEDGED.search(words[: found.start()]):
            yield found["what"]


def _trouble(name: str, then: str, speaks_of: Callable[[str], bool]) -> str:
    """The word of a definite name that tells of a trouble which nothing speaks of; "" for none."""
    said = [w.lower() for w in _TOKEN.findall(name)]
    while len(said) > 1 and _PAST.search(said[-1]) and not _BY.match(then):
        said.pop()  # what it did, and no part of its name: of "what is leaked by *" it is
    troubles = [w for w in said if _TROUBLE.match(w)]
    if not troubles or said[-1] in MEASURE:
        return ""
    if all(w in GENERIC for w in troubles):
        troubles = [w for w in said if w not in GENERIC and w not in ORDINARY]
    return next((w for w in troubles if not speaks_of(w)), "")
