"""nvidia_smi_display: what nvidia-smi and dcgmi show to people is read value by value, and a job's log that shows it is none."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collector.importers import registry
from collector.importers.base import ImportContext, ImportFailed
from collector.importers.nvidia_smi_display import NvidiaSmiDisplay
from store.rows import GpuDevice, GpuSample

SAMPLES = Path(__file__).parent / "samples"
THEN = datetime(2026, 3, 3, 9, 15, 2, tzinfo=UTC)


def read(path: Path) -> tuple[list[GpuSample], list[GpuDevice], ImportContext]:
    ctx = ImportContext(path.name, UTC, size=path.stat().st_size, node="gpu07")
    rows: list[Any] = list(NvidiaSmiDisplay().rows(path, ctx))
    samples = [r for r in rows if isinstance(r, GpuSample)]
    return samples, [r for r in rows if isinstance(r, GpuDevice)], ctx


def written(tmp_path: Path, text: str, name: str = "gpus.txt") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def picked(path: Path) -> str | None:
    importer = registry.pick(path, path.read_bytes()[:65_536])
    return importer.name if importer else None


def test_the_table_is_a_sample_per_gpu() -> None:
    samples, devices, ctx = read(SAMPLES / "smi_table.txt")
    first, lost = samples
    assert (first.node, first.gpu, first.pci_bus_id, first.ts) == ("gpu07", 0, "00000000:1B:00.0", THEN)
    assert (first.temp_c, first.performance_state, first.power_w, first.power_limit_w) == (41.0, 0, 612.0, 700.0)
    assert (first.fb_used_bytes, first.fb_total_bytes) == (71234 << 20, 81559 << 20)
    assert (first.engine_active, first.activity_source, first.ecc_dbe_total) == (0.97, "smi", 0)
    assert (lost.temp_c, lost.power_w, lost.performance_state, lost.engine_active) == (None, None, None, None)
    assert (lost.ecc_dbe_total, lost.activity_source) == (2, None)
    assert ctx.problems == ["nvidia-smi shows ERR! for GPU 1 (00000000:43:00.0)"]
    assert [(d.model, d.driver_version) for d in devices] == [("NVIDIA H100 80GB HBM3", "570.86.15")] * 2


def test_the_query_in_words_is_read_below_its_headings() -> None:
    """Used is the framebuffer's and not BAR1's, the counts are those since the driver was loaded, the power is the GPU's."""
    samples, devices, _ = read(SAMPLES / "smi_q.txt")
    one, mig = samples
    assert (one.gpu, one.gpu_uuid, one.ts) == (0, "GPU-00000000-1111-2222-3333-444444444444", THEN)
    assert (one.fb_used_bytes, one.engine_active, one.dram_active) == (70123 << 20, 0.98, 0.45)
    assert (one.temp_c, one.memory_temp_c, one.power_w, one.power_limit_w) == (84.0, 91.0, 341.2, 400.0)
    assert (one.sm_clock_mhz, one.memory_clock_mhz, one.performance_state) == (1095.0, 1593.0, 0)
    assert (one.ecc_sbe_total, one.ecc_dbe_total, one.pcie_replays, one.retired_pages) == (5, 2, 3, None)
    assert (one.remapped_uncorrectable, one.remap_pending, one.remap_failure) == (1, True, False)
    assert one.throttle_reasons == 0x4 | 0x8 | 0x40
    assert (mig.gpu, mig.fb_used_bytes, mig.engine_active) == (1, 19 << 20, None)
    assert (devices[0].serial, devices[0].sm_clock_max_mhz) == ("1320000000001", 1410.0)


def test_the_query_as_xml_says_the_same(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<timestamp>Tue Mar  3 09:15:02 2026</timestamp>
	<driver_version>535.161.08</driver_version>
	<attached_gpus>1</attached_gpus>
	<gpu id="00000000:07:00.0">
		<product_name>NVIDIA A100-SXM4-80GB</product_name>
		<uuid>GPU-00000000-1111-2222-3333-444444444444</uuid>
		<performance_state>P0</performance_state>
		<clocks_event_reasons>
			<clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>
			<clocks_event_reason_hw_power_brake_slowdown>Active</clocks_event_reason_hw_power_brake_slowdown>
		</clocks_event_reasons>
		<fb_memory_usage>
			<total>81920 MiB</total>
			<used>70123 MiB</used>
		</fb_memory_usage>
		<utilization>
			<gpu_util>98 %</gpu_util>
		</utilization>
		<ecc_errors>
			<volatile>
				<sram_correctable>1</sram_correctable>
				<dram_uncorrectable>2</dram_uncorrectable>
			</volatile>
			<aggregate>
				<dram_uncorrectable>9</dram_uncorrectable>
			</aggregate>
		</ecc_errors>
		<remapped_rows>
			<remapped_row_unc>1</remapped_row_unc>
			<remapped_row_pending>No</remapped_row_pending>
			<remapped_row_failure>Yes</remapped_row_failure>
		</remapped_rows>
		<temperature>
			<gpu_temp>84 C</gpu_temp>
		</temperature>
		<gpu_power_readings>
			<power_draw>341.20 W</power_draw>
			<current_power_limit>400.00 W</current_power_limit>
		</gpu_power_readings>
		<clocks>
			<sm_clock>1095 MHz</sm_clock>
		</clocks>
	</gpu>
</nvidia_smi_log>
""",
        "gpus.xml",
    )
    assert picked(path) == "nvidia_smi_display"
    ((one,), _, _) = read(path)
    assert (one.gpu, one.gpu_uuid, one.ts) == (0, "GPU-00000000-1111-2222-3333-444444444444", THEN)
    assert (one.fb_used_bytes, one.engine_active, one.temp_c, one.power_w) == (70123 << 20, 0.98, 84.0, 341.2)
    assert (one.power_limit_w, one.sm_clock_mhz, one.throttle_reasons) == (400.0, 1095.0, 0x80)
    assert (one.ecc_sbe_total, one.ecc_dbe_total, one.remapped_uncorrectable) == (1, 2, 1)
    assert (one.remap_pending, one.remap_failure) == (False, True)


def test_rounds_of_dmon_have_times_only_where_they_are_printed(tmp_path: Path) -> None:
    timed = written(
        tmp_path,
        "#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk     fb  sbecc  dbecc\n"
        "#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %      %      %    MHz    MHz     MB   errs   errs\n"
        " 20260303   09:15:02      0    612     41     52     97     40      0      0   2619   1980  71234      7      0\n"
        " 20260303   09:15:02      1     71     30      -      0      0      0      0   2619    345      3      -      -\n",
    )
    (busy, idle), _, ctx = read(timed)
    assert (busy.ts, busy.gpu, busy.power_w, busy.engine_active) == (THEN, 0, 612.0, 0.97)
    assert (busy.fb_used_bytes, busy.ecc_sbe_total, busy.memory_temp_c) == (71234 << 20, 7, 52.0)
    assert (idle.gpu, idle.memory_temp_c, idle.ecc_sbe_total, ctx.notes) == (1, None, None, [])
    untimed = written(
        tmp_path,
        "$ nvidia-smi dmon -c 2\n"
        "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk\n"
        "# Idx      W      C      C      %      %      %      %    MHz    MHz\n"
        "    0    612     41     52     97     40      0      0   2619   1980\n"
        "    0    613     42     52     98     41      0      0   2619   1980\n"
        "    0     61\n",
    )
    assert picked(untimed) == "nvidia_smi_display"
    rows, _, ctx = read(untimed)
    assert [(r.ts, r.power_w) for r in rows] == [(None, 612.0), (None, 613.0)]
    assert ctx.notes == ["2 samples have no time: dmon prints it with -o DT only, dcgmi dmon never"]
    assert ctx.problems == ["a row of 2 cells below 10 names"]


def test_rounds_of_dcgmi(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "#Entity   GPUTL        SMACT        TENSO        DRAMA        POWER        TMPTR        FBUSD\n"
        "ID                                                            W            C\n"
        "GPU 3     97           0.812        0.400        0.350        612.250      41           71234\n"
        "GPU 4     N/A          N/A          N/A          N/A          70.100       30           3\n",
    )
    assert picked(path) == "nvidia_smi_display"
    (busy, idle), _, _ = read(path)
    assert (busy.gpu, busy.engine_active, busy.sm_active, busy.tensor_active) == (3, 0.97, 0.812, 0.4)
    assert (busy.dram_active, busy.power_w, busy.fb_used_bytes) == (0.35, 612.25, 71234 << 20)
    assert busy.activity_source == "dcgm"
    assert (idle.gpu, idle.sm_active, idle.power_w, idle.activity_source) == (4, None, 70.1, None)


def test_a_capture_of_several_calls_is_read_through(tmp_path: Path) -> None:
    """What a site's script collects: each call above its output, and help texts in between."""
    table = (SAMPLES / "smi_table.txt").read_text()
    words = (SAMPLES / "smi_q.txt").read_text()
    path = written(
        tmp_path,
        f"# $ nvidia-smi -h\nNVSMI provides monitoring information.\n\n# $ nvidia-smi\n{table}\n# $ nvidia-smi -q\n{words}\n"
        "# $ nvidia-smi --query-gpu=timestamp,index,utilization.gpu,memory.used --format=csv\n"
        "timestamp, index, utilization.gpu [%], memory.used [MiB]\n"
        "2026/03/03 09:15:03.000, 0, 97 %, 71235 MiB\n"
        "\n# $ nvidia-smi dmon -c 1\n# gpu    pwr  gtemp\n# Idx      W      C\n    0    611     40\n",
    )
    assert picked(path) == "nvidia_smi_display"
    samples, _, _ = read(path)
    used = [s.fb_used_bytes >> 20 if s.fb_used_bytes is not None else None for s in samples]
    assert used == [71234, 3, 70123, 19, 71235, None]
    assert samples[-1].power_w == 611.0


@pytest.mark.parametrize("after", ["Epoch 1/3 loss 2.5\n", "Traceback (most recent call last):\n", "Step : 1\n"])
def test_a_job_log_that_shows_the_table_is_a_job_log(tmp_path: Path, after: str) -> None:
    path = written(tmp_path, (SAMPLES / "smi_table.txt").read_text() + after * 3, "slurm-7.out")
    assert picked(path) == "job_log"


@pytest.mark.parametrize(
    "after",
    [
        "docker: Error response from daemon: No such image: sim:9\nsrun: error: gpu07: task 0: Exited with exit code 125\n",
        "/var/spool/slurmd/job7/slurm_script: line 9: torchrun: command not found\n",
    ],
)
def test_a_job_that_failed_right_after_the_table_left_a_job_log(tmp_path: Path, after: str) -> None:
    table = (SAMPLES / "smi_table.txt").read_text()
    assert picked(written(tmp_path, table + after, "slurm-7.out")) == "job_log"
    assert picked(written(tmp_path, table + "done\n", "gpus.out")) == "nvidia_smi_display"


def test_processes_alone_are_named_as_not_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "# gpu         pid   type     sm    mem    command\n# Idx           #    C/G      %      %    name\n"
        "    0      41207     C     97     40    python\n",
    )
    with pytest.raises(ImportFailed, match="pmon"):
        read(path)
