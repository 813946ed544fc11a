"""Clock event reasons: every table of their bits holds NVML's own numbers, and a question names them in words."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pynvml
import pytest

from collector.formats.metric_names import NAMES
from collector.formats.slowdowns import EVENTS
from collector.formats.smi_display import BITS
from collector.gpu import changes
from store import Reader, Writer, rollup
from store.catalog import catalog
from store.rows import GpuSample

T = datetime(2026, 3, 1, 10, tzinfo=UTC)

# `nvmlClocksThrottleReason*` are the same constants by the name that they had before driver 535.
REASONS = {
    name: (
        getattr(pynvml, f"nvmlClocksEventReason{name}"),
        getattr(pynvml, f"nvmlClocksThrottleReason{name}"),
    )
    for name in (
        "GpuIdle", "ApplicationsClocksSetting", "SwPowerCap", "HwSlowdown", "SyncBoost", "SwThermalSlowdown",
        "HwThermalSlowdown", "HwPowerBrakeSlowdown", "DisplayClockSetting",
    )
}  # fmt: skip
BIT = {name: old for name, (old, new) in REASONS.items() if old == new}
SEVERE = ("HwSlowdown", "SwThermalSlowdown", "HwThermalSlowdown", "HwPowerBrakeSlowdown")
WORDS = {
    "hardware slowdown": "HwSlowdown", "software thermal slowdown": "SwThermalSlowdown",
    "hardware thermal slowdown": "HwThermalSlowdown", "hardware power brake slowdown": "HwPowerBrakeSlowdown",
}  # fmt: skip


def test_nvml_gives_one_number_to_a_reason_by_both_of_its_names() -> None:
    assert BIT.keys() == REASONS.keys()


def test_the_severe_bits_are_nvmls_slowdowns_for_heat_and_power_and_not_the_caps() -> None:
    severe = sum(BIT[name] for name in SEVERE)
    assert rollup.SEVERE == changes.SEVERE == severe
    assert not severe & (BIT["SwPowerCap"] | BIT["GpuIdle"] | BIT["ApplicationsClocksSetting"] | BIT["SyncBoost"])


def _plain(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


@pytest.mark.parametrize("name", sorted(REASONS))
def test_nvidia_smis_words_stand_for_nvmls_bits(name: str) -> None:
    assert BITS[{"GpuIdle": "idle"}.get(name, _plain(name))] == BIT[name]


@pytest.mark.parametrize("name", sorted(set(REASONS) - {"DisplayClockSetting"}))
def test_an_exporters_metric_of_one_reason_stands_for_nvmls_bit(name: str) -> None:
    for word in ("throttle", "event"):
        assert NAMES[f"nvidia_smi_clocks_{word}_reasons_{_plain(name)}"].bit == BIT[name]


def test_dcgm_exporters_counted_events_stand_for_nvmls_bits() -> None:
    named = {
        "gpu_idle": "GpuIdle", "clocks_setting": "ApplicationsClocksSetting", "power_cap": "SwPowerCap",
        "hw_slowdown": "HwSlowdown", "sync_boost": "SyncBoost", "sw_thermal": "SwThermalSlowdown",
        "hw_thermal": "HwThermalSlowdown", "hw_power_brake": "HwPowerBrakeSlowdown", "display_clocks": "DisplayClockSetting",
    }  # fmt: skip
    assert {event: BIT[name] for event, name in named.items()} == EVENTS


def test_the_question_knows_each_severe_bit_by_its_word_and_no_other_one() -> None:
    told = re.findall(r"\((\d+), '([a-z ]+)', '[a-z ]+', \d\)", catalog()["gpu_throttle_reasons"].sql)
    assert {word: int(bit) for bit, word in told} == {word: BIT[name] for word, name in WORDS.items()}


def _ask(folder: Path, gpu: int | None = 1, uuid: str | None = None, **fields: object) -> list[dict[str, object]]:
    rows = [
        GpuSample(node="n1", gpu=g, ts=T + timedelta(minutes=m, seconds=30), **{k: v(g, m) for k, v in fields.items()})  # pyright: ignore
        for g in range(4)
        for m in range(60)
    ]
    Writer(folder).append(rows, batch="a")
    with Reader(folder) as reader:
        return reader.ask(
            "gpu_throttle_reasons", job_id="7", nodes="n1", of_node="n1", of_gpu=gpu, of_uuid=uuid
        ).dicts()


def test_each_reason_has_its_minutes_and_its_times(tmp_path: Path) -> None:
    both = BIT["HwThermalSlowdown"] | BIT["HwSlowdown"]
    found = _ask(
        tmp_path, throttle_reasons=lambda g, m: both if g == 1 and 20 <= m < 40 else 8 if g == 2 and m == 3 else 4
    )
    assert [(r["reason"], r["cause"], r["minutes"], r["watched_minutes"], r["gpus_with"]) for r in found] == [
        ("hardware thermal slowdown", "heat", 20, 60, 1),
        ("hardware slowdown", "heat or power", 20, 60, 1),
    ]
    assert {(r["first_ts"], r["last_ts"]) for r in found} == {("2026-03-01T10:20:00Z", "2026-03-01T10:39:30Z")}


def test_a_gpu_is_found_by_its_uuid_where_it_has_one(tmp_path: Path) -> None:
    found = _ask(tmp_path, None, "GPU-3", throttle_reasons=lambda g, m: 0x80, gpu_uuid=lambda g, m: f"GPU-{g}")
    assert [(r["reason"], r["cause"], r["gpus_with"]) for r in found] == [("hardware power brake slowdown", "power", 4)]


def test_the_power_cap_and_an_idle_card_give_no_reason(tmp_path: Path) -> None:
    assert _ask(tmp_path, throttle_reasons=lambda g, m: BIT["SwPowerCap"] if m % 2 else BIT["GpuIdle"]) == []
