"""Words that claim something and look like grammar: `once` is a number, and `at once` says that two ran at the same time.

The job was requeued once ([[E1.restarts]]).                the cell says how often
Jobs [[E5.job_id]] and [[E5:1.job_id]] ran at once.         the rows say when each ran
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import held, size
from agent_tools.references import HOLE, masked
from store import lazy

_ONCE = lazy.compile(
    rf"(?i)(?<!at )(?<!all )\b(?:only |just |exactly )?once\b(?! more\b)(?=\W*(?:$|[,.;:({HOLE}])| (?:and|but|by|on|in|at|during|before|after|while|only|or)\b)"
)
_AT_ONCE = lazy.compile(r"(?i)\b(?:(?:all )?at once|in parallel|simultaneously|concurrently|together|side by side)\b")

HARMLESS: dict[str, re.Pattern[str]] = {
    "but": lazy.compile(
        r"(?i)^(?!.*\b(?:no|not|none|nothing|nobody|never|all|any\w*|every\w*|each|who|what|cannot|last|next)\b[^,;]*\bbut\b)"
    ),
    "itself": lazy.compile(
        r"(?i)\b(?:before|after) the (?:job|run) itself (?:had )?(?:ended|started|began|stopped) at \*|^\W*(?:the|this|that|its|but the|and the) [a-z]+ itself\b|(?:[,;]|\b(?:while|and|but|whereas|though|although)) (?:and |but )?(?:the|its) [a-z]+ itself\b"
    ),
    "own": lazy.compile(
        r"(?i)\b(?:user|launcher|program|scheduler|slurm|srun|torchrun|trainer)['’]?s own (?:code|script|program|frame|report|summary|words?|exception|wrapper|message|log|lines?)\b"
    ),
    "instead": lazy.compile(r"(?i)\* instead of \*"),
    "reads": lazy.compile(r"(?i)\b(?:line|message|text|record|entry|report)\b[^,;:*]{0,24}\breads:? [\"“'‘]?\*"),
    "became": lazy.compile(r"(?i)\bbecame \*"),
    "still": lazy.compile(r"(?i)^(?!.*\b(?:stands?|stood|standing|held|holds?|lay|lies|sat|kept|keeps?) still\b)"),
    "one": lazy.compile(
        r"(?i)\band the one (?:of|at|in|with|from|on) \*|\b(?:first|second|third|last|latest|earliest|highest|lowest|longest|shortest|best|worst|hottest|busiest|latter|former|this|that|which) one\b|\b(?:is|was) the one (?:of|at|in|with|from|on|to) |\b(?:is|was|as) the one that (?:the launcher names|failed(?: first)?)\b"
    ),
    "far": lazy.compile(r"(?i)\bso far\b(?! (?:above|below|off|apart|behind|from|away|ahead)\b)"),
    "yet": lazy.compile(
        r"(?i)^(?!.*\b(?:not|nor|never|no|none|nothing|as|nobody)\b[^,;]*\byet\b).*[,;] yet (?:the|its|it|this|that|rank|node|gpu|job)\b"
        r"|\b(?:has|have|had) not (?:been )?(?:started|begun|ended|run) yet\b"
    ),
    "even": lazy.compile(r"(?i)\beven (?:the|its) (?:busiest|least|best|highest|lowest|hottest|longest|largest)\b"),
    "confirms": lazy.compile(r"(?i)\b(?:log|accounting|slurm) (?:itself )?confirms (?:it|this|that)\W*:\W*\*"),
    "gives": lazy.compile(r"(?i)\b(?:accounting|slurm|srun|the log) gives (?:the |an? |its )?[a-z ]{0,24}\*"),
    "gave": lazy.compile(r"(?i)\b(?:accounting|slurm|srun|the log) gave (?:the |an? |its )?[a-z ]{0,24}\*"),
    "calls": lazy.compile(r"(?i)\b(?:accounting|slurm) calls (?:it|the job|the run) \*"),
    "needed": lazy.compile(r"(?i)\bneeded (?:about |only )?\*"),
    "set": lazy.compile(r"(?i)\bset in (?:at|on) \*"),
    "under": lazy.compile(
        r"(?i)^(?!.*\b(?:stay|kept|keep|remain|well|far|below|safe|just)\w* under\b).*\bunder an? (?:time |memory |wall-?clock )?limit of \*"
    ),
    "dates": lazy.compile(r"(?i)\bdates from \*"),
    "gone": lazy.compile(r"(?i)\b(?:had|has|have) gone \*|\b(?:rank|process|pid) \* was gone (?:at|by) \*"),
    "frequent": lazy.compile(r"(?i)\b(?:most|least) frequent\b"),
    "rerun": lazy.compile(r"(?!)"),
    "within": lazy.compile(
        r"(?i)^(?!.*\bwithin (?:what\b|reach\b|(?:the |its )?(?:free|available|remaining|rest\b|capacity|bounds|budget|plan)))"
    ),
    "done": lazy.compile(
        r"(?i)\bhad done \*|\* of \*,? (?:were|was|had been|have been) done\b(?! by\b(?! then\b))|\* (?:planned )?steps (?:of it )?(?:were|had been|are|was) done\b(?! by\b)"
        r"|\b(?:half|thirds?|quarters?|fifths?|sixths?|eighths?|tenths?) of (?:the|its) (?:planned )?steps (?:were|had been|are) done\b(?! by\b(?! then\b))"
    ),
}
"""Words that claim nothing in these places, and something elsewhere: `nothing but`, `ended itself`, `was done`."""


def unshared(text: str, cells: Sequence[CellValue], ledger: Ledger) -> str:
    """`once` where no cited cell is a one, or `at once` of rows that did not run at the same time; "" where they do."""
    own = masked(text)
    if (found := _ONCE.search(own)) and not any(c.value == 1 and not isinstance(c.value, bool) for c in cells):
        return found[0]
    if (found := _AT_ONCE.search(own)) and not _overlap(cells, ledger):
        return found[0]
    return ""


def _overlap(cells: Sequence[CellValue], ledger: Ledger) -> bool:
    """Whether the cited rows, two or more, have a moment in common; a single row holds what it holds."""
    rows = {(c.id, c.row): c for c in cells}
    lives = [(size(held(ledger, c, "start_ts")), size(held(ledger, c, "end_ts"))) for c in rows.values()]
    known = [(a, b) for a, b in lives if isinstance(a, str) and isinstance(b, str)]
    if len({id for id, _ in rows}) == len(rows) and len(known) < 2:
        return True  # no two rows of one answer: nothing is told of two of a kind
    return len(known) == len(lives) and max(a for a, _ in known) < min(b for _, b in known)
