"""What `inquest collect` sees on this node: each source opened, looked through once, and closed."""

from __future__ import annotations

from collections.abc import Iterator

from collector.node.here import Here, node_name
from collector.node.survey_sources import survey
from collector.sources.registry import sources
from inquest.checks import Check


def checks() -> Iterator[Check]:
    """One check a source. What is not there to be looked at (no GPU, no InfiniBand) is off, not broken."""
    for source in sources(Here(node=node_name())):
        found = survey(source)
        if found.works:
            lacks = "; ".join(f"{column}: {why}" for column, why in found.missing)
            yield Check("node", found.name, "works", f"without {lacks}" if lacks else "everything it covers")
        else:
            state = "broken" if found.remedy else "off"
            yield Check("node", found.name, state, found.why_not or "does not work", found.remedy)
