"""What NVIDIA's Fabric Manager says of NVSwitches, and systemd of its service: which switch failed, and that no fabric came up.

SOURCE  nv-fabricmanager of drivers 450 to 580, in a node's journal or in its own /var/log/fabricmanager.log.
ROWS    gpu_event `sxid` for an error of a switch (fatal or not is said in its words), `fabric` where the fabric was not set up.
CAVEAT  where it finds no switch at all it has nothing to do, and that its service then fails means nothing.
EXAMPLE detected NVSwitch fatal error 22013 on fid 0 on NVSwitch pci bus id 00000000:C1:00.0 physical id 8 port 41
"""

from __future__ import annotations

import re
from typing import Any

from collector.formats.kernel_events import pci_address
from store import lazy

DAEMON = "nv-fabricmanager"
_SPEAKERS = frozenset({DAEMON, "nvidia-fabricmanager-start.sh"})
_INIT = "systemd"
_SWITCH = lazy.compile(
    r"detected NVSwitch (?:non-)?fatal error (?P<xid>\d{1,6})\b.{0,80}? pci bus id (?P<pci>(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?)"
)
_NONE_HERE = lazy.compile(
    r"NV_WARN_NOTHING_TO_DO|\bno NVSwitch(?:es)? (?:device\w* )?(?:was |were )?(?:found|detected)", re.IGNORECASE
)
_NOT_UP = lazy.compile(
    r"\bfailed to (?:activate|initialize|configure|start|query|set ?up|train)\b|\brequest to \w+ .{0,200}\bfailed with error"
    r"|\bversion \S+ (?:don't|doesn't|does not|do not) match with driver version|\bfabric manager .{0,80}\b(?:initialization|start ?up) failed",
    re.IGNORECASE,
)
_SERVICE = lazy.compile(
    r"nvidia-fabricmanager\.service: (?:Control process exited.{0,80}status=[1-9]|Main process exited.{0,80}status=[1-9]|Failed with result)"
    r"|Failed to start (?:NVIDIA fabric manager service|nvidia-fabricmanager\.service)",
    re.IGNORECASE,
)  # fmt: skip


def of_fabric(who: str, message: str) -> bool:
    """Whether this is the Fabric Manager that speaks, or systemd of its service."""
    return who in _SPEAKERS or (who == _INIT and "fabric" in message.lower() and "manager" in message.lower())


class FabricWords:
    """The words of one node's log in order: once it says that there is no switch, its failures to start are none."""

    def __init__(self) -> None:
        self._without = False

    def read(self, who: str, message: str) -> dict[str, Any] | None:
        """The columns of a gpu_event; None for other words."""
        told = f"{who}: {message}"[:2000]
        if who in _SPEAKERS:
            if _NONE_HERE.search(message):
                self._without = True
                return None
            if (found := _SWITCH.search(message)) is not None:
                return {
                    "event": "sxid",
                    "xid": int(found["xid"]),
                    "pci_bus_id": pci_address(found["pci"]),
                    "message": told,
                }
        failed = _SERVICE.search(message) if who == _INIT else _NOT_UP.search(message) if who in _SPEAKERS else None
        return None if failed is None or self._without else {"event": "fabric", "message": told}
