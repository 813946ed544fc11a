"""A reader of a lake that does not change: what was asked once is not asked again.

Half the time of these tests went into questions about a lake that a whole file of them shares.
"""

from __future__ import annotations

import json
from typing import Any

from store import Reader
from store.result import Result


class Remembering:
    """A reader that keeps its answers; for all else, the reader itself."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._told: dict[str, Result] = {}

    def ask(self, name: str, /, *, max_rows: int = 200, **params: Any) -> Result:
        """What the lake answered when this was asked first."""
        key = json.dumps([name, max_rows, params], sort_keys=True, default=str)
        if key not in self._told:
            self._told[key] = self._reader.ask(name, max_rows=max_rows, **params)
        return self._told[key]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)
