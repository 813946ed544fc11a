"""A file's name is somebody's: its words are no evidence of what happened; the true twin passes."""

from __future__ import annotations

import pytest

from tests.agent_tools.gate.wordkit import Book, book

MORE = {"oom": ("host-memory-kill", "4804"), "offline": ("hub-offline", "4815")}
CALLED = [
    ("Rank <oom.exceptions:1.rank> ran out of memory.", "Rank <oom.fatal_signals:1.rank> was killed because host memory ran out."),
    ("Rank <oom.fatal_signals.rank> ran out of memory.", "Rank <oom.fatal_signals.rank> was ended by signal <oom.fatal_signals.signal>."),
    ("Rank <kill.fatal_signals.rank> was killed.", "Rank <kill.fatal_signals.rank> got signal <kill.fatal_signals.signal>."),
    ("The hub was offline at line <offline.exceptions.line_no>.", "The file is <offline.exceptions.file>."),
    ("Rank <down.plain_errors.rank> was down.", "Node <down.node_failures.node> was <down.node_failures.state>."),
    ("The loss diverged at line <nan.loss_shape.first_line>.", "The first line is <nan.loss_shape.first_line>."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of seven jobs, whose logs lie in folders that are called after what befell them."""
    return book(tmp_path_factory.mktemp("lake"), MORE)


@pytest.mark.parametrize("text", [false for false, _ in CALLED])
def test_a_file_s_name_says_nothing_of_the_row(shown: Book, text: str) -> None:
    assert not shown.passes(text)


@pytest.mark.parametrize("text", [true for _, true in CALLED])
def test_what_the_row_says_passes(shown: Book, text: str) -> None:
    assert shown.passes(text)
