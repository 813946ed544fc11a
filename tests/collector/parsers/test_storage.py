"""The file system's refusals, with the file where it is named."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.storage import NAMES, Storage


def parse(text):
    return parse_text(Storage(), text)


@pytest.mark.parametrize(
    ("text", "name", "path"),
    [
        ("OSError: [Errno 28] No space left on device: '/scratch/u/ckpt/step-500'", "no_space", "/scratch/u/ckpt/step-500"),
        ("tar: /data/x: Cannot write: No space left on device", "no_space", "/data/x"),
        ("OSError: [Errno 122] Disk quota exceeded: '/home/u/.cache'", "quota", "/home/u/.cache"),
        ("OSError: [Errno 30] Read-only file system: '/out'", "read_only", "/out"),
        ("OSError: [Errno 116] Stale file handle: '/nfs/x'", "stale", "/nfs/x"),
        ("OSError: [Errno 5] Input/output error", "io_error", None),
        ("OSError: [Errno 107] Transport endpoint is not connected: '/mnt/x'", "disconnected", "/mnt/x"),
        ("RuntimeError: [enforce fail at inline_container.cc:778] . PytorchStreamWriter failed writing file data/12: file write failed", "write_failed", None),
        ("luajit: File.lua:210: write error: wrote 240 blocks instead of 320 at THDiskFile.c:353", "write_failed", None),
        ("OSError: only 4096 of 9216 bytes written", "write_failed", None),
        ("OSError: [Errno 24] Too many open files", "open_files", None),
        ("BlockingIOError: [Errno 11] Unable to open file (unable to lock file, errno = 11)", "file_lock", None),
    ],
)  # fmt: skip
def test_refusals_by_name(text, name, path):
    (row,) = parse(text)
    assert (row.kind, row.name, row.peer) == ("storage", name, path) and name in NAMES


def test_shared_memory_is_told_from_a_disk():
    (row,) = parse("RuntimeError: unable to write to file </torch_123_456>: No space left on device (28)")
    assert json.loads(row.detail) == {"shared_memory": True}


@pytest.mark.parametrize(
    "text",
    [
        "[Errno 2] No such file or directory: 'x'",
        "the tape is full",
        "Stale results removed",
        "quota: 10 GB",
        "we wrote 3 papers instead of 4",
        "read 4 blocks instead of 5",
    ],
)
def test_what_resembles_it_gives_nothing(text):
    assert parse(text) == []


@given(st.text(max_size=150))
def test_no_text_can_crash_it(text):
    assert all(r.name in NAMES for r in parse("[Errno 28] " + text))
