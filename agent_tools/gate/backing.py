"""Which words of a sentence does nothing that it cites say? A true cell is no proof of what is said around it.

    Job [[E5.job_id]] corrupted its checkpoint.       the row of that job speaks of no checkpoint
    The GPU of rank [[E6.rank]] overheated.           a temperature is a figure; that it is too high is a judgement

What a sentence says in its own words has to stand in the rows that it cites (their text, the names and descriptions of the cited
columns), in a finding that rests on the same cells, or among the words that claim nothing. The rest is a hypothesis.
LIMIT: by words, not by grammar: it holds a sentence to what its evidence speaks of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from agent_tools.evidence import FOUND, CellValue, Evidence, Ledger
from agent_tools.families.base import Assessment
from agent_tools.formats import unit_of
from agent_tools.gate.adverbs import HARMLESS, unshared
from agent_tools.gate.afterwards import afterwards
from agent_tools.gate.agreement import compares, compares_nothing, denied
from agent_tools.gate.blame import without_blame
from agent_tools.gate.causes import without_causes
from agent_tools.gate.clauses import SUBJECTS, held, job_of
from agent_tools.gate.denials import affirmed, denies, is_absent, is_said, negated, plainer, refused, refuses, unbegun
from agent_tools.gate.edges import beside_edge, of_other_end, of_part, outside_of_run
from agent_tools.gate.extremes import extremes
from agent_tools.gate.fates import spared
from agent_tools.gate.findings import affirmed_of, bare, contradictions, of_named, own_words, twins
from agent_tools.gate.fleetnone import asked_of_fleet
from agent_tools.gate.grounds import assessment_facts, assessment_texts, title
from agent_tools.gate.kills import crashed, unkilled
from agent_tools.gate.kinds import measure
from agent_tools.gate.machines import cells_of, memory_of_another, ownerless, rows_of, undated, unlinked
from agent_tools.gate.makers import BY_THING, BY_WHOM
from agent_tools.gate.moments import unsaid
from agent_tools.gate.nothing import halves, nothing_of
from agent_tools.gate.order import is_time
from agent_tools.gate.phases import untrained
from agent_tools.gate.quantities import borne_out
from agent_tools.gate.sequence import in_sequence, untold
from agent_tools.gate.standing import over, unrestarted
from agent_tools.gate.vocabulary import (
    ALIKE,
    ALSO_SAID,
    COLUMN_WORDS,
    COMPARING,
    DENYING,
    EARLIER,
    MEANS,
    NEUTRAL,
    ORDERING,
    RAISED,
    SEVERAL,
    SUPERLATIVE,
    UNITS,
    UNLIKE,
)
from agent_tools.gate.words import parts, said_of, spoken_of, stems, telling, without
from agent_tools.references import cited, resolve
from store import lazy
from store.catalog import catalog

_ALL_STEPS = lazy.compile(r"(?i)\ball (?:of )?(?:(?:the|its) )?\[\[([^\]]*total_steps)\]\] (?:planned )?steps\b")
_THE_ONLY = lazy.compile(r"(?i)\bthe only (rank|node|host)\b")
_LOG_SAYS = lazy.compile(
    r"(?i)\b(?:the|its) logs? (?:itself )?(?:says?|shows?|reports?|names?|tells?|records?|holds?|has|confirms?)\b|\baccording to (?:the|its) log\b"
)
_WORD = lazy.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_MARK = lazy.compile(r"\[\[[^\]]*\]\]")
_BARE = lazy.compile(
    r"(?i)\W*(?:yes|no)?\W*(?:(?:it|that|this|they|he|she)\b)?\W*(?:is|was|were|are)?[\s\W]*(?:(?:the|on|from|in|by)\s)*(?:\*(?:\W|and|or)*)+"
)
_OUT_OF = lazy.compile(r"(?i)\]\](?: [a-z]+){0,2} out of (?:the |its )?\[\[")
"""`20 out of 400`; other things that one is, or runs, out of are claims: memory, time."""
_NOT_AFTER = lazy.compile(r"(?i)\b(?:before|until|till|up to|by then|ahead of|during|ever)\b")
"""Of what a zero of what came afterwards says nothing."""
_NOT_SO = lazy.compile(r"(?i)\bnot [a-z]+")
"""What a description denies: that there is none of it says that there is nothing else."""
_EXCEPTION = lazy.compile(r"[\w.]+(?:Error|Exception|Interrupt|Exit|Warning)")
"""What a class of Python is called that is raised."""
_PATH = lazy.compile(r"(?<!\S)\S*/\S+\.[A-Za-z]\w{0,6}(?!\S)")
"""A file in a text: a path with an ending."""
_LIST = lazy.compile(r"_list$|^all_|host$")
_CALLED = lazy.compile(r"file|work_dir|(?:stdout|stderr)_path")
"""Columns of how a file is called."""
_OTHERS_OWN = stems("node host machine user owner partition signal state")
"""What one of several has beside its own name: that two ranks differ says nothing of their nodes."""
_THE_CRASH = lazy.compile(
    r"(?i)\b(?:the crash (?:came|was|happened|struck|occurred|stands)|(?:before|when|until|till|after) the crash)\b(?! (?:of|by|on|in) (?:the )?(?:node|rank|gpu|host|user)\b)"
)
"""Of a job that a finding has crashed: when it came."""
_SHARE_OF = lazy.compile(r"(?i)\bshare of ([a-z]+ed) [a-z]+(?= (?:was|were|is) \[\[)")
_OF_TIME = lazy.compile(r"(?i)\bout of time\b")
_LABELLED = lazy.compile(r"(?i)\W*\b[a-z][a-z ]{0,30}\W*(?:[:=>|–—-]\W*|\n\W*|\bis\s)(?:\*(?:\W|and|or)*)+")
"""Nothing but a name under a label: `Verdict: *`."""


class Backing:
    """What the shown rows and the findings on an opened job say in words."""

    def __init__(self, ledger: Ledger, assessments: Sequence[Assessment]) -> None:
        self.ledger = ledger
        self._found = [
            said for a in assessments if a.status in ("confirmed", "suspected") for said in affirmed_of(a, ledger)
        ]
        self._vouched = rows_of(
            (ref for a in assessments if a.status in ("confirmed", "suspected") for ref in cited(assessment_texts(a))),
            ledger,
        )
        self._contradicts = contradictions(assessments)
        self._own_words = own_words(assessments, ledger)
        out = [(a.counterfactual, affirmed(title(a.code))) for a in assessments if a.status == "ruled_out"]
        told = [(t, "") for a in assessments if a.status in ("confirmed", "suspected") for t in assessment_facts(a)]
        self._denied = [(set(cited([t])), stems(" ".join(bare([name, refused(t)])))) for t, name in (*out, *told)]
        self._said = [(set(cited([t])), stems(affirmed(bare([t])[0]))) for t, _ in out]
        self._crashed = {
            (job_of(ledger, c), timed)
            for c, known in crashed(assessments, lambda t: self._cells(cited([t])))
            for timed in {known, False}
        }

    def unbacked(self, text: str) -> list[str]:
        """The words of a sentence that nothing it cites says; empty where every one is backed."""
        if parts := halves(text, self.ledger):
            return [word for part in parts for word in self.unbacked(part)]
        whole = text
        reckoned = (borne_out, spared, in_sequence, afterwards, unkilled)
        told = [span for reckon in reckoned for span in reckon(text, self.ledger)]
        text = plainer(without(text, told))
        refs = cited([text])
        nothing = nothing_of(text, list(self._cells(refs)), self.ledger)
        backed, seen = self.vocabulary(refs), self.vocabulary(refs, counted=False)
        if nothing:
            backed |= self._none_of(refs)
        absent = self._absent(refs, after=_NOT_AFTER.search(text) is None)
        found: dict[str, None] = {}
        named = all(c.column in SUBJECTS or _LIST.search(c.column) for c in self._cells(refs))
        label = named and whole == text and _LABELLED.fullmatch(_MARK.sub("*", text))
        if label or _BARE.fullmatch(_MARK.sub("*", whole)):
            found["the bare reference"] = None  # beside "who broke it?" a name alone is an accusation
        checks = {
            "the denial of [[{}]]": denied(text, self.ledger),
            "the time [[{}]] of something that it is not the time of": unsaid(whole, self.ledger),
            "the moment of [[{}]], which is of another one or of the whole,": beside_edge(text, self.ledger),
            "the figure of [[{}]], which is of some of the steps only,": of_part(whole, self.ledger),
            "the time of [[{}]], which is up to the job's own end,": of_other_end(text, self.ledger),
            "the moment of [[{}]] beside the run's start or end": outside_of_run(
                text, self.ledger, self._own_words(refs)
            ),
            "the state of [[{}]] as one that lasts (it is over)": over(text, self.ledger),
        }
        found |= {said.format(ref): None for said, ref in checks.items() if ref}
        if not nothing and (empty := [c.ref for c in self._cells(refs) if c.column == FOUND]):
            found[f"the empty answer of [[{empty[0]}]]"] = None
        if what := memory_of_another(text, [self.ledger.get(c.id) for c in self._cells(refs)]):
            found[what] = None
        if not nothing and (ref := undated(text, self.ledger)):
            found[f"the time of [[{ref}]], which lies outside of the job's run,"] = None
        if not nothing and (ref := ownerless(list(self._cells(refs)), self._vouched, self.ledger)):
            found[f"the owner of [[{ref}]]"] = None
        if not nothing and (ref := unlinked(list(self._cells(refs)), self._vouched, self.ledger)):
            found[f"the end of a job beside [[{ref}]], a link"] = None
        if _LOG_SAYS.search(plain := _MARK.sub("*", text)) and not self._of_log(refs):
            found["the log"] = None
        found |= {m["who"]: None for m in BY_WHOM.finditer(plain) if not spoken_of(m["who"], seen)}
        found |= {m["who"]: None for m in BY_THING.finditer(plain)}
        if said := self._contradicts(text, refs):
            found[said] = None
        if word := untrained(text, list(self._cells(refs)), self.ledger):
            found[word] = None
        if word := untold(without(whole, told), self.ledger):
            found[word] = None
        if word := unshared(text, list(self._cells(refs)), self.ledger):
            found[word] = None
        compared, most = compares(whole, self.ledger), extremes(text, self.ledger).lower()
        states = self._states(refs)
        found |= {
            word: None
            for word in re.findall(r"\b[A-Z]{2,}(?:_[A-Z]+)*\b", _MARK.sub(" ", text))
            if word in MEANS and word not in states
        }
        for word, negative in _own(_SHARE_OF.sub(lambda m: " " if spoken_of(m[1], backed) else m[0], text)):
            low = word.lower().replace("’", "'")
            if low in COMPARING or (low in ORDERING and not compares_nothing(text, self.ledger)):
                known = compared or spoken_of(word, backed) or (negative and nothing)
                known = known or (negative and absent is not None and spoken_of(word, absent))
            elif low in SUPERLATIVE:
                known = low != most
            elif low in ALIKE or low in UNLIKE:
                known = self._alike(refs, equal=low in ALIKE, of=said_of(text, word)) or spoken_of(word, backed)
            elif low in SEVERAL:
                known = self._alike(refs, equal=True) or self._alike(refs, equal=False)
            elif low in DENYING or low.endswith("n't"):
                known = (absent is not None and is_absent(word, text, absent, backed)) or self._says(word, text, refs)
                known = known or any(c.value is True and low in c.column.split("_") for c in self._cells(refs))
                known = known or nothing or unbegun(word, text, self._states(refs))
            elif not negative and (
                (low.endswith("ed") and refuses(word, self._texts(refs)))
                or unrestarted(word, list(self._cells(refs)), self._texts(refs), self.ledger)
            ):
                known = False
            elif low == "crash" and _THE_CRASH.search(plain) and not negative:
                timed = any(is_time(c) for c in self._cells(refs))
                jobs = {(job_of(self.ledger, c), timed) for c in self._cells(refs)}
                known = jobs <= self._crashed or spoken_of(word, backed)
            elif low == "out":
                known = bool(_OUT_OF.search(text)) or spoken_of("timeout" if _OF_TIME.search(text) else word, backed)
            elif (where := HARMLESS.get(low)) is not None:
                known = where.search(_MARK.sub("*", whole) if low in ("one", "done") else plain) or spoken_of(
                    word, backed
                )
            elif low == "all" and not most and (re.search(r"(?i)\bof all\b", text) or self._all_steps(text)):
                known = True  # "the least of all": the superlative was held against the column
            elif low == "only" and (one := _THE_ONLY.search(text)):
                known = any(
                    c.column.startswith(one[1].lower()[:4]) and c.value == 1 and c.column not in SUBJECTS
                    for c in self._cells(refs)
                )
            elif (
                (low.endswith("ed") or is_said(low, plain))
                and not negative
                and spoken_of(word, backed)
                and not spoken_of(word, seen)
            ):
                behind = rf"|\*\W* (?:\w+ )?{low}\b" if low.endswith("ed") else ""
                counted = rf"(?i)\b{low} (?:the (?:job|run) |it )?(?:only )?\*{behind}"  # "requeued 0 times"
                known = re.search(counted, self._zeros(text)) is not None
            else:
                known = (
                    low.removesuffix("'s") in NEUTRAL
                    or spoken_of(word, backed)
                    or (absent is not None and negative and spoken_of(word, absent))
                    or (negative and nothing)
                )
            if not known:
                found[low] = None
        return list(found)

    def vocabulary(self, refs: Iterable[str], *, counted: bool = True) -> frozenset[str]:
        """The stems of what the cited rows say: texts of the rows, names and descriptions of the columns, findings on the cells.

        Without `counted` a zero does not speak of what there was none of.
        """
        said: list[str] = []
        for cell in self._cells(refs):
            evidence = self.ledger.get(cell.id)
            said += [evidence.tool, ALSO_SAID.get(evidence.query, evidence.query), UNITS.get(unit_of(cell), "")]
            if counted or cell.value or cell.column.startswith("exit_"):
                said += [cell.column, telling(cell.doc, text=isinstance(cell.value, str))]
                parts_of = (cell.column, *cell.column.lower().split("_"))
                said += [COLUMN_WORDS[p] for p in dict.fromkeys(parts_of) if p in COLUMN_WORDS]
            said += measure(evidence, cell.row)
            said += self._row(evidence, cell.row, cell.column)
        known = set(stems(" ".join(said)))
        if "finit" in known:
            known |= {"nan", "inf", "infinit"}
        refs = {*refs, *twins(refs, self.ledger)}
        for backed, words, named in self._found:
            if backed & refs and self._of_no_other(backed, refs) and of_named(named, self._cells(refs)):
                known |= words
        for backed, words in self._said:
            if backed and backed <= refs:
                known |= words
        return frozenset(known)

    def _zeros(self, text: str) -> str:
        """The text with a star for each figure that is zero, and another mark for every other reference."""

        def mark(m: re.Match[str]) -> str:
            return "*" if any(not c.value and c.column not in SUBJECTS for c in self._cells([m[0][2:-2]])) else "~"

        return _MARK.sub(mark, text)

    def _none_of(self, refs: Iterable[str]) -> frozenset[str]:
        """What the empty answers that are cited have none of: `kernel OOM kill`."""
        asked = {c.id: self.ledger.get(c.id) for c in self._cells(refs) if c.column == FOUND}.values()
        states = [asked_of_fleet(e.query, e.params).replace("_", " ") for e in asked]
        return stems(" ".join([*states, *(w for e in asked if (info := catalog().get(e.query)) for w in info.none)]))

    def _of_no_other(self, backed: set[str], refs: Iterable[str]) -> bool:
        """Whether the subjects that are cited of an answer are those of a finding: of one beside them it says nothing."""
        rows = rows_of(backed, self.ledger)
        answers = {id for id, _ in rows}
        own = {str(c.value) for c in self._cells(backed) if c.column in SUBJECTS}
        return all(
            c.column not in SUBJECTS or c.id not in answers or (c.id, c.row) in rows or str(c.value) in own
            for c in self._cells(refs)
        )

    def _of_log(self, refs: Iterable[str]) -> bool:
        """Whether something that is cited was read from a log."""
        cells = list(self._cells(refs))
        tables = [t.table for c in cells for t in self.ledger.get(c.id).coverage]
        return any(c.column == FOUND for c in cells) or any(t.startswith(("log", "train")) for t in tables)

    def _all_steps(self, text: str) -> bool:
        """Whether a sentence tells all of the steps that were planned, of a run that made them."""
        row = resolve(found[1], self.ledger) if (found := _ALL_STEPS.search(text)) else None
        return row is not None and held(self.ledger, row, "last_step") == row.value

    def _texts(self, refs: Iterable[str]) -> list[str]:
        return [w for c in self._cells(refs) for w in self._row(self.ledger.get(c.id), c.row, c.column)]

    def _states(self, refs: Iterable[str]) -> set[str]:
        """The words in capitals that the cited rows have."""
        return {
            w
            for cell in self._cells(refs)
            for said in self._row(self.ledger.get(cell.id), cell.row, cell.column)
            for w in re.findall(r"[A-Z]{2,}(?:_[A-Z]+)*", said)
        } | {
            asked_of_fleet(e.query, e.params) for c in self._cells(refs) if (e := self.ledger.get(c.id)).row_count == 0
        }

    def _row(self, evidence: Evidence, row: int, column: str) -> list[str]:
        """What a row says in words to one who cites a column of it; a file's name is somebody's, and says what it is called."""
        said: list[str] = []
        for c in evidence.columns:
            value = evidence.value(c.name, row)
            said += ["completed finished"] if c.name == "done" and value == 1 else []
            told = c.name == column or not _CALLED.fullmatch(c.name)
            if (
                isinstance(value, str)
                and told
                and c.name != "origin"
                and self.ledger.is_shown(evidence.id, row, c.name)
            ):
                said.append(value[:4000])
                said += [MEANS[w] for w in re.split(r"[^A-Z_]+", value) if w in MEANS]
                said.append(ALSO_SAID.get(value, ""))
                said += [RAISED] if _EXCEPTION.fullmatch(value) else []
                said += ["file"] if _PATH.search(value) else []
                if c.name == "family":
                    said.append(title(value))
        return said

    def _absent(self, refs: Sequence[str], *, after: bool) -> frozenset[str] | None:
        """What may be said not to be there: a cited zero or "no" of that name, or what a finding rules out on the same cells."""
        said: list[str] = []
        denied: set[str] = set()
        found = False
        for cell in self._cells(refs):
            if cell.column == FOUND:
                continue  # what an empty answer says there was none of, `nothing_of` knows
            zero = cell.column not in SUBJECTS and isinstance(cell.value, (bool, int, float)) and not cell.value
            if zero and self._of_all(cell, refs) and (after or not cell.column.endswith("_after")):
                found = True
                said += [cell.column, _NOT_SO.sub(" ", cell.doc), EARLIER if "before the last" in cell.doc else ""]
                said += [COLUMN_WORDS.get(p, "") for p in cell.column.split("_")]
                said += ["further more"] if cell.column.endswith("_after") else []
            elif "quiet" in cell.column.split("_"):
                found = True
                said += ["training progress reports report reported", cell.doc]
        for backed, words in self._denied:
            own = {*refs, *twins(refs, self.ledger)}
            if backed and (
                backed <= own or (backed & own and rows_of(backed, self.ledger) <= rows_of(own, self.ledger))
            ):
                found = True
                denied |= words
        return frozenset(denied | stems(" ".join(said))) if found else None

    def _of_all(self, cell: CellValue, refs: Sequence[str]) -> bool:
        """Whether every row that a sentence may be taken to speak of has that zero: those that have what it cites of the row."""
        evidence = self.ledger.get(cell.id)
        same = [c for c in self._cells(refs) if (c.id, c.row) == (cell.id, cell.row)]
        own = [c for c in same if c.column in SUBJECTS or isinstance(c.value, str)]
        rows = [r for r in range(len(evidence.rows)) if all(evidence.value(c.column, r) == c.value for c in own)]
        return all(not evidence.value(cell.column, r) for r in rows)

    def _cells(self, refs: Iterable[str]) -> Iterator[CellValue]:
        """The cells of references, but of those that lead nowhere: another check tells of them."""
        return cells_of(refs, self.ledger)

    def _says(self, word: str, text: str, refs: Iterable[str]) -> bool:
        """Whether a cited column, or the text of a row, says a negation itself: "not finite"."""
        phrase = re.search(rf"\b{re.escape(word)} [a-z]+", text)
        docs = " ".join(cell.doc for cell in self._cells(refs))
        of_column = phrase is not None and phrase[0].lower() in docs.lower()
        return of_column or denies(word, text, self._texts(refs))

    def _alike(self, refs: Sequence[str], *, equal: bool, of: str = "") -> bool:
        """Whether two cited cells of one column are equal (or differ): the column that is named, else one that names no subject."""
        by: dict[str, list[object]] = {}
        for cell in self._cells(refs):
            by.setdefault({"node_list": "node"}.get(cell.column, cell.column), []).append(cell.value)
        by = {column: values for column, values in by.items() if len(values) > 1}
        named = {c: v for c, v in by.items() if of and of in c}
        others = {c: v for c, v in by.items() if c not in SUBJECTS}
        several = list((named or ({} if of in _OTHERS_OWN else others or by)).values())
        return any((len({str(v) for v in values}) == 1) == equal for values in several)


def _own(text: str) -> list[tuple[str, bool]]:
    """The words of a sentence, and whether each is denied; a quotation's too: who says it has to be cited."""
    said = without_blame(without_causes(_MARK.sub(" ", text)))
    return [(w, negated(said, m.start())) for m in _WORD.finditer(said) for w in parts(m[0])]
