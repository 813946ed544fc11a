"""What the examiner says of the open job where its question is a plain one: how it ran, what it saved, whether it was this or that."""

from __future__ import annotations

import re
from typing import Any

from agent_tools.evidence import Evidence
from agent_tools.families.base import ruling
from agent_tools.tools.base import Deps
from agent_tools.verdict import Draft
from store import lazy

MAX_SAID = 6
_WHETHER = lazy.compile(
    r"(?i)^\W*(?:so,? )?(?:was|were|is|are|did|could|can|has|had|does|do|why not|(?:which|what) (?:ranks?|gpus?|nodes?|process\w*) (?:is|was|are|were|got|hangs?|hung))\b|\b(?:the problem|to blame|at fault|responsible|ruled out)\b"
)
"""A question that wants yes or no, and the grounds."""
_CAUSES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"\b(?:gpu|cuda|device|video) memory\b|\bvram\b|\bcuda oom\b", ("B1",)),
    (r"\b(?:host|system) memory\b|\boom[ -]?kill\w*", ("A2",)),
    (r"\b(?:memory|oom)\b", ("B1", "A2")),
    (r"\b(?:hardware|infrastructure)\b", ("B2", "F1", "B3")),
    (
        r"\b(?:ecc|xids?|nvlink|gpus? (?:fault\w*|problem|error|failure)|(?:broken|bad|faulty|defective|dead|failed|failing) (?:gpus?|cards?)"
        r"|(?:gpus?|cards?) (?:(?:is|was|are|were) )?(?:broken|bad|faulty|defective|dead|break|fail\w*|die\w*))\b",
        ("B2",),
    ),
    (r"\b(?:throttl\w*|overheat\w*|too hot|thermal|temperature)\b", ("B3",)),
    (r"\b(?:hang\w*|hung|stuck|deadlock\w*|nccl)\b", ("C2", "C1", "C3")),
    (r"\b(?:network\w*|interconnect|infiniband|fabric|link)\b", ("C1", "C2", "D2")),
    (r"\b(?:slow\w*|faster|speed|bottleneck\w*)\b", ("D2", "D1", "D3", "B3")),
    (r"\b(?:idle|unused)\b", ("C3", "D1")),
    (r"\b(?:starv\w*|data ?load\w*|under-?utili\w*)\b", ("D1",)),
    (r"\b(?:straggl\w*)\b", ("D3",)),
    (r"\b(?:diverg\w*|nan|converg\w*|learn\w*)\b", ("E1",)),
    (r"\bresum\w*|\b(?:start\w*|began|begin|load\w*) (?:again )?(?:from|over)\b|\bfrom scratch\b", ("E2", "F2")),
    (r"\b(?:node (?:fail\w*|down|lost)|lost (?:a|its|the) node)\b", ("F1",)),
    (r"\b(?:preempt\w*|requeue\w*)\b", ("F2",)),
    (r"\b(?:time ?limit|timed? ?out|wall)\b", ("F3",)),
    (r"\b(?:cancel\w*|scancel\w*)\b", ("F4",)),
    (r"\b(?:healthy|all right|ok(?:ay)?|fine|well)\b", ("G1",)),
)  # fmt: skip


_NEXT = lazy.compile(
    r"(?i)^\W*(?:should|shall|must) (?:i|we)\b|\b(?:what|which) (?:\w+ ){0,3}(?:should|shall|must) (?:i|we)\b|\bwhat (?:should|shall|can|could|do|must) (?:i|we|the user|they)\b|\bwhat (?:to do|now|next|helps)\b|\bnext steps?\b|\bremed\w+|\bworkaround"
    r"|\bhow (?:do|can|could|should|to) (?:(?:i|we|they|you) )?(?:fix|mend|solve|avoid|prevent|repair|get)\b|\b(?:fix|mend|repair|solve) (?:it|this|that)\b"
    r"|\b(?:re-?(?:submit|start|run|queue|launch|try)\w*|run (?:it|this) again)\b.*\?"
    r"|\b(?:can|could|should|may) (?:i|we|it|they) (?:be )?(?:resum\w*|continu\w*|go on)\b"
)
"""A question for what to do now, and not for what happened."""
_BEFORE = lazy.compile(r"(?i)\b(?:before|after|last|since|until|at|did|was|were|why|how often|how many times)\b")


def what_next(draft: Draft, question: str) -> list[str]:
    """What a question for the next step is answered with: what the verdict says to do, then the verdict; nothing for other questions."""
    if not _NEXT.search(question) or (_BEFORE.search(question) and not re.search(r"(?i)\b(?:i|we)\b", question)):
        return []
    return [*(c.text for c in draft.actions), draft.headline]


def families_named(question: str) -> list[str]:
    """The codes of the families that a question's words name, the most telling first."""
    return list(dict.fromkeys(c for words, cs in _CAUSES if re.search(words, question, re.I) for c in cs))


def whether(deps: Deps, question: str) -> list[str]:
    """What the families that a yes-or-no question names found: their headline where they hold, else why they do not, and the verdict."""
    if not _WHETHER.search(question):
        return []
    codes = families_named(question)
    found = {a.code: a for a in deps.assessments}
    said: list[str] = []
    ruled: list[str] = []
    for code in codes:
        if (a := found.get(code)) is None:
            continue
        if a.status in ("confirmed", "suspected"):
            said += [a.headline, *(c.text for c in a.speaks_for[:2])]
        else:
            ruled.append(ruling(a))
    said += ruled
    held = any(a.code == deps.draft.family for a in deps.assessments if a.code in codes)
    return said if held or not said else [*said, deps.draft.headline]


def attempts(e: Evidence) -> list[str]:
    """How each attempt ran, from `job_attempts`."""
    return [_attempt(e, r, row) for r, row in enumerate(e.dicts()[-MAX_SAID:])] if len(e.rows) <= MAX_SAID else []


def _attempt(e: Evidence, r: int, row: dict[str, Any]) -> str:
    def ref(column: str) -> str:
        return e.ref(column, r)

    def known(column: str) -> bool:
        return row[column] is not None

    text = f"Attempt {ref('attempt')}" if known("attempt") else "The job"
    text += f" ({ref('name')} of {ref('user')}, partition {ref('partition')})" if known("name") and known("user") and known("partition") else ""  # fmt: skip
    text += f": {ref('state')}" if known("state") else ""
    text += f", cancelled by {ref('cancelled_by')}" if known("cancelled_by") else ""
    text += f", submitted {ref('submit_ts')}" if known("submit_ts") else ""
    text += f", started {ref('start_ts')}" if known("start_ts") else ""
    text += f" after {ref('wait_s')} in the queue" if known("start_ts") and known("wait_s") else ""
    text += f", ended {ref('end_ts')}" if known("end_ts") else ""
    never = not known("start_ts") and not row["elapsed_s"]
    text += f", after {ref('elapsed_s')}" if known("elapsed_s") and not never else ""
    text += f" of {ref('time_limit_s')} allowed" if known("elapsed_s") and known("time_limit_s") else ""
    text += f", on {ref('node_list')}" if row["node_list"] else ""
    text += f" with {ref('gpus')} GPUs" if row["gpus"] else ""
    text += f", exit status {ref('exit_code')}" if row["exit_code"] else ""
    text += f", signal {ref('exit_signal')}" if row["exit_signal"] else ""
    text += f"; Slurm names {ref('failed_node')} as failed" if row["failed_node"] else ""
    text += f"; submitted by `{ref('submit_line')}`" if row["submit_line"] else ""
    return f"{text}."


def checkpoints(e: Evidence) -> list[str]:
    """The last checkpoints that were saved or loaded, from `checkpoints`."""
    rows = [r for r, row in enumerate(e.dicts()) if row["name"] not in ("saving", "loading")]
    said: list[str] = []
    for r in rows[-MAX_SAID:][::-1]:
        row = e.dicts()[r]
        at = f" of step {e.ref('step', r)}" if row["step"] is not None else ""
        where = f" at {e.ref('path', r)}" if row["path"] else ""
        when = f" at {e.ref('checkpoint_ts', r)}" if row["checkpoint_ts"] is not None else ""
        said.append(f"Checkpoint{at}{where}: {e.ref('name', r)}{when} (line {e.ref('line_no', r)}).")
    return said
