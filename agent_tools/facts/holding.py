"""Whose a GPU was that something happened to: the job's, another's, or nobody knows whose.

A kernel's log tells of every GPU of its node. Where jobs share nodes, a card that failed beside the job's own has nothing to do
with how it ended, and a reader who is told otherwise drains a node for nothing and never sees the program's own error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_tools.facts.core import Facts
from agent_tools.facts.own_gpus import unlike
from agent_tools.facts.views import RowView, View

Whose = Literal["own", "other", "open", "unsaid"]
WHOLE = 8
"""GPUs of a job on one node from which on it is taken to have held all of them: hardly any node has more."""
_NAMES = ("gpu_uuid", "pci_bus_id", "gpu")


@dataclass(frozen=True, slots=True)
class Holding:
    """Whose a GPU was, and the sentence that says by what (with its references; empty where there is nothing to say).

    own: the job's, also where it held every GPU of the node. other: not the job's. open: the node has GPUs that the job did not
    hold, and nothing tells which those were. unsaid: nothing says that the job did not hold the node whole.
    """

    whose: Whose
    said: str = ""


def holding(facts: Facts, row: RowView) -> Holding:
    """Whose the GPU of this row (node, and any of gpu, gpu_uuid, pci_bus_id) was while the job ran. Raises what the reader raises."""
    if not row.has("node"):
        return Holding("unsaid")
    if facts.own_gpus and "gpu_uuid" in names_of(row) and row.text("gpu_uuid") in facts.own_gpus.split(","):
        return Holding("own")
    place = {"node": row.text("node")}
    known = facts.table("gpu_holders", **place, from_ts=facts.scope["from_ts"], to_ts=facts.scope["to_ts"])
    given = facts.table("gpus_given", **place).first
    this = next((h for h in known if same(h, row)), None)
    if this is not None and (told := _by_samples(this)) is not None:
        return told
    indices = set(given.text("indices").split(",")) - {""} if given is not None else set[str]()
    gpu = row.get("gpu") if "gpu" in names_of(row) else this.get("gpu") if this is not None else None
    if given is not None and indices and gpu is not None:
        if str(gpu) in indices:
            return Holding("own")
        return Holding("other", f"Slurm gave the job the GPUs {given['indices']} of {given['node']}.")
    if not indices and unlike(facts.table("gpu_summary"), facts.overview, facts.table("job_nodes")):
        # An equal share of each node is then not what it held, and an address that no sample has may be a GPU beside them.
        return Holding("own" if any(_one(g, row) for g in facts.table("gpu_summary")) else "open")
    return _by_number(facts, row, known, given, [h for h in known if _own(h, indices)])


def names_of(row: RowView) -> tuple[str, ...]:
    """The columns by which a row names its GPU, the surest first."""
    return tuple(n for n in _NAMES if n in row.columns and row.has(n))


def _by_samples(this: RowView) -> Holding | None:
    if this.number("job_samples"):
        return Holding("own")
    if this.number("other_samples"):
        return Holding("other", f"{this['other_samples']} samples of it in that time are another job's.")
    return None


def _by_number(facts: Facts, row: RowView, known: View, given: RowView | None, own: list[RowView]) -> Holding:
    """By how many GPUs the node has, and how many of them the job held."""
    held = given.number("held") if given is not None else None
    first = known.first
    has = first.number("node_gpus") if first is not None else None
    if given is None or held is None:
        return Holding("open" if facts.beside is not None else "unsaid")
    name = next((n for n in names_of(row) if own and all(h.has(n) for h in own)), None)
    if name is not None and len(own) >= held and all(h.get(name) != row.get(name) for h in own):
        return Holding(
            "other", f"The job held {given['held']} GPUs of {given['node']}, which are known, and it is none of them."
        )
    if given.get("beside"):
        return Holding("open", f"Another job held GPUs of {given['node']} at that time too.")
    numbers = (
        f" Slurm gave the job the GPUs {given['indices']}, and the number of the one that failed is not known."
        if given.has("indices")
        else ""
    )
    if first is not None and has is not None and has > held:
        said = f"The job held {given['held']} GPUs of {given['node']}, which has {first['node_gpus']} or more."
        return Holding("open", said + numbers)
    return Holding("own") if held >= WHOLE or has == held else Holding("unsaid", numbers.strip())


def _own(known: RowView, indices: set[str]) -> bool:
    return bool(known.number("job_samples")) or known.text("gpu") in indices


def _one(a: RowView, b: RowView) -> bool:
    return a.get("node") == b.get("node") and same(a, b)


def same(a: RowView, b: RowView) -> bool:
    """Whether two rows of one node speak of one GPU, by the best name that both of them have."""
    name = next((n for n in names_of(a) if n in names_of(b)), None)
    return name is not None and a.get(name) == b.get(name)
