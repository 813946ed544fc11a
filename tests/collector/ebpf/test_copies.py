"""What a rank prints through a descriptor that is its output under another number, as the real kernel saw it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.ebpf import btf, load
from store.rows import CapturedLine
from tests.collector.ebpf.probed import Probed, ended, printed, start


@pytest.fixture(scope="module")
def node() -> Iterator[Probed]:
    with Probed() as probed:
        yield probed


def needs_btf() -> None:
    if not load.places("output"):
        pytest.skip("this kernel does not tell where it has the files of a task")


def test_a_logger_on_a_copy_of_the_output_is_told_in_its_stream_and_order(node: Probed) -> None:
    needs_btf()
    process = start(
        node,
        "import logging\n"
        "logging.basicConfig(stream=os.fdopen(os.dup(2), 'w'), format='%(message)s', level=20)\n"
        "copy = os.dup(1)\n"
        "high = os.dup2(1, 300)\n"
        "print('one', flush=True); os.write(copy, b'two, '); os.write(high, b'in two parts\\n'); print('three', flush=True)\n"
        "logging.info('a warning')\n"
        "if os.fork() == 0: os.write(copy, b'of a worker\\n'); os._exit(0)\n"
        "os.wait()",
    )
    ended(node, process)
    assert printed(node, process) == ["one", "two, in two parts", "three"]
    assert printed(node, process, "err") == ["a warning"]
    workers = [r for r in node.rows if type(r) is CapturedLine and r.text == "of a worker"]
    assert [(r.rank, r.stream) for r in workers] == [(2, "out")]


def test_what_a_wrapper_hands_on_under_another_number_is_told(node: Probed) -> None:
    """A shell's `exec 3>&1`, and a program that opens its standard error anew."""
    needs_btf()
    program = "import os; os.write(3, b'through three\\n'); open('/proc/self/fd/2', 'w').write('anew\\n')"
    code = f"import subprocess; subprocess.run(['bash', '-c', 'exec 3>&1; exec $0 -c \"$1\"', sys.executable, {program!r}])"
    process = start(node, code, rank=57)  # which no other test has: the kernel tells of their processes, too
    ended(node, process)
    told = [r for r in node.rows if type(r) is CapturedLine and r.rank == 57]
    assert [(r.text, r.stream) for r in told] == [("through three", "out"), ("anew", "err")]


def test_a_log_that_is_written_at_places_is_told_and_what_the_kernel_moves_is_counted(
    node: Probed, tmp_path: Path
) -> None:
    """pwrite is a write; sendfile, splice and copy_file_range move bytes that the program never had."""
    (tmp_path / "more").write_bytes(b"m" * 5000)
    code = (
        f"log = os.open({str(tmp_path / 'log')!r}, os.O_RDWR | os.O_CREAT)\n"
        f"more = os.open({str(tmp_path / 'more')!r}, os.O_RDONLY)\n"
        "os.dup2(log, 1)\n"
        "os.pwrite(1, b'at a place\\n', 4096)\n"
        "os.sendfile(1, more, 0, 1000)\n"
        "os.lseek(more, 0, 0); os.copy_file_range(more, log, 700)\n"
        "into, out = os.pipe(); os.write(out, b's' * 300); os.splice(into, log, 300)"
    )
    process = start(node, code, rank=6)
    before = node.source._output.flow  # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess]
    ended(node, process)
    assert printed(node, process) == ["at a place"]
    value = before.get(process.pid)
    lost = 2000 if load.places("output") else 1000
    assert value is not None and (value[2], value[3]) == (lost, 3 if load.places("output") else 1)
    node.sample()
    assert "moved by the kernel" in node.source.missing["captured_line"]


def test_what_is_no_output_is_not_read_whatever_its_number_was(node: Probed, tmp_path: Path) -> None:
    """Files, pipes and sockets of the program; also one that has the number that a copy had before."""
    code = (
        "import socket\n"
        "copy = os.dup(1)\n"
        "os.write(copy, b'said\\n')\n"
        "os.close(copy)\n"
        f"data = os.open({str(tmp_path / 'data')!r}, os.O_WRONLY | os.O_CREAT)\n"
        "assert data == copy\n"
        "os.write(data, b'data\\n')\n"
        "into, out = os.pipe(); os.write(out, b'piped\\n')\n"
        "a, b = socket.socketpair(); os.write(a.fileno(), b'sent\\n')\n"
        "try: os.write(4000, b'nowhere')\n"
        "except OSError: os.write(1, b'refused\\n')"
    )
    process = start(node, code, rank=7)
    ended(node, process)
    expected = ["said", "refused"] if load.places("output") else ["refused"]
    assert printed(node, process) == expected


def described(*types: bytes, names: bytes, magic: int = 0xEB9F) -> bytes:
    body = b"".join(types)
    return struct.pack("=HBBIIIII", magic, 1, 0, 24, 0, len(body), len(body), len(names)) + body + names


NAMES = b"\0task_struct\0files\0file\0f_inode\0int\0"
AT = {word: NAMES.index(b"\0" + word + b"\0") + 1 for word in (b"task_struct", b"files", b"file", b"f_inode", b"int")}
INT = struct.pack("=IIII", AT[b"int"], 1 << 24, 4, 32)
NAMELESS = struct.pack("=III III", 0, 4 << 24 | 1, 8, AT[b"files"], 1, 64)
TASK = struct.pack(
    "=III III III", AT[b"task_struct"], 1 << 31 | 4 << 24 | 2, 64, AT[b"int"], 1, 3 << 24 | 7, AT[b"files"], 1, 0x1000
)
FILE = struct.pack("=III III", AT[b"file"], 4 << 24 | 1, 64, AT[b"f_inode"], 1, 0x100)
ASKED = {"task_struct": ["files"], "file": ["f_inode"]}


def test_fields_are_found_where_the_kernel_says_they_stand(tmp_path: Path) -> None:
    """Also beside fields of single bits, whose number stands in the upper byte of a place."""
    (tmp_path / "btf").write_bytes(described(INT, NAMELESS, TASK, FILE, names=NAMES))
    found = btf.offsets(ASKED, tmp_path / "btf")
    assert found == {("task_struct", "files"): 0x200, ("file", "f_inode"): 0x20}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x9f\xeb",
        described(TASK, FILE, names=NAMES, magic=1),
        described(INT, TASK, names=NAMES),
        described(TASK, FILE, names=NAMES)[:60],
        described(INT, NAMELESS, names=b"\0int\0files\0"),
    ],
)
def test_a_kernel_that_does_not_tell_all_of_them_tells_none(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "btf").write_bytes(raw)
    assert btf.offsets(ASKED, tmp_path / "btf") is None
    assert btf.offsets(ASKED, tmp_path / "none") is None
