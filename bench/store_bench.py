"""The lake against a peer on the same data in the same run, or against a limit. One line per figure, ratios last.

usage: python bench/store_bench.py [--nodes 8] [--hours 24] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import missed
from store import Reader, Writer
from store.catalog import QueryInfo
from store.compact import compact
from store.pruning import Limits
from store.rows import GpuSample

METRICS = [
    "fb_used_bytes",
    "fb_total_bytes",
    "engine_active",
    "sm_active",
    "tensor_active",
    "dram_active",
    "temp_c",
    "memory_temp_c",
    "power_w",
    "power_limit_w",
    "sm_clock_mhz",
    "memory_clock_mhz",
    "performance_state",
    "throttle_reasons",
    "ecc_sbe_total",
    "ecc_dbe_total",
    "nvlink_errors",
    "nvlink_tx_bytes",
    "nvlink_rx_bytes",
    "pcie_tx_bytes_s",
    "pcie_rx_bytes_s",
    "pcie_replays",
    "processes",
]

GENERATE = """
SELECT 'alpha' AS cluster, '{node}' AS node, TIMESTAMP '2026-03-01' + INTERVAL (t) SECOND AS ts, 'bench' AS origin,
  '4812' AS job_id, 1::BIGINT AS attempt, g AS gpu, 'GPU-{node}-' || g AS gpu_uuid,
  (60000000000 + (t // 600 + g) % 9 * 104857600 + hash(t, g, 0) % 64 * 1048576)::BIGINT AS fb_used_bytes,
  85520809984 AS fb_total_bytes,
  round(0.9 + hash(t, g, 1) % 100 / 1000.0, 3)::DOUBLE AS engine_active,
  round(0.55 + hash(t, g, 2) % 200 / 1000.0, 3)::DOUBLE AS sm_active,
  round(0.35 + hash(t, g, 3) % 200 / 1000.0, 3)::DOUBLE AS tensor_active,
  round(0.30 + hash(t, g, 4) % 200 / 1000.0, 3)::DOUBLE AS dram_active,
  (58 + g + hash(t // 20, g, 5) % 6)::DOUBLE AS temp_c, (70 + g + hash(t // 20, g, 6) % 6)::DOUBLE AS memory_temp_c,
  round(520 + hash(t, g, 7) % 150000 / 1000.0, 3)::DOUBLE AS power_w, 700::DOUBLE AS power_limit_w,
  (1740 + 15 * (hash(t // 5, g, 8) % 8))::DOUBLE AS sm_clock_mhz, 2619::DOUBLE AS memory_clock_mhz,
  0::BIGINT AS performance_state, CASE WHEN hash(t // 60, g, 9) % 10 = 0 THEN 4 ELSE 0 END::BIGINT AS throttle_reasons,
  (t // 7000)::BIGINT AS ecc_sbe_total, 0::BIGINT AS ecc_dbe_total, 0::BIGINT AS nvlink_errors,
  (t::BIGINT * (25000000000 + hash(g) % 1000000) + hash(t, g, 10) % 1000000)::BIGINT AS nvlink_tx_bytes,
  (t::BIGINT * (25000000000 + hash(g) % 1000000) + hash(t, g, 11) % 1000000)::BIGINT AS nvlink_rx_bytes,
  (2e9 + hash(t, g, 12) % 1000000 * 1000)::DOUBLE AS pcie_tx_bytes_s,
  (1e9 + hash(t, g, 13) % 1000000 * 1000)::DOUBLE AS pcie_rx_bytes_s, 0::BIGINT AS pcie_replays, 1::BIGINT AS processes
FROM range({seconds}) r(t), range(8) q(g) ORDER BY t, g
"""

ONE_NODE = QueryInfo(
    "one_node",
    "",
    ("gpu_sample",),
    (),
    (),
    "",
    "SELECT gpu, count(*), avg(sm_active), max(fb_used_bytes), min(sm_clock_mhz), max(temp_c), "
    "max(ecc_sbe_total) - min(ecc_sbe_total) FROM gpu_sample WHERE node = $node GROUP BY gpu ORDER BY gpu",
    {"gpu_sample": Limits(frozenset({"node"}))},
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value, what it is held against, and the ratio between the two (above 1 is worse than that)."""

    name: str
    value: float
    unit: str
    against: str
    reference: float
    ratio: float


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """Median wall time."""
    taken: list[float] = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def writing(folder: Path) -> list[Figure]:
    """Rows per second, from CSV and from Python, against DuckDB's own COPY of the same CSV."""
    con = duckdb.connect(config={"threads": "2"})
    source = folder / "day.parquet"
    con.execute(f"COPY ({GENERATE.format(node='n0', seconds=43200)}) TO '{source}' (FORMAT parquet)")
    names = [str(r[0]) for r in con.execute(f"DESCRIBE SELECT * FROM '{source}'").fetchall()]
    spool = folder / "day.csv"
    con.execute(f"COPY (FROM '{source}') TO '{spool}' (FORMAT csv, HEADER false)")
    rows = 43200 * 8
    types = "{" + ", ".join(f"'{n}': '{t}'" for n, t, *_ in con.execute(f"DESCRIBE FROM '{source}'").fetchall()) + "}"
    target = folder / "peer.parquet"
    copy = (
        f"COPY (SELECT * FROM read_csv('{spool}', auto_detect=false, header=false, delim=',', quote='\"', escape='\"', columns={types}))"
        f" TO '{target}' (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2)"
    )
    peer = rows / seconds(lambda: con.execute(copy), 3)
    con.close()
    lakes = iter(range(100))
    ours = rows / seconds(
        lambda: Writer(folder / f"csv{next(lakes)}").append_csv("gpu_sample", spool, names, batch="b"), 3
    )
    parquet = rows / seconds(
        lambda: Writer(folder / f"pq{next(lakes)}").append_parquet("gpu_sample", source, batch="b"), 3
    )
    start = datetime(2026, 3, 1, tzinfo=UTC)
    values: list[dict[str, Any]] = [
        {m: (i % 97) * 0.5 if m.endswith(("active", "_c", "_w", "mhz", "_s")) else i for m in METRICS}
        for i in range(97)
    ]
    python = [
        GpuSample(
            node="n0",
            job_id="4812",
            gpu=i % 8,
            ts=start + timedelta(seconds=i // 8),
            **values[i % 97],
        )
        for i in range(40_000)
    ]
    by_row = 40_000 / seconds(lambda: Writer(folder / f"py{next(lakes)}").append(python, batch="b"), 3)
    return [
        Figure("rows written from CSV", ours, "rows/s", "DuckDB COPY of the same CSV", peer, peer / ours),
        Figure("rows written from Parquet", parquet, "rows/s", "DuckDB COPY of the CSV", peer, peer / parquet),
        Figure("rows written from Python", by_row, "rows/s", "DuckDB COPY of a CSV", peer, peer / by_row),
    ]


def reading(folder: Path, nodes: int, hours: float) -> list[Figure]:
    """Bytes per metric value, and the time of a job's questions, on `nodes` nodes of 8 GPUs at 1 Hz."""
    lake = folder / "lake"
    con = duckdb.connect(config={"threads": "2"})
    writer = Writer(lake)
    count = int(hours * 3600)
    for i in range(nodes):
        part = folder / "part.parquet"
        con.execute(f"COPY ({GENERATE.format(node=f'n{i:04}', seconds=count)}) TO '{part}' (FORMAT parquet)")
        writer.append_parquet("gpu_sample", part, batch=f"n{i}")
    rows = nodes * 8 * count
    compact(lake, table="gpu_sample", min_segments=1, settle_s=0, grace_s=0)
    size = sum(p.stat().st_size for p in (lake / "tables").rglob("*.parquet"))
    values = size / (rows * len(METRICS))
    figures = [Figure("lake bytes per metric value", values, "B", "limit", 2.0, values / 2.0)]

    def ask(info: QueryInfo, **params: str) -> Callable[[], object]:
        def work() -> object:
            with Reader(lake) as reader:
                return reader.run(info, dict(params), 100_000)

        return work

    cold = seconds(ask(ONE_NODE, node="n0000"), 3)
    figures.append(Figure(f"8 GPUs x {hours:g} h of {rows / 1e6:.1f} M rows", cold, "s", "limit", 2.0, cold / 2.0))
    with Reader(lake, timeout_s=120) as reader:
        window = {"job_id": "4812", "from_ts": "2026-03-01T00:00:00Z", "to_ts": "2026-03-02T00:00:00Z"}
        for name in ("gpu_summary", "gpu_counter_rises"):
            if name in reader.catalog():
                taken = seconds(lambda q=name: reader.ask(q, max_rows=100_000, **window))
                figures.append(
                    Figure(f"{name} of {nodes * 8} GPUs x {hours:g} h", taken, "s", "limit", 2.0, taken / 2.0)
                )
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="inquest-bench-") as folder:
        figures = [*writing(Path(folder)), *reading(Path(folder), asked.nodes, asked.hours)]
    if asked.json:
        print(json.dumps([{n: getattr(f, n) for n in Figure.__dataclass_fields__} for f in figures]))
        return
    for f in figures:
        print(
            f"{f.name:48} {f.value:14,.3f} {f.unit:7} {f.against}: {f.reference:,.3f}   ratio {f.ratio:.2f}"
            + (missed(f.ratio) if f.against == "limit" else "")
        )


if __name__ == "__main__":
    main()
