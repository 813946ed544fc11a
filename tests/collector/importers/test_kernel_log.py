"""kernel_log: only the kernel's own word becomes an event; every printing of the time is read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from collector.formats.kernel_events import Recogniser, pci_address
from collector.importers.base import ImportContext, ImportFailed
from collector.importers.job_log import JobLog
from collector.importers.kernel_log import KernelLog
from store.rows import GpuEvent, HostEvent, LinkEvent, Row

SAMPLES = Path(__file__).parent / "samples"
XID = "NVRM: Xid (PCI:0000:9b:00): 79, pid=1, name=python, GPU has fallen off the bus."


def read(
    path: Path, node: str | None = None, hours: int = 0, modified: datetime | None = None
) -> tuple[list[Row], ImportContext]:
    ctx = ImportContext(path.name, timezone(timedelta(hours=hours)), node=node, modified=modified)
    return list(KernelLog().rows(path, ctx)), ctx


def lines(tmp_path: Path, text: str, **more: object) -> tuple[list[Row], ImportContext]:
    path = tmp_path / "gpu07.log"
    path.write_text(text)
    return read(path, **more)  # type: ignore[arg-type]


def test_every_kind_of_event_in_order() -> None:
    rows, ctx = read(SAMPLES / "journal-iso.log")
    assert ctx.problem_count == 0
    assert {r.node for r in rows} == {"gpu07"}
    told = [r.event for r in rows if isinstance(r, (GpuEvent, HostEvent, LinkEvent))]
    assert told == [
        "boot", "xid", "fallen_off_bus", "xid", "sxid", "oom_kill", "segfault", "hung_task", "mce", "storage", "storage",
        "filesystem", "down", "up", "thermal", "panic",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [
        "libceph: mon1 (1)10.0.0.2:6789 session lost, hunting for new mon",
        "libceph: osd3 (1)10.0.0.3:6801 socket closed (con state OPEN)",
        "libceph: osd3 (1)10.0.0.3:6801 socket error on write",
        "libceph: connect (1)10.0.0.2:6789 error -101",
        "libceph: osd12 down",
        "ceph: mds0 hung",
        "ceph: [8e1a5bb2-0a5e-4c5e-9d5c-2f1f4d2a7b11 4215]: mds0 caps stale",
        "ceph: mds0 came back",
        "rbd: rbd0: write at objno 17 0~4194304 result -108",
        "beegfs: python(48211): Messaging (RPC): Communication error: Receive timed out from: beegfs-storage stor01 [ID: 1]",
        "beegfs: BeeGFS_XNodeSync(2345): NodeConn (acquire stream): Connect failed: beegfs-mgmtd@10.0.0.1:8008 (protocol: TCP)",
        "beegfs: ls(911): Messaging (RPC): Unable to connect to, is the node offline? node: beegfs-meta meta01 [ID: 1]",
        "beegfs: python(48211): Messaging (RPC): Retrying communication with node: beegfs-storage stor01 [ID: 1]",
    ],
)
def test_a_parallel_file_system_that_does_not_answer_is_a_storage_event(message: str) -> None:
    (event,) = Recogniser().read(message)
    assert (event.table, event.fields["event"]) == ("host_event", "storage")


@pytest.mark.parametrize(
    "message",
    [
        "libceph: loaded (mon/osd proto 15/24)",
        "libceph: mon0 (1)10.0.0.1:6789 session established",
        "libceph: client4215 fsid 8e1a5bb2-0a5e-4c5e-9d5c-2f1f4d2a7b11",
        "libceph: osd12 up",
        "ceph: loaded (mds proto 32)",
        "rbd: rbd0: capacity 10737418240 features 0x1",
        "beegfs: File system registered. Type: beegfs. Version: 7.4.2",
        "beegfs: mount(1234): NodeConn (acquire stream): Connected: beegfs-storage@10.0.0.5:8003 (protocol: TCP)",
    ],
)
def test_a_parallel_file_system_that_begins_is_none(message: str) -> None:
    assert Recogniser().read(message) == []


def test_an_xid_has_its_gpu_its_process_and_its_channel() -> None:
    rows, _ = read(SAMPLES / "journal-iso.log")
    lost, fell, fault, switch = (r for r in rows if isinstance(r, GpuEvent))
    assert (lost.xid, lost.pid, lost.process_name) == (79, None, None)
    assert lost.gpu_uuid == fell.gpu_uuid == "GPU-01234567-89ab-cdef-0123-456789abcdef"
    assert (fault.xid, fault.pid, fault.process_name, fault.channel) == (31, 4242, "pt_main_thread", "00000010")
    assert fault.ts == datetime(2026, 3, 1, 10, 0, 1, tzinfo=UTC)
    assert (fault.pci_bus_id, fault.gpu_uuid) == ("00000000:3B:00.0", None)
    assert (switch.event, switch.xid) == ("sxid", 28006)


def test_an_oom_kill_is_one_event_with_constraint_cgroup_job_and_size() -> None:
    rows, _ = read(SAMPLES / "journal-iso.log")
    (kill,) = (r for r in rows if isinstance(r, HostEvent) and r.event == "oom_kill")
    assert (kill.constraint, kill.pid, kill.process_name, kill.job_id) == ("CONSTRAINT_MEMCG", 4243, "python", "4812")
    assert kill.cgroup == "/slurm/uid_1001/job_4812/step_0/task_3"
    assert kill.rss_bytes == (60_000_000 + 1000 + 500) * 1024


def test_an_oom_kill_of_an_old_kernel_in_two_lines_is_one_event(tmp_path: Path) -> None:
    rows, _ = lines(
        tmp_path,
        "[Sun Mar  1 10:00:00 2026] Out of memory: Kill process 456 (python) score 50 or sacrifice child\n"
        "[Sun Mar  1 10:00:01 2026] Killed process 456 (python) total-vm:100kB, anon-rss:60kB, file-rss:4kB\n"
        "[Sun Mar  1 10:00:02 2026] Out of memory: Killed process 7 (other) total-vm:1kB, anon-rss:1kB, file-rss:0kB\n",
    )
    assert [(r.pid, r.rss_bytes, r.ts and r.ts.second) for r in rows if isinstance(r, HostEvent)] == [
        (456, 65536, 0),
        (7, 1024, 2),
    ]


@pytest.mark.parametrize(
    ("line", "moment"),
    [
        (f"[Sun Mar  1 10:00:00 2026] {XID}", datetime(2026, 3, 1, 9, tzinfo=UTC)),
        (f"kern  :warn  : 2026-03-01T10:00:00,250000+02:00 {XID}", datetime(2026, 3, 1, 8, 0, 0, 250000, tzinfo=UTC)),
        (f"2026-03-01T10:00:00,250000+00:00 {XID}", datetime(2026, 3, 1, 10, 0, 0, 250000, tzinfo=UTC)),
        (f"2026-03-01T10:00:00+0100 gpu07 kernel: {XID}", datetime(2026, 3, 1, 9, tzinfo=UTC)),
        (f"2026-03-01T10:00:00.123+01:00 gpu07.example.org kernel: [  12.345678] {XID}", datetime(2026, 3, 1, 9, 0, 0, 123000, tzinfo=UTC)),
        (f"Mar  1 10:00:00 gpu07 kernel: [1234567.890123] {XID}", datetime(2026, 3, 1, 9, tzinfo=UTC)),
        (f"Mar  1 10:00:00 kernel: {XID}", datetime(2026, 3, 1, 9, tzinfo=UTC)),
        (f"2026-03-01T10:00:00+0100 kernel: [  12.345678] {XID}", datetime(2026, 3, 1, 9, tzinfo=UTC)),
        (f"[   12.345678] {XID}", None),
        (f"6,3964,206764307,-;{XID}", None),
        (f"<4>[   12.345678] {XID}", None),
        ('{"__REALTIME_TIMESTAMP":"1772359200000000","_HOSTNAME":"gpu07","_TRANSPORT":"kernel","MESSAGE":"' + XID + '"}', datetime(2026, 3, 1, 10, tzinfo=UTC)),
    ],
)  # fmt: skip
def test_printings_of_the_time(tmp_path: Path, line: str, moment: datetime | None) -> None:
    """Local times count in the cluster's zone, here one hour east; times since boot are no times by themselves."""
    rows, ctx = lines(tmp_path, line + "\n", hours=1, node="gpu07", modified=datetime(2026, 6, 1, tzinfo=UTC))
    (row,) = rows
    assert isinstance(row, GpuEvent)
    assert (row.xid, row.ts, row.node) == (79, moment, "gpu07")
    assert ctx.problem_count == (moment is None)


def test_the_kernels_own_clock_line_dates_a_log_that_counts_from_boot(tmp_path: Path) -> None:
    rows, ctx = lines(
        tmp_path,
        "[    2.000000] rtc_cmos 00:00: setting system clock to 2026-03-01T10:00:00 UTC (1772359200)\n"
        f"[   62.500000] {XID}\n",
    )
    assert [r.ts for r in rows] == [datetime(2026, 3, 1, 10, 1, 0, 500000, tzinfo=UTC)]
    assert ctx.problem_count == 0


def test_the_window_that_was_looked_at_reaches_over_quiet_lines(tmp_path: Path) -> None:
    text = "".join(f"[Sun Mar  1 10:{m:02d}:00 2026] usb 1-1: nothing\n" for m in range(60) for _ in range(3))
    rows, ctx = lines(tmp_path, text)
    assert rows == []
    assert ctx.seen_from == datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
    assert ctx.seen_to is not None
    assert ctx.seen_to >= datetime(2026, 3, 1, 10, 40, tzinfo=UTC)


def test_the_file_names_the_node_even_where_the_lines_name_another(tmp_path: Path) -> None:
    rows, _ = lines(tmp_path, f"2026-03-01T10:00:00+0100 ip-10-0-0-7 kernel: {XID}\n", node="gpu07")
    assert rows[0].node == "gpu07"


def test_a_jobs_log_that_quotes_the_kernel_is_no_kernel_log() -> None:
    head = (f"step 1 loss 2.0\n[Sun Mar  1 10:00:00 2026] {XID}\n" + "step 2 loss 1.9\n" * 20).encode()
    assert KernelLog().claims(Path("logs/slurm-1.out"), head) == 0
    assert KernelLog().claims(Path("x.log"), head) == 0
    assert KernelLog().claims(Path("logs/slurm-1.out"), (SAMPLES / "journal-iso.log").read_bytes()) == 0


def test_other_text_fails_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match="no line begins"):
        lines(tmp_path, "hello\nNVRM: Xid (PCI:0000:9b:00): 79\n")


@pytest.mark.parametrize(
    ("text", "address"),
    [("0000:9b:00", "00000000:9B:00.0"), ("9b:00", "00000000:9B:00.0"), ("0000:c1:00.0", "00000000:C1:00.0")],
)
def test_addresses_are_written_as_nvml_writes_them(text: str, address: str) -> None:
    assert pci_address(text) == address


def test_slurmstepds_count_of_kills_is_no_kernel_log() -> None:
    said = b"[2026-03-01T10:00:00.123] error: Detected 2 oom_kill events in StepId=77.batch. Some of the step tasks have been OOM Killed.\n"
    assert KernelLog().claims(Path("x.err"), said) == 0


@pytest.mark.parametrize(
    "begins",
    [
        "Okt 06 17:59:27 gpu07 kernel: ",
        "    Okt 06 17:59:27 gpu07 kernel: ",
        "oct. 06 17:59:27 gpu07 kernel: ",
        "ott 06 17:59:27 gpu07 kernel: ",
        "10月 06 17:59:27 gpu07 kernel: ",
        "[Di Okt  6 17:59:27 2026] ",
        "[mar. oct.  6 17:59:27 2026] ",
        "[二 10月  6 17:59:27 2026] ",
    ],
)
def test_months_are_read_in_the_words_of_the_locale(begins: str, tmp_path: Path) -> None:
    path = tmp_path / "gpu07.log"
    path.write_text(f"{begins}{XID}\n" * 2)
    assert KernelLog().claims(path, path.read_bytes()) >= 92
    rows, _ = read(path, modified=datetime(2026, 10, 7, tzinfo=UTC))
    assert rows[0].ts == datetime(2026, 10, 6, 17, 59, 27, tzinfo=UTC)


def test_a_word_that_is_no_month_begins_no_line_of_the_kernel(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(f"Spam 06 17:59:27 gpu07 kernel: {XID}\n" * 3)
    assert KernelLog().claims(path, path.read_bytes()) == 0


def test_a_hosts_syslog_is_read_for_what_its_kernel_said(tmp_path: Path) -> None:
    """Most lines are other programs'; what such a program prints that looks like the kernel's word is none."""
    text = "".join(f"Mar  1 10:00:{n:02d} gpu07 systemd[1]: Started unit {n}.\n" for n in range(12)) + (
        f"Mar  1 10:01:00 gpu07 trainer[812]: {XID}\n"
        f"Mar  1 10:02:00 gpu07 kernel: [103781.951727] {XID.replace('9b', '1b')}\n"
        "Mar  1 10:03:00 gpu07 slurmd[27067]: slurmd: launch task StepId=8388.12 request from UID:1 GID:1 HOST:h PORT:2\n"
    )
    assert KernelLog().claims(tmp_path / "messages", text.encode()) == 91
    rows, _ = lines(tmp_path, text, modified=datetime(2026, 3, 2, tzinfo=UTC))
    assert [(r.node, r.pci_bus_id, r.ts) for r in rows if isinstance(r, GpuEvent)] == [
        ("gpu07", "00000000:1B:00.0", datetime(2026, 3, 1, 10, 2, tzinfo=UTC))
    ]
    without = "".join(t for t in text.splitlines(keepends=True) if " kernel: " not in t)
    assert KernelLog().claims(tmp_path / "messages", without.encode()) == 0
    quoted = f"step 1 loss 2.5\nstep 2 loss 2.4\n{text[-300:]}" + "step 3 loss 2.3\n" * 4
    assert KernelLog().claims(tmp_path / "job.log", quoted.encode()) == 0


def test_a_fraction_behind_a_comma_is_dmesgs_and_a_device_there_is_no_host(tmp_path: Path) -> None:
    rows, ctx = lines(
        tmp_path,
        "kern  :info  : 2026-01-07T10:00:00,123456-06:00 Linux version 6.8.0-45-generic (buildd@host)\n"
        "kern  :err   : 2026-01-07T10:02:00,500000-06:00 amdgpu 0000:01:00.0: {14}poison is consumed by client 12, kick off gpu reset flow\n"
        "2026-01-07T10:02:01,500000-06:00 mlx5_core 0000:01:00.0: Port module event[error]: module 0, Cable error, Bus stuck\n"
        "2026-01-07T16:02:02.500000+00:00 nvidia 0000:83:00.0: GPU has fallen off the bus.\n",
    )
    assert [type(r).TABLE for r in rows] == ["host_event", "gpu_event", "link_event", "gpu_event"]
    assert [(r.event, r.pci_bus_id, r.node, r.ts) for r in rows if isinstance(r, GpuEvent)] == [
        ("ras", "00000000:01:00.0", None, datetime(2026, 1, 7, 16, 2, 0, 500_000, UTC)),
        ("fallen_off_bus", "00000000:83:00.0", None, datetime(2026, 1, 7, 16, 2, 2, 500_000, UTC)),
    ]
    assert not ctx.problem_count


@pytest.mark.parametrize(
    ("between", "address"), [("", "00000000:BA:00.0"), ("NVRM: is not supported by this release of the driver.", None)]
)
def test_a_gpu_that_the_driver_names_a_line_above_is_the_one_that_fell_off_the_bus(
    tmp_path: Path, between: str, address: str | None
) -> None:
    """Only right above: what the driver said of a GPU long before is no word of the one that fell."""
    words = (
        "NVRM: The NVIDIA GPU 0000:ba:00.0",
        "NVRM: (PCI ID: 10de:2330) installed in this system has",
        *filter(None, [between]),
        "NVRM: fallen off the bus and is not responding.",
    )
    rows, _ = lines(tmp_path, "".join(f"2026-01-07T10:02:00+0000 gpu07 kernel: {w}\n" for w in words))
    assert [(r.event, r.pci_bus_id) for r in rows if isinstance(r, GpuEvent)] == [("fallen_off_bus", address)]


def test_levels_before_the_time_are_a_kernel_logs(tmp_path: Path) -> None:
    head = b"user  :info  : 2026-01-07T10:00:00,123456-06:00 anything at all\n" * 5
    assert KernelLog().claims(tmp_path / "a.log", head) > 90
    assert not KernelLog().claims(tmp_path / "a.log", head.replace(b"user  :info  : ", b""))


def test_what_drivers_say_of_devices_is_read_without_times_where_nothing_else_is_there(tmp_path: Path) -> None:
    text = (
        f"{XID}\nnvidia 0000:9b:00.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer\nNVRM: GPU 0 is lost\n"
    )
    path = tmp_path / "a.log"
    assert KernelLog().claims(path, text.encode()) > 90
    assert not KernelLog().claims(path, (text + "step 1 loss 2.5\n").encode())
    assert not KernelLog().claims(tmp_path / "logs" / "a.log", text.encode())
    rows, ctx = lines(tmp_path, text)
    assert [(r.xid, r.pid, r.ts) for r in rows if isinstance(r, GpuEvent)] == [(79, 1, None)]
    assert ctx.problem_count == 1


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("amdgpu: 2 uncorrectable hardware errors detected in umc block", "ras"),
        ("{9} socket: 0, die: 1, 3 new uncorrectable hardware errors detected in gfx block", "ras"),
        ("{1}uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!", "ras"),
        ("amdgpu: Saved bad pages 150 reaches threshold value 128", "ras"),
        ("amdgpu: GPU reset begin!", "reset"),
        ("amdgpu: 0 uncorrectable hardware errors detected in umc block", None),
        ("amdgpu: no uncorrectable hardware errors detected in umc block", None),
        ("{9} 3 uncorrectable hardware errors detected in total in gfx block", None),
        ("amdgpu: 7 correctable hardware errors detected in umc block", None),
        ("{15}Poison is created", None),
    ],
)
def test_amds_drivers_words_of_errors_that_were_not_corrected(tmp_path: Path, message: str, kind: str | None) -> None:
    rows, _ = lines(tmp_path, f"[   12.345678] amdgpu 0000:c1:00.0: {message}\n")
    assert [(r.event, r.pci_bus_id) for r in rows if isinstance(r, GpuEvent)] == (
        [(kind, "00000000:C1:00.0")] if kind else []
    )


def test_a_log_of_amds_driver_alone_is_a_kernels(tmp_path: Path) -> None:
    said = "[Tue Apr  1 02:11:40 2025] amdgpu 0000:d1:00.0: amdgpu: GPU reset begin!\n"
    assert KernelLog().claims(tmp_path / "a.txt", said.encode()) > 90
    assert not KernelLog().claims(tmp_path / "a.txt", b"[Tue Apr  1 02:11:40 2025] step 10: loss 2.1\n")


LOST = """\
[ 2210.118204] nvidia-nvswitch: probe done
[ 2211.503112] NVRM: The NVIDIA GPU 0000:5d:00.0
               NVRM: (PCI ID: 10de:2330) installed in this system has
               NVRM: fallen off the bus and is not responding to commands.
[ 2211.640027] nvidia: probe of 0000:5d:00.0 failed with error -1
"""


def test_a_message_of_several_lines_is_read_whole_and_once(tmp_path: Path) -> None:
    assert KernelLog().claims(tmp_path / "slurm-1.out", LOST.encode())
    rows, _ = lines(tmp_path, LOST)
    assert [(r.event, r.pci_bus_id) for r in rows if isinstance(r, GpuEvent)] == [
        ("fallen_off_bus", "00000000:5D:00.0")
    ]
    more = f"[ 90.100000] {XID}\n               NVRM: Xid recovery is being tried\n"
    assert [r.xid for r in lines(tmp_path, more)[0] if isinstance(r, GpuEvent)] == [79]


TASKS = """\
[Mon Mar  2 10:00:00 2026] python invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0
[Mon Mar  2 10:00:00 2026] Tasks state (memory values in pages):
[Mon Mar  2 10:00:00 2026] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name
[Mon Mar  2 10:00:00 2026] [    901]     0   901     9000     3000    90112        0         -1000 sshd
[Mon Mar  2 10:00:00 2026] [   4101]   500  4101  9000000  8000000    90112        0             0 python
[Mon Mar  2 10:00:00 2026] [   4102]   500  4102  9000000  9000000    90112        0             0 python
[Mon Mar  2 10:00:00 2026] [   7001]     0  7001 99000000 90000000    90112        0             0 node agent
[Mon Mar  2 10:00:00 2026] oom-kill:constraint=%s,nodemask=(null),cpuset=x,mems_allowed=0-1,global_oom,task_memcg=/a/job_7/step_0,task=python,pid=4102,uid=500
[Mon Mar  2 10:00:00 2026] Out of memory: Killed process 4102 (python) total-vm:36000000kB, anon-rss:36000000kB, file-rss:0kB, shmem-rss:0kB, UID:500 pgtables:98112kB oom_score_adj:0
"""


def test_the_largest_of_the_tasks_that_are_listed_at_a_kill_for_the_whole_host(tmp_path: Path) -> None:
    def held(constraint: str) -> list[tuple[str | None, int | None, str | None]]:
        (tmp_path / "n1.log").write_text(TASKS % constraint)
        rows, _ = read(tmp_path / "n1.log")
        assert sum(1 for r in rows if isinstance(r, HostEvent) and r.event == "oom_kill") == 1
        tasks = [r for r in rows if isinstance(r, HostEvent) and r.event == "oom_task"]
        return [(r.process_name, r.rss_bytes, r.message) for r in tasks]

    assert held("CONSTRAINT_NONE") == [
        ("node agent", 90_000_000 * 4096, "1 task of user 0: node agent"),
        ("python", 17_000_000 * 4096, "2 tasks of user 500: python"),
        ("sshd", 3000 * 4096, "1 task of user 0: sshd"),
    ]
    assert held("CONSTRAINT_MEMCG") == []


@pytest.mark.parametrize(
    "stamp",
    ["2026-03-01 10:00:{:02},118 - INFO -", "2026-03-01T10:00:{:02},118 INFO", "2026-03-01 10:00:{:02} | INFO |"],
)
def test_what_a_programs_logger_says_of_memory_is_its_jobs_log(tmp_path: Path, stamp: str) -> None:
    """Loggers date their lines too; the kernel counts microseconds and names its zone, or a host stands behind its date."""
    said = "".join(f"{stamp.format(at)} Memory of GPU 0: {20 + at} GB, watchdog idle, nvidia 0\n" for at in range(30))
    path = tmp_path / "run.log"
    assert KernelLog().claims(path, said.encode()) == 0 < JobLog().claims(path, said.encode())
    kernels = "".join(f"2026-03-01T10:00:{at:02},118042+00:00 Memory cgroup out of memory {at}\n" for at in range(30))
    assert KernelLog().claims(path, kernels.encode()) > 90
    assert KernelLog().claims(tmp_path / "kernel" / "n1.log", said.encode()) == 97


def test_the_error_that_the_driver_names_as_the_cause_of_another_counts_once_where_the_log_does_not_hold_it(
    tmp_path: Path,
) -> None:
    def told(text: str) -> list[tuple[int | None, str | None]]:
        assert KernelLog().claims(tmp_path / "x.txt", text.encode())
        return [(r.xid, r.pci_bus_id) for r in lines(tmp_path, text)[0] if isinstance(r, GpuEvent)]

    after = "kernel: NVRM: Xid (PCI:0000:9b:00): 45, pid=7, name=python, Ch 0000000{} caused by previous Xid {}\n"
    here = "00000000:9B:00.0"
    assert told(after.format(1, 149) + after.format(2, 149)) == [(149, here), (45, here), (45, here)]
    assert told(
        "[   90.100000] NVRM: Xid (PCI:0000:9b:00): 48, DBE\n[   90.200000] " + after.format(1, 48).partition(" ")[2]
    ) == [
        (48, here),
        (45, here),
    ]
