"""NVIDIA GPUs through the driver's own library (NVML).

SOURCE  libnvidia-ml.so.1 by pynvml: device queries, GPM samples (Hopper and newer), field values, the event set.
ROWS    gpu_device at the start and hourly; gpu_sample each second; gpu_event (xid, throttle, row_remap, fallen_off_bus,
        driver_reload); link_sample and link_event of NVLink.
OVERHEAD  8 GPUs: see bench/collect_bench.py. Counters and links are asked for every fifteen seconds.
CAVEAT  counters in a sample are up to fifteen seconds old. SM activity comes from GPM; where there is none a row holds the
        driver's utilisation instead (`activity_source` says which), in which a spinning kernel counts as work.

    gpu_sample gpu=3 engine_active=0.96 sm_active=0.71 activity_source=gpm power_w=640 temp_c=55 throttle_reasons=0
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar

from collector.gpu import mig
from collector.gpu.binding import UNSUPPORTED, nvml
from collector.gpu.changes import Change, Changes
from collector.gpu.device import Device, Gpm
from collector.node.here import Here
from collector.sources.base import SourceUnavailable
from store.rows import GpuDevice, GpuEvent, GpuSample, LinkEvent, LinkSample, Row

SLOW_S, PIDS_S, DEVICE_S = 15.0, 5.0, 3600.0
LOST_S, AGAIN_S = 30.0, 5.0
"""When a GPU that was lost is looked for again, and one whose answer was an error."""
DCGM_S = 40.0
HOLD_S = 2.0
"""An XID waits so long for the kernel's log to tell of it too."""
_LOST: frozenset[int] = frozenset({nvml.NVML_ERROR_GPU_IS_LOST, nvml.NVML_ERROR_RESET_REQUIRED})
_DRIVER: frozenset[int] = frozenset(
    {
        nvml.NVML_ERROR_UNINITIALIZED,
        nvml.NVML_ERROR_DRIVER_NOT_LOADED,
        nvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
        nvml.NVML_ERROR_LIBRARY_NOT_FOUND,
        nvml.NVML_ERROR_NO_PERMISSION,
    }
)
"""What concerns the driver; any other error is that of the GPU which was asked, and the others are looked at on."""
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
        self._gpus: list[_Gpu] = []
        self._events: Any = None
        self._driver: str | None = None
        self._was_away = False
        self._away: dict[int, tuple[float, Any]] = {}
        """GPUs that do not answer: when each is looked for again, and what NVML says of it."""
        self._by_handle: dict[int | None, _Gpu] = {}
        self._xids: list[tuple[float, GpuEvent]] = []

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
                try:
                    yield from self._divided_anew(gpu, steady).rows(now, steady, self._driver)
                except nvml.NVMLError as error:
                    self._leave_out(gpu.device.index, error, steady)
                    if error.value in _LOST:
                        text = f"NVML: {error}"
                        yield GpuEvent(**self._about(gpu, now), event="fallen_off_bus", message=text)
            self._find_again(steady)
        except nvml.NVMLError as error:
            self._was_away = True
            yield from self._xids_of_ours(steady)
            raise self._unavailable(error) from None
        if not self._gpus:
            if all(error.value in _LOST for _, error in self._away.values()):
                reset = "nvidia-smi --gpu-reset (no process may use them), else reboot"
                raise SourceUnavailable(f"all GPUs are lost ({len(self._away)})", reset)
            told = sorted({f"NVML: {error}" for _, error in self._away.values()})
            raise SourceUnavailable(f"no GPU of {len(self._away)} answers: {'; '.join(told)}")

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

    def _subscribe(self, gpu: _Gpu) -> None:
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
        if error.value in _DRIVER:
            raise error
        for gpu in [g for g in self._gpus if g.device.index == index]:
            self._gpus.remove(gpu)
            with contextlib.suppress(nvml.NVMLError):
                gpu.close()
        self._away[index] = (steady + (LOST_S if error.value in _LOST else AGAIN_S), error)

    def _find_again(self, steady: float) -> None:
        """A GPU that was lost may have been reset; one that gave an error may answer again."""
        for index, (due, _) in list(self._away.items()):
            if steady >= due and self._find(index, steady):
                del self._away[index]
                self._say_order()

    def _find(self, index: int, steady: float) -> bool:
        """Begin to look at a GPU; False where it does not answer."""
        try:
            gpu = _Gpu(Device(index), self._here)
            self._subscribe(gpu)
        except nvml.NVMLError as error:
            self._leave_out(index, error, steady)
            return False
        self._gpus = sorted([*self._gpus, gpu], key=lambda g: g.device.index)
        return True

    def _divided_anew(self, gpu: _Gpu, steady: float) -> _Gpu:
        """The GPU; asked from the beginning where MIG was switched on or off: other calls are supported then."""
        if not gpu.switched(steady):
            return gpu
        fresh = _Gpu(Device(gpu.device.index), self._here)
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

    def _about(self, gpu: _Gpu | None, now: datetime) -> dict[str, Any]:
        common: dict[str, Any] = {
            "cluster": self._here.cluster,
            "node": self._here.node,
            "ts": now,
            "origin": self.name,
        }
        return {**common, **gpu.identity()} if gpu else common


class _Gpu:
    """One GPU in the source: what it said last, and when what is asked for more rarely is due."""

    def __init__(self, device: Device, here: Here) -> None:
        self.device = device
        self._here = here
        self._changes = Changes()
        self._gpm = Gpm(device.handle) if not device.mig and Gpm.supported(device.handle) else None
        self._instances = mig.instances(device) if device.mig else []
        self._slow: dict[str, Any] = {}
        self._slow_due = self._pids_due = self._device_due = float("-inf")
        self._processes: int | None = None
        self._divided: tuple[str, ...] | None = mig.mark(device) if device.mig else ()
        """The instances that are known; None where some of them are gone."""

    @property
    def missing(self) -> dict[str, str]:
        """Columns that it cannot fill."""
        found = self.device.missing
        if self._gpm is None and not self.device.mig:
            return {
                **found,
                "sm_active": "no GPM on this GPU: see DCGM",
                "tensor_active": "no GPM on this GPU: see DCGM",
            }
        return found

    def identity(self) -> dict[str, Any]:
        """The columns that say which GPU and whose."""
        device = self.device
        owner = self._here.owners.of_gpu(device.uuid)
        return {
            "gpu": device.index,
            "gpu_uuid": device.uuid,
            "pci_bus_id": device.bus_id,
            "job_id": owner.job_id,
            "attempt": owner.attempt,
        }

    def switched(self, steady: float) -> bool:
        """Whether MIG was switched on or off; asked for as often as the processes."""
        return steady >= self._pids_due and self.device.mig_mode() != self.device.mig

    def instance(self, number: int) -> str | None:
        """The MIG instance of this number."""
        return next((i.name for i in self._instances if i.name.endswith(f"/{number}")), None)

    def rows(self, now: datetime, steady: float, driver: str | None) -> Iterator[Row]:
        """A sample of the whole GPU and one of each instance; what changed; now and then the rest."""
        common: dict[str, Any] = {"cluster": self._here.cluster, "node": self._here.node, "ts": now, "origin": "nvml"}
        common.update(self.identity())
        changes: list[Change] = []
        if steady >= self._pids_due:
            self._pids_due = steady + PIDS_S
            self._look_at_processes()
        links: LinkSample | None = None
        if steady >= self._slow_due:
            self._slow_due = steady + SLOW_S
            links, more = self._look_at_counters(common)
            changes += more
        values, violations = self.device.fast()
        changes += self._changes.fast(steady, values.get("throttle_reasons"), violations)
        activity = self._gpm.look() if self._gpm else {}
        values.update(activity or self._from_dcgm(steady) or self.device.utilisation())
        yield GpuSample(**common, **values, **self._slow, processes=self._processes)
        for instance in list(self._instances):
            owner = self._here.owners.of_gpu(instance.uuid)
            own = {**common, "mig": instance.name, "job_id": owner.job_id, "attempt": owner.attempt}
            try:
                yield GpuSample(**own, **instance.sample())
            except nvml.NVMLError as error:
                if error.value in _LOST | _DRIVER:
                    raise
                # It was taken away since the last look at how the GPU is divided: look anew.
                self._forget(instance)
                self._pids_due, self._divided = steady, None
        if links is not None:
            yield links
        if steady >= self._device_due:
            self._device_due = steady + DEVICE_S
            yield GpuDevice(**common, **self.device.about(), driver_version=driver)
        for table, event, more_columns in changes:
            if table == "gpu_event":
                yield GpuEvent(**common, event=event, **more_columns)
            else:
                yield LinkEvent(**_link(common), event=event, **more_columns)

    def close(self) -> None:
        """Free what NVML allocated."""
        for instance in list(self._instances):
            self._forget(instance)
        if self._gpm is not None:
            self._gpm.close()

    def _forget(self, instance: mig.Instance) -> None:
        """An instance that is gone: nothing runs in it any more."""
        self._instances.remove(instance)
        self._here.owners.gpu_pids.pop(instance.uuid, None)
        if instance.gpm is not None:
            instance.gpm.close()

    def _from_dcgm(self, steady: float) -> dict[str, Any]:
        at, values = self._here.owners.activity.get(self.device.uuid, (float("-inf"), {}))
        return {**values, "activity_source": "dcgm"} if steady - at < DCGM_S and "sm_active" in values else {}

    def _look_at_processes(self) -> None:
        owners = self._here.owners
        pids = self.device.pids()
        self._processes = len(pids)
        owners.gpu_pids[self.device.uuid] = pids
        if self.device.mig:
            divided = mig.mark(self.device)
            if divided != self._divided:
                for instance in list(self._instances):
                    self._forget(instance)
                self._divided, self._instances = divided, mig.instances(self.device)
            for instance in self._instances:
                owners.gpu_pids[instance.uuid] = instance.pids()

    def _look_at_counters(self, common: dict[str, Any]) -> tuple[LinkSample | None, list[Change]]:
        self._slow, fields = self.device.slow()
        changes = list(self._changes.slow(self._slow, fields))
        states = self.device.links()
        changes += self._changes.links(states)
        if not states:
            return None, changes
        up = sum(states.values())
        state = "ACTIVE" if up == len(states) else f"{up} of {len(states)} up"
        sent, received = self._slow.get("nvlink_tx_bytes"), self._slow.get("nvlink_rx_bytes")
        errors = self._slow.get("nvlink_errors")
        sample = LinkSample(**_link(common), state=state, tx_bytes=sent, rx_bytes=received, rcv_errors=errors)
        return sample, changes


def _link(common: dict[str, Any]) -> dict[str, Any]:
    """The same identity in the words of a link."""
    kept = {n: common[n] for n in ("cluster", "node", "ts", "origin", "job_id", "attempt")}
    return {**kept, "fabric": "nvlink", "device": str(common["gpu"])}


def _address(handle: Any) -> int | None:
    """A handle as something that can be compared."""
    return ctypes.cast(handle, ctypes.c_void_p).value
