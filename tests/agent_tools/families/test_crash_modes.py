"""What kind of crash a line is that a program printed itself."""

import pytest

from agent_tools.families.crash_modes import ACTIONS, MEANING, mode_of_words


@pytest.mark.parametrize(
    ("text", "mode", "whose"),
    [
        ("ERROR: cannot write dump: No space left on device", "storage", "job"),
        ("fatal: could not write trajectory: Read-only file system", "storage", "infrastructure"),
        ("ERROR: read of frame failed: Input/output error", "storage", "infrastructure"),
        ("ERROR: Lost atoms", "code", "job"),
    ],
)
def test_words_of_a_file_system_are_storage(text: str, mode: str, whose: str) -> None:
    assert mode_of_words(text) == (mode, whose)
    assert mode in ACTIONS and mode in MEANING
