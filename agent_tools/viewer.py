"""Who may ask what: a user sees own jobs, an operator all. The rule stands before the reader, whoever asks through it.

Slurm's accounting says whose a job is. A job that no accounting names (a log alone) is an operator's matter. What nodes
are up is no secret of anybody's (`sinfo` shows it); what ran on them is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agent_tools.evidence import Asks
from store.catalog import catalog
from store.result import Cell, Result, StoreError

OWN = frozenset(
    {
        "find_jobs",
        "find_jobs_summary",
        "fleet_tally",
        "gpu_use",
        "jobs_events",
        "jobs_lines",
        "names_known",
        "queue_waits",
    }
)
"""Questions over many jobs that take a user: another viewer's jobs are left out of them."""
OPEN = frozenset({"node_states", "nodes_in_trouble", "nodes_free", "host_metric"})
"""Questions about nodes that any user of the cluster may ask."""


class Forbidden(StoreError):
    """Not this viewer's to see. The text never says whether there is such a thing."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks. `user` is the Unix user as Slurm has it."""

    user: str
    operator: bool = False


@dataclass(slots=True)
class Guarded:
    """A reader that answers one viewer. It has no `lake`: free SQL cannot be held to the rule, so it is the operators'."""

    reader: Asks
    viewer: Viewer
    _mine: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Own jobs, each with the nodes that it is known to have run on."""

    def ask(self, name: str, /, *, max_rows: int = 200, **params: Any) -> Result:
        """Answer what the viewer may know. Raises Forbidden."""
        info = catalog().get(name)
        takes = {p.name for p in info.params} if info is not None else set[str]()
        if name in OWN:
            if params.get("user") not in (None, self.viewer.user):
                raise Forbidden(f"{name}: only the jobs of {self.viewer.user} can be asked for")
            return self.reader.ask(name, max_rows=max_rows, **{**params, "user": self.viewer.user})
        if name in OPEN:
            return self.reader.ask(name, max_rows=max_rows, **params)
        job = params.get("job_id")
        if "job_id" not in takes or job is None:
            raise Forbidden(f"{name}: asks beyond one's own jobs, which is an operator's")
        named = self._named(params.get("nodes"))
        if not named <= self._of(str(job)):
            self._mine.pop(str(job))  # it may have begun again elsewhere since
        if foreign := named - self._of(str(job)):
            raise Forbidden(f"{name}: {', '.join(sorted(foreign))} did not run job {job}")
        return self.reader.ask(name, max_rows=max_rows, **params)

    def _of(self, job: str) -> frozenset[str]:
        """The nodes of an own job. Raises Forbidden; that is not remembered, since accounting may tell of the job only later."""
        if job not in self._mine:
            rows = self.reader.ask("job_attempts", job_id=job).dicts()
            if not rows or any(r.get("user") != self.viewer.user for r in rows):
                raise Forbidden(f"no job {job} of {self.viewer.user}")
            self._mine[job] = frozenset(n for r in rows for n in self._named(r.get("node_list")))
        return self._mine[job]

    @staticmethod
    def _named(nodes: Cell) -> frozenset[str]:
        return frozenset(n for n in str(nodes or "").split(",") if n)


def seen_by(reader: Any, viewer: Viewer | None) -> Any:
    """The reader for a viewer; an operator's, or nobody's in particular, is the whole one."""
    return reader if viewer is None or viewer.operator else Guarded(reader, viewer)
