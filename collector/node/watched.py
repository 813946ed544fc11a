"""What a live source saw, as `source_health`: was it looking, from when to when, and why not.

A window is one stretch of the same answer: working, or failing for the same reason. It ends when the answer changes, when
the clock is set, and whenever somebody asks for the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from store.rows import SourceHealth

_MESSAGE = 1000


@dataclass(slots=True)
class _Window:
    since: datetime
    ok: bool
    message: str | None
    blind: Mapping[str, str] = field(default_factory=dict[str, str])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    missing: dict[str, str] = field(default_factory=dict[str, str])
    """All that was left out in it, also what came back meanwhile."""
    spent_s: float = 0.0


class Watched:
    """Follows one source. Not safe for threads by itself: the loop holds its lock."""

    def __init__(self, source: str, covers: Sequence[str], node: str | None, cluster: str | None) -> None:
        self._source, self._covers = source, tuple(covers)
        self._node, self._cluster = node, cluster
        self._window: _Window | None = None
        self._done: list[SourceHealth] = []

    @property
    def ok(self) -> bool | None:
        """The present answer; None before the first."""
        return self._window.ok if self._window else None

    @property
    def message(self) -> str | None:
        """Why it fails, or what it leaves out."""
        return self._window.message if self._window else None

    def saw(
        self,
        now: datetime,
        ok: bool,
        *,
        message: str | None = None,
        counts: Mapping[str, int] | None = None,
        spent_s: float = 0.0,
        missing: Mapping[str, str] | None = None,
        blind: Mapping[str, str] | None = None,
        since: datetime | None = None,
    ) -> bool:
        """One round's outcome: rows by table and the time it took. Says whether the answer is another than before.

        `since` is when the round began, where a window begins with it. `missing` gives columns with the reason, `blind` tables
        of which a source that works sees nothing.
        """
        window = self._window
        blind = dict(blind or {}) if ok else {}
        turned = window is None or (window.ok, window.message, window.blind) != (ok, message, blind)
        if turned:
            changed = window is None or window.ok != ok
            # A round that hung and came back after all looked at nothing while it hung: that window keeps its time.
            begin = since if since is not None and (window is None or since > window.since) else now
            self._close(begin, missing)
            window = self._window = _Window(begin, ok, message, blind)
        else:
            changed = False
        assert window is not None
        window.spent_s += spent_s
        if missing:
            window.missing.update(missing)
        for table, n in (counts or {}).items():
            window.counts[table] = window.counts.get(table, 0) + n
        return changed

    def take(self, now: datetime, missing: Mapping[str, str] | None = None) -> list[SourceHealth]:
        """The rows up to now; the same answer goes on in a new window."""
        window = self._window
        if window is not None:
            self._close(now, missing)
            self._window = _Window(now, window.ok, window.message, window.blind)
        done, self._done = self._done, []
        return done

    def stepped(self, before: datetime, after: datetime) -> None:
        """The clock was set from `before` to `after`: no window spans that."""
        window = self._window
        if window is not None:
            self._close(max(before, window.since), None)
            self._window = _Window(after, window.ok, window.message, window.blind)

    def _close(self, now: datetime, missing: Mapping[str, str] | None) -> None:
        window = self._window
        if window is None or now <= window.since:
            return
        missing = {**window.missing, **(missing or {})}
        told = [window.message] if window.message else []
        told += [f"{name}: {why}" for name, why in sorted(missing.items())]
        self._done += [
            SourceHealth(
                cluster=self._cluster,
                node=self._node,
                ts=window.since,
                origin=self._source,
                source=self._source,
                covers=table,
                end_ts=now,
                ok=window.ok and table not in window.blind,
                rows=window.counts.get(table, 0),
                missing_fields=",".join(sorted(missing)) if missing else None,
                message="; ".join([window.blind[table], *told] if table in window.blind else told)[:_MESSAGE] or None,
                duration_s=window.spent_s,
            )
            for table in (*self._covers, *(t for t in window.counts if t not in self._covers))
        ]
