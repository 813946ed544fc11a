"""Small sentences that several families need; every figure in them is a reference."""

from __future__ import annotations

from agent_tools.facts.views import RowView
from agent_tools.verdict import Claim, ClaimStatus, Missing


def claim(text: str, status: ClaimStatus = "established") -> Claim:
    """One sentence with its references inside."""
    return Claim(text=text[:1200], status=status)


def missing(text: str, signal: str = "") -> Missing:
    """What cannot be decided, and the signal that would decide it."""
    return Missing(text=text[:1200], signal=signal[:300])


def spread(row: RowView) -> str:
    """Who raised it: "Rank 3 on n12", "All 16 ranks" and the like, from the columns ranks, rank and node."""
    ranks = row.number("ranks") or 0
    node = f" on {row['node']}" if row.has("node") else ""
    if ranks > 1:
        first = f", rank {row['rank']}{node} first" if row.has("rank") else ""
        return f"{row['ranks']} ranks{first},"
    if row.has("rank"):
        return f"Rank {row['rank']}{node}"
    return f"The job{node}"
