"""One GPU: each value by one call; a call that this GPU does not support is made once and named as missing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from collector.gpu.binding import UNSUPPORTED, nvml

MIB = 1 << 20
ECC_SBE, ECC_DBE, RETIRED_SBE, RETIRED_DBE = 3, 4, 29, 30
FLIT, DATA, REPLAY, RECOVERY, LINK_ECC = 38, 45, 52, 59, 160
VIOLATIONS = {75: "thermal", 77: "board limit"}
"""Counters of the time (ns) that clocks were held down. Power (74) and reliability (79, the voltage's limit) are left out: a
busy GPU works at them."""
MEMORY_TEMPERATURE, PCIE_REPLAYS, NVLINK_TX, NVLINK_RX, RECOVERY_ACTION = 82, 94, 138, 139, 230
ALL_LINKS = 0xFFFFFFFF
FAST_FIELDS: tuple[Any, ...] = (MEMORY_TEMPERATURE, *VIOLATIONS)
SLOW_FIELDS: tuple[Any, ...] = (
    ECC_SBE, ECC_DBE, RETIRED_SBE, RETIRED_DBE, FLIT, DATA, REPLAY, RECOVERY, LINK_ECC, PCIE_REPLAYS, RECOVERY_ACTION,
    (NVLINK_TX, ALL_LINKS), (NVLINK_RX, ALL_LINKS),
)  # fmt: skip
COLUMNS = {
    ECC_SBE: "ecc_sbe_total", ECC_DBE: "ecc_dbe_total", RETIRED_SBE: "retired_pages", REPLAY: "nvlink_errors",
    PCIE_REPLAYS: "pcie_replays", RECOVERY_ACTION: "health", MEMORY_TEMPERATURE: "memory_temp_c",
    NVLINK_TX: "nvlink_tx_bytes", NVLINK_RX: "nvlink_rx_bytes",
}  # fmt: skip
"""What is missing when a field is: the others belong to the same column."""


class Device:
    """A GPU. Raises nvml.NVMLError when it is lost or the driver went away."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.handle = nvml.nvmlDeviceGetHandleByIndex(index)
        self.uuid = str(nvml.nvmlDeviceGetUUID(self.handle))
        self.bus_id = str(nvml.nvmlDeviceGetPciInfo(self.handle).busId)
        self.missing: dict[str, str] = {}
        self.mig = self.mig_mode()
        self._fast: list[tuple[tuple[str, ...], Callable[[dict[str, Any]], None]]] = [
            (("fb_used_bytes", "fb_total_bytes"), self._memory),
            (("temp_c",), self._temperature),
            (("power_w",), self._power),
            (("sm_clock_mhz", "memory_clock_mhz"), self._clocks),
            (("throttle_reasons",), self._reasons),
            (("performance_state",), self._pstate),
        ]
        self._slow: list[tuple[tuple[str, ...], Callable[[dict[str, Any]], None]]] = [
            (("power_limit_w",), self._limit),
            (("remapped_correctable", "remapped_uncorrectable", "remap_pending", "remap_failure"), self._remaps),
            (("ecc_sbe_dram", "ecc_dbe_dram"), lambda to: self._errors(to, "dram", nvml.NVML_MEMORY_LOCATION_DRAM)),
            (("ecc_sbe_sram", "ecc_dbe_sram"), lambda to: self._errors(to, "sram", nvml.NVML_MEMORY_LOCATION_SRAM)),
        ]
        self._fields_fast, self._fields_slow = list(FAST_FIELDS), list(SLOW_FIELDS)

    def fast(self) -> tuple[dict[str, Any], dict[int, int]]:
        """Columns that change by the second, and the violation counters (ns)."""
        values: dict[str, Any] = {}
        self._call(self._fast, values)
        found = self._fields(self._fields_fast)
        temperature = found.pop(MEMORY_TEMPERATURE, 0)
        if temperature:
            values["memory_temp_c"] = float(temperature)
        return values, found

    def slow(self) -> tuple[dict[str, Any], dict[int, int]]:
        """Counters and limits, and the fields that they came from."""
        values: dict[str, Any] = {}
        self._call(self._slow, values)
        f = self._fields(self._fields_slow)
        for field, column in ((ECC_SBE, "ecc_sbe_total"), (ECC_DBE, "ecc_dbe_total"), (PCIE_REPLAYS, "pcie_replays")):
            if field in f:
                values[column] = f[field]
        values["retired_pages"] = _sum(f, (RETIRED_SBE, RETIRED_DBE))
        values["nvlink_errors"] = _sum(f, (FLIT, DATA, REPLAY, RECOVERY, LINK_ECC))
        for field, column in ((NVLINK_TX, "nvlink_tx_bytes"), (NVLINK_RX, "nvlink_rx_bytes")):
            if field in f:
                values[column] = f[field] * 1024
        values["health"] = _health(values, f)
        return values, f

    def pids(self) -> frozenset[int]:
        """Processes with a context."""
        found = nvml.nvmlDeviceGetComputeRunningProcesses(self.handle)
        return frozenset(int(p.pid) for p in found)

    def links(self) -> dict[int, bool]:
        """NVLinks that the GPU has: is each up."""
        states: dict[int, bool] = {}
        for link in range(nvml.NVML_NVLINK_MAX_LINKS):
            try:
                states[link] = bool(nvml.nvmlDeviceGetNvLinkState(self.handle, link))
            except nvml.NVMLError as error:
                if error.value in UNSUPPORTED or error.value == nvml.NVML_ERROR_INVALID_ARGUMENT:
                    break
                raise
        return states

    def about(self) -> dict[str, Any]:
        """What it is, for `gpu_device`."""
        values: dict[str, Any] = {"model": str(nvml.nvmlDeviceGetName(self.handle))}
        for column, call in (
            ("serial", lambda: str(nvml.nvmlDeviceGetSerial(self.handle))),
            ("fb_total_bytes", lambda: int(nvml.nvmlDeviceGetMemoryInfo(self.handle).total)),
            ("power_limit_w", lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(self.handle) / 1000),
            ("sm_clock_max_mhz", lambda: float(nvml.nvmlDeviceGetMaxClockInfo(self.handle, nvml.NVML_CLOCK_SM))),
        ):
            try:
                values[column] = call()
            except nvml.NVMLError as error:
                if error.value not in UNSUPPORTED:
                    raise
        return values

    def utilisation(self) -> dict[str, Any]:
        """Engine and memory-interface activity as `nvidia-smi` shows them: a spinning kernel counts as work."""
        try:
            rates = nvml.nvmlDeviceGetUtilizationRates(self.handle)
        except nvml.NVMLError as error:
            if error.value not in UNSUPPORTED:
                raise
            self.missing["engine_active"] = "not given while the GPU is divided (MIG)" if self.mig else _why(error)
            return {}
        return {"engine_active": rates.gpu / 100, "dram_active": rates.memory / 100, "activity_source": "nvml"}

    def mig_mode(self) -> bool:
        """Whether it may be divided into instances now; `mig` is what it was at first."""
        try:
            return nvml.nvmlDeviceGetMigMode(self.handle)[0] == 1
        except nvml.NVMLError as error:
            if error.value in UNSUPPORTED:
                return False
            raise

    def _call(self, calls: list[tuple[tuple[str, ...], Callable[[dict[str, Any]], None]]], to: dict[str, Any]) -> None:
        refused: list[Any] = []
        for entry in calls:
            try:
                entry[1](to)
            except nvml.NVMLError as error:
                if error.value not in UNSUPPORTED:
                    raise
                self.missing.update(dict.fromkeys(entry[0], _why(error)))
                refused.append(entry)
        for entry in refused:
            calls.remove(entry)

    def _fields(self, wanted: list[Any]) -> dict[int, int]:
        """Field values that there are; what is not supported is not asked for again."""
        if not wanted:
            return {}
        found: dict[int, int] = {}
        refused: list[Any] = []
        for want, value in zip(wanted, nvml.nvmlDeviceGetFieldValues(self.handle, wanted), strict=True):
            field = int(value.fieldId)
            if value.nvmlReturn == nvml.NVML_SUCCESS:
                kind = value.valueType
                found[field] = int(
                    value.value.uiVal if kind == nvml.NVML_VALUE_TYPE_UNSIGNED_INT else value.value.ullVal
                )
            elif value.nvmlReturn in UNSUPPORTED or value.nvmlReturn == nvml.NVML_ERROR_INVALID_ARGUMENT:
                refused.append(want)
                if field in COLUMNS:
                    self.missing[COLUMNS[field]] = "not supported by this GPU or driver"
        for want in refused:
            wanted.remove(want)
        return found

    def _memory(self, to: dict[str, Any]) -> None:
        memory = nvml.nvmlDeviceGetMemoryInfo(self.handle)
        to["fb_used_bytes"], to["fb_total_bytes"] = int(memory.used), int(memory.total)

    def _temperature(self, to: dict[str, Any]) -> None:
        try:
            to["temp_c"] = float(nvml.nvmlDeviceGetTemperatureV(self.handle, nvml.NVML_TEMPERATURE_GPU))
        except nvml.NVMLError as error:
            if error.value != nvml.NVML_ERROR_FUNCTION_NOT_FOUND:
                raise
            to["temp_c"] = float(nvml.nvmlDeviceGetTemperature(self.handle, nvml.NVML_TEMPERATURE_GPU))

    def _power(self, to: dict[str, Any]) -> None:
        to["power_w"] = nvml.nvmlDeviceGetPowerUsage(self.handle) / 1000

    def _limit(self, to: dict[str, Any]) -> None:
        to["power_limit_w"] = nvml.nvmlDeviceGetEnforcedPowerLimit(self.handle) / 1000

    def _clocks(self, to: dict[str, Any]) -> None:
        to["sm_clock_mhz"] = float(nvml.nvmlDeviceGetClockInfo(self.handle, nvml.NVML_CLOCK_SM))
        to["memory_clock_mhz"] = float(nvml.nvmlDeviceGetClockInfo(self.handle, nvml.NVML_CLOCK_MEM))

    def _reasons(self, to: dict[str, Any]) -> None:
        try:
            to["throttle_reasons"] = int(nvml.nvmlDeviceGetCurrentClocksEventReasons(self.handle))
        except nvml.NVMLError as error:
            if error.value != nvml.NVML_ERROR_FUNCTION_NOT_FOUND:
                raise
            to["throttle_reasons"] = int(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self.handle))

    def _pstate(self, to: dict[str, Any]) -> None:
        state = int(nvml.nvmlDeviceGetPerformanceState(self.handle))
        to["performance_state"] = state if state < 32 else None

    def _remaps(self, to: dict[str, Any]) -> None:
        cor, unc, pending, failure = nvml.nvmlDeviceGetRemappedRows(self.handle)
        to["remapped_correctable"], to["remapped_uncorrectable"] = cor, unc
        to["remap_pending"], to["remap_failure"] = bool(pending), bool(failure)

    def _errors(self, to: dict[str, Any], name: str, where: int) -> None:
        for kind, column in (
            (nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED, "sbe"),
            (nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, "dbe"),
        ):
            count = nvml.nvmlDeviceGetMemoryErrorCounter(self.handle, kind, nvml.NVML_VOLATILE_ECC, where)
            to[f"ecc_{column}_{name}"] = int(count)


class Gpm:
    """GPM counters of one device or MIG instance: shares of time between two samples. Hopper and newer."""

    METRICS = (1, 2, 5, 10, 20, 21)

    def __init__(self, handle: Any, instance: int | None = None) -> None:
        self._handle, self._instance = handle, instance
        self._samples = [nvml.nvmlGpmSampleAlloc(), nvml.nvmlGpmSampleAlloc()]
        self._filled = False
        get: Any = nvml.c_nvmlGpmMetricsGet_t()
        get.version, get.numMetrics = nvml.NVML_GPM_METRICS_GET_VERSION, len(self.METRICS)
        for at, metric in enumerate(self.METRICS):
            get.metrics[at].metricId = metric
        self._get, self._metrics = get, [get.metrics[at] for at in range(len(self.METRICS))]

    @staticmethod
    def supported(handle: Any) -> bool:
        """Does this GPU have them?"""
        try:
            return bool(nvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice)
        except nvml.NVMLError as error:
            if error.value in UNSUPPORTED:
                return False
            raise

    def look(self) -> dict[str, Any]:
        """Shares since the look before; nothing at the first."""
        first, second = self._samples
        if self._instance is None:
            nvml.nvmlGpmSampleGet(self._handle, second)
        else:
            nvml.nvmlGpmMigSampleGet(self._handle, self._instance, second)
        self._samples = [second, first]
        filled, self._filled = self._filled, True
        if not filled:
            return {}
        get = self._get
        get.sample1, get.sample2 = first, second
        nvml.nvmlGpmMetricsGet(get)
        found: dict[int, float] = {}
        for metric, told in zip(self.METRICS, self._metrics, strict=True):
            value = told.value
            if told.nvmlReturn == 0 and math.isfinite(value):
                found[metric] = value
        values: dict[str, Any] = {
            column: found[metric] / 100
            for metric, column in ((1, "engine_active"), (2, "sm_active"), (5, "tensor_active"), (10, "dram_active"))
            if metric in found
        }
        for metric, column in ((20, "pcie_tx_bytes_s"), (21, "pcie_rx_bytes_s")):
            if metric in found:
                values[column] = found[metric] * MIB
        if values:
            values["activity_source"] = "gpm"
        return values

    def close(self) -> None:
        """Free the samples."""
        for sample in self._samples:
            nvml.nvmlGpmSampleFree(sample)


def _sum(found: dict[int, int], fields: Sequence[int]) -> int | None:
    known = [found[f] for f in fields if f in found]
    return sum(known) if known else None


def _health(values: dict[str, Any], found: dict[int, int]) -> str | None:
    """NVML's own words only: a failed remap or an action that it asks for, a remap that waits for a reset."""
    action, failed, pending = found.get(RECOVERY_ACTION), values.get("remap_failure"), values.get("remap_pending")
    if action is None and failed is None:
        return None
    return "failure" if action or failed else "warning" if pending else "ok"


def _why(error: Any) -> str:
    return f"not supported by this GPU ({error})" if error.value == nvml.NVML_ERROR_NOT_SUPPORTED else str(error)
