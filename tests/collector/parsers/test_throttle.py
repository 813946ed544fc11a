"""Active throttle reasons in nvidia-smi text; an inactive or idle one says nothing."""

import pytest

from collector.parsers.base import parse_text
from collector.parsers.throttle import NAMES, Throttle


@pytest.mark.parametrize(
    ("reason", "name", "severity"),
    [
        ("HW Thermal Slowdown", "hw_thermal", "error"),
        ("HW Slowdown", "hw_slowdown", "error"),
        ("HW Power Brake Slowdown", "hw_power_brake", "error"),
        ("SW Power Cap", "sw_power_cap", "info"),
    ],
)
def test_an_active_reason(reason, name, severity):
    (row,) = parse_text(Throttle(), f"            {reason:<30}: Active")
    assert (row.kind, row.name, row.severity) == ("throttle", name, severity) and name in NAMES


@pytest.mark.parametrize(
    ("said", "severity"),
    [
        ("Detected clocks event due to thermal violation in GPU 5. Verify that the cooling on this machine", "error"),
        ("| GPU ID: 5 | Warning | Detected clock throttling due to power violation in GPU 5 |", "warning"),
    ],
)
def test_dcgms_watch_names_the_gpu(said, severity):
    (row,) = parse_text(Throttle(), said)
    assert (row.kind, row.name, row.severity, row.gpu) == ("throttle", "violation", severity, 5)


@pytest.mark.parametrize(
    "text",
    [
        "        HW Slowdown      : Not Active",
        "        Idle   : Active",
        "Status: Active",
        "no thermal violation in GPU 5",
    ],
)
def test_the_rest_gives_nothing(text):
    assert parse_text(Throttle(), text) == []
