"""What the kernel says of links, in the words of the drivers and of the RDMA core."""

from __future__ import annotations

import pytest

from collector.formats.kernel_events import Recogniser


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("mlx5_core 0000:41:00.0 ib0: Link down", ("down", "ib0", "infiniband", None)),
        ("mlx5_core 0000:9b:00.0 mlx5_1: Port: 1 Link DOWN", ("down", "mlx5_1", None, "1")),
        ("mlx5_core 0000:9b:00.0 rocep155s0: Port: 1 Link ACTIVE", ("up", "rocep155s0", "roce", "1")),
        ("bond0: (slave ens1f0): link status definitely down, disabling slave", ("down", "ens1f0", "ethernet", None)),
    ],
)
def test_a_link_that_changes_is_an_event(message: str, told: tuple[str, str, str | None, str | None]) -> None:
    (event,) = Recogniser().read(message)
    fields = event.fields
    assert event.table == "link_event"
    assert (fields["event"], fields["device"], fields["fabric"], fields.get("port")) == told


def test_words_about_links_are_no_event() -> None:
    assert Recogniser().read("pcieport 0000:3a:00.0: Link speed is 32GT/s, Port: 1 of 4") == []
