"""MIG instances of a GPU. What the physical GPU has once (power, temperature, errors) is on its own row and never repeated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from collector.gpu.binding import UNSUPPORTED, nvml
from collector.gpu.device import Device, Gpm


@dataclass(slots=True)
class Instance:
    """One instance: `name` is `1g.10gb/7`, the profile and the GPU instance's number."""

    handle: Any
    uuid: str
    name: str
    gpm: Gpm | None

    def sample(self) -> dict[str, Any]:
        """Its memory and activity."""
        memory = nvml.nvmlDeviceGetMemoryInfo(self.handle)
        values: dict[str, Any] = {"fb_used_bytes": int(memory.used), "fb_total_bytes": int(memory.total)}
        if self.gpm is not None:
            values.update(self.gpm.look())
        return values

    def pids(self) -> frozenset[int]:
        """Processes with a context in it."""
        return frozenset(int(p.pid) for p in nvml.nvmlDeviceGetComputeRunningProcesses(self.handle))


def instances(device: Device) -> list[Instance]:
    """The instances that the GPU has now."""
    found: list[Instance] = []
    gpm = Gpm.supported(device.handle)
    for index in range(int(nvml.nvmlDeviceGetMaxMigDeviceCount(device.handle))):
        try:
            handle = nvml.nvmlDeviceGetMigDeviceHandleByIndex(device.handle, index)
        except nvml.NVMLError as error:
            if error.value == nvml.NVML_ERROR_NOT_FOUND or error.value in UNSUPPORTED:
                continue
            raise
        number = int(nvml.nvmlDeviceGetGpuInstanceId(handle))
        name = str(nvml.nvmlDeviceGetName(handle)).rpartition(" MIG ")[2]
        uuid = str(nvml.nvmlDeviceGetUUID(handle))
        found.append(Instance(handle, uuid, f"{name}/{number}", Gpm(device.handle, number) if gpm else None))
    return found


def mark(device: Device) -> tuple[str, ...]:
    """What changes when an administrator divides the GPU anew."""
    marks: list[str] = []
    for index in range(int(nvml.nvmlDeviceGetMaxMigDeviceCount(device.handle))):
        try:
            marks.append(str(nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetMigDeviceHandleByIndex(device.handle, index))))
        except nvml.NVMLError as error:
            if error.value != nvml.NVML_ERROR_NOT_FOUND and error.value not in UNSUPPORTED:
                raise
    return tuple(marks)
