"""InfiniBand, RoCE, EFA and network interfaces from trees of sysfs that a test writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.node.here import Here
from collector.sources.base import SourceUnavailable
from collector.sources.infiniband import Infiniband
from collector.sources.network import Network
from store.rows import LinkEvent, LinkSample, Row
from tests.collector.livekit import SetClock


class Tree:
    """A /sys that a test writes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.here = Here(node="node1", clock=SetClock(), sys=root)

    def write(self, folder: str, **files: object) -> None:
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        for name, value in files.items():
            (self.root / folder / name).write_text(f"{value}\n")

    def port(self, device: str = "mlx5_0", **counters: object) -> None:
        port = f"class/infiniband/{device}/ports/1"
        self.write(port, state="4: ACTIVE", rate="400 Gb/sec (4X NDR)", link_layer="InfiniBand")
        zero = dict.fromkeys(
            ("link_downed", "link_error_recovery", "symbol_error", "port_rcv_errors", "port_xmit_wait"), 0
        )
        self.write(f"{port}/counters", **{**zero, "port_xmit_data": 250, "port_rcv_data": 500, **counters})


def events(rows: list[Row]) -> list[tuple[str | None, int | None]]:
    return [(r.event, r.count) for r in rows if isinstance(r, LinkEvent)]


def test_a_port_and_its_counters(tmp_path: Path) -> None:
    """Data counters count words of four bytes; a counter that is not there is NULL."""
    tree = Tree(tmp_path)
    tree.port(symbol_error=3)
    source = Infiniband(tree.here)
    source.open()
    (row,) = list(source.rows())
    assert isinstance(row, LinkSample)
    assert (row.fabric, row.device, row.port, row.state, row.rate_gbps) == (
        "infiniband",
        "mlx5_0",
        "1",
        "ACTIVE",
        400.0,
    )
    assert (row.tx_bytes, row.rx_bytes, row.symbol_errors, row.xmit_discards) == (1000, 2000, 3, None)


def test_a_flap_of_five_milliseconds_is_in_the_evidence(tmp_path: Path) -> None:
    """ACTIVE at both looks: only the counter knows, and the event says how often."""
    tree = Tree(tmp_path)
    tree.port()
    source = Infiniband(tree.here)
    source.open()
    assert events(list(source.rows())) == []
    tree.port(link_downed=1)
    assert events(list(source.rows())) == [("flap", 1)]
    assert events(list(source.rows())) == []
    tree.port(link_downed=1, link_error_recovery=4, symbol_error=250)
    assert events(list(source.rows())) == [("flap", 4), ("error_burst", 250)]


def test_a_port_that_goes_down_and_comes_back(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.port()
    source = Infiniband(tree.here)
    source.open()
    list(source.rows())
    tree.write("class/infiniband/mlx5_0/ports/1", state="1: DOWN")
    assert events(list(source.rows())) == [("down", None)]
    tree.write("class/infiniband/mlx5_0/ports/1", state="4: ACTIVE", rate="200 Gb/sec (2X NDR)")
    assert events(list(source.rows())) == [("up", None)]


def test_a_rate_that_fell_and_counters_that_were_cleared(tmp_path: Path) -> None:
    """perfquery -R sets counters back: that is no event."""
    tree = Tree(tmp_path)
    tree.port(link_downed=7, symbol_error=5000)
    source = Infiniband(tree.here)
    source.open()
    list(source.rows())
    tree.port(link_downed=0, symbol_error=0)
    assert events(list(source.rows())) == []
    tree.write("class/infiniband/mlx5_0/ports/1", rate="100 Gb/sec (1X NDR)")
    assert events(list(source.rows())) == [("speed_change", None)]


def test_roce_and_efa(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.port("mlx5_1")
    tree.write("class/infiniband/mlx5_1/ports/1", link_layer="Ethernet")
    tree.write("class/infiniband/mlx5_1/ports/1/hw_counters", roce_adp_retrans=4, np_ecn_marked_roce_packets=9)
    tree.write(
        "class/infiniband/rdmap0s6/ports/1", state="4: ACTIVE", rate="100 Gb/sec (4X EDR)", link_layer="Unspecified"
    )
    tree.write("class/infiniband/rdmap0s6/ports/1/hw_counters", tx_bytes=77, rx_bytes=88, retrans_pkts=5, rx_drops=2)
    source = Infiniband(tree.here)
    source.open()
    roce, efa = (r for r in source.rows() if isinstance(r, LinkSample))
    assert (roce.fabric, roce.retransmits, roce.congestion_marks) == ("roce", 4, 9)
    assert (efa.fabric, efa.tx_bytes, efa.rx_bytes, efa.retransmits, efa.xmit_discards) == ("efa", 77, 88, 5, 2)


def test_no_device_is_said_and_one_that_vanishes_is_an_event(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    source = Infiniband(tree.here)
    with pytest.raises(SourceUnavailable, match="no InfiniBand"):
        source.open()
    tree.port()
    tree.port("mlx5_1")
    source.open()
    list(source.rows())
    (tmp_path / "class/infiniband/mlx5_1").rename(tmp_path / "gone")
    rows = [r for r in source.rows() if isinstance(r, LinkEvent)]
    assert [(r.device, r.event) for r in rows] == [("mlx5_1", "down")]


def test_interfaces_that_stand_on_a_device(tmp_path: Path) -> None:
    """The carrier was lost and found between two looks; a bridge is not looked at."""
    tree = Tree(tmp_path)
    tree.write("class/net/eth0", operstate="up", speed=25000, carrier_down_count=1)
    tree.write("class/net/eth0/statistics", tx_bytes=10, rx_bytes=20, rx_errors=0, tx_dropped=0)
    tree.write("class/net/eth0/device")
    tree.write("class/net/br0", operstate="up")
    source = Network(tree.here)
    source.open()
    (row,) = list(source.rows())
    assert isinstance(row, LinkSample)
    assert (row.fabric, row.device, row.rate_gbps, row.tx_bytes, row.link_downed) == ("ethernet", "eth0", 25.0, 10, 1)
    tree.write("class/net/eth0", carrier_down_count=3)
    assert events(list(source.rows())) == [("flap", 2)]
    tree.write("class/net/eth0", operstate="down", speed=-1, carrier_down_count=4)
    rows = list(source.rows())
    assert events(rows) == [("down", 1)]
    assert isinstance(rows[0], LinkSample) and rows[0].rate_gbps is None
