"""Whose jobs a question is about: the users, partitions and jobs' names that its words name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_tools.questions.lookup_says import asked
from agent_tools.tools.base import Deps
from store import lazy
from store.result import StoreError

MAX_KNOWN = 20_000
"""Users, partitions or names among which a word is looked for: one that is left out would be taken for no name at all."""
_WORD = lazy.compile(r"[\w.-]*\w")
NO_NAME = (
    r"(?!(?:a|an|and|any|anyone|all|at|by|did|does|do|each|every\w*|had|has|he|her|his|i|in|is|it|its|jobs?|kind|last|mine|more|most|my|names?|nodes?|nobody|on|one|or"
    r"|our|over|partitions?|per|she|since|some\w*|than|that|the|their|them|these|they|this|those|today|tonight|type|until|users?|was|we|were|what|which"
    r"|who|with|yesterday|you|during|for|from|of|before|after|between|january|february|march|april|may|june|july|august|september|october|november"
    r"|december|\w*day|weekend)\b)"
)
"""Words that can stand where a name does."""
NO_USER = (
    r"(?!(?:and|are|between|did|does|during|each|for|had|has|have|in|is|last|more|most|names?|on|or|over|per|since|that|this|today|was|were|which|who|with|"
    r"yesterday)\b)"
)
_USER = lazy.compile(
    rf"(?i)\b(?:of|by|from|for|did|does|do|has|had|is|was|are|were) (?:the )?user {NO_USER}[\"'`]?(?P<of>[^\s\"'`,;?!]+)"
    rf"|(?<![\w.-]){NO_NAME}(?P<whose>[a-z_][\w.-]*)['’]s (?:\w+ ){{0,2}}(?:jobs?|runs?|failures|gpus?|gpu[- ](?:hours|time))\b"
    rf"|\bjobs (?:of|by|from) {NO_NAME}(?P<jobs>[a-z_][\w.-]*\w)(?=\W*$| (?:fail|ran|run|in|on|since|this|last|that|are|were|have|did|wait|end)\w*\b)"
    rf"|\b(?:did|does|has) {NO_NAME}(?P<did>[a-z_][\w.-]*\w) (?:run|submit\w*|launch\w*)\b"
)
"""Whom the words call somebody whose jobs they are, whether the store knows them or not."""
THINGS = frozenset(
    {
        "node",
        "cluster",
        "job",
        "gpu",
        "today",
        "yesterday",
        "week",
        "month",
        "year",
        "night",
        "partition",
        "slurm",
        "everyone",
    }
)
"""What has jobs, runs and GPUs and is nobody."""
COMMON = frozenset(
    """
    again average bash batch before card cards checkpoint clocks cluster code collective cpu crash crashed data days debug disk error errors eval evals ever
    exec fail failed failure fine finetune first gpu gpus hang happened hardware healthy hold host hosts hour hours idle inference interactive killed list
    local log logs loss main many mean memory model most name named names nccl network node nodes none often pending power problem python python3 queue
    rank ranks read report restart resume run running save script serve server shell show slow slurm sbatch srun start started state states status step
    steps storage stuck submit summary tell temp test tests time times total train trained training trouble used user users wait waiting week which why
    worker workers wrap write wrong
    """.split()  # noqa: SIM905
)
"""Names of jobs that are words of questions too: they have to be called a name, quoted, or stand before `jobs`."""
STATES = frozenset(
    {
        "all",
        "any",
        "failed",
        "idle",
        "killed",
        "list",
        "many",
        "most",
        "named",
        "other",
        "pending",
        "running",
        "show",
        "slow",
        "stuck",
        "those",
        "used",
        "waiting",
        "which",
    }
)
_CALLED = lazy.compile(
    r"(?i)\b(?:named|called)\s+[\"'`]?([\w.-]*\w)|[\"'`“]([\w.-]*\w)[\"'`”]|\b([\w.-]*\w) (?:jobs|runs)\b"
)
_SUBJECT = lazy.compile(r"(?i)\b(?:did|does|was|is|has|ran|runs?|(?:runs?|jobs|attempts?) of) (?:the )?([\w.-]*\w)")
"""What a word stands behind that is the beginning of names: `was pretrain ever successful` for `pretrain-7`."""


def named_in(deps: Deps, question: str) -> dict[str, str]:
    """The user, the partition and the jobs' name (as `find_jobs` takes one) that a question's words name: those that the store
    knows, and whom it calls a user (`of user lin`)."""
    several = several_in(deps, question)
    found = {by: names[0] for by, names in several.items() if len(names) == 1}
    users = {n.lower() for names in several.values() for n in names}
    stated = next(
        (s for m in _USER.finditer(question) if (s := next(g for g in m.groups() if g)).lower() not in THINGS), None
    )
    if stated is None and not any(w not in users and w not in COMMON for w in _words(question)):
        return found
    names = [n for n in _names(deps) if n not in users]
    pattern = _name(names, question)
    if pattern is not None:
        found["name"] = pattern
    if (
        stated is not None
        and not users
        and not any(_begins(n, stated.lower()) for n in names)
        and not _ran_on(deps, stated)
    ):
        found["user"] = stated
    return found


def _ran_on(deps: Deps, name: str) -> bool:
    """Whether a name is that of a node on which jobs ran: `gpu-07's GPUs`."""
    try:
        return bool(deps.reader.ask("find_jobs", node=name, max_rows=1).rows)
    except StoreError:
        return False


def several_in(deps: Deps, question: str) -> dict[str, list[str]]:
    """The users and the partitions whose names stand in a question."""
    words = _words(question)
    found: dict[str, list[str]] = {}
    for by in ("user", "partition") if "partition" in words else ("user",):
        known = asked(deps, "fleet_tally", by=by, told=False, max_rows=MAX_KNOWN)
        names = {str(row["value"]).lower(): str(row["value"]) for row in known.dicts()} if known else dict[str, str]()
        odd = [
            n for n in names if not _WORD.fullmatch(n) and re.search(rf"(?<!\w){re.escape(n)}(?!\w)", question, re.I)
        ]
        if named := [names[w] for w in dict.fromkeys((*words, *odd)) if w in names]:
            found[by] = named
    return found


def _name(names: Sequence[str], question: str) -> str | None:
    """A pattern for the jobs' names that stand in a question, whole or by how they begin; None where none does."""
    called = {
        g.lower()
        for m in _CALLED.finditer(question)
        for g in m.groups()
        if g and (g != m[3] or g.lower() not in STATES)
    }
    words = [w for w in _words(question) if w in called or (w not in COMMON and len(w) > 1)]
    whole = [w for w in words if w in names]
    if whole:
        return f"^(?:{'|'.join(re.escape(w) for w in whole)})$"
    subjects = called | {m[1].lower() for m in _SUBJECT.finditer(question)} - COMMON
    begun = [w for w in words if (w in subjects or re.search(r"\d", w)) and any(_begins(n, w) for n in names)]
    return f"^(?:{'|'.join(re.escape(w) for w in begun)})(?:[-_.0-9].*)?$" if begun else None


def _begins(name: str, word: str) -> bool:
    """Whether a name is a word, or that word and a number or more words."""
    return name == word or (len(word) > 2 and re.match(rf"{re.escape(word)}[-_.\d]", name) is not None)


def _words(question: str) -> list[str]:
    return list(dict.fromkeys(w.lower() for w in _WORD.findall(re.sub(r"['’]s\b", "", question))))


def names_some(deps: Deps, question: str) -> bool:
    """Whether a question names jobs, by their name or by whose they are."""
    words = [w for w in _words(question) if w not in COMMON]
    return bool(words) and (_name(_names(deps), question) is not None or not {*words}.isdisjoint(_names(deps, "user")))


def one_named(deps: Deps, question: str) -> str | None:
    """The job whose name stands in a question; None where none does, or several jobs are called so."""
    pattern = _name(_names(deps), question)
    if pattern is None:
        return None
    try:
        found = {str(row["job_id"]) for row in deps.reader.ask("find_jobs", name=pattern, max_rows=50).dicts()}
    except StoreError:
        return None
    return found.pop() if len(found) == 1 else None


def job_named(deps: Deps, word: str) -> bool:
    """Whether a word is the name of jobs, or how names of jobs begin."""
    return any(_begins(n, word.lower()) for n in _names(deps))


def _names(deps: Deps, by: str = "name") -> list[str]:
    """The jobs' names, or users, that the store knows, in small letters; asked beside the ledger: nothing of it is cited."""
    try:
        rows = deps.reader.ask("fleet_tally", by=by, max_rows=MAX_KNOWN).dicts()
    except StoreError:
        return []
    return [str(row["value"]).lower() for row in rows if row["value"]]
