"""Physical network interfaces: state, speed, traffic, errors, and carrier losses between two looks.

SOURCE  /sys/class/net/NAME for interfaces that stand on a device (bonds, bridges and pairs of containers do not).
ROWS    link_sample, link_event with fabric ethernet.
OVERHEAD  about ten small files an interface every five seconds.

    carrier_down_count: 2    speed: 25000    operstate: up
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, ClassVar

from collector.node.here import Here
from collector.sources import sysfs
from collector.sources.base import SourceUnavailable
from collector.sources.link_changes import LinkChanges, LinkState
from store.rows import LinkEvent, LinkSample, Row


class Network:
    """All physical interfaces."""

    name: ClassVar[str] = "network"
    covers: ClassVar[tuple[str, ...]] = ("link_sample", "link_event")

    def __init__(self, here: Here) -> None:
        self._here = here
        self._root = f"{here.sys}/class/net"
        self._changes = LinkChanges()

    @property
    def interval_s(self) -> float:
        """Seconds."""
        return 5.0

    def open(self) -> None:
        """Find interfaces."""
        if not self._names():
            raise SourceUnavailable("no physical network interface", "in a container mount the host's /sys")

    def rows(self) -> Iterator[Row]:
        """A sample of each, and what happened to it."""
        here = self._here
        present: set[tuple[str, str]] = set()
        for name in self._names():
            folder = f"{self._root}/{name}"
            present.add((name, ""))
            about: dict[str, Any] = {
                "cluster": here.cluster, "node": here.node, "ts": here.clock.now(), "origin": self.name,
                "fabric": "ethernet", "device": name,
            }  # fmt: skip
            statistics = f"{folder}/statistics"
            state, speed = sysfs.text(folder, "operstate"), sysfs.number(folder, "speed")
            downs = sysfs.number(folder, "carrier_down_count")
            received = sysfs.number(statistics, "rx_errors")
            rate = speed / 1000 if speed is not None and speed > 0 else None
            yield LinkSample(
                **about,
                state=state,
                rate_gbps=rate,
                tx_bytes=sysfs.number(statistics, "tx_bytes"),
                rx_bytes=sysfs.number(statistics, "rx_bytes"),
                link_downed=downs,
                rcv_errors=received,
                xmit_discards=sysfs.number(statistics, "tx_dropped"),
            )
            for event, count, text in self._changes.look(name, "", LinkState(state, rate, downs, None, received)):
                yield LinkEvent(**about, event=event, count=count, message=text)
        for name, _ in self._changes.gone(present):
            common: dict[str, Any] = {"cluster": here.cluster, "node": here.node, "ts": here.clock.now()}
            text = "the interface is no longer there"
            yield LinkEvent(**common, origin=self.name, fabric="ethernet", device=name, event="down", message=text)

    def close(self) -> None:
        """Nothing is held."""

    def _names(self) -> list[str]:
        return [n for n in sysfs.names(self._root) if os.path.exists(f"{self._root}/{n}/device")]  # noqa: PTH110
