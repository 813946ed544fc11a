"""prometheus: what exporters other than dcgm-exporter call the same things, and XIDs that only a metric tells of."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collector.importers import prometheus
from collector.importers.base import ImportContext
from collector.importers.prometheus import Prometheus
from collector.importers.prometheus_json import PrometheusJson
from store.rows import GpuDevice, GpuEvent, GpuSample

AT = 1772359200
TEN = datetime(2026, 3, 1, 10, tzinfo=UTC)


def read(path: Path, text: str) -> list[Any]:
    path.write_text(text)
    importer = PrometheusJson() if path.suffix == ".json" else Prometheus()
    return list(importer.rows(path, ImportContext(path.name, UTC, size=path.stat().st_size)))


def sample(rows: list[Any]) -> GpuSample:
    (one,) = [r for r in rows if isinstance(r, GpuSample)]
    return one


def test_telegraf_s_percent_and_mib(tmp_path: Path) -> None:
    labels = 'arch="Hopper",compute_mode="Default",host="n1",index="3",name="NVIDIA H100",pstate="P0",uuid="GPU-a"'
    text = "".join(
        f"{name}{{{labels}}} {value} {AT}000\n"
        for name, value in (
            ("nvidia_smi_utilization_gpu", 97),
            ("nvidia_smi_memory_used", 100),
            ("nvidia_smi_power_draw", 650.5),
            ("nvidia_smi_clocks_current_sm", 1980),
        )
    )
    rows = read(tmp_path / "t.prom", text)
    got = sample(rows)
    assert (got.node, got.gpu, got.gpu_uuid, got.ts) == ("n1", 3, "GPU-a", TEN)
    assert (got.engine_active, got.fb_used_bytes, got.power_w, got.sm_clock_mhz) == (0.97, 100 << 20, 650.5, 1980.0)
    assert [d.model for d in rows if isinstance(d, GpuDevice)] == ["NVIDIA H100"]


def test_the_same_name_of_a_script_whose_unit_nobody_knows_is_left_out(tmp_path: Path) -> None:
    text = f'nvidia_smi_utilization_gpu{{gpu="0"}} 0.97 {AT}000\nnode_load1{{instance="n1:9100"}} 2 {AT}000\n'
    assert not [r for r in read(tmp_path / "t.prom", text) if isinstance(r, GpuSample)]


def test_slurm_job_exporter_and_the_nvml_exporter(tmp_path: Path) -> None:
    job = 'account="a",gpu="1",gpu_type="A100",slurmjobid="4812",user="u",instance="n1:9798"'
    got = sample(
        read(
            tmp_path / "s.prom",
            f"slurm_job_utilization_gpu{{{job}}} 42 {AT}000\nslurm_job_power_gpu{{{job}}} 250000 {AT}000\n",
        )
    )
    assert (got.node, got.job_id, got.gpu, got.engine_active, got.power_w) == ("n1", "4812", 1, 0.42, 250.0)
    card = 'minor_number="2",name="Tesla V100",uuid="GPU-b",instance="n2:9445"'
    got = sample(
        read(
            tmp_path / "n.prom",
            f"nvidia_gpu_duty_cycle{{{card}}} 90 {AT}000\nnvidia_gpu_memory_used_bytes{{{card}}} 1024 {AT}000\n",
        )
    )
    assert (got.node, got.gpu, got.gpu_uuid, got.engine_active, got.fb_used_bytes) == ("n2", 2, "GPU-b", 0.9, 1024)


@pytest.mark.parametrize("prefix", ["", "amd_"])
def test_amd_s_exporter_with_and_without_its_prefix(tmp_path: Path, prefix: str) -> None:
    card = 'gpu_id="5",gpu_uuid="u-5",hostname="n3",card_series="MI300X",job_id="77",job_user="u"'
    text = (
        f"{prefix}gpu_gfx_activity{{{card}}} 88 {AT}000\n{prefix}gpu_used_vram{{{card}}} 10 {AT}000\n"
        f'{prefix}gpu_clock{{{card},clock_type="GPU_CLOCK_TYPE_SYSTEM"}} 2100 {AT}000\n'
        f'{prefix}gpu_clock{{{card},clock_type="GPU_CLOCK_TYPE_VIDEO"}} 29 {AT}000\n'
    )
    got = sample(read(tmp_path / "a.prom", text))
    assert (got.node, got.gpu, got.job_id, got.engine_active) == ("n3", 5, "77", 0.88)
    assert (got.fb_used_bytes, got.sm_clock_mhz) == (10 << 20, 2100.0)


def test_single_throttle_reasons_make_one_mask_and_harmless_ones_alone_make_none(tmp_path: Path) -> None:
    def told(*reasons: tuple[str, int]) -> str:
        return "".join(
            f'nvidia_smi_clocks_event_reasons_{name}{{uuid="a-b",instance="n1:9835"}} {on} {AT}000\n'
            for name, on in reasons
        )

    both = told(("gpu_idle", 0), ("sw_power_cap", 1), ("hw_slowdown", 1), ("hw_thermal_slowdown", 1))
    assert sample(read(tmp_path / "a.prom", both + both)).throttle_reasons == 0x4C, "told twice is told once"
    assert sample(read(tmp_path / "b.prom", told(("hw_slowdown", 0)))).throttle_reasons == 0
    assert not [r for r in read(tmp_path / "c.prom", told(("sw_power_cap", 1))) if isinstance(r, GpuSample)]


def test_a_counter_with_the_suffix_that_openmetrics_wants(tmp_path: Path) -> None:
    text = f'DCGM_FI_DEV_ECC_DBE_VOL_TOTAL_total{{gpu="0",Hostname="n1"}} 2 {AT}.0\n# EOF\n'
    assert sample(read(tmp_path / "m.om", text)).ecc_dbe_total == 2


def xids(*values: int) -> str:
    return "".join(
        f'DCGM_FI_DEV_XID_ERRORS{{gpu="0",UUID="GPU-a",pci_bus_id="00000000:1B:00.0",Hostname="n1"}} {v} {AT + 30 * i}000\n'
        for i, v in enumerate(values)
    )


def test_the_last_xid_is_an_event_where_it_changes_and_never_where_it_stands(tmp_path: Path) -> None:
    events = [r for r in read(tmp_path / "x.prom", xids(0, 0, 79, 79)) if isinstance(r, GpuEvent)]
    assert [(e.node, e.gpu_uuid, e.xid, e.event, (e.ts or TEN).second) for e in events] == [
        ("n1", "GPU-a", 79, "xid", 0)
    ]
    assert events[0].ts == datetime(2026, 3, 1, 10, 1, tzinfo=UTC)
    for standing in ((48, 48, 48), (48, 48, 0)):
        assert not [r for r in read(tmp_path / "x.prom", xids(*standing)) if isinstance(r, GpuEvent)]


def test_the_change_is_seen_between_two_windows_of_a_large_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prometheus, "WINDOW_BYTES", 200)
    events = [r for r in read(tmp_path / "x.prom", xids(0, 0, 0, 48, 48, 48)) if isinstance(r, GpuEvent)]
    assert [e.xid for e in events] == [48]


def test_a_range_query_tells_of_it_too(tmp_path: Path) -> None:
    series = {
        "metric": {"__name__": "DCGM_FI_DEV_XID_ERRORS", "gpu": "4", "UUID": "GPU-d", "Hostname": "n1"},
        "values": [[AT, "13"], [AT + 30, "94"]],
    }
    text = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [series]}})
    assert [r.xid for r in read(tmp_path / "x.json", text) if isinstance(r, GpuEvent)] == [94]


def counted(name: str, at: int, xid: str, value: int) -> str:
    code = f',xid="{xid}"' if xid else ""
    return f'{name}{{gpu="2",UUID="GPU-c",Hostname="n1",window_size_in_ms="300000"{code}}} {value} {AT + 30 * at}000\n'


def told(rows: list[Any]) -> list[tuple[int | None, int]]:
    return [(r.xid, int(r.ts.timestamp() - AT) // 30) for r in rows if isinstance(r, GpuEvent) and r.ts is not None]


def test_xids_that_an_exporter_counts_in_a_window_are_events_where_the_count_rises(tmp_path: Path) -> None:
    """A count stands for five minutes and goes; one that comes again is another XID. xid_counts carries it over windows."""
    name = "DCGM_EXP_XID_ERRORS_COUNT"
    before = "".join(counted(name, i, "", 0) for i in range(3))
    once = "".join(counted(name, i, "79", 1) for i in range(3, 6))
    twice = "".join(counted(name, i, "79", 2) for i in range(6, 8)) + counted(name, 8, "", 0)
    again = counted(name, 9, "79", 1)
    assert told(read(tmp_path / "c.prom", before + once + twice + again)) == [(79, 3), (79, 6), (79, 9)]
    assert not told(read(tmp_path / "c.prom", once)), "when it rose is not known"
    event = next(r for r in read(tmp_path / "c.prom", before + once) if isinstance(r, GpuEvent))
    assert (event.node, event.gpu, event.gpu_uuid, event.event) == ("n1", 2, "GPU-c", "xid")


def test_a_total_of_xids_begins_with_the_first_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gauge = "".join(
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="2",UUID="GPU-c",Hostname="n1"}} 60 {AT + 30 * i}000\n' for i in range(9)
    )
    total = "".join(counted("DCGM_EXP_XID_ERRORS_TOTAL", i, "48", 1 + (i > 5)) for i in range(4, 9))
    assert told(read(tmp_path / "t.prom", gauge + total)) == [(48, 4), (48, 6)]
    window = "".join(counted("DCGM_EXP_XID_ERRORS_COUNT", i, "48", 1 + (i > 5)) for i in range(4, 9))
    assert told(read(tmp_path / "t.prom", gauge + total + window)) == [(48, 4), (48, 6)], "counted both ways it is one"
    monkeypatch.setattr(prometheus, "WINDOW_BYTES", 200)
    assert told(read(tmp_path / "t.prom", gauge + total)) == [(48, 4), (48, 6)]


def test_what_the_last_xid_tells_of_is_not_told_again_by_its_count(tmp_path: Path) -> None:
    name = "DCGM_EXP_XID_ERRORS_COUNT"
    text = counted(name, 0, "", 0) + counted(name, 1, "31", 1) + counted(name, 2, "31", 1) + counted(name, 2, "43", 1)
    last = "".join(
        f'DCGM_FI_DEV_XID_ERRORS{{gpu="2",UUID="GPU-c",Hostname="n1"}} {v} {AT + 30 * i}000\n'
        for i, v in enumerate((0, 31, 31))
    )
    assert sorted(told(read(tmp_path / "l.prom", text + last))) == [(31, 1), (43, 2)]


def reasons(rows: list[Any]) -> list[int | None]:
    return [r.throttle_reasons for r in rows if isinstance(r, GpuSample)]


GPU = 'gpu="0",UUID="GPU-a",Hostname="n1"'


def test_the_names_and_base_units_of_dcgm_since_4_7(tmp_path: Path) -> None:
    told = f'{GPU},modelName="NVIDIA B200",DCGM_FI_SYSTEM_DRIVER_VERSION="590.11"'
    text = "".join(
        f"{name}{{{told}}} {value} {AT}000\n"
        for name, value in (
            ("DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", 0.97),
            ("DCGM_FI_DEV_GPU_UTIL_RATIO", 1.0),
            ("DCGM_FI_PROF_SM_UTIL_RATIO", 0.71),
            ("DCGM_FI_DEV_FB_USED_BYTES", 3 << 30),
            ("DCGM_FI_DEV_FB_CAPACITY_BYTES", 180 << 30),
            ("DCGM_FI_DEV_SM_CLOCK_HERTZ", 1_905_000_000),
            ("DCGM_FI_DEV_BOARD_POWER_WATTS", 912.5),
            ("DCGM_FI_DEV_GPU_TEMP_CELSIUS", 61),
            ("DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL", 2),
            ("DCGM_FI_DEV_XID_ERROR", 0),
        )
    )
    rows = read(tmp_path / "new.prom", text)
    got = sample(rows)
    assert (got.engine_active, got.activity_source, got.sm_active) == (0.97, "dcgm", 0.71)
    assert (got.fb_used_bytes, got.fb_total_bytes, got.sm_clock_mhz) == (3 << 30, 180 << 30, 1905.0)
    assert (got.power_w, got.temp_c, got.remapped_uncorrectable, got.last_xid) == (912.5, 61.0, 2, 0)
    assert [d.driver_version for d in rows if isinstance(d, GpuDevice)] == ["590.11"]


def test_clock_events_that_are_counted_over_a_window_hold_while_they_fill_half_of_it(tmp_path: Path) -> None:
    """dcgm-exporter's own count stands for five minutes after one event."""

    def text(went_on: range) -> str:
        lines: list[str] = []
        for i in range(60):
            hot = sum(1 for k in range(max(0, i - 9), i + 1) if k in went_on)
            idle = min(i + 1, 10) if i < 12 else max(0, 21 - i)
            for event, count in (("hw_thermal", hot), ("gpu_idle", idle), ("power_cap", 0)):
                labels = f'{GPU},clock_event="{event}",window_size_in_ms="300000"'
                lines.append(f"DCGM_EXP_CLOCK_EVENTS_COUNT{{{labels}}} {count} {AT + 30 * i}000\n")
        return "".join(lines)

    held = [bool((r or 0) & 0x40) for r in reasons(read(tmp_path / "long.prom", text(range(20, 50))))]
    assert (held[:20], held[24:50], held[58:]) == ([False] * 20, [True] * 26, [False] * 2)
    assert not any((r or 0) & 0x40 for r in reasons(read(tmp_path / "short.prom", text(range(30, 32)))))


@pytest.mark.parametrize(
    ("thermal", "power", "unit"),
    [
        ("DCGM_FI_DEV_THERMAL_VIOLATION", "DCGM_FI_DEV_POWER_VIOLATION", 1e9),
        ("DCGM_FI_DEV_THERMAL_VIOLATION", "DCGM_FI_DEV_POWER_VIOLATION", 1e6),
        ("DCGM_FI_DEV_GPU_THERMAL_THROTTLE_SECONDS_TOTAL", "DCGM_FI_DEV_GPU_POWER_THROTTLE_SECONDS_TOTAL", 1.0),
    ],
)
def test_time_for_which_clocks_were_held_down_is_read_in_any_unit(
    tmp_path: Path, thermal: str, power: str, unit: float
) -> None:
    """Releases before DCGM 3 count microseconds, those since 4.7 seconds; a counter that begins anew says nothing."""
    value, lines = 5e10, []
    for i in range(20):
        value = 0.0 if i == 15 else value + 30 * unit * (0.95 if 5 <= i < 12 else 0.01)
        lines.append(f"{thermal}{{{GPU}}} {int(value)} {AT + 30 * i}000\n")
        lines.append(f"{power}{{{GPU}}} {int(9 * unit * i)} {AT + 30 * i}000\n")
    rows = [r for r in read(tmp_path / "v.prom", "".join(lines)) if isinstance(r, GpuSample) and r.ts is not None]
    found = {int(r.ts.timestamp() - AT) // 30: r.throttle_reasons for r in rows if r.ts is not None}
    assert [found[i] for i in range(5, 12)] == [0x20] * 7
    assert {found[i] for i in (1, 2, 3, 4, 12, 13, 14, 16)} == {0}
    assert 0 not in found and 15 not in found


def test_a_power_cap_alone_says_nothing_of_trouble(tmp_path: Path) -> None:
    text = "".join(f"DCGM_FI_DEV_POWER_VIOLATION{{{GPU}}} {i * 29 * 10**9} {AT + 30 * i}000\n" for i in range(20))
    assert not reasons(read(tmp_path / "p.prom", text))
