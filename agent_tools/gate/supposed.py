"""What an advice or an open question takes for granted: "the user who deleted the checkpoint", "after the power failure", "the old image".

Nothing has to be cited there, so nothing may be slipped in there: what is supposed has to be spoken of in what was shown. These
constructions suppose:
    a question for who or what did something, a clause that tells which one is meant, a reason       each word that not every job has
    a definite trouble: "the ECC errors", "its leak"       words of trouble; "whether it leaked" and "check for XIDs" suppose none
    another who did something: "the other team", "the intruder"       what is on every cluster may be asked and told
    what was otherwise before: "the old format", "the driver update", "switch back to"       only what there are several of has one before
LIMIT: by words: a trouble that is in no list passes as the object of an advice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from agent_tools.evidence import Ledger
from agent_tools.gate.blame import blames_hardware, own_words
from agent_tools.gate.causes import acts, things
from agent_tools.gate.order import at_end
from agent_tools.gate.vocabulary import EVERYDAY, GENERIC, MEASURE, ORDINARY, word_set
from agent_tools.gate.words import singular, spoken_of, stems
from agent_tools.references import HOLE, BadReference, marks, masked, resolve

Known = Callable[[str], bool]
"""Whether what was shown speaks of a word, or has a phrase."""

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
    r"(?i)\b(?:who|whom|whose|which|what|why|when|where|how(?: (?:much|many|long|far|often|soon|late|early|fast|old|busy|hot|large|big|high|low))?)\b"
    r"(?P<what>(?:(?!\b(?:is|are|was|were) (?:not|un[a-z]+|open|missing)\b|\bcan(?:not|['’]t)\b)[^,.;:?!])*)"
)
"""What is asked for, up to where it is said that it is not known."""
_FINITE = re.compile(
    r"(?i)\b(?:is|are|was|were|has|had|did|does|came|went|got|ran|began|started|stopped|ended|[a-z]{3,}ed)\b"
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
_STOPS = re.compile(
    r"(?i)\b(?:stop|quit|cease|give up|refrain from) (?P<what>[a-z]+ing\b(?:(?! (?:once|when|if|before|after|until|as)\b)[^,.;:?!])*)"
)
"""What is to be done no more is done."""
_BY = re.compile(r"(?i)\s+by\b")
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_HEDGED = re.compile(r"(?i)\b(?:whether|if|in case|unless|for any|any)\b")
_WHY = re.compile(r"(?i)\b(?:why|how come|what made|for what reason|what(?= [a-z]+ed\b))\b(?P<what>[^,.;:?!]*)")
_NONE_BUT = re.compile(
    r"(?i)\b(?:nothing|nobody|none|no one|who|what) (?:else )?[^.;]*\b(?:than|but|except|save|besides)\b"
)
"""Nothing else but one: that one."""
_MENDS = re.compile(
    r"(?i)\b(?:fix|repair|mend|correct|undo|patch|resolve|solve|remove) (?:the|this|its|that|their|your) (?P<what>(?:[a-z-]+ ){0,3}?[a-z-]+)"
    r"(?= (?:in|of|on|at|that|which|and|or|by|before|with|for|from|to|first)\b|[.,;:(]|$)"
)
_ANY = word_set(
    """code script config configuration setting settings path command problem problems error errors cause job training file
    files line reason issue program arguments options"""
)
"""What there is to mend in every job."""

_OWN = r"\b(?:the|that|those|this|these|its|their|his|her|your|our|both|[a-z]+['’]s|\*['’]s)"
_ELSE = r"(?:other|others'|neighbou?r(?:ing)?|compet\w+|conflict\w+|interfer\w+|offending|foreign|alien|rival|co-?located|co-?resident|second|guest|unknown|strange|unauthori[sz]ed|rogue|greedy|noisy|intruding|external)"
_SOMEBODY = (
    r"(?:teams?|groups?|users?|owners?|persons?|people|colleagues?|jobs?|process(?:es)?|programs?|tenants?|projects?|departments?|labs?|students?|customers?"
    r"|applications?|workloads?|services?|containers?|daemons?|sessions?|notebooks?)"
)
_OTHER = re.compile(rf"(?i){_OWN} (?:[a-z]+ )?{_ELSE} (?P<who>(?:[a-z]+ )?{_SOMEBODY})\b")
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
    rf"(?i){_OWN} (?:[a-z]+ )?(?P<who>persons?|people|part(?:y|ies)|somebody|ones?|{_SOMEBODY}|operators?|admins?|administrators?|scripts?|programs?)"
    r" (?:(?:who|that) (?:is|was|are|were) )?(?:responsible for|guilty of|to blame for|at fault for|behind) (?:the |this |that |it|its )*(?:[a-z]+ing\b|kills?|crash\w*|outages?|deletions?|damage|loss|failures?|attacks?|leaks?|cancellations?)"
)
"""Who did it."""
_BY_NAME = re.compile(
    r"(?i)\W*(?:(?:with|called|named|by|of) )?(?:the )?(?:user|job|process|pid|rank|owner|account) \*|\W*(?:called |named )?\*"
)
_SEVERAL = re.compile(
    r"(?i)^(?:attempts?|runs?|reruns?|jobs?|checkpoints?|saves?|snapshots?|steps?|epochs?|logs?|lines?|entr(?:y|ies)|outputs?|samples?|values?|reports?|warnings?|messages?"
    r"|errors?|exceptions?|tracebacks?|causes?|triggers?|reasons?|failures?|problems?|events?|verdicts?|answers?|questions?|plans?|time|hours?|days?|weeks?|months?|minutes?)$"
)
"""What there are several of, so that one of them came before another."""
_EARLIER = re.compile(r"(?i)^(?:old|older|previous|prior|former|earlier|original|newly|recently|freshly)$")
_RECENT = re.compile(
    r"(?i)^(?:last|latest|newest|new|recent|driver|firmware|kernel|cuda|nccl|slurm|library|package|image|container|software|system|cluster|code|config|configuration)$"
)
_CHANGE = re.compile(
    r"(?i)^(?:changes?|commits?|updates?|upgrades?|downgrades?|edits?|modifications?|patch(?:es)?|switch|switchover|move|migration|rollout|release|deployment|maintenance)$"
)
_MADE = re.compile(r"(?i)\s+(?:before|after|made|introduced|last|earlier|yesterday)\b")
_OF_TIME = re.compile(
    r"(?i)\b(?:yesterday|today|tonight|monday|tuesday|wednesday|thursday|friday|saturday|sunday|(?:last|this) (?:week|month|night|year))['’]s (?:[a-z]+ ){0,2}?(?P<what>[a-z]+)\b"
)
_BACK = re.compile(
    r"(?i)\b(?:undo|revert|reverse|restore|reinstate|roll(?:ing)? back|back out|take back|withdraw|downgrade|downgrading|re-?enable|return to"
    r"|(?:go|switch|change|move|turn|put|set|bring|return)\b[^.;,:]{0,40}?\bback (?:to|from|on|in|into))\b(?P<what>[^.;,:!?]*)"
)
"""What is done to bring back a state that was."""
_BACK_TO = re.compile(r"(?i)\*|\b(?:checkpoints?|saves?|snapshots?|steps?|epochs?|attempts?|weights)\b")
"""What a run can go back to: what is cited, or was saved; whether it was, `unsaved` knows."""
_OFFICE = re.compile(
    r"(?i)(?:(?:(?:who|that) (?:is|are) )|(?<=team )|(?<=group )|(?<=people )|(?<=person )|(?<=staff )|(?<=those )|(?<=whoever is ))responsible for (?=(?:(?:the|this|that|its|your|each|all|every|\[\[[^\]]*\]\]) )*"
    r"(?:[a-z]+ )?(?:clusters?|nodes?|hosts?|machines?|partitions?|queues?|hardware|storage|networks?|file ?systems?|schedulers?|slurm|systems?|infrastructure|operations|images?|containers?|datasets?|data|jobs?|code|projects?|accounts?|\[\[))"
)
"""Who looks after something, and did nothing."""
_JUDGES = re.compile(
    r"(?i)\btoo (?:many|much|few|little|large|small|big|long|short|high|low|old|slow|fast|often|rarely|early|late|tight|hot|weak)\b"
    r"|, which (?:is|was|were|are|has|had|did|does)\b|\b(?:is|are|was|were) still\b|\bthe (?:second|third|fourth) (?:[a-z]+ )?(?:kill|crash|error|failure|fault|hang|xid)s?\b|\bthe first (?:[a-z]+ )?kills?\b"
    r"|\bas (?:before|usual|it was|they were|last time|always)\b|\bto (?:what|where|how) (?:it|they) (?:was|were)\b"
    r"|\b(?:turn|switch|put|roll|set|enable|install|mount|bring|add|open|allow|plug)\b[^.;,]{0,40}\b(?:again|back)\b"
)
"""What an advice says of how it is, or was."""
_RISKS = re.compile(
    r"(?i)^\W*(?:please )?(?:(?:turn|switch|leave|keep)\b[^.;,]{0,30}\b(?:off|out)\b|disable\b|ignore\b|disregard\b|suppress\b|silence\b|mute\b|delete\b|erase\b|wipe\b|overwrite\b"
    r"|remove (?:the|this|that|its|all|any) [^.;,]*\b(?:limits?|quotas?|time-?outs?|watchdogs?|checks?|checkpoints?|data|logs?)\b|cap\b|overclock\b|underclock\b|undrain\b"
    r"|(?:return|put|bring)\b[^.;,]{0,30}\b(?:to|into) (?:service|use|production)\b|(?:catch|swallow|skip) (?:\*|the (?:error|exception|check))|reset (?:the|this|that|its) [^.;,]*\bcounters?\b)"
)
"""What takes a safeguard away, or loses what was kept: only the rules may advise it; to find something out it may be tried."""
_TRIED = re.compile(
    r"(?i)\b(?:whether|to (?:see|test|find out|rule out|learn|check|tell|isolate|narrow)|for (?:a|one) (?:test|trial|run)|only (?:if|when|after|once))\b"
)
_NO_BLAME = re.compile(r"(?i)\b(?:do not|don['’]t|never) blame\b")
_QUESTION = re.compile(
    r"(?i)\b(?:(?:for|out|see|check|know|ask|asks|tells?|says?|into|of|on|about|at|to|\*|[a-z]+s) )(?:what(?= [a-z]+ed\b)|who|whether|why|if)\b(?:\[\[[^\]]*\]\]|[^,.;:])*"
)
_SAVED = re.compile(
    r"(?i)(?<!any )(?<!a )\b(?P<what>checkpoints?|snapshots?|backups?|core dumps?|dumps?|saves?|weights|states?)\b[^.;:*]*?(?:\b(?:at|of|from|in|under|for|to)\b|,)[^.;:*]{0,24}$"
)
_NEWEST = re.compile(r"(?i)\bthe (?:newest|latest|last|most recent|final) (?:[a-z]+ )?(?:checkpoint|save|snapshot)\b")
_FROM_STEP = re.compile(
    r"(?i)\b(?:resume|restart|continue|go on|start over|start again|rerun|pick up)\b(?: [a-z]+){0,3} (?:from|at) (?:the )?(?P<what>step|epoch|iteration|checkpoint)? ?$"
)
_KINDS = {
    **dict.fromkeys(("step", "epoch", "iteration"), "checkpoint save saved saving resumed"),
    "weight": "checkpoint save saved saving resumed",
    "state": "state checkpoint save saved saving",
    "checkpoint": "checkpoint save saved saving resumed",
    "save": "checkpoint save saved saving",
}


def supposed(text: str, place: str, speaks_of: Known) -> str:
    """The word of a clause that takes something for granted of which nothing shown speaks; "" where there is none.

    `place`: "open" or "advice", as in `mood.stated`.
    """
    words = own_words(text)
    if _NONE_BUT.search(words):
        return "nothing else"
    judged = _JUDGES.search(words)
    if judged and (judged[0].startswith("the ") or not _HEDGED.search(words[: judged.start()])):
        return judged[0]
    if place == "advice":
        if _TELLS.search(words):
            return "what it tells"
        if (risk := _RISKS.search(words)) and not _TRIED.search(words):
            return risk[0]
        if word := _mended(words, speaks_of) or _somebody(words, speaks_of) or _back(words, speaks_of):
            return word
    for span in _spans(words, place):
        named = things(span) if place == "open" and _FINITE.search(span) else []
        if place == "open" and acts(span):
            return span.strip()
        for word in _TOKEN.findall(span):
            low = word.lower().removesuffix("'s")
            if (low not in EVERYDAY or low in named) and not speaks_of(word):
                return word
    if found := _OF_TIME.search(words):
        return found["what"]
    definite = ((m["what"], words[: m.start()], words[m.end() :]) for m in _DEFINITE.finditer(words))
    return next(
        (w for n, ahead, then in definite if (w := _trouble(n, then, speaks_of) or _before(n, ahead, then, speaks_of))),
        "",
    )


def _spans(words: str, place: str) -> Iterator[str]:
    """The parts of a sentence in which every word supposes."""
    if place == "advice":
        for found in _WHICH.finditer(words):
            before = words[: found.start()]
            checked = found["word"].lower() == "that" and _CHECKS.search(before)
            if not (checked or _NO_ONE.search(before) or _IDLE.search(found["what"])):
                yield found["what"]
        for found in (*_REASON.finditer(words), *_THEY.finditer(words), *_STOPS.finditer(words)):
            if not _IDLE.search(found["what"]):
                yield found["what"]
        yield from (m["what"] for m in _WHY.finditer(words) if not _HEDGED.search(words[: m.start()]))
        return
    for found in _ASKED.finditer(words):
        if not _IDLE.search(found["what"]) and not _HEDGED.search(words[: found.start()]):
            yield found["what"]


def _trouble(name: str, then: str, speaks_of: Known) -> str:
    """The word of a definite name that tells of a trouble which nothing speaks of; "" for none. Hardware only a finding calls bad."""
    if blames_hardware(name):
        return name
    said = _name(name, then)
    troubles = [w for w in said if _TROUBLE.match(w)]
    if not troubles or said[-1] in MEASURE:
        return ""
    if all(w in GENERIC for w in troubles):
        troubles = [w for w in said if w not in GENERIC and w not in ORDINARY]
    return next((w for w in (*troubles, *things(name)) if not speaks_of(w)), "")


def _name(name: str, then: str) -> list[str]:
    """The words of a definite name, without what the thing did: of "what is leaked by *" that is part of it."""
    said = [w.lower() for w in _TOKEN.findall(name)]
    while len(said) > 1 and _PAST.search(said[-1]) and not _BY.match(then):
        said.pop()
    return said


def _before(name: str, ahead: str, then: str, speaks_of: Known) -> str:
    """The word of a definite name for what was otherwise before, or for what made it otherwise; "" for none."""
    said = _name(name, then)
    for i, word in enumerate(said):
        behind = said[i + 1 :]
        if (
            _EARLIER.match(word)
            and behind
            and not any(_SEVERAL.match(w) for w in behind[:2])
            and not speaks_of(behind[0])
        ):
            return behind[0]
        told = any(_RECENT.match(w) for w in said[:i]) or ahead.lower().endswith("before ")
        if _CHANGE.match(word) and (told or _MADE.match(f" {' '.join(behind)}{then}")) and not speaks_of(word):
            return word
    return ""


def _back(words: str, speaks_of: Known) -> str:
    """What an advice wants to have back, where nothing says that it was otherwise; "" for none."""
    for m in _BACK.finditer(words):
        told = _BACK_TO.search(m["what"]) or _HEDGED.search(words[: m.start()])
        if not told and not any(speaks_of(w) for w in _TOKEN.findall(m["what"]) if _CHANGE.match(w)):
            return m[0]
    return ""


def _mended(words: str, speaks_of: Known) -> str:
    what = [w for m in _MENDS.finditer(words) for w in m["what"].lower().split()]
    return next((w for w in what if w not in _ANY and not speaks_of(w)), "")


def _somebody(words: str, known: Known) -> str:
    """The word of an advice for somebody of whom nothing speaks; "" for none.

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
    guilty = _GUILTY.search(words)
    return guilty["who"] if guilty else ""


def _another(who: str) -> str:
    """How what was shown tells of one more of them: `another process`."""
    return f"another {singular(who.split()[-1])}"


def unasked(text: str) -> str:
    """An advice without whose office it names, and what it only asks: `look in the kernel log for what killed it`, `ask whether something kills processes`."""
    return _QUESTION.sub(" ", _OFFICE.sub("who run", _NO_BLAME.sub(" ", text)))


def unsaved(text: str, ledger: Ledger) -> str:
    """The thing that an advice takes to have been saved where the cell that it cites of it is of nothing of the kind; "" for none."""
    own = re.sub(f"{HOLE}+", lambda m: "*" * len(m[0]), masked(text))
    for mark in marks(text):
        found = _SAVED.search(own[: mark.start]) or _FROM_STEP.search(own[: mark.start])
        if found is None:
            continue
        try:
            cell = resolve(mark.ref, ledger)
        except BadReference:
            continue
        evidence = ledger.get(cell.id)
        row = [str(v) for c in evidence.columns if isinstance(v := evidence.value(c.name, cell.row), str)]
        said = stems(" ".join([evidence.query, cell.column, cell.doc, *row]).replace("_", " "))
        what = (found["what"] or "checkpoint").lower().rstrip("s")
        if _NEWEST.search(text) and len(evidence.rows) > 1 and not at_end(cell, ledger, last=True):
            return f"newest of [[{mark.ref}]]"
        if not any(spoken_of(w, said) for w in _KINDS.get(what, what).split()):
            return f"{what} of [[{mark.ref}]]"
    return ""
