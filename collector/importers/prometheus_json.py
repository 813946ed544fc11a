"""The JSON answers of Prometheus queries: a matrix (`/api/v1/query_range`) or a vector (`/api/v1/query`), one or many in a file.

SOURCE  Prometheus, Thanos, Mimir, VictoriaMetrics; of the last also `/api/v1/export`, a series a line with its `timestamps`.
ROWS    gpu_sample, host_sample, link_sample, cgroup_sample, inference_sample, as from the exporters' own text.
CAVEAT  a series without a name (the query used a function) is read by the file's name if that is a metric's.
        A range query repeats a sample on its grid for five minutes (the default lookback): of a series that was scraped
        less often than that, each sample counts once.

    {"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL"},"values":[[1772359200,"97"]]}]}}
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, cast

from collector.formats import slurm_json as sj
from collector.formats.metric_names import NAMES
from collector.formats.metric_rows import Samples
from collector.formats.text import decode, whole
from collector.importers.base import ImportContext, ImportFailed
from store import lazy
from store.rows import Block, Row, one_by_one

LIMIT = 512 << 20
_LOOKBACK_MS = 300_000
_RUNS, _ENOUGH = 3, 6
"""Runs, and samples in all, from which on a series shows how it was scraped."""
_HEAD = 8192
_RESULT = lazy.compile(r'"result"\s*:\s*\[')
_EXPORTED = lazy.compile(r'\A\s*\{\s*"metric"\s*:\s*\{[^}]*\}\s*,\s*"(?:values|timestamps)"\s*:\s*\[')
_SHAPE = lazy.compile(r'"resultType"\s*:\s*"(?:matrix|vector)"')


class PrometheusJson:
    """Reads query answers."""

    name: ClassVar[str] = "prometheus_json"
    covers: ClassVar[tuple[str, ...]] = (
        "gpu_sample",
        "gpu_device",
        "host_sample",
        "link_sample",
        "cgroup_sample",
        "inference_sample",
    )

    def claims(self, path: Path, head: bytes) -> int:
        """An object with a result type of Prometheus, or a bare list of series."""
        text = decode(head[:_HEAD])
        if _SHAPE.search(text):
            return 96
        return (
            80 if '"metric"' in text and ('"values"' in text or '"value"' in text) and text.lstrip()[:1] in "{[" else 0
        )

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """Rows by entity and time."""
        return one_by_one(self.blocks(path, ctx))

    def blocks(self, path: Path, ctx: ImportContext) -> Iterator[Row | Block]:
        """The same rows, those of a GPU's whole series as a block."""
        raw = whole(path, ctx, LIMIT)
        if raw is None:
            raise ImportFailed(f"more than {LIMIT >> 20} MiB of JSON: ask for a shorter range or fewer series")
        document = decode(raw)
        del raw
        samples = Samples(ctx)
        unknown: dict[str, int] = {}
        count = 0
        for item in _series_of(document, ctx):
            count += 1
            labels = {str(k): str(v) for k, v in sj.obj(item.get("metric")).items()}
            name = labels.get("__name__") or _named_by(path)
            series = samples.series(name, labels) if name else None
            if series is None:
                unknown[name or "(no name)"] = unknown.get(name or "(no name)", 0) + 1
                continue
            pairs = sj.items(item.get("values")) or [item.get("value")]
            if times := sj.items(item.get("timestamps")):
                pairs = [(t / 1000.0, v) for t, v in zip(times, pairs, strict=False) if isinstance(t, int | float)]
            samples.extend(series, _scraped(_samples(pairs)))
        if not count:
            raise ImportFailed("no series in it" + (f": {ctx.problems[0]}" if ctx.problems else ""))
        if unknown:
            ctx.note(f"{sum(unknown.values())} series fill no column: {', '.join(sorted(unknown)[:5])}")
        yield from samples.devices()
        yield from samples.blocks()
        yield from samples.standstills()


def _series_of(document: str, ctx: ImportContext) -> Iterator[sj.Object]:
    """The series of every answer in the document: a script that asks for one metric after the other appends them to one file."""
    begins = [m.start() for m in _RESULT.finditer(document)]
    for begin, end in pairwise([*begins, len(document)]):
        yield from sj.array(document[begin:end] if len(begins) > 1 else document, "result", ctx.problem)
    if begins:
        return
    if not _EXPORTED.search(document, 0, _HEAD):
        yield from sj.array('{"result": ' + document[document.find("[") :], "result", ctx.problem)
        return
    for number, line in enumerate(document.splitlines(), 1):
        try:
            found: Any = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError) as error:
            ctx.problem(f"line {number}: {str(error)[:100]}")
            continue
        if isinstance(found, dict):
            yield cast(sj.Object, found)


def _named_by(path: Path) -> str | None:
    stem = path.name.partition(".")[0]
    return next((n for n in (stem, stem.replace("vllm_", "vllm:")) if n in NAMES), None)


def _samples(pairs: list[Any]) -> list[tuple[int, float]]:
    try:  # as every server writes them
        found = [(round(ts * 1000), float(value)) for ts, value in pairs]
        if found and min(found)[0] > 0 and max(found)[0] < 250_000_000_000_000:
            return found
    except (TypeError, ValueError, OverflowError):
        pass
    return [s for p in pairs if (s := _sample(p)) is not None]


def _sample(pair: Any) -> tuple[int, float] | None:
    parts = sj.items(pair)
    if len(parts) != 2:
        return None
    try:
        ts, value = float(parts[0]), float(parts[1])
    except (TypeError, ValueError, OverflowError):
        return None
    return (round(ts * 1000), value) if 0 < ts < 2.5e11 else None


def _scraped(found: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """The samples that were scraped, of those on a query's grid: the first of each where all stand in short runs of one value.

    Runs with gaps between them, none longer than the lookback and each of a single value, are what a range query makes of
    samples further apart than that.
    """
    if len(found) < _ENOUGH:
        return found
    found = sorted(found)
    step = min(b[0] - a[0] for a, b in pairwise(found))
    begins = [0, *(i for i in range(1, len(found)) if found[i][0] - found[i - 1][0] > step)]
    if len(begins) < _RUNS or step <= 0:
        return found
    for begin, end in pairwise([*begins, len(found)]):
        run = found[begin:end]
        if run[-1][0] - run[0][0] > _LOOKBACK_MS or any(value != run[0][1] for _, value in run):
            return found
    return [found[i] for i in begins]
