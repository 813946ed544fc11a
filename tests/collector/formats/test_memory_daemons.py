"""memory_daemons: what earlyoom and systemd-oomd end is an OOM kill of the node, whoever else speaks in its journal."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path

import pytest

from collector.formats.memory_daemons import memory_kill
from collector.importers.base import ImportContext
from collector.importers.kernel_log import KernelLog
from store.rows import HostEvent

HEAD = "2026-03-01T10:00:00+0000 n7 "
JOURNAL = (
    HEAD + "earlyoom[901]: mem avail: 40112 of 515000 MiB ( 7.79%), swap free:    0 of    0 MiB ( 0.00%)\n"
    + HEAD + "earlyoom[901]: low memory! at or below SIGTERM limits: mem  5.00%, swap 10.00%\n"
    + HEAD + 'earlyoom[901]: sending SIGTERM to process 5120 uid 4100 "python3": badness 1190, VmRSS 471000 MiB\n'
    + HEAD + 'earlyoom[901]: sending SIGKILL to process 5120 uid 4100 "python3": badness 1190, VmRSS 471000 MiB\n'
    + HEAD + "kernel: IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready\n"
    + HEAD + 'trainer[77]: sending SIGTERM to process 99 uid 4100 "python3": badness 1, VmRSS 1 MiB\n'
    + HEAD + "systemd-oomd[640]: Killed /system.slice/slurmstepd.scope/job_4812/step_0 due to memory pressure for /system.slice being 71.20% > 60.00% for > 30s with reclaim activity\n"
)  # fmt: skip


def test_a_journal_tells_whom_such_a_program_ended_once(tmp_path: Path) -> None:
    path = tmp_path / "kernel" / "n7.log"
    path.parent.mkdir()
    path.write_text(JOURNAL)
    assert KernelLog().claims(path, JOURNAL.encode())
    rows = [r for r in KernelLog().rows(path, ImportContext("n7.log", UTC, node="n7")) if isinstance(r, HostEvent)]
    assert [(r.event, r.pid, r.process_name, r.job_id) for r in rows] == [
        ("oom_kill", 5120, "python3", None),
        ("oom_kill", None, None, "4812"),
    ]
    assert rows[0].rss_bytes == 471000 << 20
    assert rows[0].message is not None and rows[0].message.startswith("earlyoom: sending SIGTERM")


def test_a_journal_of_nothing_else_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "kernel" / "n7.log"
    only = "".join(line + "\n" for line in JOURNAL.splitlines() if "earlyoom" in line)
    assert KernelLog().claims(path, only.encode())


@pytest.mark.parametrize(
    ("who", "message"),
    [
        ("earlyoom", "process exited after 2.9 seconds"),
        ("earlyoom", "sending SIGTERM when mem avail <=  5.00% and swap free <= 10.00%"),
        ("systemd-oomd", "Considered 12 cgroups for killing, top candidates were:"),
        ("python", 'sending SIGTERM to process 5120 uid 4100 "python3": badness 1190, VmRSS 471000 MiB'),
    ],
)
def test_other_words_are_none(who: str, message: str) -> None:
    assert memory_kill(who, message) is None


@pytest.mark.parametrize(("unit", "told"), [("earlyoom.service", 1), (None, 1), ("user@4100.service", 0)])
def test_who_writes_under_that_name_from_another_unit_is_not_believed(
    tmp_path: Path, unit: str | None, told: int
) -> None:
    entry = {
        "__REALTIME_TIMESTAMP": "1772359200000000", "_HOSTNAME": "n7", "_TRANSPORT": "syslog", "SYSLOG_IDENTIFIER": "earlyoom",
        "MESSAGE": 'sending SIGTERM to process 5120 uid 4100 "python3": badness 1190, VmRSS 471000 MiB',
    } | ({"_SYSTEMD_UNIT": unit} if unit else {})  # fmt: skip
    kernel = {"__REALTIME_TIMESTAMP": "1772359100000000", "_HOSTNAME": "n7", "_TRANSPORT": "kernel", "MESSAGE": "x"}
    path = tmp_path / "n7.log"
    path.write_text("".join(json.dumps(e) + "\n" for e in (kernel, entry)))
    rows = [r for r in KernelLog().rows(path, ImportContext("n7.log", UTC, node="n7")) if isinstance(r, HostEvent)]
    assert len(rows) == told
