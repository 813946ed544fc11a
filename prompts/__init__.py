"""The words that models read, as Markdown: system, and one playbook per failure family."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


@cache
def load(name: str) -> str:
    """The text of `NAME.md` (`system`, `families/b1_cuda_oom`). Raises KeyError with the names that exist."""
    path = FOLDER / f"{name}.md"
    if name not in names():
        raise KeyError(f"no prompt {name!r}; there are {', '.join(names())}")
    return path.read_text(encoding="utf-8").strip()


@cache
def names() -> tuple[str, ...]:
    """Every prompt by its name, sorted."""
    return tuple(sorted(p.relative_to(FOLDER).with_suffix("").as_posix() for p in FOLDER.rglob("*.md")))


def playbook(code: str) -> str:
    """The playbook of a family by its code; "" where none is written."""
    stem = f"families/{code.lower()}_"
    found = next((n for n in names() if n.startswith(stem)), None)
    return load(found) if found else ""


@cache
def digest() -> str:
    """SHA-256 over every prompt with its name: two runs with the same digest were told the same."""
    seen = hashlib.sha256()
    for name in names():
        seen.update(f"{name}\0{load(name)}\0".encode())
    return seen.hexdigest()
