"""A job's output that begins with what a tool prints: scripts show their job, the queue or the GPUs first, and then go on.

Read as that tool's file it would give no verdict, and rows of accounting for which nobody vouches but the job. Each of these tools
prints lines of one form; a file that goes on with others is no file of the tool's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from collector.formats.text import HEAD, decode

Form = Callable[[str], bool]
SURELY_LOG = 40
"""What the importer of logs claims of a file by a log's name or place."""
_FOREIGN = 2
"""Lines of another form: one may be the prompt at which somebody typed the command."""
_OF_PROGRAM = re.compile(
    r"Traceback \(most recent call last\):|^(?:srun|slurmstepd|mpirun|torchrun): |\b(?:loss|epoch|step|iter(?:ation)?)\b.{0,12}\d|^\++ \S|\w*Error: ",
    re.IGNORECASE,
)
_FIELD = re.compile(r"\s*[A-Za-z][\w:/.()-]*=")
_JOB = re.compile(r"\s*(?:JOBID\b|\d[\w\[\]%,.+-]*\s)")
_RULE = re.compile(r"-{2,}(?: -{2,})+ *")


def goes_on(importer: str, head: bytes, claimed_as_log: int) -> bool:
    """Whether a file that this importer claims goes on as no file of the tool does. `claimed_as_log`: how surely its name is a log's."""
    lines = [t for t in decode(head).splitlines()[: -1 if len(head) >= HEAD else None] if t.strip()]
    of = _FORMS.get(importer)
    form = of(lines) if of is not None else None
    if form is None:
        return False
    foreign = [t for t in lines if not form(t)]
    if len(foreign) < _FOREIGN:
        return False
    return claimed_as_log >= SURELY_LOG or any(_OF_PROGRAM.search(t) for t in foreign)


def _fields(_: Sequence[str]) -> Form:
    return lambda line: _FIELD.match(line) is not None


def _of_sacct(lines: Sequence[str]) -> Form | None:
    head = next((t for t in lines if re.search(r"(?i)\bJobID(?:Raw)?\b", t)), "")
    if "|" in head:
        return _as_many("|", head)
    rule = next((t for t in lines if _RULE.fullmatch(t)), None)
    if rule is None:
        return None
    gaps = [i for i, c in enumerate(rule.rstrip()) if c == " "]
    return lambda line: line == head or all(line[i : i + 1] in ("", " ") for i in gaps)


def _of_squeue(lines: Sequence[str]) -> Form | None:
    head = next((t for t in lines if re.search(r"\bJOBID\b", t)), "")
    if "|" in head:
        return _as_many("|", head)
    return (lambda line: _JOB.match(line) is not None) if head.split()[:1] == ["JOBID"] else None


def _of_sinfo(lines: Sequence[str]) -> Form | None:
    head = next((t for t in lines if re.search(r"\b(?:PARTITION|NODELIST)\b", t)), "")
    if "|" in head:
        return _as_many("|", head)
    words = len(head.split())  # one fewer where a partition has no node
    return (lambda line: len(line.split()) in (words, words - 1)) if words and "REASON" not in head else None


def _of_query(lines: Sequence[str]) -> Form | None:
    return _as_many(",", lines[0]) if lines else None


def _as_many(mark: str, head: str) -> Form:
    least = head.count(mark) - 1
    return lambda line: line.count(mark) >= least


_FORMS: dict[str, Callable[[Sequence[str]], Form | None]] = {
    "scontrol_job": _fields,
    "scontrol_node": _fields,
    "sacct": _of_sacct,
    "squeue": _of_squeue,
    "sinfo": _of_sinfo,
    "nvidia_smi": _of_query,
}
