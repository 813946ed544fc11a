"""A job's output that begins with what a tool prints: scripts show their job, the queue or the GPUs first, and then go on.

Read as that tool's file it would give no verdict, and rows of accounting for which nobody vouches but the job. These tools print
lines of one form (`Importer.form`); a file that goes on with others is no file of the tool's.
"""

from __future__ import annotations

import re

from collector.formats.text import HEAD, decode
from collector.importers.base import Importer
from store import lazy

SURELY_LOG = 40
"""What the importer of logs claims of a file by a log's name or place."""
_FOREIGN = 2
"""Lines of another form: one may be the prompt at which somebody typed the command."""
_OF_PROGRAM = lazy.compile(
    r"Traceback \(most recent call last\):|^(?:srun|slurmstepd|mpirun|torchrun): |\b(?:loss|epoch|step|iter(?:ation)?)\b.{0,12}\d|^\++ \S|\w*Error: ",
    re.IGNORECASE,
)


def goes_on(importer: Importer, head: bytes, claimed_as_log: int) -> bool:
    """Whether a file that this importer claims goes on as no file of the tool does. `claimed_as_log`: how surely its name is a log's."""
    lines = [t for t in decode(head).splitlines()[: -1 if len(head) >= HEAD else None] if t.strip()]
    of = getattr(importer, "form", None)
    form = of(lines) if of is not None else None
    if form is None:
        return False
    foreign = [t for t in lines if not form(t)]
    if len(foreign) < _FOREIGN:
        return False
    return claimed_as_log >= SURELY_LOG or any(_OF_PROGRAM.search(t) for t in foreign)
