"""Ends by a signal in the words of the shell and of crash handlers, and signals that a program says it received."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.signals import NAMES, Signals


def parse(text):
    return parse_text(Signals(), text)


@pytest.mark.parametrize(
    ("text", "name", "number"),
    [
        ("Killed", "shell", 9),
        ("  5%|# | 3/60 [00:10<03:00, 3.1s/it]Killed", "shell", 9),
        ("Segmentation fault (core dumped)", "shell", 11),
        ("Bus error", "shell", 7),
        ("File size limit exceeded (core dumped)", "shell", 25),
        ("job.sh: line 4: 71 CPU time limit exceeded python fit.py", "shell", 24),
        ("Aborted (core dumped)", "shell", 6),
        ("/var/spool/slurmd/job1/slurm_script: line 12: 12345 Killed                  python train.py", "shell", 9),
        ("run.sh: line 3: 99 Segmentation fault      (core dumped) ./a.out", "shell", 11),
        ("double free or corruption (!prev)", "heap_corruption", 6),
        ("malloc(): invalid size (unsorted)", "heap_corruption", 6),
        ("*** stack smashing detected ***: terminated", "heap_corruption", 6),
        ("[n1:12345] Signal: Segmentation fault (11)", "crash_handler", 11),
        ("[n1:77:0:77] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x8)", "crash_handler", 11),
        ('Thread 1 "python3" received signal SIGSEGV, Segmentation fault.', "crash_handler", 11),
        ("*** SIGSEGV (@0x8) received by PID 21 (TID 0x7f) from PID 8; stack trace: ***", "crash_handler", 11),
    ],
)  # fmt: skip
def test_an_end_by_a_signal(text, name, number):
    (row,) = parse(text)
    assert (row.kind, row.name, row.signal, row.severity) == ("signal", name, number, "fatal")


def test_the_shell_names_pid_and_command():
    (row,) = parse("slurm_script: line 12: 12345 Killed                  python train.py --x 1")
    assert row.pid == 12345 and "python train.py --x 1" in row.detail


def test_a_faulthandler_stack_names_the_frame_of_the_current_thread():
    (row,) = parse("""\
Fatal Python error: Segmentation fault

Thread 0x00007f1 (most recent call first):
  File "/usr/lib/python3.10/threading.py", line 320 in wait

Current thread 0x00007f2 (most recent call first):
  File "/venv/lib/python3.10/site-packages/torch/nn/functional.py", line 2233 in embedding
  File "/home/u/train.py", line 88 in step
  File "/home/u/train.py", line 140 in <module>

Extension modules: numpy.core._multiarray_umath (total: 1)
""")
    assert (row.name, row.signal) == ("fatal_python_error", 11)
    assert row.frame.endswith("functional.py:2233 in embedding")
    assert (row.user_frame, row.entry_frame) == ("/home/u/train.py:88 in step", "/home/u/train.py:140 in <module>")


def test_a_cpp_terminate_keeps_what_it_says():
    (row,) = parse("terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n")
    assert (row.name, row.signal) == ("terminate", 6) and "what():  std::bad_alloc" in row.message


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("[rank: 0] Received SIGTERM: 15", 15),
        ("INFO: Caught signal SIGUSR1, saving checkpoint", 10),
        ("caught USR1, saving checkpoint", 10),
        ("[rank0] Received signal USR2", 12),
        ("Handling auto-requeue signal: 10", 10),
        ("SIGTERM received, saving checkpoint", 15),
        ("[rank 3] SIGUSR2 was caught: leaving after this step", 12),
        ("[exiting program after receiving SIGTERM]", 15),
        ("Detected KeyboardInterrupt, attempting graceful shutdown ...", 2),
        ("  3%|# | 3/99 [00:10<03:00]^C", 2),
        ("CRITICAL Keyboard Interrupt. Stopping now.", 2),
        ("[12:01] keyboard interrupt received, saving", 2),
        ("Interrupted by the user at step 40", 2),
    ],
)
def test_a_received_signal_is_an_interrupt_and_no_end(text, number):
    (row,) = parse(text)
    assert (row.kind, row.signal) == ("interrupt", number) and row.severity == "warning"


@pytest.mark.parametrize(
    "text",
    [
        "Killed 5 zombie workers",
        "the run was Terminated early by the scheduler of the sweep",
        "(1) The process is killed by SIGKILL by OOM killer. (3) The worker is crashed unexpectedly due to SIGSEGV or other errors.",
        "signal to noise: 15",
        "SIGNAL_PROCESSING enabled",
        "Received 15 death signal, shutting down workers",
        "Sending process 7 closing signal SIGTERM",
        "trap 'echo' SIGTERM",
        "SIGTERM handler registered; a SIGKILL cannot be caught",
        "corrupted sample skipped",
        "[user@login ~]$ ^C",
        "press a key for a keyboard interrupt handler",
        "Keyboard layout: us",
    ],
)
def test_what_resembles_a_signal_gives_nothing(text):
    assert parse(text) == []


@given(st.lists(st.one_of(st.sampled_from(["Fatal Python error: Aborted", "Current thread 0x1 (most recent call first):", '  File "a", line 1 in b', "terminate called without an active exception", "Killed", "^C"]), st.text(max_size=60)), max_size=30))  # fmt: skip
def test_no_text_can_crash_it(lines):
    assert all(r.name in NAMES for r in parse("\n".join(lines)))


CUT = "[n1:717] Failing at address: 0xb8\n[n1:717] [ 0] linux-vdso.so.1(__kernel_rt_sigreturn+0x0)[0xffff97f657c0]"
FAULT = "Memory access fault by GPU node-4 (Agent handle: 0x28e9) on address 0x17000. Reason: Page not present."


@pytest.mark.parametrize(
    ("text", "signals"),
    [
        (CUT, [11]),
        ("[n1:717] Signal: Bus error (7)\n[n1:717] Signal code:  (2)\n" + CUT, [7]),
        ("the test is failing at address: 0xb8", []),
        (FAULT, [6]),
        ("Memory access fault by GPU is what ROCm calls it", []),
    ],
)
def test_a_crash_report_without_its_first_line_is_one_still(text, signals):
    assert [r.signal for r in parse(text)] == signals


@pytest.mark.parametrize(
    "signal", ["SIGINT, Interrupt.", "SIGTRAP, Trace/breakpoint trap.", "SIGSTOP, Stopped (signal)."]
)
def test_where_a_debugger_stops_a_process_nothing_ended_it(signal):
    assert parse(f'Thread 1 "python" received signal {signal}\nProgram received signal {signal}') == []
