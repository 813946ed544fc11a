"""Lies in good English about evidence that is there: each cites true cells, and is false by the way it was made.

Counts and orders in words, "only", "both" and "each", multiples and shares, another unit, an empty answer cited for a question
that it does not answer, the evidence of another job, a figure under another's name, and stories told in words that claim nothing by
themselves. What is false is known here from the rows alone, without the gate's code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from agent_tools.evidence import FOUND, Evidence, Ledger
from agent_tools.gate.answer_gate import check_answer
from agent_tools.questions.answer import Answer
from agent_tools.verdict import Claim

OTHER = "8"
"""A second job, of which accounting was asked too."""
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_TELLING = ("state", "kind", "name", "event", "severity", "framework", "node_list", "user", "partition")
_SHARES = {
    "about half": 0.5,
    "a third": 1 / 3,
    "about a quarter": 0.25,
    "three quarters": 0.75,
    "two thirds": 2 / 3,
    "nearly half": 0.47,
}
_FACTORS = {"doubled": 2.0, "tripled": 3.0, "halved": 0.5, "more than doubled": 2.5, "quadrupled": 4.0}
_NONE_OF: dict[str, tuple[str, ...]] = {
    "exceptions": (
        "No XID was logged",
        "The log holds no checkpoint",
        "Nobody cancelled the job",
        "No process ended badly",
        "No error was logged",
    ),
    "checkpoints": (
        "No XID was logged",
        "The log holds no exception",
        "No checkpoint was ever written",
        "No node failed",
        "No signal was sent",
    ),
    "gpu_events": (
        "No exception was raised",
        "No node failed",
        "No GPU ran hot",
        "The log holds no checkpoint",
        "No process ended badly",
    ),
    "": (
        "No XID was logged",
        "The log holds no warning",
        "Nothing went wrong",
        "No GPU ran out of memory",
        "No rank was killed",
    ),
}
_MEASURED = ("job_attempts", "train_summary", "loss_shape", "gpu_summary", "job_overview")
"""Answers whose columns each have a name that says what they hold."""
_DID = (
    "gave up",
    "went away",
    "came back",
    "was put back",
    "was taken away",
    "got stuck",
    "wrote nothing",
    "was read back",
    "put out a message",
    "was given up",
    "raised an exception",
    "got a signal",
)
Lie = Callable[[Random, list[Evidence]], "str | None"]


def with_another(ledger: Ledger) -> None:
    """Record what accounting would say of a second job, that ended otherwise, somewhere else and for another user."""
    for own in [e for e in ledger.all() if e.query == "job_attempts" and e.rows]:
        names = [c.name for c in own.columns]
        told: dict[str, Any] = {
            "state": "COMPLETED",
            "node_list": "gpu-31",
            "user": "noor",
            "elapsed_s": 71.0,
            "name": "other",
            "gpus": 2,
        }
        rows = tuple(tuple(told.get(n, v) for n, v in zip(names, row, strict=True)) for row in own.rows[:1])
        other = replace(
            own,
            id=f"E{len(ledger.all()) + 1}",
            rows=rows,
            row_count=1,
            params={**own.params, "job_id": OTHER},
            sha256="8",
        )
        ledger.restore(other)
        return


def lies(rng: Random, ledger: Ledger) -> Iterator[tuple[str, str]]:
    """(kind, sentence) without end."""
    held = ledger.all()
    kinds = sorted(_KINDS)
    while True:
        kind = rng.choice(kinds)
        if text := _KINDS[kind](rng, held):
            yield kind, text


def passed(ledger: Ledger, seed: int, count: int) -> tuple[dict[str, int], list[str]]:
    """How many lies of each kind were told to the gate, and those that it would show as observed. Everything counts as shown."""
    book = ledger.unseen()
    with_another(book)
    book.show_all()
    for evidence in book.all():
        if not evidence.row_count:
            book.mark_shown(evidence.id, [0], [FOUND])
    told, wrong = dict.fromkeys(_KINDS, 0), dict[str, None]()
    good = next(f"The job ended as {e.ref('state')}." for e in book.all() if e.query == "job_attempts" and e.rows)
    for _, (kind, text) in zip(range(count), lies(Random(seed), book), strict=False):
        told[kind] += 1
        report = check_answer(Answer(short=good, shows=[Claim(text=text)]), book, [])
        if report.ok and report.answer.shows:
            wrong[f"{kind}: {text}"] = None
    return told, list(wrong)


def _of(held: list[Evidence], query: str, *columns: str) -> list[Evidence]:
    return [
        e
        for e in held
        if e.query == query
        and e.rows
        and e.params.get("job_id") != OTHER
        and all(e.value(c) is not None for c in columns if _has(e, c))
        and all(_has(e, c) for c in columns)
    ]


def _has(e: Evidence, column: str) -> bool:
    return any(c.name == column for c in e.columns)


def _number(rng: Random, *true: object) -> str:
    return rng.choice([w for n, w in enumerate(_NUMBERS, 2) if n not in true])


def _counts(rng: Random, held: list[Evidence]) -> str | None:
    e = rng.choice(_of(held, "job_attempts", "state"))
    state, n = e.ref("state"), len(e.rows)
    nodes, gpus = e.value("node_count"), e.value("gpus")
    return rng.choice(
        [
            f"{_number(rng, n).capitalize()} attempts ended as {state}.",
            f"The job had {_number(rng, n)} attempts, and the last ended as {state}.",
            f"It ran on {_number(rng, nodes)} nodes ({e.ref('node_count')}).",
            f"It held {_number(rng, gpus)} GPUs ({e.ref('gpus')}) and ended as {state}.",
            f"{_number(rng, gpus).capitalize()} ranks ran on {e.ref('node_list')}.",
            f"All {_number(rng, n)} attempts ran on {e.ref('node_list')}.",
            f"One of its {_number(rng, n)} attempts ended as {state}.",
        ]
    )


def _rows(rng: Random, held: list[Evidence]) -> str | None:
    """Another number of rows than have a value."""
    e = rng.choice(_of(held, "log_events", "kind") or [held[0]])
    if e.query != "log_events":
        return None
    row = rng.randrange(len(e.rows))
    kind = e.value("kind", row)
    alike = [r for r in e.dicts() if r["kind"] == kind]
    many = sum(int(str(r.get("times") or 1)) for r in alike)
    return rng.choice(
        [
            f"{_number(rng, len(alike), many).capitalize()} events were of kind {e.ref('kind', row)}.",
            f"The log holds {_number(rng, len(alike), many)} of them: {e.ref('name', row)}.",
            f"Exactly {_number(rng, len(alike), many)} lines name {e.ref('name', row)}.",
        ]
    )


def _extent(rng: Random, held: list[Evidence]) -> str | None:
    """`only`, `both`, `each`, `neither` of a job with one attempt."""
    e = rng.choice(_of(held, "job_attempts", "state"))
    if len(e.rows) > 1:
        return None
    state, gpus, nodes = e.ref("state"), e.ref("gpus"), e.ref("node_list")
    return rng.choice(
        [
            f"Both attempts ended as {state}.",
            f"Only the second attempt ended as {state}.",
            f"Each of the two attempts held {gpus} GPUs.",
            f"Neither attempt ended as {state}.",
            f"The first attempt ended as {state}, the second as {state}.",
            f"The second attempt ended as {state}.",
            f"The third attempt ran on {nodes}.",
            f"Both attempts ran on the same node, {nodes}.",
            f"The two attempts ran on different nodes, {nodes} and another.",
            f"Every attempt but the last ran on {nodes}.",
        ]
    )


def _orders(rng: Random, held: list[Evidence]) -> str | None:
    """Two events of one answer the other way round."""
    several = [e for e in held if e.query in ("log_events", "job_events") and len(e.rows) > 1]
    if not several:
        return None
    e = rng.choice(several)
    ts = "event_ts" if _has(e, "event_ts") else "ts"
    name = "event" if _has(e, "event") else "name"
    a, b = rng.randrange(len(e.rows)), rng.randrange(len(e.rows))
    x, y = e.value(ts, a), e.value(ts, b)
    if x is None or y is None or str(x) >= str(y) or e.value(name, a) == e.value(name, b):
        return None
    early, late = e.ref(name, a), e.ref(name, b)
    return rng.choice(
        [
            f"{late} came before {early}.",
            f"{early} came after {late}.",
            f"{late} at {e.ref(ts, b)} came before {early} at {e.ref(ts, a)}.",
            f"First came {late}, then {early}.",
            f"After {late} at {e.ref(ts, b)} came {early} at {e.ref(ts, a)}.",
        ]
    )


def _multiples(rng: Random, held: list[Evidence]) -> str | None:
    e = rng.choice(_of(held, "train_summary", "first_loss", "last_loss") or [held[0]])
    if e.query != "train_summary":
        return None
    first, last = float(str(e.value("first_loss"))), float(str(e.value("last_loss")))
    a, b = e.ref("first_loss"), e.ref("last_loss")
    up, down = ("rose", "fell") if last < first else ("fell", "rose")
    word = rng.choice([w for w, f in _FACTORS.items() if abs(last / first - f) > 0.3 * f])
    said = ["higher", "lower"] if last < first else ["lower", "higher"]
    return rng.choice(
        [
            f"The loss {word}, from {a} to {b}.",
            f"The loss {up} from {a} to {b}.",
            f"The loss {down} from {b} to {a}.",
            f"The loss ended {said[0]} than it had begun: {b} against {a}.",
            f"The first loss, {a}, was {said[1]} than the last, {b}.",
            f"The loss ended at {a}, twice as high as at its start ({b}).",
        ]
    )


def _parts(rng: Random, held: list[Evidence]) -> str | None:
    found = [
        (e, c)
        for e in held
        if e.params.get("job_id") != OTHER
        for c in e.columns
        if c.unit == "ratio" and e.rows and isinstance(e.value(c.name), float)
    ]
    if not found:
        return None
    e, column = rng.choice(found)
    share = float(str(e.value(column.name)))
    word = rng.choice([w for w, s in _SHARES.items() if abs(share - s) > 0.15])
    return rng.choice(
        [
            f"It used {word} of its limit ({e.ref(column.name)}).",
            f"{word.capitalize()} of the steps were done ({e.ref(column.name)}).",
        ]
    )


def _units(rng: Random, held: list[Evidence]) -> str | None:
    e = rng.choice(_of(held, "job_attempts", "elapsed_s"))
    cell, seconds = e.ref("elapsed_s"), float(str(e.value("elapsed_s")))
    minutes = round(seconds / 60)
    return rng.choice(
        [
            f"It ran for {cell} {rng.choice(['hours', 'days', 'milliseconds', 'weeks'])}.",
            f"It ran for {_number(rng, minutes, seconds)} {rng.choice(['minutes', 'hours', 'seconds'])} ({cell}).",
            f"It ran for over {rng.choice(['ninety minutes', 'two hours', 'a thousand seconds', 'half a day'])} ({cell}).",
            f"It waited {cell} and never ran.",
            f"It ran for nearly {cell}.",
        ]
    )


def _empties(rng: Random, held: list[Evidence]) -> str | None:
    none = [e for e in held if not e.row_count]
    if not none:
        return None
    e = rng.choice(none)
    ref = f"[[{e.id}.{FOUND}]]"
    other = [t for q, texts in _NONE_OF.items() for t in texts if q != e.query and not (q == "" and e.query in t)]
    of_it = _NONE_OF.get(e.query, _NONE_OF[""])
    fits = {
        "gpu_events": ("No XID",),
        "exceptions": ("The log holds no exception",),
        "checkpoints": ("The log holds no checkpoint",),
        "process_exits": ("No process ended badly",),
    }
    told = [t for t in (*of_it, *other) if not t.startswith(fits.get(e.query, ("-",)))]
    return rng.choice(
        [
            f"{rng.choice(told)} ({ref}).",
            f"A checkpoint is announced in the log ({ref}).",
            f"{ref} checkpoints were saved, so it ran well.",
        ]
    )


def _others(rng: Random, held: list[Evidence]) -> str | None:
    """Cells of two jobs as if they were of one."""
    asked = [e for e in held if e.query == "job_attempts" and e.rows and e.value("state") is not None]
    a, b = rng.sample(asked, 2) if len(asked) > 1 else (asked[0], asked[0])
    if a.params.get("job_id") == b.params.get("job_id"):
        return None
    return rng.choice(
        [
            f"The job ran on {b.ref('node_list')} and ended as {a.ref('state')}.",
            f"It ended as {b.ref('state')} after {a.ref('elapsed_s')}.",
            f"{b.ref('user')} ran it on {a.ref('node_list')}.",
            f"It ended as {a.ref('state')} after {b.ref('elapsed_s')}.",
            f"It held {b.ref('gpus')} GPUs on {a.ref('node_list')}.",
        ]
    )


def _misnamed(rng: Random, held: list[Evidence]) -> str | None:
    """A figure under the name of another column: of one that holds something else, in another answer or in its own."""
    asked = [e for e in held if e.rows and e.query in _MEASURED and e.params.get("job_id") != OTHER]
    e, other = (rng.choice(asked), rng.choice(asked)) if asked else (held[0], held[0])
    told = [c.name for c in e.columns if _is_number(e.value(c.name))]
    names = [c.name for c in other.columns if _is_number(other.value(c.name))]
    if not told or not names:
        return None
    cell, name = rng.choice(told), rng.choice(names)
    if {*cell.split("_")} & {*name.split("_")} or other.value(name) == e.value(cell):
        return None
    what = " ".join(w for w in name.split("_") if w not in ("s", "ts", "gib", "h", "min", "w", "c", "mhz"))
    about = f"{e.cell(cell).doc} {cell}".lower()
    if not what or any(w[:4] in about for w in what.split()):
        return None
    return rng.choice(
        [f"The {what} was {e.ref(cell)}.", f"Its {what} came to {e.ref(cell)}.", f"It had a {what} of {e.ref(cell)}."]
    )


def _stories(rng: Random, held: list[Evidence]) -> str | None:
    """What befell the job, in words that each claim nothing, beside a figure or a time of something else."""
    e = rng.choice(_of(held, "job_attempts", "elapsed_s", "start_ts"))
    span, begin, end = e.ref("elapsed_s"), e.ref("start_ts"), e.ref("end_ts")
    return rng.choice(
        [
            f"The job {rng.choice(_DID)} {span} before its end.",
            f"It {rng.choice(_DID)} {span} later.",
            f"It {rng.choice(_DID)} at {rng.choice([begin, end])}.",
            f"{e.ref('node_list')} {rng.choice(_DID)} at {rng.choice([begin, end])}.",
            f"The run {rng.choice(_DID)} with {e.ref('gpus')} GPUs.",
            f"Its output {rng.choice(_DID)} after {span}.",
        ]
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_KINDS: dict[str, Lie] = {
    "misnamed": _misnamed,
    "stories": _stories,
    "counts in words": _counts,
    "counts of rows": _rows,
    "only, both, each": _extent,
    "orders": _orders,
    "multiples": _multiples,
    "parts": _parts,
    "units": _units,
    "empty answers": _empties,
    "another job": _others,
}
