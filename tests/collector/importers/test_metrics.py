"""prometheus, prometheus_json and nvidia_smi: many metrics of one moment become one row, and nothing counts twice."""

from __future__ import annotations

import json
import math
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.formats.histogram import quantile
from collector.formats.metric_names import BOOLEAN, NAMES, WHOLE
from collector.formats.metric_rows import Samples, node_of
from collector.formats.node_names import NodeNames
from collector.importers import prometheus
from collector.importers.base import ImportContext, ImportFailed
from collector.importers.nvidia_smi import NvidiaSmi
from collector.importers.prometheus import Prometheus
from collector.importers.prometheus_json import PrometheusJson
from store.rows import CgroupSample, GpuDevice, GpuSample, HostSample, InferenceSample, LinkSample

SAMPLES = Path(__file__).parent / "samples"
TEN = datetime(2026, 3, 1, 10, tzinfo=UTC)


def read(importer: Any, path: Path, **more: Any) -> tuple[list[Any], ImportContext]:
    ctx = ImportContext(path.name, UTC, size=path.stat().st_size, **more)
    return list(importer.rows(path, ctx)), ctx


def of(rows: list[Any], kind: type) -> list[Any]:
    return [r for r in rows if isinstance(r, kind)]


def test_metrics_of_one_gpu_at_one_moment_are_one_row() -> None:
    rows, ctx = read(Prometheus(), SAMPLES / "dcgm.om")
    whole = [s for s in of(rows, GpuSample) if s.gpu_uuid == "GPU-aaaa"]
    assert [s.ts for s in whole] == [TEN, datetime(2026, 3, 1, 10, 0, 30, tzinfo=UTC)]
    first = whole[0]
    assert (first.node, first.gpu, first.pci_bus_id, first.job_id) == ("gpu07", 0, "00000000:1B:00.0", "4812")
    assert first.fb_used_bytes == 71234 << 20
    assert (first.engine_active, first.sm_active, first.activity_source) == (0.95, 0.31, "dcgm")
    assert (first.throttle_reasons, first.last_xid, first.remap_failure, first.memory_temp_c) == (4, 0, True, None)
    assert (whole[1].engine_active, whole[1].activity_source) == (0.12, "nvml"), (
        "the coarse figure where there is no better"
    )
    assert "SOME_OTHER_METRIC" in ctx.notes[0]
    assert ctx.problem_count == 0
    (device,) = of(rows, GpuDevice)
    assert (device.model, device.driver_version) == ("NVIDIA H100 80GB HBM3", "550.54.15")


def test_used_free_and_reserved_memory_make_the_whole_where_no_series_tells_it(tmp_path: Path) -> None:
    """dcgm-exporter gives no total by default."""
    label = '{gpu="0",UUID="GPU-aaaa",Hostname="n1"}'
    parts = {"USED": 70000, "FREE": 11000, "RESERVED": 559}
    lines = [f"DCGM_FI_DEV_FB_{name}{label} {mib} 1772359200000\n" for name, mib in parts.items()]
    path = tmp_path / "gpu.prom"
    path.write_text("".join(lines))
    (sample,) = of(read(Prometheus(), path)[0], GpuSample)
    assert (sample.fb_used_bytes, sample.fb_total_bytes) == (70000 << 20, 81559 << 20)
    path.write_text("".join([*lines, f"DCGM_FI_DEV_FB_TOTAL{label} 81920 1772359200000\n"]))
    (sample,) = of(read(Prometheus(), path)[0], GpuSample)
    assert sample.fb_total_bytes == 81920 << 20


def test_a_physical_counter_that_each_mig_instance_repeats_counts_once() -> None:
    rows, _ = read(Prometheus(), SAMPLES / "dcgm.om")
    split = [(s.mig, s.power_w, s.fb_used_bytes) for s in of(rows, GpuSample) if s.gpu_uuid == "GPU-bbbb"]
    assert sorted(split, key=str) == [
        ("1g.10gb/7", None, 100 << 20),
        ("1g.10gb/8", None, 200 << 20),
        (None, 101.5, None),
    ]


def test_a_scrape_without_timestamps_gets_the_files_time_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "scrape.prom"
    path.write_text(
        'node_load1 3.5\nnode_memory_MemTotal_bytes 1.0e+12\nnode_disk_read_bytes_total{device="nvme0n1"} 5\n'
        'node_disk_read_bytes_total{device="nvme1n1"} 7\nnode_disk_read_bytes_total{device="dm-0"} 12\n'
        'node_network_receive_bytes_total{device="lo"} 99\nnode_network_receive_bytes_total{device="eth0"} 3\n'
        'node_filesystem_size_bytes{device="/dev/sda1",fstype="ext4",mountpoint="/"} 100\n'
        'node_filesystem_avail_bytes{device="/dev/sda1",fstype="ext4",mountpoint="/"} 0\n'
        'node_infiniband_state_id{device="mlx5_0",port="1"} 4\nnode_infiniband_link_downed_total{device="mlx5_0",port="1"} 2\n'
    )
    rows, ctx = read(Prometheus(), path, node="gpu07", modified=TEN)
    host = next(r for r in of(rows, HostSample) if r.load1 is not None)
    assert (host.node, host.ts, host.load1, host.memory_total_bytes) == ("gpu07", TEN, 3.5, 10**12)
    assert (host.disk_read_bytes, host.net_rx_bytes) == (12, 3), "no layered disk and no loopback in the sums"
    root = next(r for r in of(rows, HostSample) if r.filesystem == "/")
    assert (root.disk_total_bytes, root.disk_free_bytes) == (100, 0)
    (link,) = of(rows, LinkSample)
    assert (link.device, link.port, link.state, link.link_downed) == ("mlx5_0", "1", "ACTIVE", 2)
    assert "without timestamps" in ctx.notes[0]


def test_a_range_query_with_rates_of_counters() -> None:
    rows, ctx = read(PrometheusJson(), SAMPLES / "query_range.json")
    gpus = of(rows, GpuSample)
    assert [(g.node, g.fb_used_bytes, g.ts) for g in gpus] == [
        ("gpu07", 70000 << 20, TEN),
        ("gpu07", 70001 << 20, datetime(2026, 3, 1, 10, 0, 15, 500000, tzinfo=UTC)),
    ]
    hosts = of(rows, HostSample)
    assert [h.load1 for h in hosts] == [12.5, None], "NaN is no value"
    assert [h.cpu_busy for h in hosts] == [None, 10 / 15]
    assert "(no name)" in ctx.notes[0]


def queried(folder: Path, points: dict[int, float]) -> list[int]:
    """The times, in seconds, at which a GPU was sampled by a range query that answered these."""
    series = {"metric": {"__name__": "DCGM_FI_DEV_GPU_UTIL", "gpu": "0", "Hostname": "gpu07"}}
    values = [[TEN.timestamp() + at, str(value)] for at, value in points.items()]
    path = folder / "util.json"
    path.write_text(
        json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [{**series, "values": values}]}})
    )
    rows, _ = read(PrometheusJson(), path)
    return [round((g.ts - TEN).total_seconds()) for g in of(rows, GpuSample) if g.ts]


def test_what_a_range_query_repeats_of_one_scrape_counts_once(tmp_path: Path) -> None:
    scrapes = dict.fromkeys(range(0, 3600, 750), 0.0)
    held = {at + k: v for at, v in scrapes.items() for k in range(0, 301, 30)}
    assert queried(tmp_path, held) == list(scrapes)
    assert queried(tmp_path, dict(reversed(held.items()))) == list(scrapes)


@pytest.mark.parametrize(
    "points",
    [
        dict.fromkeys(range(0, 3600, 30), 0.0),
        {at + k: 0.0 for at in range(0, 3600, 750) for k in range(0, 361, 30)},
        {at + k: k / 30 for at in range(0, 3600, 750) for k in range(0, 301, 30)},
        {at + k: 0.0 for at in (0, 750) for k in range(0, 301, 30)},
    ],
    ids=["no gap", "longer than the lookback", "values of their own", "one gap"],
)
def test_samples_that_nothing_shows_to_be_repeated_all_count(tmp_path: Path, points: dict[int, float]) -> None:
    assert queried(tmp_path, points) == list(points)


def test_inference_quantiles_come_from_the_histogram() -> None:
    rows, _ = read(Prometheus(), SAMPLES / "vllm.prom")
    (row,) = of(rows, InferenceSample)
    assert (row.engine, row.model, row.requests_running, row.kv_cache_used) == ("vllm", "m", 3, 0.5)
    assert (row.ttft_p50_s, row.ttft_p99_s) == (0.1, 0.5)


def test_quantiles_of_nothing_are_nothing() -> None:
    assert quantile({}, 0.5) is None
    assert quantile({0.1: 0.0, float("inf"): 0.0}, 0.5) is None


def test_a_large_file_is_read_in_windows_with_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "series.om"
    path.write_text(
        "".join(
            f'{name}{{gpu="{g}",UUID="GPU-{g}",Hostname="n"}} {i} {1772359200 + i}\n'
            for name in ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE")
            for g in range(3)
            for i in range(50)
        )
    )
    whole = {(r.gpu_uuid, r.ts): (r.temp_c, r.power_w) for r in of(read(Prometheus(), path)[0], GpuSample)}
    monkeypatch.setattr(prometheus, "WINDOW_BYTES", 4000)
    parts = of(read(Prometheus(), path)[0], GpuSample)
    assert {(r.gpu_uuid, r.ts): (r.temp_c, r.power_w) for r in parts} == whole
    assert len(parts) == len(whole) == 150


def test_smi_rows_with_units_and_missing_fields() -> None:
    rows, _ = read(NvidiaSmi(), SAMPLES / "smi.csv", node="gpu07")
    first, second = of(rows, GpuSample)
    assert (first.ts, first.node, first.gpu, first.gpu_uuid) == (
        datetime(2026, 3, 1, 11, 0, 0, 500000, tzinfo=UTC),
        "gpu07",
        0,
        "GPU-aaaa",
    )
    assert (first.engine_active, first.fb_used_bytes, first.power_w, first.throttle_reasons) == (
        0.97,
        71234 << 20,
        650.12,
        4,
    )
    assert (second.engine_active, second.power_w, second.activity_source, second.sm_clock_mhz) == (
        None,
        None,
        None,
        1980.0,
    )
    assert len(of(rows, GpuDevice)) == 1


def test_reasons_that_smi_gives_one_by_one(tmp_path: Path) -> None:
    """Where none holds, only those of a slow-down say that there was none."""
    for asked, reasons in (
        ({"hw_thermal_slowdown": "Active", "sw_power_cap": "Not Active"}, 0x40),
        ({"hw_slowdown": "Not Active", "sw_thermal_slowdown": "Not Active"}, 0),
        ({"sw_power_cap": "Not Active", "gpu_idle": "Not Active"}, None),
        ({"hw_slowdown": "[N/A]", "supported": "Active"}, None),
    ):
        path = tmp_path / "smi.csv"
        fields = ", ".join(f"clocks_event_reasons.{name}" for name in asked)
        path.write_text(
            f"index, temperature.gpu, power.draw [W], {fields}\n3, 61, 640.10 W, {', '.join(asked.values())}\n"
        )
        assert [s.throttle_reasons for s in of(read(NvidiaSmi(), path)[0], GpuSample)] == [reasons]


@pytest.mark.parametrize(
    ("labels", "node"),
    [
        ({"Hostname": "gpu07.example.org", "instance": "10.0.0.1:9400"}, "gpu07"),
        ({"instance": "gpu07:9400"}, "gpu07"),
        ({"instance": "10.0.0.1:9400"}, "10.0.0.1"),
        ({"instance": "[fe80::7]:9400"}, "[fe80::7]"),
        ({"instance": "fe80::7"}, "fe80::7"),
        ({"job": "dcgm"}, None),
    ],
)
def test_the_node_is_spelt_as_slurm_spells_it(labels: dict[str, str], node: str | None) -> None:
    assert node_of(labels, NodeNames()) == node


@pytest.mark.parametrize("label", ["node", "nodename", "kubernetes_node", "exported_instance"])
def test_the_name_of_an_exporter_s_pod_is_no_node_beside_a_label_that_names_one_of_the_jobs(label: str) -> None:
    labels = {"Hostname": "nvidia-dcgm-exporter-cwb7m", label: "gpu07.example.org", "instance": "10.42.3.9:9400"}
    assert node_of(labels, NodeNames({"gpu07", "gpu08"})) == "gpu07"
    assert node_of(labels, NodeNames({"gpu08"})) == "nvidia-dcgm-exporter-cwb7m", "nothing tells which of them is one"
    assert node_of({**labels, "Hostname": "gpu08"}, NodeNames({"gpu07", "gpu08"})) == "gpu08", (
        "its own word comes first"
    )


@pytest.mark.parametrize(
    ("label", "node"),
    [
        ("node_name", "gpu07"),
        ("kubernetes_io_hostname", "gpu07"),
        ("remote_host", "10.42.3.9"),  # the other end of something
        ("pod", "10.42.3.9"),
    ],
)
def test_any_label_of_a_host_that_names_a_node_of_the_jobs_tells_it(label: str, node: str) -> None:
    assert node_of({"instance": "10.42.3.9:9400", label: "gpu07"}, NodeNames({"gpu07", "gpu08"})) == node


@pytest.mark.parametrize("host", ["r4.gpu01", "r4.gpu01:9400", "r4.gpu01.cluster.local"])
def test_a_node_whose_own_name_has_dots_keeps_them(host: str) -> None:
    labels = {"instance": host}
    assert node_of(labels, NodeNames({"r4.gpu01", "r4.gpu02"})) == "r4.gpu01"
    assert node_of(labels, NodeNames({"r4"})) == node_of(labels, NodeNames()) == "r4"


def test_text_without_a_sample_fails(tmp_path: Path) -> None:
    path = tmp_path / "x.prom"
    path.write_text("# HELP nothing here\n")
    with pytest.raises(ImportFailed):
        read(Prometheus(), path)


def test_hostile_lines_take_no_time(tmp_path: Path) -> None:
    """No input makes the one regular expression try for long."""
    path = tmp_path / "x.prom"
    path.write_text(
        'm{a="'
        + "\\" * 200_000
        + "\n"
        + "m{"
        + 'a="b",' * 50_000
        + "\n"
        + "a " * 100_000
        + "\nnode_load1 1 1772359200000\n"
    )
    begun = time.monotonic()
    rows, _ = read(Prometheus(), path)
    assert len(of(rows, HostSample)) == 1
    assert time.monotonic() - begun < 5


def test_memory_of_jobs_and_containers_is_the_cgroups(tmp_path: Path) -> None:
    """cAdvisor by the cgroup's path, the exporters of jobs by their labels; no limit is no number, and a sandbox is none."""
    path = tmp_path / "gpu07.prom"
    scope = "/system.slice/slurmstepd.scope/job_4812/step_0"
    path.write_text(
        "# HELP container_memory_usage_bytes Current memory usage in bytes.\n# TYPE container_memory_usage_bytes gauge\n"
        f'container_memory_usage_bytes{{id="{scope}"}} 6.8e+10 1772359200000\n'
        f'container_memory_working_set_bytes{{id="{scope}"}} 6.1e+10 1772359200000\n'
        f'container_spec_memory_limit_bytes{{id="{scope}"}} 6.8719476736e+10 1772359200000\n'
        f'container_oom_events_total{{id="{scope}"}} 2 1772359200000\n'
        'container_memory_working_set_bytes{container="trainer",namespace="ml",pod="run-0"} 5e+09 1772359200000\n'
        'container_spec_memory_limit_bytes{container="trainer",namespace="ml",pod="run-0"} 0 1772359200000\n'
        'container_memory_working_set_bytes{container="POD",namespace="ml",pod="run-0"} 4096 1772359200000\n'
        'container_memory_working_set_bytes{id="/system.slice/sshd.service"} 4096 1772359200000\n'
        'slurm_job_memory_usage{account="lab",slurmjobid="4813",user="ann"} 1e+09 1772359200000\n'
        'slurm_job_memory_max{account="lab",slurmjobid="4813",user="ann"} 2e+09 1772359200000\n'
        'cgroup_memory_used_bytes{jobid="4814",step="batch",task=""} 3e+09 1772359200000\n'
        'cgroup_memory_total_bytes{jobid="4814",step="batch",task=""} 4e+09 1772359200000\n'
    )
    rows, _ = read(Prometheus(), path, node="gpu07")
    told = {(r.job_id, r.step_id, r.cgroup): r for r in of(rows, CgroupSample)}
    assert set(told) == {
        ("4812", "0", scope),
        ("4813", None, None),
        ("4814", "batch", None),
        (None, None, "ml/run-0/trainer"),
    }
    step = told["4812", "0", scope]
    assert (step.memory_current_bytes, step.memory_max_bytes, step.oom_kills) == (68_000_000_000, 64 << 30, 2)
    assert (step.node, step.ts) == ("gpu07", TEN)
    free = told[None, None, "ml/run-0/trainer"]
    assert (free.memory_current_bytes, free.memory_max_bytes) == (5_000_000_000, None)
    assert told["4813", None, None].memory_peak_bytes == 2_000_000_000
    assert told["4814", "batch", None].memory_max_bytes == 4_000_000_000


def test_remarks_that_the_format_does_not_know_are_no_reason_against_it(tmp_path: Path) -> None:
    page = '# scraped by hand\n# HELP up Whether it is up.\n# again\nDCGM_FI_DEV_GPU_TEMP{gpu="0"} 41\nDCGM_FI_DEV_GPU_TEMP{gpu="1"} 42\n'
    assert Prometheus().claims(tmp_path / "page.txt", page.encode()) == 93
    assert Prometheus().claims(tmp_path / "own.prom", b"backup_age_seconds 12\nbackup_size_bytes 4\n") == 93
    assert Prometheus().claims(tmp_path / "own.txt", b"backup_age_seconds 12\nbackup_size_bytes 4\n") == 0
    script = b"# one\n# two\n# three\nloss 2.5\n"
    assert Prometheus().claims(tmp_path / "job.log", script) == 0


GAUGES = (
    "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_XID_ERRORS",
    "DCGM_FI_DEV_ROW_REMAP_PENDING", "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL",
    "nvidia_smi_clocks_event_reasons_hw_thermal_slowdown", "nvidia_smi_clocks_event_reasons_sw_power_cap",
)  # fmt: skip
NOTHING = (math.nan, math.inf, 2_147_483_634.0, 1e19)
VALUE = st.one_of(st.sampled_from([0.0, 1.0, 79.0, *NOTHING]), st.floats(0, 1e6))
TIME = st.one_of(st.none(), st.integers(0, 5).map(lambda n: 1_772_359_200_000 + 15_000 * n))
SERIES = st.tuples(
    st.sampled_from(GAUGES),
    st.integers(0, 1),
    st.sampled_from([None, "4812", "4813"]),
    st.dictionaries(TIME, VALUE, min_size=1),
)


def _plainly(found: list[Any]) -> dict[tuple[int, str | None, int | None], dict[str, float]]:
    """What each GPU's row has to say, a sample at a time: by the rank of the metric, the sum of its parts, the bits that are set."""
    rows: dict[Any, dict[str, float]] = {}
    ranks: dict[Any, int] = {}
    masks: dict[Any, tuple[int, int]] = {}
    for name, gpu, job, values in found:
        metric = NAMES[name]
        for ts, value in values.items():
            place, column = (gpu, job, ts), metric.column
            if math.isnan(value) or value in NOTHING:
                continue
            if metric.bit:
                held, told = masks.get(place, (0, 0))
                masks[place] = held | (metric.bit if value else 0), told | metric.bit
            elif metric.add:
                rows.setdefault(place, {})[column] = rows.get(place, {}).get(column, 0.0) + value * metric.scale
            elif metric.rank <= ranks.get((place, column), 9):
                ranks[place, column] = metric.rank
                rows.setdefault(place, {})[column] = value * metric.scale
    for place, (held, told) in masks.items():
        if told & 0xE8:
            rows.setdefault(place, {})["throttle_reasons"] = held
    return rows


@given(st.lists(SERIES, max_size=8, unique_by=lambda s: s[:3]))
@settings(deadline=None)
def test_series_become_one_row_for_each_gpu_and_time(found: list[Any]) -> None:
    samples = Samples(ImportContext("metrics.json", UTC))
    for name, gpu, job, values in found:
        series = samples.series(name, {"Hostname": "n1", "gpu": str(gpu)} | ({"hpc_job": job} if job else {}))
        assert series is not None
        samples.extend(series, list(values.items()))
    rows = [r for r in samples.rows() if isinstance(r, GpuSample)]
    expected = _plainly(found)
    assert len(rows) == len(expected)
    for row in rows:
        ts = None if row.ts is None else round(row.ts.timestamp() * 1000)
        for column, value in expected[row.gpu or 0, row.job_id, ts].items():
            kind = bool if column in BOOLEAN else int if column in WHOLE else float
            assert getattr(row, column) == kind(value), column
        sources = [name for name, gpu, job, values in found if (gpu, job) == (row.gpu, row.job_id) and ts in values]
        assert (row.activity_source == "nvml") == (
            row.engine_active is not None and not any("PROF" in n and not _void(found, n, row, ts) for n in sources)
        )


def _void(found: list[Any], name: str, row: GpuSample, ts: int | None) -> bool:
    """Whether the sample of that metric at that time is none."""
    value = next(v[ts] for n, gpu, job, v in found if (n, gpu, job) == (name, row.gpu, row.job_id) and ts in v)
    return math.isnan(value) or value in NOTHING
