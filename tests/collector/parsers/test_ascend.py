"""Ascend's codes: which of them speak of ranks that did not meet, of a collective."""

import json

import pytest

from collector.parsers.ascend import NAMES, Ascend
from collector.parsers.base import parse_text


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("EI0006: 2025-01-02-03:04:05.006.007 Getting socket times out. Reason: Remote Rank did not send the data.", "rendezvous", "timeout"),
        ("[rank3]: EI0006: [PID: 41] 2025-01-02-03:04:05.006.007 Getting socket times out.", "rendezvous", "timeout"),
        ("[PID: 9] 2026-02-03-04:05:06.007.008 Communication_Error_Get_Socket(EI0006): Getting socket times out.", "rendezvous", "timeout"),
        ("EJ0001: 2025-01-02-03:04:05.006.007 Failed to initialize the HCCP process. Reason: Maybe the last one is running.", "rendezvous", "device_process"),
        ("EJ0003: Failed to bind the IP port. Reason: The IP address and port have been bound already.", "rendezvous", "bind_failed"),
    ],
)  # fmt: skip
def test_a_code_is_a_row(text: str, kind: str, name: str) -> None:
    (row,) = parse_text(Ascend(), text)
    assert (row.kind, row.name) == (kind, name) and name in NAMES


def test_a_collective_that_timed_out_has_its_name_and_whom_it_waits_for() -> None:
    (row,) = parse_text(
        Ascend(),
        "EI0002: The wait execution of the Notify register times out. Reason: no record from remote rank [12].base "
        "information: [streamID:[1], taskType[Notify Wait], tag[AllGather_10.0.0.1_60000_0_1].]",
    )
    assert (row.kind, row.name, row.severity, row.collective) == (
        "nccl_watchdog",
        "collective_timeout",
        "fatal",
        "AllGather",
    )
    assert json.loads(row.detail or "") == {"code": "EI0002", "waits_for": 12}


def test_hccls_own_task_timeout_is_a_collective_that_timed_out() -> None:
    (row,) = parse_text(
        Ascend(), "EI9999: The error from device(chipId:1), hccl fftsplus task timeout occurred, stream_id:2"
    )
    assert (row.kind, row.name, row.severity) == ("nccl_watchdog", "collective_timeout", "fatal")


@pytest.mark.parametrize(
    "text",
    [
        "EZ9999: aicore task timeout",
        "hccl task timeout is 1800 s",
        "EZ9999: Inner Error!",
        "see EI0006 in the manual",
        "order EI0042: shipped",
        "507046",
    ],
)
def test_what_resembles_it_gives_nothing(text: str) -> None:
    assert not parse_text(Ascend(), text)
