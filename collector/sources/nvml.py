"""NVIDIA GPUs through the driver's own library (NVML).

SOURCE  libnvidia-ml.so.1 by pynvml: device queries, GPM samples (Hopper and newer), field values, the event set; after an
        alarm the samples that the driver keeps (collector.gpu.finer).
ROWS    gpu_device at the start and hourly; gpu_sample each second; gpu_detail after an alarm; gpu_event (xid, throttle,
        row_remap, fallen_off_bus, driver_reload); link_sample and link_event of NVLink.
OVERHEAD  8 GPUs: see bench/collect_bench.py. Counters and links are asked for every fifteen seconds.
CAVEAT  counters in a sample are up to fifteen seconds old. SM activity comes from GPM; where there is none a row holds the
        driver's utilisation instead (`activity_source` says which), in which a spinning kernel counts as work.

    gpu_sample gpu=3 engine_active=0.96 sm_active=0.71 activity_source=gpm power_w=640 temp_c=55 throttle_reasons=0
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from collector.gpu.binding import DRIVER, LOST, UNSUPPORTED, nvml
from collector.gpu.device import Device
from collector.gpu.finer import LEAST
from collector.gpu.followed import Gpu
from collector.node.clock import StepWatch
from collector.node.here import Here
from collector.node.tiers import BEFORE_S
from collector.sources.base import SourceUnavailable
from store.rows import GpuEvent, Row

LOST_S, AGAIN_S = 30.0, 5.0
"""When a GPU that was lost is looked for again, and one whose answer was an error."""
FINER_S = 2.0
"""After so long into a round no further GPU is asked for finer samples: the next round does that."""
HOLD_S = 2.0
"""An XID waits so long for the kernel's log to tell of it too."""
_WHOLE = 0xFFFFFFFF
_REMEDIES: dict[int, str] = {
    nvml.NVML_ERROR_DRIVER_NOT_LOADED: "modprobe nvidia",
    nvml.NVML_ERROR_NO_PERMISSION: "run the collector as root, or in a container give it /dev/nvidia*",
    nvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "the driver was replaced: restart the collector",
}


class Nvml:
    """All GPUs of the node."""

    name: ClassVar[str] = "nvml"
    covers: ClassVar[tuple[str, ...]] = ("gpu_sample", "gpu_device", "gpu_event", "link_sample", "link_event")
    bound_s: ClassVar[float] = 5.0  # a GPU that is being lost answers late, or never: it gets a thread of its own

    def __init__(self, here: Here) -> None:
        self._here = here
        self._gpus: list[Gpu] = []
        self._events: Any = None
        self._driver: str | None = None
        self._was_away = False
        self._away: dict[int, tuple[float, Any]] = {}
        """GPUs that do not answer: when each is looked for again, and what NVML says of it."""
        self._by_handle: dict[int | None, Gpu] = {}
        self._xids: list[tuple[float, GpuEvent]] = []
        self._seen: dict[str, dict[str, int]] = {}
        """The newest finer samples of each GPU, also of one that is away."""
        self._step = StepWatch(here.clock)
        self._since = datetime.min.replace(tzinfo=UTC)
        """When the clock was set last: what the driver stamped before it is told by another clock."""

    @property
    def interval_s(self) -> float:
        """Seconds."""
        return 1.0

    @property
    def missing(self) -> dict[str, str]:
        """Columns that some GPU cannot fill, and GPUs that do not answer, with the reason."""
        found = {column: why for gpu in self._gpus for column, why in gpu.missing.items()}
        return found | {f"gpu {index}": f"NVML: {error}" for index, (_, error) in self._away.items()}

    def open(self) -> None:
        """Load the library, find the GPUs, subscribe to their events."""
        try:
            nvml.nvmlInit()
            self._driver = str(nvml.nvmlSystemGetDriverVersion())
            self._gpus = []
            self._away = {}
            self._events = nvml.nvmlEventSetCreate()
            for index in range(nvml.nvmlDeviceGetCount()):
                self._find(index, self._here.clock.steady())
        except nvml.NVMLError as error:
            raise self._unavailable(error) from None
        self._say_order()
        if not self._gpus and not self._away:
            raise SourceUnavailable("the driver finds no GPU")

    def rows(self) -> Iterator[Row]:
        """What every GPU says now, and the events since the last look."""
        now, steady = self._here.clock.now(), self._here.clock.steady()
        if self._was_away:
            self._was_away = False
            yield GpuEvent(**self._about(None, now), event="driver_reload", message="NVML answers again")
        try:
            self._listen(now, steady)
            yield from self._xids_of_ours(steady - HOLD_S)
            for gpu in list(self._gpus):
                yield from self._safely(gpu, self._look(gpu, now, steady), now, steady)
            yield from self._finer(now, steady)
            self._find_again(steady)
        except nvml.NVMLError as error:
            self._was_away = True
            yield from self._xids_of_ours(steady)
            raise self._unavailable(error) from None
        if not self._gpus:
            if all(error.value in LOST for _, error in self._away.values()):
                reset = "nvidia-smi --gpu-reset (no process may use them), else reboot"
                raise SourceUnavailable(f"all GPUs are lost ({len(self._away)})", reset)
            told = sorted({f"NVML: {error}" for _, error in self._away.values()})
            raise SourceUnavailable(f"no GPU of {len(self._away)} answers: {'; '.join(told)}")

    def _look(self, gpu: Gpu, now: datetime, steady: float) -> Iterator[Row]:
        yield from self._divided_anew(gpu, steady).rows(now, steady, self._driver)

    def _safely(self, gpu: Gpu, rows: Iterator[Row], now: datetime, steady: float) -> Iterator[Row]:
        """A GPU's rows; one that fails is left out. Raises nvml.NVMLError where it is the driver that does."""
        try:
            yield from rows
        except nvml.NVMLError as error:
            self._leave_out(gpu.device.index, error, steady)
            if error.value in LOST:
                text = f"NVML: {error}"
                yield GpuEvent(**self._about(gpu, now), event="fallen_off_bus", message=text)

    def _finer(self, now: datetime, steady: float) -> Iterator[Row]:
        """After an alarm what the driver keeps of the last moments. The samples of all GPUs are there by then."""
        if self._step.look() is not None:
            self._since = self._here.clock.now()
        trigger, room = self._here.finer()
        due = [g for g in self._gpus if g.finer.due(trigger, steady)] if room >= LEAST else []
        since = max(self._since, now - timedelta(seconds=BEFORE_S))
        for gpu in sorted(due, key=lambda g: g.finer.asked):
            if self._here.clock.steady() - steady > FINER_S:
                return
            yield from self._safely(gpu, gpu.finer_rows(trigger, now, steady, since, room), now, steady)

    def rest(self) -> Iterator[Row]:
        """XIDs that still wait for the kernel's log to tell of them."""
        return self._xids_of_ours(float("inf"))

    def close(self) -> None:
        """Let the driver go, so that it can be unloaded."""
        gpus, self._gpus = self._gpus, []
        events, self._events = self._events, None
        try:
            for gpu in gpus:
                gpu.close()
            if events is not None:
                nvml.nvmlEventSetFree(events)
            nvml.nvmlShutdown()
        except nvml.NVMLError:
            return  # it was gone already

    def _unavailable(self, error: Any) -> SourceUnavailable:
        if error.value == nvml.NVML_ERROR_LIBRARY_NOT_FOUND:
            if not (self._here.dev / "nvidiactl").exists():
                return SourceUnavailable("no NVIDIA GPU: neither the driver's library nor /dev/nvidiactl is here")
            return SourceUnavailable("libnvidia-ml.so.1 is not found", "in a container mount the driver's libraries")
        return SourceUnavailable(f"NVML: {error}", _REMEDIES.get(error.value))

    def _subscribe(self, gpu: Gpu) -> None:
        """XIDs come through an event set: none is missed between two looks."""
        self._by_handle[_address(gpu.device.handle)] = gpu
        try:
            nvml.nvmlDeviceRegisterEvents(gpu.device.handle, nvml.nvmlEventTypeXidCriticalError, self._events)
        except nvml.NVMLError as error:
            if error.value not in UNSUPPORTED:
                raise
            gpu.device.missing["xid"] = "this GPU reports no events: see the kernel log"

    def _leave_out(self, index: int, error: Any, steady: float) -> None:
        """A GPU that gave an error is left out for a while. Raises the error again where it is the driver's."""
        if error.value in DRIVER:
            raise error
        for gpu in [g for g in self._gpus if g.device.index == index]:
            self._gpus.remove(gpu)
            with contextlib.suppress(nvml.NVMLError):
                gpu.close()
        self._away[index] = (steady + (LOST_S if error.value in LOST else AGAIN_S), error)

    def _find_again(self, steady: float) -> None:
        """A GPU that was lost may have been reset; one that gave an error may answer again."""
        for index, (due, _) in list(self._away.items()):
            if steady >= due and self._find(index, steady):
                del self._away[index]
                self._say_order()

    def _find(self, index: int, steady: float) -> bool:
        """Begin to look at a GPU; False where it does not answer."""
        try:
            gpu = Gpu(Device(index), self._here, self._seen)
            self._subscribe(gpu)
        except nvml.NVMLError as error:
            self._leave_out(index, error, steady)
            return False
        self._gpus = sorted([*self._gpus, gpu], key=lambda g: g.device.index)
        return True

    def _divided_anew(self, gpu: Gpu, steady: float) -> Gpu:
        """The GPU; asked from the beginning where MIG was switched on or off: other calls are supported then."""
        if not gpu.switched(steady):
            return gpu
        fresh = Gpu(Device(gpu.device.index), self._here, self._seen)
        self._gpus[self._gpus.index(gpu)] = fresh
        self._by_handle[_address(fresh.device.handle)] = fresh
        gpu.close()
        return fresh

    def _say_order(self) -> None:
        self._here.owners.gpu_order = {g.device.index: g.device.uuid for g in self._gpus}
        self._here.owners.gpu_by_bus = {g.device.bus_id: g.device.uuid for g in self._gpus}

    def _xids_of_ours(self, until: float) -> Iterator[Row]:
        """The XIDs that came until then, without those that the kernel's log told of: it knows more of them than NVML."""
        told = self._here.owners.kernel_xids
        while self._xids and self._xids[0][0] <= until:
            at, event = self._xids.pop(0)
            if abs(told.get((event.pci_bus_id, event.xid), float("-inf")) - at) > 5 * HOLD_S:
                yield event

    def _listen(self, now: datetime, steady: float) -> None:
        for _ in range(1000):  # a storm must not keep us from the samples
            try:
                data = nvml.nvmlEventSetWait_v2(self._events, 0)
            except nvml.NVMLError as error:
                if error.value == nvml.NVML_ERROR_TIMEOUT:
                    return
                raise
            gpu = self._by_handle.get(_address(data.device))  # a GPU that is lost by now no longer says its UUID
            code, instance = int(data.eventData), int(data.gpuInstanceId)
            text = f"NVML: XID {code}" + (f" in GPU instance {instance}" if instance != _WHOLE else "")
            part = gpu.instance(instance) if gpu else None
            event = GpuEvent(**self._about(gpu, now), mig=part, event="xid", xid=code, message=text)
            self._xids.append((steady, event))
            self._here.alarm(f"XID {code}")

    def _about(self, gpu: Gpu | None, now: datetime) -> dict[str, Any]:
        common: dict[str, Any] = {
            "cluster": self._here.cluster,
            "node": self._here.node,
            "ts": now,
            "origin": self.name,
        }
        return {**common, **gpu.identity()} if gpu else common


def _address(handle: Any) -> int | None:
    """A handle as something that can be compared."""
    return ctypes.cast(handle, ctypes.c_void_p).value
