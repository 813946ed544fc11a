"""Which GPUs of its nodes a job held: by what names them, and by how many there are."""

from __future__ import annotations

from collections import Counter

from agent_tools.facts.views import RowView, View


def told_gpus(told: View, nodes: View) -> RowView | None:
    """The row of `job_gpus` that names the job's GPUs: as many as it held; None where none does.

    Where accounting is not there, a GPU for each rank is what it held, or the GPUs that an exporter labels with it.
    """
    if told.first is None:
        return None
    held = told.first.number("gpus_given") or sum(r.number("ranks") or 0 for r in nodes)
    as_many = next((r for r in told if r.number("uuids_seen") == held), None)
    return as_many or next((r for r in told if not held and r.text("told_by") == "exporter"), None)


def unlike(gpus: View, overview: RowView | None, nodes: View) -> bool:
    """Whether its nodes have unlike numbers of GPUs (rows of `gpu_summary`), and the job held all of them: 8 and 4 of 12.

    A node cannot have given more than it has, so where the numbers add up, each gave all; every node has to have been sampled.
    """
    held = overview.number("gpus") if overview is not None else None
    count = overview.number("node_count") if overview is not None else None
    each = Counter(r.text("node") for r in gpus)
    own = {r.text("node") for r in nodes if r.get("accounted")}
    return gpus.row_count == held and each.keys() == own and len(own) == count and len(set(each.values())) > 1


def beyond(gpus: View, overview: RowView | None, told: View, by_node: View) -> RowView | None:
    """The first GPU of a node that has more of them (rows of `gpu_summary`) than the job held there; None where none has.

    `by_node` are the rows of `job_nodes`.
    """
    held = overview.number("gpus") if overview is not None else None
    if held is None and told.first is not None:
        held = told.first.number("uuids_seen")
    if not held or gpus.row_count > held:
        return gpus.first if held else None
    if unlike(gpus, overview, by_node):
        return None
    nodes = (overview.number("node_count") if overview is not None else None) or 1
    each = Counter(r.text("node") for r in gpus)
    # Of unlike numbers of GPUs on its nodes, which of them had how many is not known.
    return next((r for r in gpus if held % nodes == 0 and each[r.text("node")] > held / nodes), None)
