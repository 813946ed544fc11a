"""Whose problem it is when a library cannot be probed: not that of a process that has ended, nor of what maps the file next."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from collector.ebpf import cuda, nccl, pace
from collector.ebpf.elf import functions
from collector.ebpf.libraries import Libraries
from store.rows import CudaSample, NcclSample
from tests.collector.ebpf.probed import Probed, copied, go, libraries, program
from tests.software_gpu import driver


def process(proc: Path, pid: int, library: Path) -> Path:
    """What /proc tells of a process that maps a file."""
    here = proc / str(pid)
    here.mkdir(parents=True)
    stat = library.stat() if library.exists() else None
    (here / "maps").write_text(f"7f00-7f10 r-xp 00000000 08:01 {stat.st_ino if stat else 9} {library}\n")
    (here / "root").symlink_to("/")
    return here


@pytest.fixture
def library() -> Path:
    if driver.why_not():
        pytest.skip(str(driver.why_not()))
    return libraries() / "libcuda.so.1"


def test_a_file_that_is_not_there_is_told_only_where_its_process_still_runs(tmp_path: Path) -> None:
    known = Libraries(tmp_path, {})
    process(tmp_path, 7, tmp_path / "gone" / "libcuda.so.1")
    (process(tmp_path, 8, tmp_path / "ended" / "libcuda.so.1") / "root").unlink()
    known.look(7)
    known.look(8)
    assert [Path(p).parent.name for p in known.problems] == ["gone"]


def test_a_process_that_ends_while_it_is_probed_leaves_the_file_to_the_next(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Libraries(tmp_path, {})
    first, _ = process(tmp_path, 7, library), process(tmp_path, 8, library)

    def attach(self: pace.Gate) -> dict[str, str]:
        if (first / "root").is_symlink():
            (first / "root").unlink()
        return {} if "/8/root" in self.path else {f"{self.path}+0x1000": "no such file"}

    monkeypatch.setattr(pace.Gate, "attach", attach)
    found.look(7)
    assert (found.probed, found.problems) == ({}, {})
    found.look(8)
    ((probed,), problems) = found.probed.values(), found.problems
    assert (probed.pids, problems) == ({8}, {})


def test_a_refused_place_is_named_as_the_process_sees_it_until_the_file_is_let_go(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(program: int, path: str, place: int, *, at_return: bool) -> int:
        if at_return:
            raise OSError(22, "perf_event_open: refused")
        return os.open(os.devnull, os.O_RDONLY)

    monkeypatch.setattr(pace, "attach_uprobe", refused)
    known = Libraries(tmp_path, {("cuda", program): 1 for _, program, _ in cuda.PROBES})
    for pid in range(100, 120):
        process(tmp_path, pid, library)
        known.look(pid)
    before = set(known.problems)
    assert known.refused() == {}
    assert before and all(place.startswith(f"{library}+0x") for place in before)
    for pid in range(100, 120):
        shutil.rmtree(tmp_path / str(pid))
        known.gone(pid, 5.0)
    known.tidy(5.0 + 61)
    assert (known.probed, known.problems) == ({}, {})


def test_a_library_that_takes_no_probe_blinds_its_table_until_it_takes_them(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lockdown, a container's seccomp: what counts nothing is not told as looking, and is tried again."""
    locked = True

    def attach(program: int, path: str, place: int, *, at_return: bool) -> int:
        if locked:
            raise OSError(1, "perf_event_open: Operation not permitted")
        return os.open(os.devnull, os.O_RDONLY)

    monkeypatch.setattr(pace, "attach_uprobe", attach)
    programs = {("cuda", program): 1 for _, program, _ in cuda.PROBES}
    known = Libraries(tmp_path, programs | {("nccl", program): 1 for _, program, _ in (*nccl.PROBES, *nccl.ENDS)})
    with (process(tmp_path, 7, library) / "maps").open("a") as maps:
        maps.write(f"7f20-7f30 r-xp 00000000 08:01 10 {library.parent}/libnccl.so.2\n")
    known.look(7)
    known.tidy(100.0)
    assert known.refused().keys() == {"libcuda", "libnccl"} and "not permitted" in known.refused()["libcuda"]
    assert {Path(p).name for p in known.told()} == {"libcuda.so.1", "libnccl.so.2"}, (
        "a word of the file, not of each place"
    )
    locked = False
    known.tidy(100.0 + 59)
    assert known.refused()
    known.tidy(100.0 + 61)
    assert (known.refused(), known.problems) == ({}, {})
    assert known.maps(7, "libcuda") and known.maps(7, "libnccl") and all(p.fds for p in known.probed.values())
    known.close()


def test_a_place_that_is_not_probed_counts_nothing_rather_than_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Launches that no probe could see are NULL, not zero: zero would read as an idle GPU. What is counted beside them stands."""
    launch = functions(str(libraries() / "libcuda.so.1"), ["cuLaunchKernel", "cuLaunchKernelEx"]).values()
    attach, together = pace.attach_uprobe, pace.attach_uprobes

    def refused(program: int, path: str, place: int, *, at_return: bool) -> int:
        if place in launch:
            raise OSError(22, "perf_event_open: refused")
        return attach(program, path, place, at_return=at_return)

    def all_refused(program: int, path: str, offsets: Sequence[int], *, at_return: bool) -> int:
        if set(offsets) & set(launch):
            raise OSError(22, "bpf: refused")
        return together(program, path, offsets, at_return=at_return)

    monkeypatch.setattr(pace, "attach_uprobe", refused)
    monkeypatch.setattr(pace, "attach_uprobes", all_refused)
    with Probed() as node:
        found = program(500, 4, folder=copied(tmp_path / "own"))
        node.probes(found)
        go(found)
        node.sample()
        (row,) = node.of(CudaSample, found.pid)
        found.communicate()
        assert (row.launches, row.max_launch_gap_s, row.graph_launches) == (None, None, 4)
        assert node.source.blind == {}


def test_a_library_that_was_deleted_or_replaced_before_its_process_was_found_is_probed(tmp_path: Path) -> None:
    """An upgrade while a job runs: whoever began before it maps the old file, whoever begins after it the new one."""
    folder = copied(tmp_path / "own")
    old = program(500, 4, rank=0, folder=folder)
    deadline = time.monotonic() + 20
    while "libnccl" not in Path(f"/proc/{old.pid}/maps").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    for name in ("libcuda.so.1", "libnccl.so.2"):
        (folder / name).unlink()
        driver.build_one(folder, name)
    with Probed() as node:
        new = program(700, 4, rank=1, folder=folder)
        for each in (old, new):
            node.probes(each)
        for each in (old, new):
            go(each)
        node.sample()
        for each in (old, new):
            each.communicate()
        told = [node.of(CudaSample, p.pid)[-1].launches for p in (old, new)]
        calls = [r for p in (old, new) for r in node.of(NcclSample, p.pid) if r.collective == "all_reduce"]
        assert node.source.missing == {}
    assert (told, [r.enqueued for r in calls]) == ([501, 701], [5, 5])


@pytest.fixture
def mounted() -> Iterator[list[Path]]:
    mounts: list[Path] = []
    yield mounts
    for mount in reversed(mounts):
        subprocess.run(["umount", "-l", mount], check=True)


def mount(mounts: list[Path], kind: str, where: Path, *options: str) -> Path:
    where.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["mount", "-t", kind, *options, kind, where], check=False, capture_output=True)
    if done.returncode:
        pytest.skip("file systems cannot be mounted here")
    mounts.append(where)
    return where


def image(mounts: list[Path], folder: Path) -> Path:
    """The libraries on a file system of their own, with the numbers and times that they have on any other such."""
    copied(mount(mounts, "tmpfs", folder) / "lower")
    for file in sorted((folder / "lower").iterdir()):
        subprocess.run(["touch", "-d", "2026-03-01T10:00:00Z", file], check=True)
    return folder


def overlay(mounts: list[Path], image: Path, name: str) -> Path:
    """A container's view of it."""
    for part in ("upper", "work"):
        (image / f"{name}-{part}").mkdir()
    layers = f"lowerdir={image}/lower,upperdir={image}/{name}-upper,workdir={image}/{name}-work"
    return mount(mounts, "overlay", image.parent / f"{image.name}-{name}", "-o", layers)


def test_containers_count_once_each_whether_they_share_a_file_or_have_one_each(
    tmp_path: Path, mounted: list[Path]
) -> None:
    """Two mounts of one image, three containers over them and a process beside them: files that look alike, in other inodes or not.

    Another collector has its probes on all of them already.
    """
    one, two = image(mounted, tmp_path / "one"), image(mounted, tmp_path / "two")
    folders = [
        overlay(mounted, one, "a"), overlay(mounted, one, "b"), overlay(mounted, two, "a"), one / "lower",
    ]  # fmt: skip
    with Probed() as other, Probed() as node:
        found = [program(500, 4, rank=n, folder=folder) for n, folder in enumerate(folders)]
        for looks in (other, node):
            for one_of_them in found:
                looks.probes(one_of_them)
        for one_of_them in found:
            go(one_of_them)
        node.sample()
        for one_of_them in found:
            one_of_them.communicate()
        told = [node.of(CudaSample, p.pid)[-1].launches for p in found]
        reduced = [
            sum(r.enqueued or 0 for r in node.of(NcclSample, p.pid) if r.collective == "all_reduce") for p in found
        ]
    assert (told, reduced) == ([501] * 4, [5] * 4)


def test_a_file_that_another_collector_probed_is_told_from_an_idle_one_that_looks_alike(tmp_path: Path) -> None:
    """Nobody maps the first file any more: whether its probes stand in a process cannot be asked of one that has them."""
    with Probed() as other, Probed() as node:
        ended = program(500, 4, rank=0, folder=copied(tmp_path / "one"))
        node.probes(ended)
        known = node.source._libraries  # pyright: ignore[reportPrivateUsage]
        assert known is not None
        idle = [p for p in known.probed.values() if ended.pid in p.pids]
        ended.communicate()
        node.until(lambda: not any(p.pids for p in idle))
        found = program(500, 4, rank=1, folder=copied(tmp_path / "two"))
        for looks in (other, node):
            looks.probes(found)
        go(found)
        node.sample()
        found.communicate()
        assert node.of(CudaSample, found.pid)[-1].launches == 501
        assert len(idle) == 2 and not any(p.pids for p in idle)
