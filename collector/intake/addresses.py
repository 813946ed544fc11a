"""By which addresses and host names Slurm knows the nodes of an import: metrics and kernel logs often have no other name for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC
from pathlib import Path
from typing import Protocol, runtime_checkable

from collector.formats import text
from collector.importers.base import ImportContext, ImportFailed
from collector.intake.candidate import Candidate

MAX_BYTES = 16 << 20
"""A larger listing of nodes is not read for its addresses."""


@runtime_checkable
class _TellsAliases(Protocol):
    def aliases(self, path: Path, ctx: ImportContext) -> Iterator[tuple[str, str]]: ...


def aliases_of(candidates: Iterable[Candidate]) -> dict[str, str]:
    """Address or host name to node, as the listings among the files tell. One that several nodes share tells nothing."""
    found: dict[str, set[str]] = defaultdict(set)
    for candidate in candidates:
        importer, file = candidate.importer, candidate.found
        if not isinstance(importer, _TellsAliases) or file.size > MAX_BYTES:
            continue
        ctx = ImportContext(file.name, UTC, size=file.size)
        try:
            for node, other in importer.aliases(file.path, ctx):
                found[other].add(node)
        except (ImportFailed, *text.READ_ERRORS):
            continue  # the importer says so when it reads the file
    return {other: nodes.pop() for other, nodes in found.items() if len(nodes) == 1 and other not in nodes}
