"""Summaries of every torchrun format, and passing words of launchers, with exit status, signal, rank and host."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.launcher import NAMES, Launcher


def parse(text):
    return parse_text(Launcher(), text)


MODERN = """\
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2025-01-17_17:15:31
  host      : n7.cluster
  rank      : 9 (local_rank: 1)
  exitcode  : -15 (pid: 20556)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 20556
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2025-01-17_17:15:30
  host      : n7.cluster
  rank      : 8 (local_rank: 0)
  exitcode  : 1 (pid: 20555)
  error_file: /tmp/torchelastic_x/error.json
  traceback : Traceback (most recent call last):
    File "/home/u/train.py", line 3, in main
      f()
  RuntimeError: boom

============================================================
"""

OLD = """\
***************************************
             main.py FAILED
=======================================
Root Cause:
[0]:
  time: 2021-10-12_09:43:37
  rank: 0 (local_rank: 0)
  exitcode: 1 (pid: 27464)
  error_file: <N/A>
  msg: "Process failed with exitcode 1"
=======================================
Other Failures:
[1]:
  time: 2021-10-12_09:43:37
  rank: 1 (local_rank: 1)
  exitcode: -9 (pid: 27465)
  error_file: <N/A>
  msg: "Signal 9 (SIGKILL) received by PID 27465"
***************************************
"""


def test_each_failed_child_of_a_summary_is_a_row():
    other, root = parse(MODERN)
    assert (other.kind, other.rank, other.local_rank, other.exit_code, other.signal, other.pid, other.host) == (
        "launcher_summary", 9, 1, -15, 15, 20556, "n7.cluster",
    )  # fmt: skip
    assert json.loads(other.detail) == {"root_cause": False, "time": "2025-01-17_17:15:31"}
    assert (root.rank, root.exit_code, root.signal, root.pid) == (8, 1, None, 20555)
    assert json.loads(root.detail)["root_cause"] is True
    assert json.loads(root.detail)["error_file"] == "/tmp/torchelastic_x/error.json"
    assert "RuntimeError: boom" in root.message


def test_the_format_of_torch_1_9():
    root, other = parse(OLD)
    assert (root.rank, root.exit_code, json.loads(root.detail)["root_cause"]) == (0, 1, True)
    assert (other.rank, other.signal, json.loads(other.detail)["root_cause"]) == (1, 9, False)


def test_a_summary_cut_in_the_middle_still_gives_what_was_printed():
    (row,) = parse("  rank      : 3 (local_rank: 3)\n  exitcode  : -9 (pid: 77)")
    assert (row.rank, row.exit_code, row.signal, row.pid) == (3, -9, 9, 77)


@pytest.mark.parametrize(
    ("text", "name", "want"),
    [
        ("ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 4 (pid: 123) of binary: /usr/bin/python3", "child_failed", {"exit_code": -9, "signal": 9, "local_rank": 4, "pid": 123}),
        ("[pod-0] [2026-01-05 09:11:42,731] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: -9) for binary located at /usr/bin/python3.10 with local_rank: 3 (process ID: 71)", "child_failed", {"exit_code": -9, "signal": 9, "local_rank": 3, "pid": 71}),
        ("torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: -7)", "child_failed", {"exit_code": -7, "signal": 7}),
        ("Child process 5467 (local_rank 2) FAILED (exitcode -9)", "child_failed", {"pid": 5467, "local_rank": 2, "signal": 9}),
        ('{"name": "torchelastic.worker.status.FAILED", "source": "WORKER", "metadata": {"run_id": "none", "global_rank": 3, "group_rank": 0, "worker_id": "11376", "role": "default", "hostname": "n4"}}', "child_failed", {"rank": 3, "pid": 11376, "host": "n4"}),
        ("W0628 09:59:16.486000 1002 api.py:1014] Sending process 1798 closing signal SIGTERM", "closing_signal", {"pid": 1798, "signal": 15}),
        ("[2024-03-26 16:50:50,100] torch...api: [WARNING] Sending process 5 closing signal Signals.SIGINT", "closing_signal", {"signal": 2}),
        ("WARNING:torch...api:Received 15 death signal, shutting down workers", "death_signal", {"signal": 15}),
        ("W1 x] Received Signals.SIGTERM death signal, shutting down workers", "death_signal", {"signal": 15}),
        ("torch.distributed.elastic.multiprocessing.api.SignalException: Process 44 got signal: 15", "signal_exception", {"pid": 44, "signal": 15}),
        ("Unable to shutdown process 9 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL", "forced_kill", {"pid": 9, "signal": 9}),
        ("[default] Worker group FAILED. 3/3 attempts left; will restart worker group", "restart", {}),
        ("[default] Worker group FAILED", "group_failed", {}),
        ("subprocess.CalledProcessError: Command '['python', 'a.py']' returned non-zero exit status 137.", "child_failed", {"exit_code": 137, "signal": 9}),
        ("Command '['python', 'a.py', '--n', '2']' returned non-zero exit status 3.", "child_failed", {"exit_code": 3, "signal": None}),
        ("subprocess.CalledProcessError: Command '['python', 'a.py']' died with <Signals.SIGKILL: 9>.", "child_failed", {"exit_code": None, "signal": 9}),
        ("[2023-05-01 10:00:00,123] [ERROR] [launch.py:434:sigkill_handler] ['/usr/bin/python', 'a.py'] exits with return code = -9", "child_failed", {"exit_code": -9, "signal": 9}),
        ("[2023-05-01 10:00:00,123] [INFO] [launch.py:428:sigkill_handler] Killing subprocess 4321", "killing", {"pid": 4321}),
        ("torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGKILL", "child_failed", {"signal": 9}),
        ("subprocess.CalledProcessError: Command '['py.exe', 'a.py']' returned non-zero exit status 3221225477.", "child_failed", {"exit_code": 3221225477, "signal": 11}),
        ("Container rank 2 status failed cmd ['/usr/bin/python', '-u', 'tools/fit.py'] code -6 log log/job.2.log ", "child_failed", {"rank": 2, "exit_code": -6, "signal": 6, "framework": "paddle"}),
        ("Container rank 0 status failed cmd ['python', 'fit.py'] code 1 log log/workerlog.0", "child_failed", {"rank": 0, "exit_code": 1, "signal": None}),
        ("ERROR 2026-05-24 17:17:14,611 launch_utils.py:545] ABORT!!! Out of all 4 trainers, the trainer process with rank=[3] was aborted. Please check its log.", "child_failed", {"rank": 3, "exit_code": None, "signal": None, "framework": "paddle"}),
        ("torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with exit code 1", "child_failed", {"exit_code": 1}),
    ],
)  # fmt: skip
def test_words_in_passing(text, name, want):
    (row,) = parse(text)
    assert (row.kind, row.name) == ("launcher_event", name)
    assert {k: getattr(row, k) for k in want} == want
    assert name in NAMES


@pytest.mark.parametrize(
    "text",
    [
        "host      : n1",
        "world size: 8 rank: 3",
        "exitcode looks fine",
        "the worker group meets on Monday",
        "Failures: 0",
    ],
)
def test_what_resembles_a_launcher_gives_nothing(text):
    assert parse(text) == []


@given(
    st.lists(st.one_of(st.sampled_from([*MODERN.splitlines(), *OLD.splitlines()]), st.text(max_size=60)), max_size=40)
)
def test_no_text_can_crash_it(lines):
    assert all(r.name in NAMES for r in parse("\n".join(lines)))


def test_a_long_command_does_not_hide_how_it_ended():
    command = ["/usr/bin/python", "-u", "fit.py", *(f"--option_{n}={n}" for n in range(40))]
    (row,) = parse(
        f"[2026-05-01 10:00:00,123] [ERROR] [launch.py:434:sigkill_handler] {command} exits with return code = -9"
    )
    assert row.message.endswith("['/usr/bin/python', '-u', 'fit.py', … ] exits with return code = -9")


def test_several_messages_on_one_line_are_several_rows():
    pad = " " * 30
    rows = parse(f"WARNING:t.api:Sending process 5 closing signal SIGTERM{pad}WARNING:t.api:Sending process 6 closing signal SIGTERM"
                 f"{pad}ERROR:t.api:failed (exitcode: -9) local_rank: 4 (pid: 7) of binary: /p")  # fmt: skip
    assert [(r.name, r.pid) for r in rows] == [("closing_signal", 5), ("closing_signal", 6), ("child_failed", 7)]


@pytest.mark.parametrize(("status", "signal"), [(134, 6), (137, 9), (1, None), (255, None)])
def test_kaldis_launchers_say_how_their_job_ended(status, signal):
    (row,) = parse(f"lr: 0.0012queue.pl: job failed with status {status}, log is in exp/tdnn/log/train.7.1.log")
    assert (row.name, row.exit_code, row.signal, row.framework) == ("child_failed", status, signal, "kaldi")
    assert parse("run.pl: job failed, log is in exp/tdnn/log/train.7.1.log") == []
