"""What `inquest doctor --live` looks at: for each source whether it works, why not, and the one command that mends it.

A section is a module of this package with `checks() -> Iterator[Check]`, entered in `SECTIONS`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

SECTIONS: dict[str, str] = {
    "node": "what `inquest collect` sees on this node",
    "slurm": "ways into Slurm",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `state`: works, off (not set up, and nothing is wrong), broken."""

    section: str
    name: str
    state: str
    detail: str
    remedy: str | None = None


def run(sections: Sequence[str] = ()) -> Iterator[Check]:
    """The checks of these sections, or of all. Raises KeyError with a name that is none."""
    for name in sections or SECTIONS:
        if name not in SECTIONS:
            raise KeyError(name)
        module = importlib.import_module(f"inquest.checks.{name}")
        yield from cast("Callable[[], Iterator[Check]]", module.checks)()
