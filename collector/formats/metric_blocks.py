"""The series of one GPU to a block of rows: what a range query gives of a thousand GPUs, without a step for each sample."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from collector.formats.metric_names import BOOLEAN, FREE, RESERVED, WHOLE, Metric

_BLANKS = frozenset((*range(2_147_483_632, 2_147_483_636), *range(140_737_488_355_328, 140_737_488_355_332)))
_BLANK_64 = 9.2e18
"""DCGM's numbers for blank, not found, not supported and not permitted, of 32, 48 and 64 bits."""
_TROUBLE = 0xE8
"""Clock event reasons that mean trouble: hardware slowdown, software and hardware thermal slowdown, power brake."""
Time = int | None
Bits = Mapping[Time, tuple[int, int]]


def blank(value: float) -> bool:
    """Whether a sample's value means that there is none."""
    return value != value or value >= _BLANK_64 or (value > 2e9 and value in _BLANKS)


def typed(column: str, value: float) -> bool | int | float | None:
    """A value as its column has it; None where it cannot."""
    if column in BOOLEAN:
        return value != 0
    if column in WHOLE:
        return int(value) if abs(value) < 2**63 else None
    return value if math.isfinite(value) else None


class Gauges:
    """The series of one GPU (or instance): of each column the series that fill it; times are milliseconds, None where unknown."""

    def __init__(self) -> None:
        self._series: dict[str, list[tuple[Metric, dict[Time, float]]]] = {}
        self._bits: dict[Time, tuple[int, int]] = {}

    def put(self, metric: Metric, samples: Iterable[tuple[Time, float]]) -> None:
        """The samples of one series; the later of two of one time counts."""
        kept = {ts: value for ts, value in samples if not blank(value)}
        if metric.bit:
            for ts, value in kept.items():
                held, told = self._bits.get(ts, (0, 0))
                self._bits[ts] = held | (metric.bit if value else 0), told | metric.bit
        elif kept:
            self._series.setdefault(metric.column, []).append((metric, kept))

    def span(self) -> tuple[int, int] | None:
        """First and last time; None where no sample has one."""
        times = {ts for series in self._series.values() for _, kept in series for ts in kept} | self._bits.keys()
        known = [ts for ts in times if ts is not None]
        return (min(known), max(known)) if known else None

    def table(self, slow: Bits) -> tuple[list[Time], dict[str, Sequence[Any]]]:
        """The times in order, and each column's values at them (None where it has none), `activity_source` among them.

        `slow` are the clock event reasons that held and that are told of, by time, where an exporter counts them.
        """
        merged = {column: _merged(series) for column, series in self._series.items()}
        _framebuffer(merged)
        bits = dict(self._bits)
        for ts, (held, told) in slow.items():
            before = bits.get(ts, (0, 0))
            bits[ts] = before[0] | held, before[1] | told
        # One harmless bit alone does not say that there was no trouble.
        reasons = {ts: float(held) for ts, (held, told) in bits.items() if told & _TROUBLE}
        if reasons:
            merged["throttle_reasons"] = reasons | merged.get("throttle_reasons", {})
        times = sorted(set[Time]().union(*merged.values()), key=lambda ts: ts or 0)
        columns = {column: _column(column, values, times) for column, values in merged.items()}
        sources = _sources(self._series)
        if sources:
            columns["activity_source"] = [sources.get(ts) for ts in times]
        return times, columns


def _merged(series: Sequence[tuple[Metric, Mapping[Time, float]]]) -> dict[Time, float]:
    """The values of the lowest rank, in the column's unit; sums where the metrics are of parts."""
    found: dict[Time, float] = {}
    for metric, values in sorted(series, key=lambda s: -s[0].rank):
        scale = metric.scale
        if metric.add:
            for ts, value in values.items():
                found[ts] = found.get(ts, 0.0) + value * scale
        else:
            found.update(values if scale == 1.0 else {ts: value * scale for ts, value in values.items()})
    return found


def _framebuffer(merged: dict[str, dict[Time, float]]) -> None:
    """Used, free and reserved memory make the whole where no series tells it."""
    free, reserved = merged.pop(FREE, {}), merged.pop(RESERVED, {})
    used = merged.get("fb_used_bytes", {})
    whole = {ts: used[ts] + rest + reserved.get(ts, 0.0) for ts, rest in free.items() if ts in used}
    if whole and "fb_total_bytes" not in merged:
        merged["fb_total_bytes"] = whole


def _column(column: str, values: Mapping[Time, float], times: Sequence[Time]) -> Sequence[Any]:
    known: dict[float | None, Any] = {value: typed(column, value) for value in set(values.values())}
    known[None] = None  # and a gauge repeats itself
    return [known[values.get(ts)] for ts in times]


def _sources(columns: Mapping[str, Sequence[tuple[Metric, Mapping[Time, float]]]]) -> dict[Time, str]:
    """Which counter the activities are from: that of the SM activity, else DCGM's, else the one there is."""
    found: dict[Time, str] = {}
    for column, series in sorted(columns.items(), key=lambda c: c[0] == "sm_active"):
        winners: dict[Time, str] = {}
        for metric, values in sorted(series, key=lambda s: -s[0].rank):
            if metric.source:
                winners.update(dict.fromkeys(values, metric.source))
        for ts, source in winners.items():
            if column == "sm_active" or source == "dcgm" or ts not in found:
                found[ts] = source
    return found


def turns(values: Sequence[Any]) -> list[int]:
    """Where in a column the first and the last of each run of equal values stand."""
    last = len(values) - 1
    return [i for i, value in enumerate(values) if i in {0, last} or values[i - 1] != value or values[i + 1] != value]
