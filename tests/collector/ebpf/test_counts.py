"""What processes ask of CUDA and NCCL, counted by the real kernel to the call."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from collector.ebpf import cuda, nccl, pace
from collector.ebpf.elf import NotElf, functions
from collector.ebpf.kernel import NO_EXIST, Map
from collector.ebpf.load import UPROBES
from store.rows import CudaSample, NcclSample, Row
from tests.collector.ebpf.probed import Probed, R, copied, go, libraries, program
from tests.software_gpu import driver


@pytest.fixture(scope="module", params=["together", "singly"])
def node(request: pytest.FixtureRequest) -> Iterator[Probed]:
    """Probed as this kernel does it, and as one that cannot attach a program to many places at once (before 6.6)."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "singly":
            patch.setattr(pace, "attach_uprobes", unknown)
        with Probed() as probed:
            yield probed


def unknown(program: int, path: str, offsets: Sequence[int], *, at_return: bool) -> int:
    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def test_a_program_is_attached_to_all_its_places_by_one_descriptor(node: Probed) -> None:
    """Where the kernel can: closing each descriptor waits for all its readers."""
    process = program(1, 1)
    try:
        node.probes(process)
        known = node.source._libraries  # pyright: ignore[reportPrivateUsage]
        assert known is not None
        (driver_of_it,) = [p for p in known.probed.values() if p.name == "libcuda" and process.pid in p.pids]
        gate = driver_of_it.gates[cuda.OTHERS]
        programs = {(program, at_return) for _place, program, at_return in gate.sites}
        together = pace.attach_uprobes is not unknown and tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 6)
        assert len(programs) < len(gate.sites)
        assert len(gate.fds) == (len(programs) if together else len(gate.sites))
    finally:
        process.communicate()


def test_launches_copies_and_gaps_are_exact_and_the_ranks_own(node: Probed) -> None:
    one, two = program(123456, 7, 250, rank=3), program(2000, 2, rank=4)
    try:
        node.probes(one)
        node.probes(two)
        go(one)
        go(two)
        node.sample()
        (a,), (b,) = node.of(CudaSample, one.pid), node.of(CudaSample, two.pid)
        assert (a.launches, a.graph_launches, a.attached) == (123457, 7, True)
        assert (a.h2d_bytes, a.d2h_bytes, a.d2d_bytes) == (7 * 4096, 7 * 512, 0)
        assert (b.launches, b.graph_launches) == (2001, 2)
        assert (a.job_id, a.step_id, a.rank, b.rank) == ("990017", "0", 3, 4)
        assert a.max_launch_gap_s is not None and a.max_launch_gap_s >= 0.25
        node.sample()
        again = node.of(CudaSample, one.pid)[-1]
        assert (again.launches, again.h2d_bytes, again.max_launch_gap_s, again.attached) == (0, 0, None, True)
    finally:
        one.communicate()
        two.communicate()


def test_collectives_by_kind_and_what_is_still_open(node: Probed) -> None:
    process = program(1, 5, rank=6)
    try:
        node.probes(process)
        go(process)
        node.sample()
        rows = node.of(NcclSample, process.pid)
        kinds = {r.collective: (r.enqueued, r.bytes) for r in rows}
        assert kinds == {None: (None, None), "all_reduce": (6, 6 * 4000), "all_gather": (2, 2 * 600)}
        (whole,) = [r for r in rows if r.collective is None]
        # The event was recorded before the last collective and was found finished: that one has shown no end.
        assert (whole.comm_size, whole.comm_rank, whole.rank) == (8, 6, 6)
        assert (whole.seq, whole.completed, whole.in_flight) == (8, 7, 1)
    finally:
        process.communicate()


def test_a_stream_that_was_waited_for_ends_all_and_ranks_name_one_communicator(node: Probed) -> None:
    ranks = [program(0, 1, 0, "wait", rank=n) for n in (0, 1)]
    try:
        for process in ranks:
            node.probes(process)
            go(process)
        node.sample()
        found = [node.of(NcclSample, p.pid)[-1] for p in ranks]
        assert [(r.collective, r.seq, r.completed, r.in_flight) for r in found] == [("all_reduce", 2, 2, 0)] * 2
        assert found[0].comm == found[1].comm and found[0].comm is not None
        assert [r.comm_rank for r in found] == [0, 1]
        waited = node.of(CudaSample, ranks[0].pid)[-1]
        assert waited.sync_time_s is not None and 0.001 <= waited.sync_time_s <= (waited.api_time_s or 0)
    finally:
        for process in ranks:
            process.communicate()


def test_a_communicator_of_many_ranks_is_known_by_size_rank_and_name_however_it_is_made(node: Probed) -> None:
    """PyTorch makes it by ncclCommInitRankScalable beyond 128 ranks: the same unique id is the same name."""
    ranks = [program(0, 1, 0, rank=5), program(0, 1, 0, rank=6, CALLS_SCALABLE="1")]
    try:
        for process in ranks:
            node.probes(process)
            go(process)
        node.sample()
        found = [node.of(NcclSample, p.pid)[-1] for p in ranks]
        assert [(r.comm_rank, r.comm_size, r.seq) for r in found] == [(5, 8, 2), (6, 8, 2)]
        assert found[0].comm == found[1].comm
    finally:
        for process in ranks:
            process.communicate()


def test_parts_of_a_communicator_have_one_name_on_all_of_their_ranks(node: Probed) -> None:
    """The process groups of FSDP, tensor and pipeline parallelism, which PyTorch parts from the whole."""
    ranks = {n: program(0, 0, 0, rank=n, CALLS_PARTED="1") for n in (0, 2, 3, 4)}
    try:
        for process in ranks.values():
            node.probes(process)
            go(process)
        node.sample()
        names = {n: {r.bytes: r.comm for r in node.of(NcclSample, p.pid)} for n, p in ranks.items()}
        assert {n: set(of) for n, of in names.items()} == {
            n: {4000, 400, 4} | ({40} if n < 4 else set()) for n in ranks
        }
        whole, colour, few, fewer = ({n: of.get(size) for n, of in names.items()} for size in (4000, 400, 40, 4))
        assert colour[0] == colour[2] == colour[4] != colour[3]
        assert few[0] == few[2] == few[3] and few[4] is None
        assert [len(set(of.values())) for of in (whole, fewer)] == [1, 1]
        assert len({whole[0], colour[0], colour[3], few[0], fewer[0]}) == 5
        assert {r.comm_size for r in node.of(NcclSample, ranks[0].pid) if r.bytes == 400} == {None}
    finally:
        for process in ranks.values():
            process.communicate()


def test_an_end_that_does_not_come_is_in_flight(node: Probed, tmp_path: Path) -> None:
    held = tmp_path / "held"
    held.touch()
    process = program(0, 3, INQUEST_SOFTWARE_GPU_HELD=str(held))
    try:
        node.probes(process)
        go(process)
        node.sample()
        (whole,) = [r for r in node.of(NcclSample, process.pid) if r.in_flight is not None]
        assert (whole.seq, whole.completed, whole.in_flight) == (5, 0, 5)
    finally:
        process.communicate()


def test_what_was_counted_before_the_end_is_told_with_the_end(node: Probed) -> None:
    process = program(777, 0)
    node.probes(process)
    go(process)
    process.communicate()
    node.until(lambda: bool(node.of(CudaSample, process.pid)))
    node.sample()
    node.sample()
    assert sum(r.launches or 0 for r in node.of(CudaSample, process.pid)) == 778
    assert sum(r.enqueued or 0 for r in node.of(NcclSample, process.pid)) == 1
    calls = node.source._calls  # pyright: ignore[reportPrivateUsage]
    assert calls is not None and calls.calls.get(process.pid) is None


def test_what_was_counted_before_the_collector_stops_is_told_with_its_stop(node: Probed) -> None:
    """SIGTERM between two samples: the counters go with the probes."""
    process = program(555, 2, rank=1)
    try:
        node.probes(process)
        go(process)
        node.source._sampled -= 3  # pyright: ignore[reportPrivateUsage]
        rest = list(node.source.rest())
        calls = [r for r in rows_of(rest, CudaSample) if r.pid == process.pid]
        assert [(r.launches, r.graph_launches, r.h2d_bytes, r.rank) for r in calls] == [(556, 2, 2 * 4096, 1)]
        assert sum(r.enqueued or 0 for r in rows_of(rest, NcclSample) if r.pid == process.pid) == 4
        assert not rows_of(node.source.rest(), CudaSample), "there is nothing of a moment ago"
    finally:
        process.communicate()


def rows_of(rows: Iterable[Row], kind: type[R]) -> list[R]:
    return [r for r in rows if type(r) is kind]


def test_another_file_of_the_same_library_is_probed_too_and_released_after_its_processes(
    node: Probed, tmp_path: Path
) -> None:
    other = copied(tmp_path / "wheel")
    process = program(500, 0, folder=other)
    node.probes(process)
    go(process)
    node.sample()
    assert node.of(CudaSample, process.pid)[-1].launches == 501
    libraries_ = node.source._libraries  # pyright: ignore[reportPrivateUsage]
    assert libraries_ is not None
    mine = [k for k, p in libraries_.probed.items() if process.pid in p.pids]
    process.communicate()
    node.until(lambda: all(not libraries_.probed[k].pids for k in mine))
    libraries_.tidy(node.here.clock.steady() + 61)
    assert not set(mine) & libraries_.probed.keys()


def test_symbols_are_where_the_loader_finds_them() -> None:
    if driver.why_not():
        pytest.skip(str(driver.why_not()))
    path = libraries() / "libnccl.so.2"
    found = functions(str(path), [symbol for symbol, _, _ in nccl.PROBES])
    library = ctypes.CDLL(str(path))
    places = {n: ctypes.cast(getattr(library, n), ctypes.c_void_p).value or 0 for n in found}
    content = path.read_bytes()
    begins = {n: at - 4 * (content[at - 4 : at] == b"\xf3\x0f\x1e\xfa") for n, at in found.items()}
    base = {places[n] - begins[n] for n in found}
    assert {"ncclAllReduce", "ncclCommInitRank", "ncclCommSplit"} <= found.keys()
    # One and the same distance for all: file and memory differ by where the segment was mapped.
    assert len(base) == 1
    assert functions(str(libraries() / "libcuda.so.1"), [s for s, _, _ in cuda.PROBES]).keys() >= {"cuLaunchKernel"}


def test_each_program_that_is_to_be_attached_is_loaded() -> None:
    """One that is not loaded is attached nowhere, and nothing else says so."""
    for probe, symbols in (("cuda", cuda.PROBES), ("nccl", (*nccl.PROBES, *nccl.ENDS))):
        assert {program for _, program, _ in symbols} == set(UPROBES[probe])


def test_a_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"#!/bin/sh\n" * 20, b"\x7fELF\x02\x01" + b"\xff" * 200):
        path = tmp_path / "libcuda.so.1"
        path.write_bytes(content)
        with pytest.raises(NotElf):
            functions(str(path), ["cuLaunchKernel"])


def test_a_map_holds_more_than_one_reading_takes_and_forgets_what_is_deleted(node: Probed) -> None:
    kit_ = node.source._kit  # pyright: ignore[reportPrivateUsage]
    assert kit_ is not None
    table = Map(kit_.maps["mapped"], "=I", "=I")
    ours = {(4_000_000 + n,): (n,) for n in range(700)}
    for key, value in ours.items():
        assert table.put(key, value)
    assert not table.put((4_000_000,), (1,), NO_EXIST)
    assert {k: v for k, v in table.items() if k in ours} == ours
    for key in ours:
        table.delete(*key)
    assert not [k for k, _ in table.items() if k in ours]
    table.delete(4_000_000)


def test_nothing_of_bcc_stays_in_the_process(node: Probed) -> None:
    maps = Path("/proc/self/maps").read_text()
    assert "libbcc" not in maps and "libLLVM" not in maps


def test_functions_that_begin_with_a_landing_pad_are_counted(node: Probed, tmp_path: Path) -> None:
    """As distributions build: the probe sits behind endbr64, where it is cheap."""
    padded = copied(tmp_path / "padded")
    driver.build_one(padded, "libcuda.so.1", "-fcf-protection=full")
    place = functions(str(padded / "libcuda.so.1"), ["cuLaunchKernel"])["cuLaunchKernel"]
    assert (padded / "libcuda.so.1").read_bytes()[place - 4 : place] == b"\xf3\x0f\x1e\xfa"
    process = program(4321, 3, folder=padded)
    node.probes(process)
    go(process)
    node.sample()
    row = node.of(CudaSample, process.pid)[-1]
    process.communicate()
    assert (row.launches, row.graph_launches, row.h2d_bytes) == (4322, 3, 3 * 4096)
    assert row.api_time_s is not None and row.api_time_s > 0


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="an instruction of x86")
def test_a_place_that_the_kernel_lets_nobody_probe_costs_no_other_count(node: Probed, tmp_path: Path) -> None:
    """The other functions of the library are counted exactly, and the health names the place with the kernel's word."""
    other = copied(tmp_path / "refused")
    driver.build_one(other, "libcuda.so.1", "-DREFUSED")
    place = functions(str(other / "libcuda.so.1"), ["cuMemFree_v2"])["cuMemFree_v2"]
    process = program(321, 2, folder=other)
    node.probes(process)
    go(process)
    node.sample()
    row = node.of(CudaSample, process.pid)[-1]
    process.communicate()
    assert (row.launches, row.graph_launches, row.h2d_bytes, row.estimated) == (322, 2, 2 * 4096, None)
    libraries_ = node.source._libraries  # pyright: ignore[reportPrivateUsage]
    assert libraries_ is not None
    # Whatever else on this host could not be probed stands beside it, and perhaps before it.
    why = libraries_.problems[f"{other}/libcuda.so.1+{place:#x}"]
    assert "perf_event_open: the kernel cannot probe such an instruction" in why
    assert why in node.source.missing.values() or "libraries" in node.source.missing
