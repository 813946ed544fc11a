"""What NCCL says about itself with NCCL_DEBUG=INFO: version, network, transports, communicators, environment.

SOURCE  NCCL 2.4 to 2.28 (and RCCL, which prints the same), aws-ofi-nccl.
ROWS    `nccl_info`; `host`, `pid` and `gpu` from the line's own prefix; `world_size` is the size of that communicator.
CAVEAT  a channel line is kept once per kind of path and stream, because there are thousands. A communicator's rank is not
        the job's rank unless it spans the job (detail.comm_rank).
EXAMPLE n1:77:93 [5] NCCL INFO NET/IB : No device found.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail, whole
from store import lazy

NAMES: dict[str, str] = {
    "version": "NCCL's version (detail.version)",
    "bootstrap": "the interface of the out-of-band network (detail.interface, detail.address)",
    "net_device": "a network was looked for (detail.net, detail.found, detail.devices)",
    "net_transport": "the network that is used (detail.network: Socket, IB, AWS Libfabric, ...)",
    "gdr": "GPUDirect RDMA is enabled or disabled (detail.enabled)",
    "channel": "a first path of its kind between two ranks (detail.via: P2P/CUMEM, SHM, NET/IB, NET/Socket)",
    "init": "a communicator was set up (world_size, detail.comm_rank)",
    "destroy": "a communicator was destroyed or aborted (detail.how)",
    "nvls": "NVLink SHARP is available or not",
    "env": "a variable set by the user (detail.variable, detail.value)",
}

_WHO = lazy.compile(r"(?P<host>[\w.-]+):(?P<pid>\d+):\d+ \[(?P<gpu>\d+)\] NCCL INFO")
_VERSION = lazy.compile(r"(?:^|NCCL INFO |(?<!,)\s)(?:NCCL|RCCL) version:? (?P<version>\d+\.\d+[\w.+-]*)")
_BOOTSTRAP = lazy.compile(r"Bootstrap ?:? Using (?:\[\d+\])?(?P<interface>[\w.-]+):(?P<address>\S+?)(?:<\d+>)")
_DEVICE = lazy.compile(r"NET/(?P<net>\w+) ?: (?:(?P<none>No device found)|Using (?P<devices>\[0\].{1,300}))")
_NETWORK = lazy.compile(r"Using network (?P<network>.+?)\s*$")
_PROVIDER = lazy.compile(r"NET/OFI (?:Selected [Pp]rovider is|Using) (?P<network>[\w;-]+)")
_GDR = lazy.compile(r"GPU Direct RDMA (?P<state>Enabled|Disabled)")
_CHANNEL = lazy.compile(
    r"Channel \d+(?:/\d+)? : (?P<a>\d+)\[\w+\] ?-> ?(?P<b>\d+)\[\w+\] (?:\[\w+\] )?via (?P<via>[\w/]+)"
)
_INIT = lazy.compile(
    r"comm 0x\w+ rank (?P<rank>\d+) n[Rr]anks (?P<size>\d+).{0,200}?(?:- )?Init (?P<state>COMPLETE|START)|ncclCommInitRank comm 0x\w+ rank (?P<rank2>\d+) nranks (?P<size2>\d+)"
)
_INIT_TIME = lazy.compile(r"Init timings.{0,80}?rank (?P<rank>\d+) nranks (?P<size>\d+) total (?P<total>[\d.]+)")
_END = lazy.compile(
    r"comm 0x\w+ rank (?P<rank>\d+) n[Rr]anks (?P<size>\d+).{0,200}?(?:- )?(?P<how>Abort|Destroy|Finalize)(?: COMPLETE)?"
)
_NVLS = lazy.compile(r"NVLS multicast support is (?P<no>not )?available")
_ENV = lazy.compile(
    r"(?P<variable>NCCL_\w+) set by (?:environment|config file|user)\w* to (?P<value>\S+)|Setting (?P<variable2>NCCL_\w+) to (?P<value2>\S+)"
)


class NcclInfo(LineParser):
    """Remembers which kinds of path were seen, so that each is one row."""

    name: ClassVar[str] = "nccl_info"
    anchors: ClassVar[tuple[str, ...]] = ("NCCL INFO", "NCCL version", "RCCL version")

    def __init__(self) -> None:
        self._paths: set[str] = set()

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text[:4000]
        if "NCCL WARN" in text or "error" in text[:60]:
            return []
        read = self._read(text)
        if read is None:
            return []
        name, size, extra = read
        who = _WHO.search(text)
        return [
            line.event(
                "nccl_info",
                name,
                severity="info",
                parser=self.name,
                framework="nccl",
                host=who["host"] if who else None,
                pid=whole(who["pid"]) if who else None,
                gpu=whole(who["gpu"]) if who else None,
                world_size=size,
                detail=detail(**extra),
            )
        ]

    def _read(self, text: str) -> tuple[str, int | None, dict[str, object]] | None:
        if found := _CHANNEL.search(text):
            via = "/".join(found["via"].split("/")[:2])
            gdr = "GDRDMA" in found["via"]
            if (key := f"{via}{gdr}") in self._paths:
                return None
            self._paths.add(key)
            return "channel", None, {"via": via, "gdr": gdr, "from": whole(found["a"]), "to": whole(found["b"])}
        if "Channel" in text and "/" in text and " : " in text and "via" not in text:
            return None
        if found := _INIT.search(text):
            if found["state"] == "START":
                return None
            return "init", whole(found["size"] or found["size2"]), {"comm_rank": whole(found["rank"] or found["rank2"])}
        if found := _INIT_TIME.search(text):
            return (
                "init",
                whole(found["size"]),
                {"comm_rank": whole(found["rank"]), "seconds": float(found["total"].rstrip(".") or 0)},
            )
        if found := _END.search(text):
            return "destroy", whole(found["size"]), {"comm_rank": whole(found["rank"]), "how": found["how"].lower()}
        if found := _NETWORK.search(text) or _PROVIDER.search(text):
            return "net_transport", None, {"network": found["network"][:60]}
        if found := _GDR.search(text):
            return "gdr", None, {"enabled": found["state"] == "Enabled"}
        if found := _DEVICE.search(text):
            return (
                "net_device",
                None,
                {"net": found["net"], "found": found["none"] is None, "devices": found["devices"]},
            )
        if found := _BOOTSTRAP.search(text):
            return "bootstrap", None, {"interface": found["interface"], "address": found["address"]}
        if found := _NVLS.search(text):
            return "nvls", None, {"available": found["no"] is None}
        if found := _ENV.search(text):
            return (
                "env",
                None,
                {
                    "variable": found["variable"] or found["variable2"],
                    "value": (found["value"] or found["value2"]).rstrip("."),
                },
            )
        if found := _VERSION.search(text):
            return "version", None, {"version": found["version"].rstrip(".")}
        return None
