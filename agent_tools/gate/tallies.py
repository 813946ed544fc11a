"""How many of the jobs of one that a tally counts ended so? Its row says it, wherever in the row the number stands.

One job of user [[E8:1.value]] was cancelled.              the row has one cancelled job
Users [[E8:3.value]] and [[E8:4.value]] had no failed jobs.      both rows have none
Every job of user [[E8:4.value]] completed.                none of its jobs failed, was cancelled, sent back or runs
"""

from __future__ import annotations

from collections.abc import Iterator

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Clause, held
from agent_tools.gate.grounds import NUMBER_WORDS
from agent_tools.references import HOLE
from store import lazy

_NUMBERS = "|".join(sorted((w for w, n in NUMBER_WORDS.items() if n), key=len, reverse=True))
_OF = rf"(?:of|by|on|from) (?:(?:the )?(?:users?|nodes?|partition) )?{HOLE}+"
_ENDED = r"(?P<v>failed|(?:was|were) (?:cancelled|canceled|sent back))"
_COUNT = lazy.compile(
    rf"(?i)^\W*(?:(?:only|just) )?(?P<n>{_NUMBERS}) (?:of the )?jobs? {_OF} (?:has |have |had )?{_ENDED}\W*$"
)
_NONE = lazy.compile(
    rf"(?i)^\W*(?:users?|nodes?|partition)? ?{HOLE}+(?:(?:, | and |, and )(?:user |node )?{HOLE}+)* (?:had|has|have) (?P<n>no) (?P<v>failed|cancelled|canceled) jobs?\W*$"
)
_EVERY = lazy.compile(
    rf"(?i)^\W*(?P<n>every|each|all|all the|all of the) jobs? {_OF} (?P<v>completed|failed|(?:was|were) (?:cancelled|canceled|sent back))\W*$"
)
_NOT_DONE = ("failed", "cancelled", "sent_back", "running")


def tallied(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    """Where a clause says of the jobs of those it names how many ended so, as the rows of a tally have it."""
    cells = [c for g in clause.groups for c in g.cells]
    if not cells or any(c.column != "value" or ledger.get(c.id).query != "fleet_tally" for c in cells):
        return
    own = clause.own
    m = _COUNT.match(own) or _NONE.match(own) or _EVERY.match(own)
    if m is None:
        return
    verb = m["v"].lower().removeprefix("was ").removeprefix("were ").replace("canceled", "cancelled").replace(" ", "_")
    word = m["n"].lower()
    every = word not in NUMBER_WORDS and word != "no"
    if all(_so(c, verb, None if every else NUMBER_WORDS.get(word, 0), ledger) for c in cells):
        yield m.span("n")
        yield m.span("v")


def _so(cell: CellValue, verb: str, number: int | None, ledger: Ledger) -> bool:
    """Whether so many jobs of a row ended so, or all of them where no number is given; each of the row's figures has to be shown."""
    counts = {n: held(ledger, cell, n) for n in ("jobs", *_NOT_DONE)}
    if any(not isinstance(v, int) or not ledger.is_shown(cell.id, cell.row, n) for n, v in counts.items()):
        return False
    jobs = counts["jobs"]
    if verb == "completed":
        return jobs != 0 and not any(counts[n] for n in _NOT_DONE)
    return counts.get(verb) == (jobs if number is None else number) and (number is not None or jobs != 0)
