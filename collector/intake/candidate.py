"""A file of an import, with its first bytes and the importer that it belongs to."""

from __future__ import annotations

from dataclasses import dataclass

from collector.formats import text
from collector.importers import registry
from collector.importers.base import Importer
from collector.intake.prelude import goes_on
from collector.intake.walk import Found

LOG_TABLES = frozenset({"log_line", "log_event", "train_step", "nccl_sample"})
_LOG = "job_log"


@dataclass(slots=True)
class Candidate:
    """A file with its first bytes and the importer that claims it."""

    found: Found
    head: bytes = b""
    importer: Importer | None = None
    error: str = ""

    @property
    def covers(self) -> tuple[str, ...]:
        """The tables that it fills."""
        return registry.covers_of(self.importer, self.found.path) if self.importer is not None else ()

    @property
    def is_log(self) -> bool:
        """Does it belong to one job?"""
        return bool(LOG_TABLES.intersection(self.covers))


def candidate_of(found: Found, *, of_job: bool = False) -> Candidate:
    """Look at a file's first bytes and pick its importer.

    What a job printed (`of_job`) is its log, though it may begin with what sacct, scontrol or dmesg printed there: nobody vouches
    for such words, and rows of accounting or of a kernel's log are believed.
    """
    if found.why_not:
        return Candidate(found, error=found.why_not)
    try:
        head = text.head(found.path)
    except text.READ_ERRORS as error:
        return Candidate(found, error=str(error) or type(error).__name__)
    log = next(i for i in registry.importers() if i.name == _LOG)
    if of_job:
        return Candidate(found, head, log)
    picked = registry.pick(found.path, head, alone=found.root == found.path)
    claimed = log.claims(found.path, head)
    if picked is not None and claimed and goes_on(picked, head, claimed):
        picked = log
    return Candidate(found, head, picked)


def unrecognised(head: bytes) -> str:
    """Why no importer takes a file that begins so."""
    if not head:
        return "empty file"
    tried = ", ".join(i.name for i in registry.importers())
    kind = "text in no known format" if text.is_text(head) else "binary data"
    return f"not recognised: {kind} (tried {tried})"
