"""How processes of jobs end, who ended them, and what they printed, as the kernel saw it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.ebpf import kit, load
from collector.ebpf.load import CannotLoad
from collector.ebpf.process import named
from collector.ebpf.stacks import STALL_S
from store.rows import CapturedLine, CudaSample, Process
from tests.collector.ebpf.probed import JOB, Probed, ended, go, program, start


@pytest.fixture(scope="module")
def node() -> Iterator[Probed]:
    with Probed() as probed:
        yield probed


def test_a_signal_has_its_sender(node: Probed) -> None:
    process = start(node, "")
    subprocess.run(["/bin/sh", "-c", f"kill -TERM {process.pid}; true"], check=True)
    row = ended(node, process)
    assert (row.exit_code, row.exit_signal, row.rank, row.job_id) == (None, 15, 2, "990017")
    assert row.signal_sender is not None and row.signal_sender.endswith(":sh user:root")
    assert row.oom_killed is False
    # One process for the reader: the topology's rows have the same start.
    assert len({r.ts for r in node.of(Process, process.pid)}) == 1


def test_an_exit_code_and_no_sender_where_the_signal_was_handled(node: Probed) -> None:
    process = start(node, "signal.signal(15, signal.SIG_IGN); signal.raise_signal(15); sys.exit(7)")
    row = ended(node, process)
    assert (row.exit_code, row.exit_signal, row.signal_sender) == (7, 0, None)


def test_an_abort_comes_from_itself(node: Probed) -> None:
    row = ended(node, start(node, "os.abort()"))
    assert (row.exit_signal, row.signal_sender) == (signal.SIGABRT, "itself")


def test_an_alarm_that_runs_out_blames_nobody_that_happened_to_run(node: Probed) -> None:
    """The kernel's timer interrupts whatever is running just then: beside this rank, a program that never sleeps."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        row = ended(node, start(node, "signal.alarm(1)\nwhile True: signal.pause()"))
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert (row.exit_signal, row.signal_sender) == (signal.SIGALRM, "kernel")


def test_a_child_is_followed_from_its_first_instruction(node: Probed) -> None:
    process = start(node, "p = os.fork()\nif p == 0: os._exit(9)\nos.waitpid(p, 0)\nprint(p)")
    out, _ = process.communicate(timeout=60)
    child = int(out)
    node.until(lambda: bool(node.of(Process, child)))
    row = node.of(Process, child)[-1]
    assert (row.exit_code, row.job_id, row.rank) == (9, "990017", 2)


def test_ends_that_come_too_fast_are_counted_and_what_they_left_is_cleared_away(node: Probed) -> None:
    """Thousands of children between two looks: the ring has no room for all of them, and source_health says so for a while."""
    code = (
        "for n in range(9000):\n"
        "    if os.fork() == 0: os._exit(3)\n"
        "    os.waitpid(-1, 0)\n"
        "print('made', flush=True)\n"
        "sys.stdin = open('/dev/null'); os.read(os.dup2(os.pipe()[0], 9), 1)"
    )
    process = start(node, code, rank=4)
    try:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        assert process.stdout.readline() == "made\n"
        node.look()
        ends = sum(type(r) is Process and r.exit_code == 3 and r.rank == 4 for r in node.rows)
        node.sample()
        lost = int(node.source.missing["process"].split()[0])
        assert 0 < 9000 - ends <= lost, "other programs begin on this host meanwhile"
        known = node.source._known  # pyright: ignore[reportPrivateUsage]
        assert process.pid in known
        # Another job's process on this host may have ended since; its end is told in the next round.
        node.until(lambda: all(Path(f"/proc/{pid}").exists() for pid in known))
    finally:
        process.kill()
        process.wait()


def test_printed_lines_are_told_with_rank_and_stream(node: Probed) -> None:
    process = start(
        node,
        "print('step 1 loss 2.5', flush=True)\n"
        "sys.stdout.write('half '); sys.stdout.flush(); print('a line', flush=True)\n"
        "sys.stderr.write('ValueError: no end of line')",
    )
    ended(node, process)
    lines = [r for r in node.rows if type(r) is CapturedLine and r.file and f"/{process.pid}." in r.file]
    assert [(r.stream, r.line_no, r.text) for r in lines] == [
        ("out", 1, "step 1 loss 2.5"),
        ("out", 2, "half a line"),
        ("err", 1, "ValueError: no end of line"),
    ]
    assert {(r.rank, r.job_id, r.ts_kind) for r in lines} == {(2, "990017", "written")}


def test_a_flood_is_bounded_and_what_is_left_out_is_counted(node: Probed) -> None:
    process = start(node, "for n in range(4000): os.write(1, b'%07d ' % n + b'x' * 991 + b'\\n')", rank=5)
    ended(node, process)
    lines = [r for r in node.rows if type(r) is CapturedLine and r.file == f"node1/{process.pid}.out"]
    node.sample()
    told = node.source.missing["captured_line"]
    size, writes = int(told.split()[0]), int(told.split()[3])
    assert lines and len(lines) + writes == 4000
    assert len(lines) * 1000 + size == 4_000_000
    assert [r.text for r in lines] == sorted(r.text or "" for r in lines)


def test_four_hundred_megabytes_of_output_are_bounded_and_counted_to_the_byte(node: Probed) -> None:
    """A rank writes as fast as the kernel takes it; the sources look on beside it."""
    code = (
        "b = b'x' * 65535 + b'\\n'\n"
        "os.dup2(os.open(os.devnull, os.O_WRONLY), 2)\n"
        "for n in range(6400): os.write(2, b)\n"
        "sys.stdin = open('/dev/null')"
    )
    process = start(node, code, rank=1)
    flow = node.source._output.flow  # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess]
    begun = time.monotonic()
    ended(node, process)
    seconds = time.monotonic() - begun
    value = flow.get(process.pid)
    assert value is not None
    _second, _bytes, lost, _writes = (int(v) for v in value)
    told = sum(len(r.text or "") for r in node.rows if type(r) is CapturedLine and r.file == f"node1/{process.pid}.err")
    assert 0 < told <= (seconds + 1) * 131072
    assert told <= 6400 * 65536 - lost <= (seconds + 1) * 131072


def test_of_a_long_write_the_first_part_is_told_and_marked_as_cut(node: Probed) -> None:
    """A whole log in one write, as of a program that flushes at its end: 300 KB, more than a process may tell in a second."""
    code = "os.write(1, b'begin\\n' + b'y' * 99 + b'\\n' + b'x' * 300_000 + b'\\n'); os.write(1, b'after it\\n')"
    process = start(node, code, rank=4)
    ended(node, process)
    lines = [r.text or "" for r in node.rows if type(r) is CapturedLine and r.file == f"node1/{process.pid}.out"]
    cut = 300_107 - 4 * 8192
    assert (lines[:2], lines[-1]) == (["begin", "y" * 99], "after it")
    assert lines[-2].endswith(f"x [{cut} bytes of this write were not captured]")
    flow = node.source._output.flow  # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess]
    value = flow.get(process.pid)
    assert value is not None and value[2] == cut


def test_a_line_that_is_written_in_parts_is_one(node: Probed) -> None:
    """writev(2): so the C library tells of a corrupted heap, and other languages print."""
    process = start(node, "os.writev(2, [b'free(): ', b'invalid ', b'pointer\\n', b'', b'z' * 20000 + b'\\n'])", rank=6)
    ended(node, process)
    lines = [r for r in node.rows if type(r) is CapturedLine and r.file == f"node1/{process.pid}.err"]
    assert [(r.text or "")[:23] for r in lines] == ["free(): invalid pointer", "z" * 23]
    flow = node.source._output.flow  # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess]
    value = flow.get(process.pid)
    assert value is not None and value[2] == 20001 - 8192


@pytest.mark.parametrize(
    ("oom", "comm", "sender", "expected"),
    [
        ("kernel-oom", "python", 5, "kernel-oom"),
        (None, "slurmstepd: [4", 6, "slurmstepd"),
        (None, "python", 9, "itself"),
        (None, "", 0, "kernel"),
        (None, "slurmstepd", 0, "kernel"),
        (None, "kworker/u8:1", 33, "kernel"),
        (None, "bash", 6, "6:bash user:root"),
    ],
)
def test_senders_have_names(oom: str | None, comm: str, sender: int, expected: str) -> None:
    assert named(oom, comm, sender, 0, 9) == expected


def test_without_root_the_reason_and_the_remedy_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(CannotLoad) as error:
        load.find_bcc()
    assert "root" in error.value.reason and error.value.remedy


def test_a_task_of_slurmstepd_is_followed_before_anybody_looked(node: Probed) -> None:
    """The whole life of such a task may pass between two looks; here it waits for one, however busy the host is."""
    code = (
        "import os\n"
        "open('/proc/self/comm', 'w').write('slurmstepd')\n"
        "p = os.fork()\n"
        "if p == 0: os.execv('/bin/sh', ['sh', '-c', 'echo $$ says hello; read seen; exit 5'])\n"
        "os.waitpid(p, 0)"
    )
    env = {**os.environ, **JOB, "SLURM_PROCID": "0"}
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", code], env=env, stdin=pipe, stdout=pipe, text=True)
    assert process.stdout is not None
    child = int(process.stdout.readline().split()[0])
    node.rows += node.source.rows()  # the topology has not looked
    process.communicate("seen\n", timeout=60)
    node.until(lambda: bool(node.of(Process, child)))
    (row,) = [r for r in node.of(Process, child) if r.origin == "process:4"]
    assert (row.exit_code, row.job_id) == (5, "990017")
    lines = [r.text for r in node.rows if type(r) is CapturedLine and r.file == f"node1/{child}.out"]
    assert lines == [f"{child} says hello"]


def test_a_job_is_found_by_the_programs_it_begins(node: Probed) -> None:
    """Whatever starts it: a container's runtime, a shell."""
    process = program(2500, 1, rank=7)
    try:
        time.sleep(0.3)
        node.rows += node.source.rows()  # the topology has not looked
        known = node.source._libraries  # pyright: ignore[reportPrivateUsage]
        assert known is not None and known.maps(process.pid, "libcuda")
        go(process)
    finally:
        process.communicate()
    node.until(lambda: bool(node.of(CudaSample, process.pid)))
    assert {(r.rank, r.job_id) for r in node.of(CudaSample, process.pid)} == {(7, "990017")}
    assert sum(r.launches or 0 for r in node.of(CudaSample, process.pid)) == 2501


def test_one_probe_that_does_not_load_takes_no_other_with_it(node: Probed) -> None:
    loaded = kit.load(("process", "nosuch", "cuda"))
    try:
        assert loaded.probes == {"process", "cuda"}
        assert loaded.missing.keys() == {"nosuch"}
    finally:
        loaded.close()


def test_a_process_that_stopped_has_its_stack_taken_once(node: Probed) -> None:
    process = program(10, 1)
    node.probes(process)
    go(process)
    node.sample()
    node.until(lambda: "pipe_read" in Path(f"/proc/{process.pid}/stack").read_text())
    node.source.stalls.stall_s = 0.0
    alarms: list[str] = []
    node.here.alarm = alarms.append
    try:
        node.sample()
        node.sample()
        stacks = [r.host_stack for r in node.of(Process, process.pid) if r.host_stack]
        assert len(stacks) == 1
        assert "pipe_read" in stacks[0]
        # The full-rate samples of the minutes before it are kept, as around an XID.
        assert [a for a in alarms if str(process.pid) in a] == [f"process {process.pid} of job 990017 has stopped"]
    finally:
        node.source.stalls.stall_s = STALL_S
        node.here.alarm = lambda _: None
        process.communicate()


def test_a_process_whose_job_is_said_to_hang_has_its_stack_taken_though_it_has_hardly_stopped(node: Probed) -> None:
    process = program(10, 1)
    node.probes(process)
    go(process)
    node.sample()
    node.until(lambda: "pipe_read" in Path(f"/proc/{process.pid}/stack").read_text())
    alarms: list[str] = []
    node.here.alarm = alarms.append
    try:
        node.here.hung.extend(("990017", "none of ours"))
        node.sample()
        node.sample()
        stacks = [r.host_stack for r in node.of(Process, process.pid) if r.host_stack]
        assert len(stacks) == 1 and "pipe_read" in stacks[0]
        assert not alarms and not node.here.hung, "whoever said it has had these minutes kept already"
    finally:
        node.here.alarm = lambda _: None
        process.communicate()


@pytest.fixture
def small_cgroup() -> Iterator[Path]:
    """A real cgroup of 48 MB, of either version."""
    root = Path("/sys/fs/cgroup")
    first = (root / "memory") if (root / "memory").is_dir() else root
    folder = first / f"inquest-test-{os.getpid()}"
    limit = "memory.limit_in_bytes" if first != root else "memory.max"
    try:
        folder.mkdir()
        (folder / limit).write_text(str(48 << 20))
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    yield folder
    deadline = time.monotonic() + 20
    while (folder / "cgroup.procs").read_text().strip() and time.monotonic() < deadline:
        time.sleep(0.1)
    folder.rmdir()


def test_a_victim_of_the_oom_killer_is_told_as_one(node: Probed, small_cgroup: Path) -> None:
    """The real kernel kills a rank in a cgroup that is too small for it."""
    process = start(node, "held = [bytearray(1 << 20) for _ in range(400)]", rank=6)
    (small_cgroup / "cgroup.procs").write_text(str(process.pid))
    row = ended(node, process)
    assert (row.exit_signal, row.exit_code, row.oom_killed, row.signal_sender) == (9, None, True, "kernel-oom")
    assert (row.rank, row.job_id) == (6, "990017")
