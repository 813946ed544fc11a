"""Which metric of which exporter fills which column: dcgm-exporter, nvidia_gpu_exporter, telegraf, slurm-job-exporter,
nvidia_gpu_prometheus_exporter, AMD's device-metrics-exporter, omnistat, node_exporter, cAdvisor and the kubelet, cgroup_exporter, vLLM,
DLRover's xpu_timer.

A column may be named by several metrics; the one with the lower rank wins, those with the same name and `add` are summed
(over links, disks, interfaces). `shared` metrics describe the physical GPU and are repeated for each MIG instance.
A name that several programs use for different units counts only with the label that the known one of them gives (`needs`).
"""

from __future__ import annotations

from dataclasses import dataclass

from collector.formats import hang_gauges


@dataclass(frozen=True, slots=True)
class Metric:
    """Where a metric's value goes: `entity` is gpu, host, filesystem, link, cgroup, inference or rank; `scale` makes the column's unit.

    `bit` is the one of a bit mask that the metric stands for; `needs` is a label, and its value unless that is empty.
    """

    entity: str
    column: str
    scale: float = 1.0
    rank: int = 0
    add: bool = False
    shared: bool = True
    source: str = ""
    whole: bool = False
    bit: int = 0
    needs: tuple[str, str] = ("", "")


MIB = float(1 << 20)
FREE, RESERVED = "fb_free_bytes", "fb_reserved_bytes"
"""Parts of the framebuffer, of which dcgm-exporter gives no total by default."""
NAMES: dict[str, Metric] = {}


def _gpu(name: str, column: str, scale: float = 1.0, **more: object) -> None:
    NAMES[name] = Metric("gpu", column, scale, **more)  # type: ignore[arg-type]


for _name, _column, _scale, _more in (
    ("DCGM_FI_DEV_FB_USED", "fb_used_bytes", MIB, {"shared": False, "whole": True}),
    ("DCGM_FI_DEV_FB_TOTAL", "fb_total_bytes", MIB, {"shared": False, "whole": True}),
    ("DCGM_FI_DEV_FB_FREE", FREE, MIB, {"shared": False}),
    ("DCGM_FI_DEV_FB_RESERVED", RESERVED, MIB, {"shared": False}),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "engine_active", 1.0, {"shared": False, "source": "dcgm"}),
    ("DCGM_FI_DEV_GPU_UTIL", "engine_active", 0.01, {"rank": 1, "shared": False, "source": "nvml"}),
    ("DCGM_FI_PROF_SM_ACTIVE", "sm_active", 1.0, {"shared": False, "source": "dcgm"}),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "tensor_active", 1.0, {"shared": False}),
    ("DCGM_FI_PROF_DRAM_ACTIVE", "dram_active", 1.0, {"shared": False}),
    ("DCGM_FI_DEV_MEM_COPY_UTIL", "dram_active", 0.01, {"rank": 1, "shared": False}),
    ("DCGM_FI_DEV_GPU_TEMP", "temp_c", 1.0, {}),
    ("DCGM_FI_DEV_MEMORY_TEMP", "memory_temp_c", 1.0, {}),
    ("DCGM_FI_DEV_POWER_USAGE", "power_w", 1.0, {}),
    ("DCGM_FI_DEV_POWER_USAGE_INSTANT", "power_w", 1.0, {"rank": 1}),
    ("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "power_limit_w", 1.0, {}),
    ("DCGM_FI_DEV_POWER_MGMT_LIMIT", "power_limit_w", 1.0, {"rank": 1}),
    ("DCGM_FI_DEV_SM_CLOCK", "sm_clock_mhz", 1.0, {}),
    ("DCGM_FI_DEV_MEM_CLOCK", "memory_clock_mhz", 1.0, {}),
    ("DCGM_FI_DEV_PSTATE", "performance_state", 1.0, {"whole": True}),
    ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "throttle_reasons", 1.0, {"whole": True}),
    ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "throttle_reasons", 1.0, {"rank": 1, "whole": True}),
    ("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "ecc_sbe_total", 1.0, {"whole": True}),
    ("DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", "ecc_sbe_total", 1.0, {"rank": 1, "whole": True}),
    ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "ecc_dbe_total", 1.0, {"whole": True}),
    ("DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", "ecc_dbe_total", 1.0, {"rank": 1, "whole": True}),
    ("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "remapped_correctable", 1.0, {"whole": True}),
    ("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "remapped_uncorrectable", 1.0, {"whole": True}),
    ("DCGM_FI_DEV_ROW_REMAP_PENDING", "remap_pending", 1.0, {"whole": True}),
    ("DCGM_FI_DEV_ROW_REMAP_FAILURE", "remap_failure", 1.0, {"whole": True}),
    ("DCGM_FI_DEV_RETIRED_SBE", "retired_pages", 1.0, {"add": True, "whole": True}),
    ("DCGM_FI_DEV_RETIRED_DBE", "retired_pages", 1.0, {"add": True, "whole": True}),
    ("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "nvlink_errors", 1.0, {"add": True, "whole": True}),
    ("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", "nvlink_errors", 1.0, {"add": True, "whole": True}),
    ("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "nvlink_errors", 1.0, {"add": True, "whole": True}),
    ("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "nvlink_errors", 1.0, {"add": True, "whole": True}),
    ("DCGM_FI_PROF_PCIE_TX_BYTES", "pcie_tx_bytes_s", 1.0, {}),
    ("DCGM_FI_PROF_PCIE_RX_BYTES", "pcie_rx_bytes_s", 1.0, {}),
    ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "pcie_replays", 1.0, {"whole": True}),
    ("DCGM_FI_DEV_XID_ERRORS", "last_xid", 1.0, {"whole": True}),
    ("nvidia_smi_memory_used_bytes", "fb_used_bytes", 1.0, {"whole": True}),
    ("nvidia_smi_memory_total_bytes", "fb_total_bytes", 1.0, {"whole": True}),
    ("nvidia_smi_utilization_gpu_ratio", "engine_active", 1.0, {"source": "smi"}),
    ("nvidia_smi_utilization_memory_ratio", "dram_active", 1.0, {}),
    ("nvidia_smi_temperature_gpu", "temp_c", 1.0, {}),
    ("nvidia_smi_temperature_memory", "memory_temp_c", 1.0, {}),
    ("nvidia_smi_power_draw_watts", "power_w", 1.0, {}),
    ("nvidia_smi_enforced_power_limit_watts", "power_limit_w", 1.0, {}),
    ("nvidia_smi_clocks_current_sm_clock_hz", "sm_clock_mhz", 1e-6, {}),
    ("nvidia_smi_clocks_current_memory_clock_hz", "memory_clock_mhz", 1e-6, {}),
    ("nvidia_smi_pstate", "performance_state", 1.0, {"whole": True}),
    ("nvidia_smi_clocks_throttle_reasons_active", "throttle_reasons", 1.0, {"whole": True}),
    ("nvidia_smi_clocks_event_reasons_active", "throttle_reasons", 1.0, {"whole": True}),
    ("nvidia_smi_ecc_errors_corrected_volatile_total", "ecc_sbe_total", 1.0, {"whole": True}),
    ("nvidia_smi_ecc_errors_uncorrected_volatile_total", "ecc_dbe_total", 1.0, {"whole": True}),
    ("nvidia_smi_index", "gpu", 1.0, {"whole": True}),
):  # fmt: skip
    _gpu(_name, _column, _scale, **_more)

for _name, _bit in (
    ("gpu_idle", 0x01),
    ("applications_clocks_setting", 0x02),
    ("sw_power_cap", 0x04),
    ("hw_slowdown", 0x08),
    ("sync_boost", 0x10),
    ("sw_thermal_slowdown", 0x20),
    ("hw_thermal_slowdown", 0x40),
    ("hw_power_brake_slowdown", 0x80),
):
    for _word in ("throttle", "event"):
        _gpu(f"nvidia_smi_clocks_{_word}_reasons_{_name}", "throttle_bits", bit=_bit, whole=True)

# The same of DCGM 4.7 and newer, which counts in base units: hertz, bytes, ratios, seconds.
for _name, _column, _scale, _more in (
    ("DCGM_FI_DEV_FB_USED_BYTES", "fb_used_bytes", 1.0, {"shared": False, "whole": True}),
    ("DCGM_FI_DEV_FB_CAPACITY_BYTES", "fb_total_bytes", 1.0, {"shared": False, "whole": True}),
    ("DCGM_FI_DEV_FB_FREE_BYTES", FREE, 1.0, {"shared": False}),
    ("DCGM_FI_DEV_FB_RESERVED_BYTES", RESERVED, 1.0, {"shared": False}),
    ("DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", "engine_active", 1.0, {"shared": False, "source": "dcgm"}),
    ("DCGM_FI_DEV_GPU_UTIL_RATIO", "engine_active", 1.0, {"rank": 1, "shared": False, "source": "nvml"}),
    ("DCGM_FI_PROF_SM_UTIL_RATIO", "sm_active", 1.0, {"shared": False, "source": "dcgm"}),
    ("DCGM_FI_PROF_TENSOR_UTIL_RATIO", "tensor_active", 1.0, {"shared": False}),
    ("DCGM_FI_PROF_DRAM_UTIL_RATIO", "dram_active", 1.0, {"shared": False}),
    ("DCGM_FI_DEV_MEMORY_UTIL_RATIO", "dram_active", 1.0, {"rank": 1, "shared": False}),
    ("DCGM_FI_DEV_GPU_TEMP_CELSIUS", "temp_c", 1.0, {}),
    ("DCGM_FI_DEV_MEMORY_TEMP_CELSIUS", "memory_temp_c", 1.0, {}),
    ("DCGM_FI_DEV_BOARD_POWER_WATTS", "power_w", 1.0, {}),
    ("DCGM_FI_DEV_BOARD_POWER_RAW_WATTS", "power_w", 1.0, {"rank": 1}),
    ("DCGM_FI_DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS", "power_limit_w", 1.0, {}),
    ("DCGM_FI_DEV_BOARD_POWER_LIMIT_REQUESTED_WATTS", "power_limit_w", 1.0, {"rank": 1}),
    ("DCGM_FI_DEV_SM_CLOCK_HERTZ", "sm_clock_mhz", 1e-6, {}),
    ("DCGM_FI_DEV_MEMORY_CLOCK_HERTZ", "memory_clock_mhz", 1e-6, {}),
    ("DCGM_FI_DEV_GPU_PSTATE", "performance_state", 1.0, {"whole": True}),
    ("DCGM_FI_DEV_ROW_REMAP_CORRECTABLE_TOTAL", "remapped_correctable", 1.0, {"whole": True}),
    ("DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL", "remapped_uncorrectable", 1.0, {"whole": True}),
    ("DCGM_FI_DEV_ROW_REMAP_FAILED", "remap_failure", 1.0, {"whole": True}),
    ("DCGM_FI_DEV_PAGE_RETIRED_SBE_TOTAL", "retired_pages", 1.0, {"add": True, "whole": True}),
    ("DCGM_FI_DEV_PAGE_RETIRED_DBE_TOTAL", "retired_pages", 1.0, {"add": True, "whole": True}),
    ("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_TOTAL", "nvlink_errors", 1.0, {"add": True, "whole": True}),
    ("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_TOTAL", "nvlink_errors", 1.0, {"add": True, "whole": True}),
    ("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_TOTAL", "nvlink_errors", 1.0, {"add": True, "whole": True}),
    ("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_TOTAL", "nvlink_errors", 1.0, {"add": True, "whole": True}),
    ("DCGM_FI_DEV_PCIE_REPLAY_TOTAL", "pcie_replays", 1.0, {"whole": True}),
    ("DCGM_FI_DEV_XID_ERROR", "last_xid", 1.0, {"whole": True}),
):  # fmt: skip
    _gpu(_name, _column, _scale, **_more)
_gpu("DCGM_FI_DEV_GPU_THERMAL_THROTTLE_SECONDS_TOTAL", "held_down", 1e9, bit=0x20, whole=True)
_gpu("DCGM_FI_DEV_GPU_POWER_THROTTLE_SECONDS_TOTAL", "held_down", 1e9, bit=0x04, whole=True)

# What is counted: dcgm-exporter's own counts of clock events and of XIDs, and DCGM's running times (see slowdowns, xid_counts).
_gpu("DCGM_EXP_CLOCK_EVENTS_COUNT", "clock_events", needs=("clock_event", ""))
_gpu("DCGM_EXP_XID_ERRORS_COUNT", "xid_count")
_gpu("DCGM_EXP_XID_ERRORS_TOTAL", "xid_count", bit=1)
_gpu("DCGM_FI_DEV_THERMAL_VIOLATION", "held_down", bit=0x20, whole=True)
_gpu("DCGM_FI_DEV_POWER_VIOLATION", "held_down", bit=0x04, whole=True)

# Telegraf's input nvidia_smi: others give the same names in other units, and never the compute mode beside them.
for _name, _column, _scale, _more in (
    ("nvidia_smi_utilization_gpu", "engine_active", 0.01, {"source": "smi"}),
    ("nvidia_smi_utilization_memory", "dram_active", 0.01, {}),
    ("nvidia_smi_memory_used", "fb_used_bytes", MIB, {"whole": True}),
    ("nvidia_smi_memory_total", "fb_total_bytes", MIB, {"whole": True}),
    ("nvidia_smi_power_draw", "power_w", 1.0, {}),
    ("nvidia_smi_power_limit", "power_limit_w", 1.0, {}),
    ("nvidia_smi_clocks_current_sm", "sm_clock_mhz", 1.0, {}),
    ("nvidia_smi_clocks_current_memory", "memory_clock_mhz", 1.0, {}),
):  # fmt: skip
    _gpu(_name, _column, _scale, needs=("compute_mode", ""), **_more)

# slurm-job-exporter (each GPU while a job has it), then nvidia_gpu_prometheus_exporter (jobstats, too).
for _name, _column, _scale, _more in (
    ("slurm_job_utilization_gpu", "engine_active", 0.01, {"source": "nvml", "needs": ("slurmjobid", "")}),
    ("slurm_job_utilization_gpu_memory", "dram_active", 0.01, {"needs": ("slurmjobid", "")}),
    ("slurm_job_memory_usage_gpu", "fb_used_bytes", 1.0, {"whole": True, "needs": ("slurmjobid", "")}),
    ("slurm_job_power_gpu", "power_w", 1e-3, {"needs": ("slurmjobid", "")}),
    ("nvidia_gpu_duty_cycle", "engine_active", 0.01, {"source": "nvml", "needs": ("minor_number", "")}),
    ("nvidia_gpu_memory_used_bytes", "fb_used_bytes", 1.0, {"whole": True, "needs": ("minor_number", "")}),
    ("nvidia_gpu_memory_total_bytes", "fb_total_bytes", 1.0, {"whole": True, "needs": ("minor_number", "")}),
    ("nvidia_gpu_temperature_celsius", "temp_c", 1.0, {"needs": ("minor_number", "")}),
    ("nvidia_gpu_power_usage_milliwatts", "power_w", 1e-3, {"needs": ("minor_number", "")}),
    ("rocm_utilization_percentage", "engine_active", 0.01, {"source": "smi", "needs": ("card", "")}),
    ("rocm_average_socket_power_watts", "power_w", 1.0, {"needs": ("card", "")}),
    ("rocm_sclk_clock_mhz", "sm_clock_mhz", 1.0, {"needs": ("card", "")}),
    ("rocm_vram_total_bytes", "fb_total_bytes", 1.0, {"whole": True, "needs": ("card", "")}),
):  # fmt: skip
    _gpu(_name, _column, _scale, **_more)

# AMD's device-metrics-exporter, which many run with the prefix that its chart sets.
for _name, _column, _scale, _more in (
    ("gpu_gfx_activity", "engine_active", 0.01, {"source": "smi"}),
    ("gpu_umc_activity", "dram_active", 0.01, {}),
    ("gpu_used_vram", "fb_used_bytes", MIB, {"whole": True}),
    ("gpu_total_vram", "fb_total_bytes", MIB, {"whole": True}),
    ("gpu_junction_temperature", "temp_c", 1.0, {}),
    ("gpu_memory_temperature", "memory_temp_c", 1.0, {}),
    ("gpu_package_power", "power_w", 1.0, {}),
    ("gpu_average_package_power", "power_w", 1.0, {"rank": 1}),
    ("gpu_ecc_correct_total", "ecc_sbe_total", 1.0, {"whole": True}),
    ("gpu_ecc_uncorrect_total", "ecc_dbe_total", 1.0, {"whole": True}),
    ("gpu_clock", "sm_clock_mhz", 1.0, {"needs": ("clock_type", "GPU_CLOCK_TYPE_SYSTEM")}),
):  # fmt: skip
    for _prefix in ("", "amd_"):
        _gpu(_prefix + _name, _column, _scale, **{"needs": ("gpu_id", ""), **_more})

# OpenMetrics wants the suffix on every counter, and what writes it for others (OpenTelemetry's collector) adds it.
for _name, _metric in list(NAMES.items()):
    if _name.startswith("DCGM_FI_DEV_") and _metric.whole:
        NAMES[f"{_name}_total"] = _metric

for _name, _column, _more in (
    ("node_load1", "load1", {}),
    ("node_memory_MemTotal_bytes", "memory_total_bytes", {"whole": True}),
    ("node_memory_MemAvailable_bytes", "memory_available_bytes", {"whole": True}),
    ("node_memory_SwapTotal_bytes", "swap_total", {"whole": True}),
    ("node_memory_SwapFree_bytes", "swap_free", {"whole": True}),
    ("node_vmstat_oom_kill", "oom_kills", {"whole": True}),
    ("node_boot_time_seconds", "boot", {}),
    ("node_timex_offset_seconds", "clock_offset_s", {}),
    ("node_disk_read_bytes_total", "disk_read_bytes", {"add": True, "whole": True}),
    ("node_disk_written_bytes_total", "disk_written_bytes", {"add": True, "whole": True}),
    ("node_network_receive_bytes_total", "net_rx_bytes", {"add": True, "whole": True}),
    ("node_network_transmit_bytes_total", "net_tx_bytes", {"add": True, "whole": True}),
    ("node_cpu_seconds_total", "cpu", {"add": True}),
):  # fmt: skip
    NAMES[_name] = Metric("host", _column, **_more)  # type: ignore[arg-type]

for _name, _column in (
    ("node_filesystem_size_bytes", "disk_total_bytes"),
    ("node_filesystem_avail_bytes", "disk_free_bytes"),
):
    NAMES[_name] = Metric("filesystem", _column, whole=True)

for _name, _column, _scale in (
    ("node_infiniband_state_id", "state", 1.0),
    ("node_infiniband_rate_bytes_per_second", "rate_gbps", 8e-9),
    ("node_infiniband_port_data_transmitted_bytes_total", "tx_bytes", 1.0),
    ("node_infiniband_port_data_received_bytes_total", "rx_bytes", 1.0),
    ("node_infiniband_link_downed_total", "link_downed", 1.0),
    ("node_infiniband_link_error_recovery_total", "link_error_recovery", 1.0),
    ("node_infiniband_symbol_error_total", "symbol_errors", 1.0),
    ("node_infiniband_port_errors_received_total", "rcv_errors", 1.0),
    ("node_infiniband_port_discards_transmitted_total", "xmit_discards", 1.0),
    ("node_infiniband_port_transmit_wait_total", "xmit_wait", 1.0),
):
    NAMES[_name] = Metric("link", _column, _scale, whole=_column != "rate_gbps")

# cAdvisor and the kubelet tell of each container, slurm-job-exporter and cgroup_exporter (jobstats, too) of each job.
for _name, _column, _rank, _needs in (
    ("container_memory_usage_bytes", "memory_current_bytes", 0, ""),
    ("container_memory_working_set_bytes", "memory_current_bytes", 1, ""),
    ("container_memory_max_usage_bytes", "memory_peak_bytes", 0, ""),
    ("container_spec_memory_limit_bytes", "memory_max_bytes", 0, ""),
    ("container_oom_events_total", "oom_kills", 0, ""),
    ("container_cpu_usage_seconds_total", "cpu_usage_s", 0, ""),
    ("slurm_job_memory_usage", "memory_current_bytes", 0, "slurmjobid"),
    ("slurm_job_memory_max", "memory_peak_bytes", 0, "slurmjobid"),
    ("slurm_job_memory_limit", "memory_max_bytes", 0, "slurmjobid"),
    ("cgroup_memory_used_bytes", "memory_current_bytes", 0, ""),
    ("cgroup_memory_total_bytes", "memory_max_bytes", 0, ""),
    ("cgroup_cpu_total_seconds", "cpu_usage_s", 0, ""),
):
    NAMES[_name] = Metric("cgroup", _column, rank=_rank, whole=_column != "cpu_usage_s", needs=(_needs, ""))

for _name, _column, _rank, _whole in (
    ("vllm:num_requests_running", "requests_running", 0, True),
    ("vllm:num_requests_waiting", "requests_waiting", 0, True),
    ("vllm:kv_cache_usage_perc", "kv_cache_used", 0, False),
    ("vllm:gpu_cache_usage_perc", "kv_cache_used", 1, False),
    ("vllm:gpu_prefix_cache_hit_rate", "kv_cache_hit", 0, False),
    ("vllm:num_preemptions_total", "preemptions", 0, True),
    ("vllm:avg_generation_throughput_toks_per_s", "tokens_per_s", 0, False),
    ("vllm:prefix_cache_hits_total", "cache_hits", 0, False),
    ("vllm:prefix_cache_queries_total", "cache_queries", 0, False),
    ("vllm:time_to_first_token_seconds_bucket", "ttft", 0, False),
    ("vllm:time_per_output_token_seconds_bucket", "inter_token", 1, False),
    ("vllm:inter_token_latency_seconds_bucket", "inter_token", 0, False),
):
    NAMES[_name] = Metric("inference", _column, rank=_rank, whole=_whole)

BOOLEAN = frozenset({"remap_pending", "remap_failure"})
WHOLE = frozenset(m.column for m in NAMES.values() if m.whole)
"""Columns of yes or no, and of whole numbers."""
NAMES[hang_gauges.NAME] = Metric("rank", "stands_still")
