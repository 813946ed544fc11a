"""A CUDA set-up that does not fit, told of in the log before an exception whose own text says nothing, or is cut off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tools.facts.exceptions import Raised
from agent_tools.facts.views import RowView

if TYPE_CHECKING:
    from agent_tools.facts.core import Facts

_UNFIT = frozenset({"cudnn_mismatch", "driver_insufficient", "driver_mismatch", "no_kernel_image", "bad_binary"})
_MUTE = 0.5
"""Certainty below which an exception's type and text say nothing of whose fault it is."""


def unfit_setup(facts: Facts, cause: Raised) -> RowView | None:
    """What the CUDA libraries said in the same file before this exception, where it says nothing itself; None otherwise."""
    if cause.fault.certainty >= _MUTE:
        return None
    rows = [r for r in _before(facts, cause) if r.text("code") in _UNFIT]
    return rows[-1] if rows else None


def setup_before(facts: Facts, cut: Raised) -> RowView | None:
    """What CUDA said of the set-up in the same file before a traceback that is cut off; None where it said nothing."""
    rows = _before(facts, cut)
    return rows[-1] if rows else None


def _before(facts: Facts, raised: Raised) -> list[RowView]:
    line = raised.row.number("line_no") or 0
    return facts.table("cuda_errors").where(
        lambda r: (
            r.text("name") == "cuda_setup"
            and r.text("file") == raised.row.text("file")
            and (r.number("line_no") or 0) < line
        )
    )


def tells_of_end(row: RowView) -> bool:
    """Whether an event tells how a run ended; a remark does not, nor CUDA's word of a set-up or a connection's first try, with which many a run goes on."""
    if "severity" in row.columns and row.text("severity") == "info":
        return False
    return row.text("name") not in ("cuda_setup", "on_cpu", "retry")
