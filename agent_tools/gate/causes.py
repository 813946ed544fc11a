"""What a sentence that states a cause may rest on: a family's assessment, a stored verdict, the record of who ended a process.

A cell that happens to be true is not enough, and neither is one that states another cause: what the sentence makes
responsible (the network, the storage, a user) has to be spoken of by what it cites.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from agent_tools.evidence import CellValue, Ledger
from agent_tools.facts.pending import reason
from agent_tools.families.base import Assessment
from agent_tools.formats import unit_of
from agent_tools.gate.blame import BLAMES, BREAKS, blamed, blames_hardware, calls_broken, own_words
from agent_tools.gate.clauses import Clause, clauses, held, job_of
from agent_tools.gate.courses import FALLS, without_falls
from agent_tools.gate.denials import refused
from agent_tools.gate.grounds import assessment_facts, assessment_texts, title
from agent_tools.gate.kills import unkilled
from agent_tools.gate.machines import of_machine, outside
from agent_tools.gate.makers import chained
from agent_tools.gate.words import without
from agent_tools.references import HOLE, BadReference, cited, parse, resolve
from agent_tools.verdict import Claim
from store import lazy

CAUSES = frozenset(
    {"family", "attribution", "signal_sender", "oom_killed", "state_reason", "reason", "cancelled_by", "failed_node"}
)
"""Columns whose cell states a cause itself: a verdict's, the kernel's or Slurm's word."""
_NO_CAUSE = frozenset({"G1", "U0"})
"""Families that find no cause: that a run did its work, or that what is known decides nothing, is the reason of nothing."""

_CAUSAL = lazy.compile(
    r"(?i)\b(?:because|caus(?:e|es|ed|ing)|due to|owing to|led to|leads to|result(?:s|ed)? (?:of|from|in)|culprit|responsible"
    r"|to blame|blamed?|fault of|at fault|guilty|killed|kills|triggered|brought down|took down|made (?:it|them|the job) (?:fail|crash|hang|die)"
    r"|the reason|explains? (?:why|it|the)|that is why|so it (?:failed|crashed|died)|hence|therefore|thus|consequently|thanks to|did (?:it|this|that) to|root"
    r"|(?:failed|fails) (?:by|from|of|over)|(?:was|were|is|are) lost to|fell to"
    r"|(?:took|takes|brought|brings|pulled|pulls|dragged|drags|tore|tears) (?:[\w*()']+ ){1,4}?down"
    r"|(?:made|makes|making|forced|forces|forcing|lets|let|drove) (?:[\w*()']+ ){1,8}?(?:to )?(?:exit|fail|crash|die|hang|abort|freeze|stall|diverge))\b"
)
_ACTS = lazy.compile(
    r"(?i)(?:\*[\])]?|\b(?:slurm|scheduler|controller|kernel|node|host|machine|gpu|user|operator|somebody|someone|which|that|who))\s+(?:has |had )?"
    r"(?:(?:ended|ends|stopped|stops|gave|gives|broke|breaks|crashed|crashes|froze|hung)\s+(?:(?:the|this|that|its|his|their|job|run|rank|attempt|training|process|it|them)\b|\*)"
    r"|(?:took|takes|put|puts|made|makes|got)\s+(?:(?:the|this|that|its|his|their)\s+)?(?:job|run|rank|attempt|training|process|node|it|them)\b)"
    r"|(?<!messages )(?<!message )(?<!lines )(?<!line )\b(?:comes?|came|coming) from\b|\*[^*;.]*,\s*so\b(?! (?:far|that|to)\b)[^*;.]*\*"
)
"""One that does something to another: `* stopped job *` (a star is a reference); `Rank * took *` is how long it took."""
_REASON_AHEAD = lazy.compile(
    r"(?i)\b(?:led to|leads to|caus(?:ed?|es|ing)(?! by\b)|result(?:s|ed)? in|killed(?! by\b)|kills|triggered(?! by\b)|brought down|took down"
    r"|explains?(?! (?:none|nothing)\b)|hence|therefore|thus|consequently"
    rf"|(?:took|takes|brought|brings|pulled|pulls|dragged|drags|tore|tears)(?= (?:[\w{HOLE}]+ ){{1,4}}?down\b))\b|,\s*so\b"
)
_REASON_BEHIND = lazy.compile(
    r"(?i)\b(?:because|due to|owing to|thanks to|caused by|explained by|killed by|triggered by|results? of|result(?:s|ed)? from|fault of)\b"
)
"""On which side of a word of cause its reason stands."""
_SPAN = lazy.compile(r"\[\[([^\]]*)\]\](?= (?:after|before|into|later|earlier)\b)")
_DOES = lazy.compile(
    rf"(?i)(?<={HOLE}) (?:has |had )?(?:ended|stopped|broke|crashed|froze|hung) (?=the|this|that|its|{HOLE})"
)
"""Behind the one that did it."""
_MEASURED = lazy.compile(r"(?:^|_)(?:loss|grad|learning|lr|norm)(?:_|$)")
"""Columns of what training measured: what ended a job explains none of them."""
_TOLD = lazy.compile(
    r"(?i)\b(?:the|its) (?:exception|error)(?:['’]s)? (?:root )?cause (?:is|was|being) \"?\[\[[^\]]*\.cause_name\]\]"
    r"|\bthe (?:root )?cause of (?:the|this|that) (?:exception|error)(?: \"?\[\[[^\]]*\.name\]\]\"?)? (?:is|was) \"?\[\[[^\]]*\.cause_name\]\]"
    r"|\bthe reason (?:that (?:is|was) )?(?:given|noted|recorded|stated|set|entered) for (?:the )?(?:node|state of (?:the )?node) \[\[[^\]]*\.node\]\] (?:is|was) \"?\[\[[^\]]*\.reason\]\]"
    r"|\b(?:node|host) \[\[[^\]]*\.node\]\] (?:was|is|had been|went) (?:(?:the|only|one) )*(?:in trouble|down|drained|draining)(?: (?:at|since|from) \[\[[^\]]*_ts\]\])?,? (?:with|for) the reason \"?\[\[[^\]]*\.reason\]\]"
)
"""What Python chained an exception to, and what somebody wrote down about a node: told as what the columns are."""
_THEREUPON = lazy.compile(
    r"(?i)\*\W+(?:(?:and|which|that|then|so|thereby) )+(?:had |has )?(?:ended|stopped|killed|broke|crashed|took|brought|cost|interrupted|failed|lost) "
)
"""Behind what is told of a node: that it did something to another."""
_ENDED_AS = lazy.compile(
    r"(?i)\b(?:so |and |then )*slurm (?:then )?(?:ended|closed|stopped|marked|recorded) (?:the|this) (?:job|run|attempt) as (?=\[\[(?P<ref>[^\]]*\.state)\]\])"
)
"""How accounting records an end that is Slurm's own doing, by the state."""
_BY_SLURM = frozenset({"NODE_FAIL", "TIMEOUT", "PREEMPTED", "REQUEUED", "CANCELLED", "DEADLINE"})
_CAUSE_OF = lazy.compile(
    r"(?i)(?:\b(?:exception|error)(?:['’]s)? (?:root )?cause|\bcause of (?:the|this|that) (?:exception|error)(?: \"?\[\[[^\]]*\]\]\"?)?)"
    r" (?:is|was|being) \"?\[\[[^\]]*\.(?!cause_)\w+\]\]|\b(?:cause of|reason for) \"?\[\[[^\]]*\.cause_\w+\]\]"
)
"""Another cell told as what Python chained an exception to."""
_NO_REASON = lazy.compile(r"(?i)\bexplain|\bcause\b")
"""What a finding says of cells that it denies to be a reason: wrappers, which "explain none"."""
_ENDED_SO = lazy.compile(r"(?i)node|time.?limit|deadline|memory|exit|signal|preempt|launch|requeue|system")
"""Reasons of Slurm that say how a job ended; the others say why it waited, and stay written after it began."""
_ENDS_JOB = lazy.compile(
    r"(?i)\*[\])]? (?:has |had |then )*(?:ended|ends|stopped|stops|killed|kills|terminated|broke|crashed|took|put|brought)"
    r" (?:down |out )?(?:(?:the|this|that|its|whole|entire) )*(?:job|run|training|attempt)\b"
)
"""One that ended more than a process: who sent a signal to one, often as the job was over already, is not who ended the job."""
_TELLER = lazy.compile(
    r"(?i)\bslurm (?=(?:gives|gave|names|named|says|said|lists|reports|reported|shows|showed|records|recorded)\b)"
)
"""Who tells of it, and no thing that did it."""
_THINGS = lazy.compile(
    r"(?i)\b(?:network\w*|fabric|infiniband|ethernet|switch|nvlink|pcie|cables?|links?|storage|disks?|file ?systems?|lustre|nfs|quotas?|memory"
    r"|oom|drivers?|firmware|kernel|cuda|nccl|slurm|scheduler|preempt\w*|users?|operators?|admin\w*|colleagues?|maintenance|cancel\w*|power|cooling"
    r"|thermal|heat\w*|overheat\w*|throttl\w*|datasets?|data|checkpoints?|learning rate|optimi[sz]er|gradients?|bugs?|code|config\w*|container"
    r"|librar\w+|version\w*|dns|firewall|clock|dataloader|tokeni[sz]er|hackers?|attack\w*|malware|neighbou?rs?|congestion|reboot\w*)\b"
)
"""What causes are looked for in."""


def states_cause(text: str) -> bool:
    """Does the text say why something happened, in its own words?"""
    words = without_falls(own_words(text))
    return bool(_CAUSAL.search(words) or _ACTS.search(words))


def cause_word(text: str) -> str:
    """The word by which a text says why something happened; "" where it does not."""
    words = without_falls(own_words(text))
    found = _CAUSAL.search(words) or _ACTS.search(words)
    return found[0].strip("* ,()[]") if found else ""


def things(text: str) -> list[str]:
    """What a text names that causes are looked for in."""
    return [m[0].lower() for m in _THINGS.finditer(own_words(text))]


def without_causes(text: str) -> str:
    """The text without the words that make it a cause: whether it may state one is for `Stand` to say."""
    held = [m.span() for m in FALLS.finditer(text)]
    return _CAUSAL.sub(lambda m: m[0] if any(a <= m.start() < b for a, b in held) else " ", text)


class Stand:
    """What causes may rest on."""

    def __init__(self, ledger: Ledger, assessments: Sequence[Assessment]) -> None:
        self.ledger = ledger
        found = [a for a in assessments if a.status in ("confirmed", "suspected")]
        self.found = [(a, set(cited(assessment_texts(a)))) for a in found]
        self._causes = [(a, refs) for a, refs in self.found if a.code not in _NO_CAUSE]
        self._of_found = {ref for _, refs in self.found for ref in refs}
        denying = [
            t for a in assessments for t in (a.counterfactual, *assessment_facts(a)) if _NO_REASON.search(refused(t))
        ]
        self._no_reason = {parse(ref)[:2] for ref in cited(denying)}

    def causal(self, text: str) -> bool:
        """Does the text state a cause that nothing it cites states?"""
        if _CAUSE_OF.search(text):
            return True
        if (told := _TOLD.search(text)) and self._of_one_row(told[0]):
            text = _TOLD.sub("*", text)
            if _THEREUPON.search(own_words(text)):
                return True
        text = without(text, unkilled(text, self.ledger))
        text = _ENDED_AS.sub(self._recorded, text)
        return states_cause(self._undated(text)) and not self._states(text)

    def _recorded(self, m: re.Match[str]) -> str:
        """What is left of `Slurm ended the job as *`: nothing, where that state is one in which Slurm itself ends a job."""
        with suppress(BadReference):
            if resolve(m["ref"], self.ledger).value in _BY_SLURM:
                return " "
        return m[0]

    def _of_one_row(self, text: str) -> bool:
        """Whether all that a piece of a text cites is of one row."""
        return len({parse(ref)[:2] for ref in cited([text])}) == 1

    def _undated(self, text: str) -> str:
        """The text without spans of time behind a verb: `Job * ended * after its start` says nothing that did something to another."""

        def span(m: re.Match[str]) -> str:
            try:
                return "~" if unit_of(resolve(m[1], self.ledger)) in ("s", "min", "h") else m[0]
            except BadReference:
                return m[0]

        return _SPAN.sub(span, text)

    def blames(self, text: str) -> bool:
        """Does the text blame hardware without a verdict that does?"""
        if not blames_hardware(text):
            return False
        families = blamed(text) & (BREAKS if calls_broken(text) else BLAMES)
        found = {ref for a, refs in self.found if a.code in families for ref in refs}
        return not any(r in found or self._verdict_blames(r, families) for r in cited([text]))

    def status(self, claim: Claim) -> Claim:
        """An inference keeps its status where a cause stands behind it; otherwise it is a hypothesis."""
        if claim.status == "hypothesis" or (
            cited([claim.text]) and self._states(claim.text) and not self.blames(claim.text)
        ):
            return claim
        return claim.model_copy(update={"status": "hypothesis"})

    def _states(self, text: str) -> bool:
        """Does something that the text cites state a cause, and speak of everything that the text makes one of?"""
        refs = cited([text])
        words = [
            f"{title(a.code)} {a.mode} {' '.join(assessment_facts(a))}"
            for a, backed in (self._causes if states_cause(text) else self.found)
            if backed & set(refs)
        ]
        causes = CAUSES - {"signal_sender"} if _ENDS_JOB.search(own_words(text)) else CAUSES
        words += [self._said(ref) for ref in refs if parse(ref)[2] in causes and self._of_job(ref, refs)]
        words += [self._said(ref) for ref in refs if self._chain(text)]
        if not words or not self._connected(text):
            return False
        vocabulary = " ".join([*words, *(self._said(ref) for ref in refs)]).lower()
        return all(thing[:5] in vocabulary for thing in things(_TELLER.sub(" ", text)))

    def _is_cause(self, cell: CellValue) -> bool:
        """Whether a finding that states a cause rests on a cell."""
        return any(cell.ref in refs for _, refs in self._causes)

    def _chain(self, text: str) -> bool:
        """Whether every cause that a text states is what Python chained an exception to."""
        found = [chained(*sides) for c in clauses(text, self.ledger) if (sides := _sides(c))]
        return bool(found) and all(found)

    def _of_job(self, ref: str, refs: Sequence[str]) -> bool:
        """Whether a cell that states a cause states that of what it is told of: a node's reason is that of the node's own state."""
        try:
            cell = resolve(ref, self.ledger)
        except BadReference:
            return False
        if cell.column == "state_reason" and reason(str(cell.value)) and not _ENDED_SO.search(str(cell.value)):
            return held(self.ledger, cell, "start_ts") is None
        if cell.column != "reason" or ref in self._of_found or not of_machine(self.ledger.get(cell.id), cell.row):
            return True
        own = {column for id, row, column in map(parse, refs) if (id, row) == (cell.id, cell.row)}
        return "state" in own and not outside(cell, self.ledger)

    def _connected(self, text: str) -> bool:
        """Whether what a sentence gives as the reason is cited by a finding, of the same job and of another kind than what it explains."""
        for clause in clauses(text, self.ledger):
            sides = _sides(clause)
            if sides is None:
                continue
            reasons, explained = sides
            if (chain := chained(reasons, explained)) is not None:
                if not chain:
                    return False
                continue
            if any((c.id, c.row) in self._no_reason for c in reasons):
                return False
            if any(_MEASURED.search(c.column) and not self._is_cause(c) for c in explained):
                return False
            if len({job for c in (*reasons, *explained) if (job := job_of(self.ledger, c))}) > 1:
                return False
            vouched = any(c.column in CAUSES for c in (*reasons, *explained))
            if reasons and not vouched and not any(map(self._is_cause, reasons)):
                return False
            if {c.column for c in reasons} & {c.column for c in explained}:
                return False
        return True

    def _said(self, ref: str) -> str:
        """What a cell holds, a family's code with its name."""
        try:
            cell = resolve(ref, self.ledger)
        except BadReference:
            return ""
        return f"{title(str(cell.value)) if cell.column == 'family' else ''} {cell.value}"

    def _verdict_blames(self, ref: str, families: frozenset[str] = BLAMES) -> bool:
        id, row, column = parse(ref)
        evidence = self.ledger.get(id)
        names = {c.name for c in evidence.columns}
        if column not in ("family", "attribution") or "family" not in names:
            return False
        return evidence.value("family", row) in families


def _sides(clause: Clause) -> tuple[list[CellValue], list[CellValue]] | None:
    """What a clause gives as the reason, and what it explains by it; None where it has no word of cause that tells them apart."""
    behind = _REASON_BEHIND.search(clause.own)
    word = behind or _REASON_AHEAD.search(clause.own) or _DOES.search(clause.own)
    if word is None:
        return None
    left = [c for g in clause.groups if g.end <= word.start() for c in g.cells]
    right = [c for g in clause.groups if g.start >= word.end() for c in g.cells]
    return (right, left) if behind else (left, right)
