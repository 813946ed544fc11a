"""No single line, however hostile, holds a parser up: repeated fragments of its own vocabulary included."""

import time

import pytest

from collector.parsers.base import Line
from collector.parsers.registry import parser_types

FRAGMENTS = (
    "a", " ", "[", "1", "/", "A.B", "- ", ": ", "Error: ", "NCCL WARN ", "[launch.py:1:x] ", "MASTER_ADDR", "connect to ",
    "CUDA out of memory. Tried to allocate ", "*** JOB 1 ON n ", "srun: error: ", 'File "', "saved checkpoint to ", "%|",
    "CalledProcessError: Command ", "Traceback (most recent call last): ", "WorkNCCL(", "nan ", "│ ",
)  # fmt: skip


@pytest.mark.parametrize("parser_type", parser_types(), ids=lambda t: t.name)
def test_a_line_of_one_repeated_fragment_is_read_at_once(parser_type):
    """Of the words that lead a line to this very parser too."""
    for fragment in (*FRAGMENTS, *(f"{anchor}: " for anchor in parser_type.anchors or ())):
        parser = parser_type()
        text = (fragment * 80_000)[:80_000] + " Error!"
        started = time.process_time()
        list(parser.feed(Line(text, 1, "log")))
        list(parser.close())
        assert time.process_time() - started < 2, fragment
