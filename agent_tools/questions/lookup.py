"""What the examiner does with a free question: it looks up what the question's words name, and says what stands there.

It does not pretend to understand. A question for the cause gets the differential's own sentences; a question for a node's
victims has each of them examined; any other gets tables, with a sentence for what stands out in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace

from agent_tools.families.base import Assessment
from agent_tools.gate.answer_gate import check_answer
from agent_tools.gate.citations import Gate
from agent_tools.gate.grounds import Grounds
from agent_tools.questions.answer import Answer, Reply
from agent_tools.questions.beside import about_node, beside_others, of_nodes
from agent_tools.questions.fleet import UNKNOWN, of_many, over_many
from agent_tools.questions.fleet_ended import beside_times, two_times
from agent_tools.questions.fleet_now import occurred
from agent_tools.questions.lookup_job import what_next, whether
from agent_tools.questions.lookup_says import asked, earlier_runs, node_victims, of_rank, of_table, one_attempt
from agent_tools.questions.lookup_verdict import of_verdict
from agent_tools.questions.meanings import meaning
from agent_tools.questions.parts import joined, parts
from agent_tools.questions.several import bare_job, jobs_of, of_several
from agent_tools.questions.spelling import spelled
from agent_tools.questions.unknown import names_unknown, with_unknown
from agent_tools.questions.when import window
from agent_tools.questions.whom import job_named, named_in, names_some, one_named
from agent_tools.references import cited
from agent_tools.tools.base import Deps
from agent_tools.verdict import Claim, Draft, Missing
from store import lazy
from store.result import StoreError

_MODEL = "a language model (--model)"
_CALLED = lazy.compile(r"\b(?:nodes?|hosts?|machine|server)\s+([A-Za-z][\w.-]*\w)", re.I)
_NODE = lazy.compile(r"(?<![\w.-])([A-Za-z][A-Za-z_-]*\d[\w.-]*\w|[A-Za-z]{1,12}\d{1,5})(?![\w-])")
_NO_NODE = lazy.compile(
    r"(?i)(?:[a-gu]\d|[ab][1-8]00|a[134]0|h(?:20|100|200|800)|v100|p100|t4|l4|l40s?|g[bh]200|gb300|mi\d+x?|fp\d+|bf\d+|tf32|int\d+"
    r"|xid-?\d+|ranks?\d+|gpus?\d+|jobs?\d+|e\d+|utf-?\d+|epoch\d+|step\d+)"
)
"""What looks like a node's name and is a GPU's, a number format's or ours."""
_LETTERS = lazy.compile(r"\d.*")
_PLAIN = frozenset("is was as the that went did has had kill killed states state names".split())  # noqa: SIM905
_TYPED = lazy.compile(r"\[\[[^\[\]]{0,80}\]\]")
_JOB = lazy.compile(r"\bjob\s+#?(\d{1,10}(?:_\d{1,7}|\+\d{1,4})?)\b", re.I)
_JOB_ALONE = lazy.compile(r"(?i)\W*(?:job\s+)?#?\d{1,10}(?:_\d{1,7}|\+\d{1,4})?\W*")
_RANK = lazy.compile(r"\branks?\s+#?(\d{1,6})\b", re.I)
_VICTIMS = lazy.compile(
    r"(?i)\b(?:kill\w*|fail\w*|crash\w*|br[eo]a?k\w*|died|lost|hit|bad|trouble\w*|problems?|issues?|victims?|responsible)\b"
)
_EARLIER = lazy.compile(
    r"(?i)\b(?:before the (?:restart|requeue|crash)|before (?:it|the job) (?:was )?re(?:started|queued)|first attempt|earlier attempt)\b"
)
_HAPPENED = lazy.compile(
    r"(?i)\b(?:happen\w*|seen|occur\w*|known) (?:\w+ ){0,2}(?:before|again|earlier|previously|already)\b"
)
_FAR = lazy.compile(
    r"(?i)\bhow far\b|\b(?:reach|get to|got to|finish|complet)\w*\b|\b(?:progress|throughput|speed|step time)\b|\bhow many (?:steps|epochs|iterations)\b"
)
TOPICS: tuple[tuple[str, str], ...] = (
    (
        r"\blogs?\b.*\b(?:end|ended|last|tail|final\w*)\b|\b(?:last|final) (?:\w+ )?(?:lines?|output|words|messages?)\b|\b(?:last|tail)\b.*\blogs?\b",
        "log_tail",
    ),
    (r"\bcheckpoints?\b|\bsaved?\b|\bresum\w*", "checkpoints"),
    (
        r"\bhow (?:long|often|many (?:gpus|nodes|attempts))\b|\b(?:who|whose|partition|submit\w*|command|exit (?:code|status)|cancel\w*"
        r"|time ?limit|when did it (?:start|end|begin)|state|which nodes?|elapsed|run ?time|outcome)\b"
        r"|\b(?:how )?did (?:it|(?:this |the |that )?(?:job|run|training)(?: \S+)?) (?:end|finish|go|turn out|succeed|complete|work)\b",
        "overview",
    ),
    (
        r"\b(?:why|cause|caused|reason|verdict|wrong|happened|culprit|to blame|what (?:killed|ended|stopped|broke))\b|\b(?:which|what) line\b|\blines? of code\b|\bwhere did it\b"
        r"|\b(?:fail\w*|crash\w*|died|broke) first\b|\bfirst (?:to )?(?:fail\w*|crash\w*|die|error)\b",
        "cause",
    ),
    (
        r"\b(?:loss|learning rate|lr|grad\w*|curve|converg\w*|diverg\w*|nan|steps?|epochs?|iterations?|progress|throughput|speed|how far)\b",
        "training_curve",
    ),
    (r"\b(?:ranks?|stragglers?|slow\w*|lag\w*)\b", "compare_ranks"),
    (r"\b(?:collectives?|nccl|rccl|all.?reduce|hang|hung|stuck)\b", "collectives"),
    (
        r"\b(?:gpus?|xids?|ecc|cards?|nvlink|throttl\w*|temperature|hot\w*|memory|utili[sz]\w*|power|clocks?)\b",
        "gpu_health",
    ),
    (
        r"\b(?:again|before(?! (?:(?:it|the|this|its|that) )?(?:\w+ )?(?:end|ended|crash|fail|died|stop|kill|error|exit|hang|hung|time ?out|step))|earlier|last (?:week|time|month|run)|history|previous|similar|other (?:runs?|jobs?)|same)\b",
        "history",
    ),
    (r"\b(?:nodes?|hosts?|drain\w*|down|reboot\w*)\b", "node_states"),
    (r"\b(?:process\w*|exit\w*|signals?|kill\w*|oom|sigkill|cgroups?)\b", "processes"),
    (r"\b(?:when|timeline|order|first|sequence)\b", "timeline"),
    (r"\b(?:errors?|exceptions?|tracebacks?|logs?|warnings?|messages?|printed)\b", "log_events"),
    (r"\b(?:jobs|users?|partition|fleet|this month|this week|today|yesterday)\b", "find_jobs"),
    (r"\b(?:looked|looking|sources?|coverage|missing|collected)\b", "coverage"),
)
"""Words of a question, and what is looked up for them, the most telling first."""
MAX_TOPICS, MAX_SHORT = 3, 600
"""The latter: characters of an answer's first sentence."""
_FLEET = frozenset({"find_jobs"})
_ONE = frozenset(
    {
        "log_tail",
        "checkpoints",
        "overview",
        "training_curve",
        "compare_ranks",
        "collectives",
        "processes",
        "log_events",
        "history",
    }
)
"""Topics that only a job has."""

_LEFT_OUT = lazy.compile(
    r"(?i)\b(?:other than|except(?:ing)?|excluding|apart from|aside from|all but|but not|not (?:on|by|from|because|due)|(?:did|do)(?: not|n't) run on)\b"
    r"|(?:\b(?:not|never)|n't) (?:\w+ )?(?:fail\w*|crash\w*|complet\w*|finish\w*|succe\w*|s?cancel\w*|preempt\w*|requeue\w*|tim\w+ out|hang|hung|killed)\b"
)
# An answer on those that are named would be on the very ones that were not asked for.
_NOT_WITHOUT = "What a question leaves out is not looked up without a model: ask for what is meant instead."


async def look_up(
    deps: Deps, question: str, assessed: Callable[[], Sequence[Assessment]], now: datetime | None = None
) -> Reply:
    """What the store has for a question, as a reply. Nothing is concluded but what the families did.

    `assessed` gives what they found on every job that was examined. What is looked up here counts as shown to nobody else.
    """
    with deps.ledger.seen_whole():
        replies = [await _one(deps, part, assessed, now or datetime.now(UTC)) for part in parts(question)]
        return replies[0] if len(replies) == 1 else joined(question, replies)


async def _one(deps: Deps, question: str, assessed: Callable[[], Sequence[Assessment]], now: datetime) -> Reply:
    if means := meaning(question, opened=bool(deps.job_id)):
        seen, tables = occurred(deps, question)
        return _reply(deps, assessed(), question, means, [t for t in seen if cited([t])], tables)
    strange = names_unknown(deps, question)
    if strange.nothing:
        return _reply(deps, assessed(), question, strange.said[0], strange.said[1:], [])
    meant, taken = spelled(question)
    found = await _looked_up(deps, meant, assessed, now, strange.names)
    found.provenance.notes += [f'The word "{word}" was taken for "{as_}".' for word, as_ in taken]
    return with_unknown(found.model_copy(update={"question": question}), strange)


async def _looked_up(
    deps: Deps, question: str, assessed: Callable[[], Sequence[Assessment]], now: datetime, unknown: Sequence[str]
) -> Reply:
    several = of_several(deps, jobs_of(question, deps.job_id), unknown)
    if deps.opener is not None and not several[0] and (named := _job_named(deps, question)) not in (None, deps.job_id):
        before = deps.job_id
        deps.opener(str(named), None)
        if deps.job_id == before:
            return _which(_reply(deps, assessed(), question, "No job of that id is in the store.", [], []))
    elif deps.opener is not None and not (deps.job_id or several[0] or of_many(question, opened=False)):
        asks = {name for pattern, name in TOPICS if re.search(pattern, question, re.I)}
        if asks & (_ONE | {"cause"}) and (one := one_named(deps, question)) is not None:
            deps.opener(one, None)
    if not deps.job_id and not several[0] and (spans := two_times(question, now)):
        given: dict[str, str] = {**named_in(deps, question)} | (
            {"node": n} if (n := node_of(question, unknown)) else {}
        )
        said, tables = beside_times(deps, spans, given)
        return _reply(deps, assessed(), question, "", said, tables)
    since, until = window(question, now)
    times = {k: v for k, v in (("since", since), ("until", until)) if v is not None}
    node = node_of(question, unknown) or _known_node(deps, question)
    if node is not None and not _ran_there(deps, node) and job_named(deps, node):
        node = None
    words = without_nodes(question, node)
    topics = [name for pattern, name in TOPICS if re.search(pattern, words, re.I)]
    topics = ["cause"] if _JOB_ALONE.fullmatch(question) else topics
    said: list[str] = []
    tables: list[str] = []
    short, unopened = "", False
    ends: list[Missing] = []
    if not deps.job_id and _LEFT_OUT.search(question):
        reply = _reply(deps, assessed(), question, _NOT_WITHOUT, [], [])
        reply.cannot_answer = [Missing(text="Which are left when those are taken away.", signal=_MODEL)]
        return reply
    if several[0]:
        said, tables = several
        topics = []
    elif deps.job_id and (of := of_verdict(deps, question))[0]:
        said, ends = of
        short, said = ("", said) if cited(said[:1]) else (said[0], said[1:])
        topics = []
    elif not deps.job_id and beside_others(question, nodes := _nodes_named(deps, question), unknown):
        said, tables = of_nodes(deps, nodes, question, times, unknown)
        topics = []
    elif node and not deps.job_id and (told := about_node(deps, node, question, times, topics)) is not None:
        said, tables = told
        if said and not tables:  # it is not this viewer's to ask
            return _reply(deps, assessed(), question, said[0], said[1:], [])
        topics = []
    elif node and (
        (_VICTIMS.search(question) and ("find_jobs" in topics or not deps.job_id))
        or ("cause" in topics and not deps.job_id)
    ):
        said, tables = node_victims(deps, node, times, named_in(deps, question).get("user"))
        topics = []
    elif of_many(words, opened=bool(deps.job_id)) or (
        not deps.job_id and (not _of_one(topics, node) or names_some(deps, words))
    ):
        said, tables = over_many(deps, words, {**times, **({"node": node} if node else {})}, topics)
        if said and not tables:  # it is not this viewer's to ask, or nothing that is known
            reply = _reply(deps, assessed(), question, said[0], said[1:], [])
            if said[0] == UNKNOWN:
                reply.cannot_answer = [Missing(text="What is asked for.", signal=_MODEL)]
            return reply
        topics = []
    elif deps.job_id and (todo := what_next(deps.draft, question)):
        short, said = (todo[0], todo[1:]) if len(todo[0]) <= MAX_SHORT else ("", todo)
        topics = []
        ends = [Missing(text="Whether that is enough: only the next run can show it.", signal="that run")]
    elif deps.job_id and not _RANK.search(question) and (about := whether(deps, question)):
        short, said = "", about
        topics = []
    elif "cause" in topics and deps.job_id:
        draft = _verdict(deps)
        short, said = draft.headline, [c.text for c in draft.shows[:6]]
        topics = [t for t in topics if t not in _FLEET]
    topics = [t for t in topics if t != "cause"]
    if not deps.job_id:
        unopened = _of_one(topics, node) and not tables
        topics = ["history"] if node and "history" in topics else [] if tables else ["find_jobs"]
    if not topics and not short and not said and not tables:
        short, said, topics = UNKNOWN, [_verdict(deps).headline], ["overview"]
    if unopened:
        short = "The question is about a job, and none is open."
    found: list[str] = []
    for topic in topics[:MAX_TOPICS]:
        ids = await _tables(deps, topic, node, times, question)
        tables += ids
        for id in ids:
            more = of_table(deps, id, question)
            found = [*more, *found] if deps.ledger.get(id).query == "gpu_summary" else [*found, *more]
        if topic == "history" and node is None:
            past = earlier_runs(deps, ids)
            if past and short and _HAPPENED.search(question):
                past, said, short = [], [*past[1:], short, *said], past[0]
            found += past
        if topic == "compare_ranks" and (named := _RANK.search(question)):
            about = of_rank(deps, ids, int(named[1]))
            if about and short:
                found, said, short = [], [short, *found, *said], about[0]
            said = [*about, *said]
    reply = _reply(deps, assessed(), question, short, [*found, *said], list(dict.fromkeys(tables)))
    if ends:
        reply.cannot_answer = ends
    return _which(reply) if unopened else reply


def _which(reply: Reply) -> Reply:
    """The reply, which says that it is not known which job is meant."""
    signal = "its id (job ID), in the question or by opening it"
    reply.cannot_answer = [Missing(text="Which job is meant.", signal=signal)]
    return reply


def _verdict(deps: Deps) -> Draft:
    """The examiner's draft on the open job, as far as it passes the gate."""
    return Gate().prune(deps.draft, deps.ledger, deps.assessments, deps.draft).draft


def _of_one(topics: Sequence[str], node: str | None) -> bool:
    """Whether what is asked about is one job's, and nobody said which."""
    return any(t in _ONE and not (t == "history" and node) for t in topics)


def job_of(question: str) -> str | None:
    """The job that a question names ("job 4812", "job 4812_7"); None where it names none."""
    named = _JOB.search(question)
    return None if named is None else named[1]


def _job_named(deps: Deps, question: str) -> str | None:
    """The job that a question names, also by its number alone where there is such a job."""
    if (named := job_of(question)) is not None or (bare := bare_job(question)) is None:
        return named
    try:
        known = deps.reader.ask("job_known", job_id=bare).rows[0]
    except StoreError:
        return None
    return bare if any(isinstance(n, int) and n > 0 for n in known) else None


def node_of(question: str, unknown: Sequence[str] = ()) -> str | None:
    """The node that a question names, rather one that is not `unknown`; None where it names none. A reference that somebody typed is none."""
    question = _TYPED.sub(" ", question)
    called = [m[1] for m in _CALLED.finditer(question) if m[1].lower() not in _PLAIN][:1]
    names = [c for c in called if re.search(r"\d|-", c) or c[0].isupper()]
    names += [m[1] for m in _NODE.finditer(question) if not _NO_NODE.fullmatch(m[1])]
    return next((n for n in names if n not in unknown), names[0] if names else None)


def without_nodes(question: str, node: str | None) -> str:
    """A question's words without its node's name: of `gpu-07` the first part is no word of the question."""
    return question if node is None else re.sub(rf"(?<![\w.-]){re.escape(node)}(?![\w-])", "it", question)


def _nodes_named(deps: Deps, question: str) -> list[str]:
    """The nodes that a question names, where it names several: those that jobs ran on, and what is called as they are."""
    names = list(dict.fromkeys(m[1] for m in _NODE.finditer(_TYPED.sub(" ", question))))
    if len(names) < 2:
        return names
    known = [n for n in names if _ran_there(deps, n)]
    like = {_LETTERS.sub("", n) for n in known}
    return [n for n in names if n in known or _LETTERS.sub("", n) in like]


def _known_node(deps: Deps, question: str) -> str | None:
    """The node that a question names by what could also be a GPU's name or a number format's (`gpu03`): jobs ran there."""
    names = [name for m in _NODE.finditer(question) for name in dict.fromkeys((m[1], m[1].lower()))]
    return next((n for n in names if _NO_NODE.fullmatch(n) and _ran_there(deps, n)), None)


def _ran_there(deps: Deps, node: str) -> bool:
    return bool(deps.reader.ask("find_jobs", node=node, max_rows=1).rows)


def _reply(
    deps: Deps, assessed: Sequence[Assessment], question: str, short: str, said: Sequence[str], tables: list[str]
) -> Reply:
    """The sentences that hold at the gate, the first of them up front."""
    vetted = Grounds(deps.ledger, assessed)

    def passed(text: str) -> str:
        if len(text) > MAX_SHORT:
            return text if vetted.verbatim(text) else ""
        report = check_answer(_alone(text), deps.ledger, assessed, ours=True)
        return report.answer.short if report.ok or vetted.verbatim(text) else ""

    short = (passed(short) or short) if short else ""
    held = [done for t in dict.fromkeys(said) if (done := passed(t))]
    bare = [] if tables else [t for t in held if not cited([t])]  # what is absent has no cell: it is no observation
    held = [t for t in held if t not in bare]
    if not short and (first := next((t for t in held if len(t) <= MAX_SHORT), "")):
        short = first
        held.remove(first)
    filled = [t for t in tables if deps.ledger.get(t).rows]
    if not short:
        short = (
            "The built-in examiner does not reason about free questions; these tables are what the store has under its words."
            if filled
            else "The store has nothing under the words of this question."
        )
    missing = Missing(text="What follows from this: the built-in examiner looks up and does not reason.", signal=_MODEL)
    shows = [Claim(text=t) for t in held if t != short][:12]
    implies = [Claim(text=t, status="supported") for t in bare[:6] if t != short]
    return Reply(
        short=short,
        shows=shows,
        implies=implies,
        cannot_answer=[missing] if tables else [],
        question=question,
        tables=filled,
    )


def _alone(text: str) -> Answer:
    missing = [] if cited([text]) else [Missing(text="What it is.", signal="")]
    return Answer(short=text, cannot_answer=missing)


async def _tables(deps: Deps, topic: str, node: str | None, times: dict[str, str], question: str) -> list[str]:
    """The ids of the evidence that a topic's tool brings."""
    from agent_tools.tools.registry import functions

    named: dict[str, str] = {}
    if topic == "find_jobs":
        named = times
    if node is not None and topic in ("find_jobs", "history"):
        named = {**named, "node": node}
    if node is not None and topic == "history" and "since" in times:
        named["since"] = times["since"]
    before = len(deps.answered)
    attempt = deps.attempt
    tool = topic
    if topic in ("checkpoints", "log_tail"):
        tool, named = "question", {"name": topic}
    far = topic == "training_curve" and _FAR.search(question) is not None
    if far:
        asked(deps, "train_summary", job_id=deps.job(), attempt=deps.attempt)
    if topic == "training_curve" and _EARLIER.search(question):
        deps.attempt = one_attempt(deps) or attempt
    try:
        await functions()[tool](SimpleNamespace(deps=deps), **named)
    finally:
        deps.attempt = attempt
    return deps.answered[before:]
