"""What a row is, where it lies, how it is asked for. Imports nothing else of the project.

`Reader`, `Writer`, `Lake` and `free_sql` are loaded at first use: whoever needs only `store.rows` never loads the engine.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from store import free_sql
    from store.lake import Lake
    from store.reader import Reader
    from store.writer import Writer

__all__ = ["Lake", "Reader", "Writer", "free_sql"]

_HOMES = {"Lake": "store.lake", "Reader": "store.reader", "Writer": "store.writer"}


def __getattr__(name: str) -> Any:
    if name == "free_sql":
        return importlib.import_module("store.free_sql")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'store' has no attribute {name!r}")
