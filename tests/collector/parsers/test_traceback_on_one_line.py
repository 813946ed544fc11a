"""Tracebacks whose line ends were lost where they were copied to."""

import json
from collections.abc import Callable

import pytest

from collector.parsers.base import parse_text
from collector.parsers.traceback import Traceback
from store.rows import LogEvent
from tests.collector.parsers.test_traceback import PLAIN, one


def test_a_long_traceback_on_one_line_keeps_its_exception():
    lines = PLAIN.split("\n")[1:-2]
    middle = (
        '  File "/home/u/deep/and/deeper/inside/a/package/of/layers.py", line 7, in forward     return self.inner(x)'
    )
    row = one(" ".join([*lines[:3], *[middle] * 40, *lines[3:]]))
    assert (row.name, "truncated" in str(row.detail)) == ("ValueError", False)


def test_a_traceback_on_one_line_is_read_frame_by_frame():
    row = one(" ".join(PLAIN.split("\n")[1:-2]))
    assert (row.name, row.cause_name) == ("ValueError", None)
    assert row.message.startswith("Target modules {'wq'} not found")
    assert row.user_frame == "/home/u/model.py:7 in main"


_STACK = (
    'Traceback (most recent call last):\n  File "/app/train.py", line 88, in main\n    batch["a\\tb"]\nKeyError: "scan"'
)


@pytest.mark.parametrize("write", [json.dumps, repr])
def test_a_traceback_that_is_a_text_of_an_object_is_read(write: Callable[[object], str]) -> None:
    line = write({"step": 40, "level": "critical", "exc_info": _STACK, "host": "gpu-01"})
    (row,) = (r for r in parse_text(Traceback(), f"2026-05-01 10:00:00 {line}\nbye") if isinstance(r, LogEvent))
    assert (row.name, row.message, row.frame, row.severity) == (
        "KeyError",
        '"scan"',
        "/app/train.py:88 in main",
        "error",
    )


@pytest.mark.parametrize(
    "code", ["    torch._C._cuda_setDevice(device)", "return self.model(batch, labels=labels)", "loss = step(x)  "]
)
def test_an_exception_behind_its_line_of_code_is_read(code: str):
    said = "shape '[4, 512]' is invalid for input of size 2047"
    (row,) = parse_text(Traceback(), f"{code} RuntimeError: {said}\n")
    assert (row.name, row.message) == ("RuntimeError", said)
    assert not parse_text(Traceback(), f"What we saw (on two nodes) RuntimeError: {said}\n")


@pytest.mark.parametrize(
    "said", ["SyntaxError: unterminated string literal (detected at line 12)", "IndentationError: unexpected indent"]
)
def test_what_stands_below_a_syntax_error_is_not_of_its_text(said: str):
    text = f'  File "/home/u/train.py", line 12\n    name = "llama\n           ^\n{said}\nall outputs were copied to /scratch/u/12\n'
    (row,) = parse_text(Traceback(), text)
    assert f"{row.name}: {row.message}" == said


@pytest.mark.parametrize(
    "printed", ["<class 'tables.RowInvalidError'>: {}", "shard 3 failed <class 'tables.RowInvalidError'>, {}"]
)
def test_a_type_that_a_program_prints_with_its_text_is_an_exception(printed: str):
    said = "a number stands where a list was"
    (row,) = parse_text(Traceback(), printed.format(said))
    assert (row.name, row.message, row.severity) == ("tables.RowInvalidError", said, "error")
    assert not parse_text(Traceback(), f"WARNING {printed.format(said)}")
    assert not parse_text(Traceback(), "callbacks of <class 'tables.RowReader'>: 3")


@pytest.mark.parametrize("said", ["No such file or directory (os error 2)", "data did not match any variant of enum T"])
def test_the_plainest_type_below_frames_without_their_header_is_one(said: str):
    frame = '  File "/opt/env/lib/python3.11/site-packages/tokens/fast.py", line 9, in __init__\n    t = read(path)\n'
    (row,) = parse_text(Traceback(), f"{frame}Exception: {said}\n")
    assert (row.name, row.message) == ("Exception", said)
    assert not parse_text(Traceback(), f"{frame}Except: {said}\n")


@pytest.mark.parametrize("name", ["requests.exceptions.ReadTimeout", "botocore.errors.SlowDown"])
def test_a_type_of_a_module_of_exceptions_is_one_whatever_it_is_called(name: str):
    (row,) = parse_text(Traceback(), f"step 40 loss 2.1\n{name}: (host='hub.example', port=443) (read timeout=10)\n")
    assert (row.kind, row.name) == ("exception", name)
    for text in (f"see {name}: what to do", f"{name} may be raised", f"{name.lower()}: a module", f"  {name}.retry: 3"):
        assert not parse_text(Traceback(), f"step 40 loss 2.1\n{text}\n")
