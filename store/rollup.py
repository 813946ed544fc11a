"""GPU samples by the minute, written with the samples in the same batch: what a day of a thousand GPUs is asked through.

`gpu_totals` gives one row for each GPU of a job, `gpu_window(from_ts, to_ts)` the minutes of a window. A job's own minutes are taken whole where an end of the window
cuts through them; samples that carry no job, which may be the next job's, are counted one by one there, so that nothing from
outside the window is in them. Sums and counts add up over minutes; a mean is a sum over its count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from store.engine import PARQUET
from store.lake import Partition, nonce
from store.manifest import Segment
from store.rows import GpuMinute, GpuSample, columns
from store.segments import describe
from store.statements import Given, run
from store.views import select

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

KEYS = ("cluster", "node", "origin", "job_id", "attempt", "gpu", "gpu_uuid", "pci_bus_id", "mig")

TOGETHER = 100_000
"""Samples that are made minutes of at a time: where each is alone in its minute, so many groups have to be held."""

SEVERE = 0xE8
"""Clock event reasons that mean trouble: hardware slowdown, software and hardware thermal slowdown, power brake."""

COUNTERS = (
    "ecc_sbe_total",
    "ecc_dbe_total",
    "remapped_correctable",
    "remapped_uncorrectable",
    "remap_pending",
    "remap_failure",
    "retired_pages",
    "nvlink_errors",
    "pcie_replays",
)

_SEVERE = f"(throttle_reasons & {SEVERE}) <> 0"
_FREE = f"NOT {_SEVERE} AND engine_active > 0.3"
_SUM = " + ".join(f"coalesce({c}::BIGINT, 0)::DOUBLE" for c in COUNTERS)
_ERRORS = f"greatest(0, least({_SUM}, 1e11))::BIGINT"
_MINUTE = "date_trunc('minute', ts)"
# The errors' highest sum and, below it, the time left in the minute when they first stood there, in one number.
_STOOD = f"max({_ERRORS} * 60000000 + 59999999 - (epoch_us(ts) - epoch_us({_MINUTE})))"


def _only(column: str, condition: str) -> str:
    """SQL for a column where a condition holds and NULL elsewhere, which aggregates pass over.

    A FILTER beside many aggregates costs more: the engine cuts all that they read for each one that has it.
    """
    return f"CASE WHEN {condition} THEN {column} END"


MEASURES = {
    "samples": "count(*)",
    "first_ts": "min(ts)",
    "last_ts": "max(ts)",
    "activity_source": "max(activity_source)",
    "fb_used_max_bytes": "max(fb_used_bytes)",
    "fb_used_last_bytes": "arg_max(fb_used_bytes, ts)",
    "fb_total_bytes": "max(fb_total_bytes)",
    "engine_n": "count(engine_active)",
    "engine_sum": "sum(engine_active)",
    "engine_max": "max(engine_active)",
    "idle_n": "count_if(engine_active < 0.02)",
    "sm_n": "count(sm_active)",
    "sm_sum": "sum(sm_active)",
    "sm_min": "min(sm_active)",
    "sm_max": "max(sm_active)",
    "tensor_n": "count(tensor_active)",
    "tensor_sum": "sum(tensor_active)",
    "dram_n": "count(dram_active)",
    "dram_sum": "sum(dram_active)",
    "temp_max_c": "max(temp_c)",
    "memory_temp_max_c": "max(memory_temp_c)",
    "power_n": "count(power_w)",
    "power_sum_w": "sum(power_w)",
    "power_max_w": "max(power_w)",
    "power_limit_w": "max(power_limit_w)",
    "clock_n": "count(sm_clock_mhz)",
    "clock_sum_mhz": "sum(sm_clock_mhz)",
    "clock_min_mhz": "min(sm_clock_mhz)",
    "throttle_n": "count(throttle_reasons)",
    "throttle_any": "bit_or(throttle_reasons)",
    "severe_n": f"count_if({_SEVERE})",
    "severe_clock_n": f"count({_only('sm_clock_mhz', _SEVERE)})",
    "severe_clock_sum_mhz": f"sum({_only('sm_clock_mhz', _SEVERE)})",
    "free_clock_n": f"count({_only('sm_clock_mhz', _FREE)})",
    "free_clock_sum_mhz": f"sum({_only('sm_clock_mhz', _FREE)})",
    **{f"{c}_min": f"min({c}::BIGINT)" for c in COUNTERS},
    **{f"{c}_max": f"max({c}::BIGINT)" for c in COUNTERS},
    "rose_ts": f"CASE WHEN max({_ERRORS}) > min({_ERRORS}) THEN {_MINUTE} + to_microseconds(59999999 - {_STOOD} % 60000000) END",
    "last_xid": "max(last_xid)",
    "processes": "max(processes)",
}


def minutes(source: str, beside: Sequence[str] = ()) -> str:
    """SQL that gives `gpu_minute` rows from `gpu_sample` rows; samples without a time have no minute.

    `beside` are further columns of the source that rows are kept apart by.
    """
    exprs = {"ts": _MINUTE, **{k: k for k in KEYS}, **MEASURES}
    picked = ", ".join([*beside, *(f'{exprs[c.name]} AS "{c.name}"' for c in columns(GpuMinute))])
    return f"SELECT {picked} FROM {source} GROUP BY {', '.join((*beside, *KEYS))}, {_MINUTE}"


MACRO = "gpu_window"


def window(from_ts: str, to_ts: str) -> str:
    """SQL for the minutes of a window; the limits are SQL that gives a time, a text of one, or NULL."""
    begin = f"date_trunc('minute', {from_ts}::TIMESTAMP) + INTERVAL 1 MINUTE"
    close = f"date_trunc('minute', {to_ts}::TIMESTAMP)"
    # Two plain ranges rather than one condition with OR: by a range whole row groups are left out.
    ends = f"""(
    SELECT * FROM gpu_sample
    WHERE job_id IS NULL AND ts >= {from_ts}::TIMESTAMP AND ts < {begin} AND ts <= coalesce({to_ts}::TIMESTAMP, 'infinity'::TIMESTAMP)
    UNION ALL
    SELECT * FROM gpu_sample
    WHERE job_id IS NULL AND ts >= {close} AND ts <= {to_ts}::TIMESTAMP AND ts >= coalesce({begin}, '-infinity'::TIMESTAMP))"""
    return f"""
  SELECT * FROM gpu_minute
  WHERE ts >= coalesce(date_trunc('minute', {from_ts}::TIMESTAMP), '-infinity'::TIMESTAMP)
    AND ts <= coalesce({to_ts}::TIMESTAMP, 'infinity'::TIMESTAMP)
    AND (job_id IS NOT NULL OR (ts >= coalesce({begin}, '-infinity'::TIMESTAMP)
                                AND ts < coalesce({close}, 'infinity'::TIMESTAMP)))
  UNION ALL BY NAME
  {minutes(ends)}
"""


WINDOW = f"CREATE OR REPLACE TEMP MACRO {MACRO}(from_ts, to_ts) AS TABLE {window('from_ts', 'to_ts')}"


TOTALS = "gpu_totals"

_LATE = "ts >= e.late AND ts IS DISTINCT FROM e.final"
"""The last ten minutes but for the very last one, where there are others: it holds what comes when a job is taken down, and a
clock that differs by a second puts what was sampled after the end before it."""

_UNUSED = (
    "coalesce(sum(engine_n) >= 5 AND sum(idle_n) = sum(engine_n), false)"
    " AND coalesce(max(fb_used_max_bytes), 0) < 2147483648"
)
"""Whether a GPU was allocated and never used: its engine did nothing in any sample, and its memory held no more than the driver's
own share and a context or two. A rank that hangs before its first step holds more; one that is done keeps its memory."""

SUMS = {
    "samples": "sum(samples)",
    "first_ts": "min(first_ts)",
    "last_ts": "max(last_ts)",
    "fb_used_max_bytes": "max(fb_used_max_bytes)",
    "fb_used_last_bytes": "arg_max(fb_used_last_bytes, last_ts)",
    "fb_total_bytes": "max(fb_total_bytes)",
    "engine_n": "sum(engine_n)",
    "engine_sum": "sum(engine_sum)",
    "idle_n": "sum(idle_n)",
    "unused": _UNUSED,
    "sm_n": "sum(sm_n)",
    "sm_sum": "sum(sm_sum)",
    "sm_median": "median(sm_sum / nullif(sm_n, 0))",
    "sm_max": "max(sm_max)",
    **{
        f"{m}_late_{k}": f"sum({_only(f'{m}_{k}', _LATE)})"
        for m in ("engine", "sm", "tensor", "dram")
        for k in ("n", "sum")
    },
    "power_n": "sum(power_n)",
    "power_sum_w": "sum(power_sum_w)",
    "power_late_w": f"sum({_only('power_sum_w', _LATE)}) / nullif(sum({_only('power_n', _LATE)}), 0)",
    "tensor_mean": "sum(tensor_sum) / nullif(sum(tensor_n), 0)",
    "dram_mean": "sum(dram_sum) / nullif(sum(dram_n), 0)",
    # What a minute of work looks like in a run that may have stood still for most of it.
    "tensor_busy": "quantile_cont(tensor_sum / nullif(tensor_n, 0), 0.9)",
    "dram_busy": "quantile_cont(dram_sum / nullif(dram_n, 0), 0.9)",
    "power_busy_w": "quantile_cont(power_sum_w / nullif(power_n, 0), 0.9)",
    "temp_max_c": "max(temp_max_c)",
    "clock_median_mhz": "median(clock_sum_mhz / nullif(clock_n, 0))",
    "throttle_n": "sum(throttle_n)",
    "severe_n": "sum(severe_n)",
    "severe_clock_n": "sum(severe_clock_n)",
    "severe_clock_sum_mhz": "sum(severe_clock_sum_mhz)",
    "free_clock_n": "sum(free_clock_n)",
    "free_clock_sum_mhz": "sum(free_clock_sum_mhz)",
    "processes": "max(processes)",
    "activity_source": "max(activity_source)",
    **{f"{c}_first": f"arg_min({c}_min, first_ts)" for c in COUNTERS},
    **{f"{c}_last": f"arg_max({c}_max, first_ts)" for c in COUNTERS},
    **{f"{c}_high": f"max({c}_max)" for c in COUNTERS},
}
"""What `gpu_totals` has of each GPU of a job: of its minutes in the window; late is the last ten minutes of all of them."""


_APART = {
    f"{kind}_{column}": f"sum({column}) FILTER (WHERE {when})"
    for kind, when in (
        ("severe", "bits > 0 AND severe * 2 >= bits"),
        ("free", "bits > 0 AND severe = 0 AND engine > 0.3"),
    )
    for column in ("clock_n", "clock_sum_mhz")
}
"""Clocks of whole minutes by the throttle bits of the same minute: where bits and clocks came from two files, one for each
metric, no single sample has both. Where each bit came from a file of its own, the worst of them counts in a minute: the others
say nothing against it."""

_UNPAIRED = "coalesce(severe_clock_n, 0) + coalesce(free_clock_n, 0) = 0"


# One source's minutes that neither say of trouble nor of work without their clocks have nothing to be put together from.
_PIECED = (
    "min(coalesce(origin, '')) <> max(coalesce(origin, ''))"
    f" OR coalesce(bool_or({_UNPAIRED} AND (severe_n > 0 OR engine_sum > 0.3 * engine_n)), false)"
)
"""Whether a GPU's minutes have to be put together from several rows each, which costs twice what all the rest does."""

NAMELESS = "CASE WHEN gpu_uuid IS NULL THEN gpu END"
"""A GPU is its UUID, and its number where it has none: of an exporter's metrics often one alone knows the number."""


def totals(job_id: str, nodes: str, gpus: str, from_ts: str, to_ts: str) -> str:
    """SQL for one row a GPU: of the job, and of `nodes` (of these `gpus` where they are given) where a minute has no job."""
    picked = ", ".join(f'{sql} AS "{name}"' for name, sql in SUMS.items())
    apart = ", ".join(f"{sql} AS {name}" for name, sql in _APART.items())
    both = ", ".join(
        [
            *(f"coalesce(t.{name}, 0) + coalesce(a.{name}, 0) AS {name}" for name in _APART),
            *(f"coalesce(a.{name}, t.{name}) AS {name}" for name in ("throttle_n", "severe_n")),
        ]
    )
    return f"""
  WITH s AS NOT MATERIALIZED (
    SELECT * FROM {MACRO}({from_ts}, {to_ts})
    WHERE job_id = {job_id} OR (job_id IS NULL AND list_contains(string_split({nodes}, ','), coalesce(node, ''))
      AND ({gpus} IS NULL OR gpu_uuid IS NULL OR list_contains(string_split({gpus}, ','), gpu_uuid)))
  ),
  z AS (
    SELECT date_trunc('minute', max(last_ts) - INTERVAL 9 MINUTE) AS late, max(ts) AS final, list(DISTINCT ts) AS minutes FROM s
  ),
  e AS (SELECT late, CASE WHEN len(list_filter(minutes, lambda m: m >= late AND m < final)) > 0 THEN final END AS final FROM z),
  t AS MATERIALIZED (
    SELECT node, max(gpu) AS gpu, gpu_uuid, {_PIECED} AS pieced, {picked} FROM s, e GROUP BY node, gpu_uuid, {NAMELESS}
  ),
  p AS (SELECT node AS p_node, gpu_uuid AS p_uuid, {NAMELESS} AS p_gpu FROM t WHERE pieced),
  o AS (
    SELECT node, {NAMELESS} AS gpu, gpu_uuid, ts, sum(throttle_n) AS throttle_n, sum(severe_n) AS severe_n,
      sum(throttle_n) FILTER (WHERE {_UNPAIRED}) AS bits, sum(severe_n) FILTER (WHERE {_UNPAIRED}) AS severe,
      sum(clock_n) FILTER (WHERE {_UNPAIRED}) AS clock_n, sum(clock_sum_mhz) FILTER (WHERE {_UNPAIRED}) AS clock_sum_mhz,
      sum(engine_sum) FILTER (WHERE {_UNPAIRED}) AS engine_sum, sum(engine_n) FILTER (WHERE {_UNPAIRED}) AS engine_n
    FROM s SEMI JOIN p
      ON node IS NOT DISTINCT FROM p_node AND gpu_uuid IS NOT DISTINCT FROM p_uuid AND {NAMELESS} IS NOT DISTINCT FROM p_gpu
    WHERE throttle_n > 0 OR ({_UNPAIRED} AND (clock_n > 0 OR engine_n > 0))
    GROUP BY node, gpu_uuid, {NAMELESS}, ts, origin
  ),
  m AS (
    SELECT node, gpu, gpu_uuid, max(throttle_n) AS throttle_n, max(severe_n) AS severe_n, max(bits) AS bits, max(severe) AS severe,
      sum(clock_n) AS clock_n, sum(clock_sum_mhz) AS clock_sum_mhz, sum(engine_sum) / nullif(sum(engine_n), 0) AS engine
    FROM o
    GROUP BY node, gpu, gpu_uuid, ts
    HAVING max(throttle_n) > 0
  ),
  a AS (
    SELECT node, gpu, gpu_uuid, sum(throttle_n) AS throttle_n, sum(severe_n) AS severe_n, {apart} FROM m GROUP BY node, gpu, gpu_uuid
  )
  SELECT t.* EXCLUDE (pieced) REPLACE ({both})
  FROM t LEFT JOIN a
    ON t.node IS NOT DISTINCT FROM a.node AND t.gpu_uuid IS NOT DISTINCT FROM a.gpu_uuid
    AND (t.gpu_uuid IS NOT NULL OR t.gpu IS NOT DISTINCT FROM a.gpu)
"""


_OF = ("of_job", "on_nodes", "of_gpus", "from_ts", "to_ts")
RUN = ("$job_id", "$nodes", "$gpus", "$from_ts", "$to_ts")
"""What a question of the catalog asks for totals of."""
EACH = f"CREATE OR REPLACE TEMP MACRO {TOTALS}({', '.join(_OF)}) AS TABLE {totals(*_OF)}"


def without_job(segments: Sequence[tuple[Path, Segment]]) -> list[tuple[Path, Segment]]:
    """Of the segments of `gpu_sample` those that `gpu_window` looks into: the ones with a row that carries no job."""
    return [(path, s) for path, s in segments if s.null_job or "job_id" not in s.columns]


def derive(
    con: DuckDBPyConnection, sealed: Sequence[tuple[Partition, Path, Segment]], folder: Path, form: str = PARQUET
) -> list[tuple[Partition, Path, Segment]]:
    """The segments of `gpu_minute` for those of `gpu_sample` among `sealed`, written into `folder`; `form` is how COPY writes them."""
    names = tuple(c.name for c in columns(GpuMinute))
    samples = [x for x in sealed if x[0].table == GpuSample.TABLE and x[2].ts_min is not None]
    derived: list[tuple[Partition, Path]] = []
    for group in _groups(samples):
        # To plan all the aggregates takes longer than to make them of a small segment: they are planned once for many.
        given = Given()
        source = select(GpuSample.TABLE, [(path, segment) for _, path, segment in group], file="_file", given=given)
        made = minutes(f"(SELECT * FROM ({source}) WHERE ts IS NOT NULL)", ("_file",))
        run(con, f"CREATE OR REPLACE TEMP TABLE minute AS {made}", given)
        for partition, path, _ in group:
            file = folder / f"{nonce()}.parquet"
            given = Given()
            picked = f"SELECT * EXCLUDE (_file) FROM minute WHERE _file = {given.text(path)}"
            run(con, f"COPY ({picked} ORDER BY job_id, gpu, gpu_uuid, ts) TO {given.text(file)} ({form})", given)
            derived.append((Partition(GpuMinute.TABLE, partition.day, partition.node), file))
        con.execute("DROP TABLE minute")
    described = describe(con, [file for _, file in derived], names) if derived else {}
    return [(place, file, described[file.name]) for place, file in derived]


def _groups(samples: Sequence[tuple[Partition, Path, Segment]]) -> Iterator[list[tuple[Partition, Path, Segment]]]:
    """Segments in their order, each group of at most `TOGETHER` rows or one segment."""
    group: list[tuple[Partition, Path, Segment]] = []
    for place, path, segment in samples:
        if group and sum(s.rows for _, _, s in group) + segment.rows > TOGETHER:
            yield group
            group = []
        group.append((place, path, segment))
    if group:
        yield group
