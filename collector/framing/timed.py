"""A line whose time is read only if somebody asks."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol, cast

from collector.framing.labels import Label
from collector.framing.reached import Seat
from collector.parsers.base import Line


class Dates(Protocol):
    """Who knows the file's name, and the time of a line."""

    file: str

    def time(self, text: str, data: bytes, start: int) -> tuple[datetime | None, str | None]:
        """The best time of a line that starts at `start` of the chunk's `data`, and how it is known."""
        ...


class TimedLine(Line):
    """A line whose time is read only if somebody asks: most lines that are fed give nothing."""

    __slots__ = ("_data", "_demux", "_known", "_start")

    def __new__(cls, *args: Any, **fields: Any) -> Any:
        """A plain line where one is made from fields: `dataclasses.replace` on a line does that."""
        return object.__new__(cls) if args else Line(**fields)

    def __init__(self, text: str, seat: Seat, label: Label, demux: Dates, data: bytes, start: int) -> None:
        put = object.__setattr__
        put(self, "text", text)
        put(self, "line_no", seat[0])
        put(self, "in_line", seat[1])
        put(self, "file", demux.file)
        put(self, "stream", label.stream)
        put(self, "rank", label.rank)
        put(self, "local_rank", label.local_rank)
        put(self, "node", label.node)
        put(self, "step_id", None)
        put(self, "_demux", demux)
        put(self, "_data", data)
        put(self, "_start", start)
        put(self, "_known", None)

    def _time(self) -> tuple[datetime | None, str | None]:
        if self._known is None:
            object.__setattr__(self, "_known", self._demux.time(self.text, self._data, self._start))
        return cast("tuple[datetime | None, str | None]", self._known)

    @property
    def ts(self) -> datetime | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """When it was printed, as far as that is known."""
        return self._time()[0]

    @property
    def ts_kind(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How that is known."""
        return self._time()[1]

    def settle(self, held: bool) -> None:
        """After feeding: a line that a parser holds gets its time now; in any case the chunk is let go."""
        if held:
            self._time()
        object.__setattr__(self, "_data", b"")
