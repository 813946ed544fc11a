"""What an advice or an open question takes for granted: "the user who deleted the checkpoint", "after the power failure".

Nothing has to be cited there, so nothing may be slipped in there: what is supposed has to be spoken of in what was shown. Three
constructions suppose: a question for who or what did something and a clause that tells which one is meant (each word of it that not
every job has must be known); a reason that is given for an advice (the same); and a definite trouble ("the ECC errors", "its leak",
"the overheated card"), where only words of trouble count. A trouble that is asked for ("whether it leaked", "check for XIDs") is none.
LIMIT: by words: a trouble that is in no list passes as the object of an advice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from agent_tools.gate.blame import own_words
from agent_tools.gate.vocabulary import NEUTRAL


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_EVERYDAY = NEUTRAL | _words(
    """not no never none nothing nobody only just even still already again ever else other others another same own more most less least much
    many few several some any all each every both first last latest next previous earlier later long often far little enough too exactly
    actually really there anything anyone anybody something someone back up down out off away well would could should must cannot
    memory ram hbm vram loss gradient gradients learning rate batch batches size sizes scale script scripts code config configuration command
    commands argument arguments option options flag flags setting settings checkpoint checkpoints data dataset datasets loader loaders
    dataloader worker workers model models optimizer optimiser training train trained program programs file files path paths folder
    directory output input queue partition account owner administrator operator team colleague support limit limits walltime deadline plan
    network fabric driver drivers container image environment version versions library libraries package packages firmware runtime
    traffic temperature temperatures power clock clocks kernel collective collectives communicator launch launches utilization utilisation
    throughput speed pace duration hour hours minute minutes day days week weeks month second seconds disk disks storage filesystem mount
    quota cluster scheduler rack switch link links counter counters message messages warning warnings stack stacks trace traces
    sequence length precision shard shards sharding parallelism tensor pipeline epoch epochs iteration iterations evaluation validation
    used needed asked requested allocated allocates allocate held holds kept saved saves wrote writes written read reads changed changes
    change differ differs different looked look meant means mean did done ran running wanted intended expected chosen set sets set-up setup
    collect collected record sampled imported told tell tells gave give gives given need needs want wants make makes made help helps
    known unknown possible likely available present usual normal typical old new whole full-time respective relevant affected involved concerned
    responsible behind above resubmitted submitted released waited waits fit fits owned shared serves served decide decides decided clear
    free doing completed finished moment point call calls called missing meanwhile hold bound bounds bounded resubmit rerun submit try ask run start restart use check look find
    clearer settle settles show tells apart compare compared let lets follow follows followed following work worked works
    """
)
"""What there is in every job, and what is done with it: to name it claims nothing."""
_TROUBLE = re.compile(
    r"(?i)^(?:overheat\w*|overload\w*|throttl\w*|leak\w*|corrupt\w*|crash\w*|hang|hangs|hung|hanging|deadlock\w*|livelock\w*|race|flap\w*|outages?"
    r"|failures?|failing|failed|fails|faults?|faulty|broke|broken|breakage|errors?|erroneous|xids?|ecc|uncorrect\w*|bugs?|buggy|flaky|dying|dead"
    r"|died|death|kill\w*|delet\w*|remov\w*|cancel\w*|preempt\w*|evict\w*|diverge\w*|divergence|explod\w*|spikes?|spiking|overr[au]n\w*|drop|drops"
    r"|dropped|dropping|drop-?outs?|loss of|lost|losing|zombies?|stuck|stall\w*|straggl\w*|slow|slower|slowdowns?|slowness|starv\w*|congest\w*"
    r"|contention|contended|bottlenecks?|oom|ooms|exhaust\w*|shortages?|full|overflow\w*|damag\w*|defect\w*|bad|wrong|incorrect|invalid"
    r"|malfunction\w*|degrad\w*|unstable|instabilit\w*|unhealthy|misconfig\w*|mis-?match\w*|incompatib\w*|attacks?|hack\w*|intrusions?|malicious"
    r"|malware|reboot\w*|reset|resets|restarted|disconnect\w*|unreachable|unresponsive|down|downtime|maintenance|interrupt\w*|timeouts?"
    r"|abort\w*|panic\w*|segfault\w*|violations?|nans?|infinit\w*|inf|poison\w*|remap\w*|retired|replays?|oversubscri\w*|fragment\w*|thrash\w*"
    r"|swapp\w*|incidents?|problems?|issues?|anomal\w*|glitch\w*|hiccups?|jitter|blackouts?|brownouts?|truncat\w*|incomplete|stale|outdated"
    r"|noisy|rogue|runaway|orphan\w*|escap\w*|stolen|stole|blocked|blocking|denied|expired|revoked|tripp\w*|burn\w*|melt\w*|loose|unplugged"
    r"|fell|fallen|gone|ruined|wasted|wiped|erased|overwritten|garbled|mangled|tainted|imbalanc\w*|unbalanced|skew\w*|upgrad\w*|downgrad\w*|migrat\w*|lag|lags|lagging|lagged)$"
)
"""Troubles, in the words that tell one."""
_GENERIC = _words("failure failures error errors problem problems issue issues symptom exception traceback")
"""Troubles that by themselves tell of none in particular: `the network failure` does, by what stands before."""
_PLAIN = NEUTRAL | _words(
    "same other another first last next previous earlier later own main actual real exact original whole only"
)
"""What stands before a trouble and tells of none in particular."""
_MEASURE = _words("counter counters count counts status state states history setting settings option options policy")
"""`The error counters` are there without an error."""
_STOP = (
    r"(?:of|in|on|at|to|and|or|for|from|with|by|before|after|around|about|during|near|into|onto|over|under|between|since|that|which|who|while|when"
    r"|as|is|are|was|were|has|had|have|did|does|do|can|could|may|might|will|would|should|came|come|happened|occurred|first|again|next|until|so|if"
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
            if word.lower().removesuffix("'s") not in _EVERYDAY and not speaks_of(word):
                return word
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
    if not troubles or said[-1] in _MEASURE:
        return ""
    if all(w in _GENERIC for w in troubles):
        troubles = [w for w in said if w not in _GENERIC and w not in _PLAIN]
    return next((w for w in troubles if not speaks_of(w)), "")
