"""Tracebacks whose line ends were lost where they were copied to."""

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
