"""The loader: with an old bcc or an old kernel too, and its word where it cannot."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

from collector.ebpf import cuda, kit, load
from collector.ebpf.elf import functions
from collector.ebpf.kernel import Map, attach_uprobe, attach_uprobes
from tests.collector.ebpf.probed import go, libraries, program, why_not


class Loaded:
    """What bcc gives for a function."""

    def __init__(self, fd: int) -> None:
        self.fd = fd


class Compiled:
    """bcc's object, of three ages: `new`, `kernel` (this kernel refuses the way), `bcc` (it does not know the word)."""

    def __init__(self, age: str, plain: bool = True) -> None:
        self.age, self.plain = age, plain
        self.asked: list[dict[str, Any]] = []

    def load_func(self, name: bytes, kind: int, **more: Any) -> Loaded:
        assert (name, kind) == (b"launch", Bcc.BPF.KPROBE)
        self.asked.append(more)
        if more and self.age == "bcc":
            raise TypeError("load_func() got an unexpected keyword argument 'attach_type'")
        if more and self.age == "kernel":
            raise Exception("Failed to load BPF program b'launch': Invalid argument")
        if not more and not self.plain:
            raise Exception("Failed to load BPF program b'launch': Operation not permitted")
        return Loaded(7 if more else 8)


class Bcc:
    class BPF:
        KPROBE = 2


@pytest.mark.parametrize(("age", "fd"), [("new", 7), ("kernel", 8), ("bcc", 8)])
def test_what_is_too_old_for_many_places_at_once_gets_the_program_plainly(age: str, fd: int) -> None:
    made = Compiled(age)
    assert load.program(Bcc, made, "launch") == fd
    assert made.asked[0] == {"attach_type": load.MANY} and len(made.asked) == (1 if age == "new" else 2)


def test_what_is_refused_both_ways_is_told_by_the_plain_one() -> None:
    with pytest.raises(Exception, match="not permitted"):
        load.program(Bcc, Compiled("kernel", plain=False), "launch")


OLD = """
import os, sys
from collector.ebpf import load
load.MANY = 9999  # no kernel knows it
os._exit(load.main(int(sys.argv[1]), ["cuda"]))
"""


def test_a_program_that_was_loaded_plainly_counts_at_single_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real bcc and the real kernel, which refuses to load it for many places: what it counts is exact all the same."""
    if problem := why_not():
        pytest.skip(problem)
    starts = subprocess.Popen

    def start(words: list[str], **more: Any) -> Any:
        if words[1:3] == ["-m", "collector.ebpf.load"]:
            words = [words[0], "-c", OLD, words[3]]
        return starts(words, **more)

    with monkeypatch.context() as patch:
        patch.setattr(kit.subprocess, "Popen", start)
        loaded = kit.load(("cuda",))
    fd = -1
    process = program(4321, 0)
    try:
        path, calls = str(libraries() / "libcuda.so.1"), Map(loaded.maps["calls"], cuda.KEY, cuda.VALUE)
        place = functions(path, ["cuLaunchKernel"])["cuLaunchKernel"]
        launch = loaded.programs["cuda", "launch"]
        with pytest.raises(OSError, match="bpf"):
            os.close(attach_uprobes(launch, path, [place], at_return=False))
        fd = attach_uprobe(launch, path, place, at_return=False)
        go(process)
        value = calls.get(process.pid)
        assert value is not None and value[0] == 4321
    finally:
        process.communicate()
        if fd >= 0:
            os.close(fd)
        loaded.close()
