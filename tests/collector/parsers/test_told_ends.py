"""What other programs say of a process that a signal ended, and what merely resembles it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.told_ends import NAMES, ToldEnds


def parse(text):
    return parse_text(ToldEnds(), text)


@pytest.mark.parametrize(
    ("text", "name", "number"),
    [
        ("Command terminated by signal 9", "told", 9),
        ("Command exited with non-zero status 139", "told", 11),
        ("Process finished with exit code 137 (interrupted by signal 9: SIGKILL)", "told", 9),
        ("Process finished with exit code -1073741819 (0xC0000005)", "told", 11),
        ("Process finished with exit code 3221226505", "told", 6),
        ("fish: Job 2, 'python pretrain.py' terminated by signal SIGBUS (Misaligned address error)", "told", 7),
        ("Exception: process 2 terminated with signal SIGABRT", "told", 6),
        ("Exited with exit code 135.", "told", 7),
        ("Exited with signal termination: 11.", "told", 11),
        ("Container exited with a non-zero exit code 137. Error file: prelaunch.err.", "told", 9),
        ("make: *** [Makefile:31: finetune] Error 139", "told", 11),
        ("    Error in rule train: (exited with exit code -6)", "told", 6),
        ("[77] signal (11.1): Segmentation fault", "told", 11),
        ("signal 8 (-6): Floating point exception", "told", 8),
        ("*** SIGSEGV received at time=1767225600 on cpu 17 ***", "told", 11),
        ("libc++abi: terminating due to uncaught exception of type std::length_error", "told", 6),
        ("zsh: segmentation fault (core dumped)  python sweep.py --lr 3e-4", "shell", 11),
        ("zsh: killed     python sweep.py", "shell", 9),
        ("[3]    90210 bus error  python sweep.py", "shell", 7),
        ("[1]+  Killed                  nohup python -u sweep.py > sweep.log 2>&1", "shell", 9),
        ("python3: csrc/pool.cc:88: void Pool::grow(size_t): Assertion `n > 0' failed.", "native_assert", 6),
        ("Assertion failed: (rows > 0), function fill, file batch.cpp, line 71.", "native_assert", 6),
        ("Assertion failed: rows > 0 (src/batch.c: fill: 71)", "native_assert", 6),
        ("Assertion failed: rows > 0, file C:\\work\\batch.cpp, line 71", "native_assert", 6),
        ("TENSOR_ASSERT: D:\\a\\engine\\src\\graph.c:4410: a->ne[0] == b->ne[0]", "native_assert", 6),
        ("/build/engine/src/graph.cpp:4410: TENSOR_ASSERT(a->ne[0] == b->ne[0]) failed", "native_assert", 6),
    ],
)  # fmt: skip
def test_ends_by_name(text, name, number):
    (row,) = parse(text)
    assert (row.kind, row.name, row.signal) == ("signal", name, number) and name in NAMES


@pytest.mark.parametrize(
    "text",
    [
        "Command exited with non-zero status 1",
        "Process finished with exit code 0",
        "Process finished with exit code 130 (interrupted by signal 2: SIGINT)",
        "Job 1, 'sleep' terminated by signal SIGTERM (Polite quit request)",
        "make: *** [Makefile:31: finetune] Error 2",
        "Sending process 812 closing signal SIGTERM",
        "finished with status 200 in 137 ms",
        "signal-to-noise ratio 11 (1.2)",
        "graph.c:4410: TENSOR_ASSERT(a == b) is checked in debug builds",
        "built with TENSOR_ASSERT: on",
        "Assertion failed: the two losses differ",
        "exit code 137.5 of something",
        "[3]    90210 done  python sweep.py",
        "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGKILL",
    ],
)
def test_what_resembles_it_gives_nothing(text):
    assert parse(text) == []


@given(st.text(max_size=150))
def test_no_text_can_crash_it(text):
    rows = parse("exited with exit code " + text + "\n" + "terminated by signal " + text + "\n[1]+  Killed  " + text)
    assert all(r.name in NAMES and r.signal is not None for r in rows)


SET = "[2026-05-04 10:0{n}:01] {box} || INFO: container failed with non-zero exit code:  (exit code {code})"


@pytest.mark.parametrize(
    ("codes", "kills"),
    [((1, 137), 0), ((137,), 1), ((137, 1), 1), ((137, 137), 2), ((1, 139), 1), ((0, 137), 1), ((2, 137, 137), 0)],
)
def test_a_kill_that_is_told_after_a_failure_in_the_same_words_is_its_teardown(codes, kills):
    text = "\n".join(SET.format(n=n, box=f"0{n}7c0ee{n}", code=code) for n, code in enumerate(codes))
    assert len(parse(text)) == kills


def test_a_failure_in_other_words_is_none_of_the_set():
    assert len(parse("setup.sh finished with exit code 1\nProcess finished with exit code 137")) == 1
