"""What a kernel message says about GPUs, the host and links. Facts only: which device, which process, which words.

Formats as printed by the NVIDIA driver (NVRM, nvswitch), amdgpu, mm/oom_kill.c, arch traps, hung task and lock-up
detectors, EDAC and MCE, the NFS, Lustre, BeeGFS, Ceph, ext4, xfs, nvme and block layers, and the mlx5 and other network drivers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from store import lazy

_PCI = r"(?:PCI:)?(?P<pci>(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?)"
XID = lazy.compile(
    rf"NVRM: (?:GPU \S+ )?Xid \({_PCI}(?: GPU-I:(?P<mig>\w+))?[^)]*\): (?P<xid>\d{{1,5}})\b,?\s*(?P<rest>.*)"
)
_XID_PID = lazy.compile(r"pid='?(?P<pid>\d+|<unknown>)'?")
_XID_NAME = lazy.compile(r"name=(?P<name>[^,]+?)(?:,|$)")
_CAUSE = lazy.compile(r"\bcaused by (?:a )?previous Xid (?P<xid>\d{1,5})\b", re.IGNORECASE)
_CHANNEL = lazy.compile(r"\b(?:Ch|[Cc]hannel(?: ID)?)[ =:]+(?P<ch>(?:0x)?[0-9a-fA-F]{2,8})\b")
_SXID = lazy.compile(rf"SXid \({_PCI}[^)]*\): (?P<xid>\d{{1,6}})\b")
_UUID = lazy.compile(rf"NVRM: GPU at {_PCI}: (?P<uuid>GPU-[0-9a-fA-F-]{{36}})")
_SPOKEN_OF = lazy.compile(r"NVRM: The NVIDIA GPU (?P<pci>[0-9a-fA-F:.]{7,16})\b")
_GOES_ON = lazy.compile(r"NVRM: +(?:\(PCI ID|installed in this system has|(?:has )?fallen off the bus)")
_ANY_PCI = lazy.compile(r"(?:PCI:|\b)(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?)\b")
_OOM = lazy.compile(r"oom-kill:constraint=(?P<constraint>\w+),")
_OOM_FIELD = lazy.compile(r"(?:^|,)(oom_memcg|task_memcg|task|pid|cpuset)=([^,]*)")
_KILLED = lazy.compile(
    r"(?P<memcg>Memory cgroup out of memory|Out of memory)?(?: \([^)]*\))?:? ?"
    r"Kill(?:ed)? process (?P<pid>\d+)(?:, UID \d+,)? \((?P<name>[^)]*)\)(?P<rest>.*)"
)
_TASK = lazy.compile(r"^\[ *(?P<pid>\d+)\] +(?P<uid>\d+) +\d+ +\d+ +(?P<rss>\d+) +(?:\d+ +){2,7}-?\d+ (?P<name>\S.*)$")
"""A row of the list of tasks that the kernel prints at a kill; sizes are pages of four KiB."""
_RSS = lazy.compile(r"(?:anon|file|shmem)-rss:(\d+)kB")
_JOB = lazy.compile(r"/job_(?P<job>\d+)(?:/step_(?P<step>\w+))?")
_SEGFAULT = lazy.compile(r"(?P<name>[^\s\[]{1,64})\[(?P<pid>\d+)\]: segfault at ")
_TRAP = lazy.compile(r"traps: (?P<name>[^\[]{1,64})\[(?P<pid>\d+)\] (?:trap |general protection)")
_HUNG = lazy.compile(r"INFO: task (?P<name>.{1,64}?):(?P<pid>\d+) (?:<\w+> )?blocked for more than \d+ seconds")
_LOCKUP = lazy.compile(
    r"(?:soft|hard) lockup|rcu(?:_\w+)?: (?:INFO: )?\S* ?(?:self-)?detected (?:expedited )?stalls?|hard LOCKUP"
)
_LOCKUP_WHO = lazy.compile(r"\[(?P<name>[^\]\s:]{1,64}):(?P<pid>\d+)\]")
_MCE = lazy.compile(
    r"\[Hardware Error\]|mce: |EDAC \S+ ?\d*: .*\b(?:CE|UE)\b|hardware memory corruption|Memory failure: 0x"
)
_STORAGE = lazy.compile(
    r"nfs4?: server \S+ (?:not responding|OK)|NFS: .*(?:error|lost|failed)|LustreError:|Lustre: .*(?:[Cc]onnection .*(?:lost|restored)|evicted|timed out)"
    r"|I/O error,? |nvme\S* .*(?:timeout|controller is down|I/O Error|resetting controller)|blk_update_request: .*error"
    r"|beegfs: .*(?:[Ee]rror|lost|[Tt]ime(?:out|d out)|Connect failed|Unable to connect|Retrying communication|[Oo]ffline|[Uu]nreachable)"
    r"|\bmmfs\b.*(?:error|unmount|panic)"
    r"|libceph: .*(?:\bdown\b|socket (?:closed|error)|session lost|wrong peer|connect .*error|keepalive|bad (?:crc|signature))"
    r"|(?<!lib)ceph: .*(?:\bhung|caps (?:stale|renewed)|rejected session|closed our session|reconnect (?:start|denied)|came back"
    r"|recovery completed|timed out|lost|\baborting)|\brbd: rbd\d+: .*(?:error|result -\d+)"
    r"|\bRemote storage\b.*lost|scsi \S+ .*(?:timing out|rejecting I/O)|rejecting I/O to (?:offline|dead) device"
)
_FILESYSTEM = lazy.compile(
    r"EXT[234]-fs (?:error|warning .*error)|Remounting filesystem read-only|XFS \([^)]*\): .*(?:[Cc]orruption|error|shut ?(?:down|ting)|full)"
    r"|BTRFS:? (?:error|critical)|No space left on device|FS-Cache: .*error|JBD2: .*(?:error|aborted)"
)
_PANIC = lazy.compile(
    r"Kernel panic - not syncing|BUG: unable to handle|BUG: kernel NULL pointer|Oops: |kernel BUG at|general protection fault,? .*probably for"
)
_BOOT = lazy.compile(r"Linux version \d")
_THERMAL = lazy.compile(
    r"temperature (?:above|/ ?speed).*threshold|critical temperature reached|cpu clock throttled|Thermal shutdown|power capped",
    re.IGNORECASE,
)
_LINK = lazy.compile(
    r"mlx[45]_core (?P<bus>\S+?):? (?:(?P<dev>[\w.]+): )?Link (?P<way>up|down)"
    r"|(?P<drv>\w+) (?P<bus2>[0-9a-f:.]+)(?: (?P<dev2>[\w.]+))?: (?:NIC )?Link is (?P<way2>Up|Down)"
    r"|\w+ (?P<bus7>[0-9a-f]{4}:[0-9a-f:.]+) (?P<dev7>\w+): Port: (?P<port>\d+) Link (?P<way5>DOWN|ACTIVE|INIT)"
    r"|\(slave (?P<dev8>[\w.]+)\): link status definitely (?P<way8>up|down)"
    r"|(?P<bond>\w+): link status definitely (?P<way3>up|down) for interface (?P<dev3>[\w.]+)"
    r"|(?P<dev4>ib\d+|hsn\d+|hfi1_\d+)\b.*\b[Ll]ink (?:is )?(?P<way4>up|down|UP|DOWN)"
    r"|mlx[45]_core (?P<bus5>\S+?):? .*Port module event(?:\[error\])?: module \d+, Cable (?P<cable>unplugged|plugged|error)"
    r"|mlx[45]_core (?P<bus6>\S+?):? .*(?P<health>device's health compromised|health recovery|Fatal error \d|firmware fatal)"
)  # fmt: skip
_DRIVER = lazy.compile(
    r"NVRM: loading NVIDIA UNIX (?:Open )?|nvidia: module unload|NVRM: Unloading|nvidia-nvlink: Unregistered"
)
_AMD_RESET = lazy.compile(r"amdgpu (?P<pci>[0-9a-f:.]+): .*GPU reset")
_AMD_RAS = lazy.compile(
    r"amdgpu [0-9a-f:.]+: .*(?:\b[1-9]\d* (?:new )?uncorrectable hardware errors detected in (?!total)|uncorrectable hardware error\(\w+\) detected"
    r"|poison is consumed by|Saved bad pages \d+ reaches threshold)"
)
_NVLINK = lazy.compile(r"NVRM: .*\b(?:NVLink|NVLINK|nvlink)\b.*(?:error|fail|fatal|degraded|down)", re.IGNORECASE)

_WORDS = (
    "NVRM", "SXid", "nvidia", "amdgpu", "oom", "emory", "ill process", "illed process", "segfault", "traps:",
    "blocked for more", "lockup", "LOCKUP", "stall", "Hardware Error", "mce:", "EDAC", "nfs", "NFS", "Lustre", "I/O",
    "nvme", "beegfs", "mmfs", "ceph", "rbd: ", "scsi", "EXT", "read-only", "XFS", "BTRFS", "No space", "JBD2", "FS-Cache", "panic",
    "BUG", "Oops", "general protection", "Linux version", "emperature", "throttled", "ink is", "Link ", "link ", "health",
    "Port module", "Fatal error", "firmware fatal", "system clock", "power capped", "hermal", "rcu", "Remote storage",
)  # fmt: skip


_PAGE, _MOST_TASKS, _LARGEST = 4096, 50_000, 3


def interesting(message: str) -> bool:
    """Can this message be an event? True for every one that is; most messages hold none of the words."""
    return any(word in message for word in _WORDS)  # measured: a third of the time of one regular expression


@dataclass(slots=True)
class Event:
    """An event: `table` is gpu_event, host_event or link_event, `fields` its columns, `line` whatever came with its line."""

    table: str
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    line: Any = None


def pci_address(text: str) -> str:
    """The address as NVML writes it: `0000:9b:00` to `00000000:9B:00.0`."""
    parts = text.upper().split(":")
    if len(parts) == 2:
        parts.insert(0, "0")
    bus = parts[-1] if "." in parts[-1] else parts[-1] + ".0"
    return f"{parts[0].zfill(8)}:{parts[1]}:{bus}"


class Recogniser:
    """Messages of one kernel log in order. An OOM kill is told in several lines and given once.

    Of the tasks that the kernel lists with one the three largest groups, by name and user, are told as `oom_task`.
    """

    def __init__(self) -> None:
        self._uuids: dict[str, str] = {}
        self._xids: set[tuple[str, int]] = set()
        self._spoken_of: str | None = None
        """The GPU of which the driver's line just above speaks: what befell it may follow in a line of its own."""
        self._kill: Event | None = None
        self._kill_pid: int | None = None
        self._last_killed: int | None = None
        self._tasks: list[tuple[str, int, int, int]] = []
        self.listing = False
        """The kernel lists its tasks just now: rows that hold none of the words of an event."""
        self._rules: tuple[Callable[[str], Event | None], ...] = (self._gpu, self._host, self._link)

    def read(self, message: str, line: Any = None) -> list[Event]:
        """The events that are complete with this message; `line` comes back with those that begin here."""
        if not _GOES_ON.search(message):
            self._spoken_of = None  # the sentence is over: a later word may be about another one
        if self.listing and (task := _TASK.match(message)) is not None:
            self._tasks.append((task["name"].strip(), int(task["uid"]), int(task["pid"]), int(task["rss"]) * _PAGE))
            self.listing = len(self._tasks) < _MOST_TASKS
            return []
        if "Tasks state (memory values" in message:
            self.listing, self._tasks = True, []
            return []
        if not interesting(message):
            return []
        named = _UUID.search(message)
        if named:
            self._uuids[pci_address(named.group("pci"))] = named.group("uuid")
            return []
        done = self._oom(message, line)
        if done is not None:
            return done
        for rule in self._rules:
            event = rule(message)
            if event is not None:
                event.fields["message"] = message[:2000]
                event.line = line
                return [*self._cause(event), event]
        return []

    def _cause(self, event: Event) -> list[Event]:
        """The error that the driver names as the cause of one, where the log does not hold it by itself: an excerpt lacks it."""
        if event.fields.get("event") != "xid":
            return []
        where, named = event.fields["pci_bus_id"], _CAUSE.search(event.fields["message"])
        self._xids.add((where, event.fields["xid"]))
        if named is None or (where, int(named["xid"])) in self._xids:
            return []
        self._xids.add((where, int(named["xid"])))
        kept = {k: event.fields[k] for k in ("event", "pci_bus_id", "gpu_uuid", "mig", "message")}
        return [Event("gpu_event", {**kept, "xid": int(named["xid"])}, event.line)]

    def close(self) -> list[Event]:
        """What is still open at the end."""
        pending, self._kill = self._kill, None
        return [pending] if pending is not None else []

    def _oom(self, message: str, line: Any) -> list[Event] | None:
        begun = _OOM.search(message)
        if begun:
            done = self.close()
            parts = dict(_OOM_FIELD.findall(message))
            cgroup = parts.get("task_memcg") or parts.get("oom_memcg")
            job = _JOB.search(cgroup or "") or _JOB.search(parts.get("oom_memcg") or "")
            pid = parts.get("pid", "")
            self._kill_pid = int(pid) if pid.isascii() and pid.isdigit() and len(pid) < 12 else None
            self._kill = Event(
                "host_event",
                {
                    "event": "oom_kill",
                    "constraint": begun.group("constraint"),
                    "cgroup": cgroup,
                    "job_id": job.group("job") if job else None,
                    "pid": self._kill_pid,
                    "process_name": parts.get("task"),
                    "message": message[:2000],
                },
                line,
            )
            return [*done, *self._held(line, begun.group("constraint"))]
        killed = _KILLED.search(message)
        if killed is None:
            return None
        pid = int(killed.group("pid")) if len(killed.group("pid")) < 12 else None
        sizes = [int(kb) for kb in _RSS.findall(killed.group("rest"))]
        pending = self._kill
        if pending is not None and self._kill_pid in (pid, None):
            self._kill = None
        else:
            if pid is not None and pid == self._last_killed and not sizes:
                return []
            memcg = (killed.group("memcg") or "").startswith("Memory cgroup")
            fields = {"event": "oom_kill", "constraint": "CONSTRAINT_MEMCG" if memcg else None}
            pending = Event("host_event", fields, line)
        pending.fields.update(pid=pid, process_name=killed.group("name"), message=message[:2000])
        if sizes:
            pending.fields["rss_bytes"] = sum(sizes) * 1024
        if "or sacrifice child" in message:
            self._kill, self._kill_pid = pending, pid
            return []
        self._last_killed = pid
        return [pending]

    def _held(self, line: Any, constraint: str) -> list[Event]:
        """The largest of the tasks that were listed before a kill for the whole host, those of one name and user together."""
        tasks, self._tasks, self.listing = self._tasks, [], False
        if constraint != "CONSTRAINT_NONE":
            return []
        groups: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for name, uid, pid, size in tasks:
            groups.setdefault((name, uid), []).append((pid, size))
        ranked = sorted(groups.items(), key=lambda g: -sum(size for _, size in g[1]))[:_LARGEST]
        return [
            Event(
                "host_event",
                {
                    "event": "oom_task",
                    "pid": max(held, key=lambda h: h[1])[0],
                    "process_name": name,
                    "rss_bytes": sum(size for _, size in held),
                    "message": f"{len(held)} task{'s' if len(held) > 1 else ''} of user {uid}: {name}",
                },
                line,
            )
            for (name, uid), held in ranked
        ]

    def _gpu(self, message: str) -> Event | None:
        found = XID.search(message)
        if found:
            rest = found.group("rest")
            pid, name, channel = _XID_PID.search(rest), _XID_NAME.search(rest), _CHANNEL.search(rest)
            who = name.group("name").strip() if name else None
            address = pci_address(found.group("pci"))
            fields = {
                "event": "xid",
                "xid": int(found.group("xid")),
                "pci_bus_id": address,
                "gpu_uuid": self._uuids.get(address),
                "mig": found.group("mig"),
                "pid": int(pid.group("pid")) if pid and pid.group("pid").isdigit() else None,
                "process_name": None if who in {None, "<unknown>"} else who,
                "channel": channel.group("ch") if channel else None,
            }
            return Event("gpu_event", fields)
        if begun := _SPOKEN_OF.search(message):
            self._spoken_of = pci_address(begun["pci"])
        found = _SXID.search(message)
        if found:
            switch = {"event": "sxid", "xid": int(found.group("xid")), "pci_bus_id": pci_address(found.group("pci"))}
            return Event("gpu_event", switch)
        kind = None
        if "fallen off the bus" in message:
            kind = "fallen_off_bus"
        elif _DRIVER.search(message):
            kind = "driver_reload"
        elif "RmInitAdapter failed" in message:
            kind = "init_failed"
        elif _AMD_RAS.search(message):
            kind = "ras"
        elif _AMD_RESET.search(message):
            kind = "reset"
        elif _NVLINK.search(message):
            kind = "nvlink"
        if kind is None:
            return None
        where = _ANY_PCI.search(message)
        address = pci_address(where.group("pci")) if where else self._spoken_of if kind == "fallen_off_bus" else None
        self._spoken_of = None
        return Event("gpu_event", {"event": kind, "pci_bus_id": address, "gpu_uuid": self._uuids.get(address or "")})

    def _host(self, message: str) -> Event | None:
        for kind, pattern in (("segfault", _SEGFAULT), ("trap", _TRAP), ("hung_task", _HUNG)):
            found = pattern.search(message)
            if found:
                return Event(
                    "host_event", {"event": kind, "pid": int(found["pid"]), "process_name": found["name"].strip()}
                )
        if _LOCKUP.search(message):
            who = _LOCKUP_WHO.search(message)
            fields = {"pid": int(who["pid"]), "process_name": who["name"]} if who else {}
            return Event("host_event", {"event": "hung_task", **fields})
        for kind, pattern in (
            ("panic", _PANIC), ("mce", _MCE), ("filesystem", _FILESYSTEM), ("storage", _STORAGE),
            ("boot", _BOOT), ("thermal", _THERMAL),
        ):  # fmt: skip
            if pattern.search(message):
                return Event("host_event", {"event": kind})
        return None

    def _link(self, message: str) -> Event | None:
        found = _LINK.search(message)
        if found is None:
            return None
        part = found.groupdict()
        way = next((v for k, v in part.items() if k.startswith("way") and v), "").lower()
        way = {"active": "up", "init": "down"}.get(way, way)
        if part["cable"]:
            way = {"unplugged": "down", "plugged": "up"}.get(part["cable"], "error_burst")
        device = next((v for k, v in part.items() if k.startswith("dev") and v), None)
        bus = next((v for k, v in part.items() if k.startswith("bus") and v), None)
        fabric = "infiniband" if (device or "").startswith("ib") else ("ethernet" if device else None)
        if part["port"]:  # an RDMA device's own name: mlx5_3 can be InfiniBand or RoCE
            fabric = next((f for f in ("roce", "infiniband") if (device or "").startswith(f[:2])), None)
        fields = {"event": way or "error_burst", "device": device or (bus or "").rstrip(":"), "fabric": fabric}
        return Event("link_event", fields | ({"port": part["port"]} if part["port"] else {}))
