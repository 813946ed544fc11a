"""XID text in a job's own output is recorded as hearsay."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.xid import NAMES, Xid


def parse(text):
    return parse_text(Xid(), text)


def test_a_line_in_the_drivers_shape():
    (row,) = parse(
        "[12.3] NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=python, Timeout after 6s of waiting for RPC"
    )
    assert (row.kind, row.name, row.xid, row.pid, row.severity) == ("xid", "nvrm_line", 119, 2024380, "warning")
    assert json.loads(row.detail) == {"pci": "0000:9b:00", "process": "python"}


@pytest.mark.parametrize(
    ("text", "name", "xid"),
    [
        ("NVRM: Xid (PCI:0000:01:00): 13, Graphics SM Warp Exception", "nvrm_line", 13),
        (
            "NVRM: Xid (PCI:0000:07:00): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error",
            "nvrm_line",
            48,
        ),
        ("health check: XID 79 seen on GPU 3", "mention", 79),
        ("NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.", "fallen_off_bus", None),
    ],
)
def test_mentions(text, name, xid):
    (row,) = parse(text)
    assert (row.name, row.xid) == (name, xid) and name in NAMES


@pytest.mark.parametrize("text", ["XIDs: none", "Xidian University 12", "taxid 9606", "no Xid errors"])
def test_what_resembles_it_gives_nothing(text):
    assert parse(text) == []


@given(st.text(max_size=100))
def test_no_text_can_crash_it(text):
    assert all(r.name in NAMES for r in parse("Xid " + text))
