"""One GPU as the NVML source looks at it: what it said last, whose it was, and when what is asked for more rarely is due."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from collector.gpu import mig
from collector.gpu.binding import DRIVER, LOST, nvml
from collector.gpu.changes import Change, Changes
from collector.gpu.device import Device, Gpm
from collector.gpu.finer import ORIGIN, Finer
from collector.node.here import Here
from collector.node.tiers import BEFORE_S
from store.rows import GpuDetail, GpuDevice, GpuEvent, GpuSample, LinkEvent, LinkSample, Row

SLOW_S, PIDS_S, DEVICE_S = 15.0, 5.0, 3600.0
DCGM_S = 40.0


class Gpu:
    """Gives its rows."""

    def __init__(self, device: Device, here: Here, seen: dict[str, dict[str, int]]) -> None:
        self.device = device
        self._here = here
        self._changes = Changes()
        self.finer = Finer(device.handle, seen.setdefault(device.uuid, {}))
        self._owned: deque[tuple[datetime, str | None, int | None]] = deque()
        """Whose it was from when on, in the last minutes."""
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
        found = self.device.missing | self.finer.missing
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
        self._is_owned(now, common["job_id"], common["attempt"])
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
                if error.value in LOST | DRIVER:
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

    def finer_rows(self, trigger: int, now: datetime, steady: float, since: datetime, room: int) -> Iterator[Row]:
        """What the driver keeps of it, each with the job that had it then."""
        about = self.identity()
        found = self.finer.look(trigger, steady, _micros(since), _micros(now), room)
        for at, values in found.items():
            ts = _EPOCH + timedelta(microseconds=at)
            about["job_id"], about["attempt"] = next((o[1:] for o in reversed(self._owned) if o[0] <= ts), (None, None))
            yield GpuDetail(cluster=self._here.cluster, node=self._here.node, ts=ts, origin=ORIGIN, **about, **values)

    def _is_owned(self, now: datetime, job_id: str | None, attempt: int | None) -> None:
        owned = self._owned
        if not owned or owned[-1][1:] != (job_id, attempt):
            owned.append((now, job_id, attempt))
        while len(owned) > 1 and (now - owned[1][0]).total_seconds() > BEFORE_S:
            owned.popleft()

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


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _micros(ts: datetime) -> int:
    """Microseconds since 1970."""
    return (ts - _EPOCH) // timedelta(microseconds=1)
