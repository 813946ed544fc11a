"""What one look of the health check brought up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["fit", "fault", "unknown"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`fault` refuses the node; `unknown` says that nobody could look, which refuses nothing."""

    check: str
    status: Status
    text: str
    remedy: str = ""


def fit(check: str, text: str) -> Finding:
    """All is well there."""
    return Finding(check, "fit", text)


def fault(check: str, text: str, remedy: str) -> Finding:
    """A serious, current fault."""
    return Finding(check, "fault", text, remedy)


def unknown(check: str, text: str) -> Finding:
    """It could not be looked at."""
    return Finding(check, "unknown", text)
