"""How many ranks or tasks it is of, what a rank died of, and what was sent to it: false is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from tests.agent_tools.gate.wordkit import Book, book, sides

MORE = {
    "core": ("native-crash", "4823"),
    "none": ("command-not-found", "4817"),
    "oom": ("host-memory-kill", "4804"),
    "hub": ("hub-offline", "4815"),
}
BESIDES: list[tuple[str, str]] = []
SAID = [
    ("All three ranks ran on node <core.job_nodes.node>.", "All four ranks ran on node <core.job_nodes.node>."),
    ("All four ranks got signal <core.fatal_signals.signal_name>.", "Both ranks exited with code <hub.launcher_failures.exit_code>."),
    ("Both ranks got signal <core.fatal_signals.signal_name>.", "Ranks <core.fatal_signals:1.all_ranks> got signal <core.fatal_signals:1.signal_name>.") ,
    ("Three other ranks, <core.fatal_signals.all_ranks>, were terminated by the launcher.", "Three other ranks, <core.fatal_signals:1.all_ranks>, were terminated by the launcher."),
    ("Two other ranks, <core.fatal_signals:1.all_ranks>, were terminated by the launcher.", "The other three ranks, <core.fatal_signals:1.all_ranks>, were terminated by the launcher."),
    ("Rank <core.fatal_signals:1.rank> got signal <core.fatal_signals:1.signal>, the other three ranks, <core.fatal_signals:1.all_ranks>, as well.", "Rank <core.fatal_signals.rank> got signal <core.fatal_signals.signal>, and the launcher then stopped the other three ranks: <core.fatal_signals:1.all_ranks>."),
    ("Rank <core.fatal_signals:1.rank> got signal <core.fatal_signals:1.signal>; the others were ended with <core.fatal_signals.signal_name>.", "Rank <core.fatal_signals.rank> got signal <core.fatal_signals.signal>; the others were ended with <core.fatal_signals:1.signal_name>."),
    ("The others were ended with <core.fatal_signals.signal_name>.", "The other ranks, <core.fatal_signals:1.all_ranks>, were ended with <core.fatal_signals:1.signal_name>."),
    ("The other ranks, <core.fatal_signals.all_ranks>, were ended with <core.fatal_signals.signal_name>.", "The other <core.fatal_signals:1.ranks> ranks were ended with <core.fatal_signals:1.signal_name>."),
    ("Both tasks exited with code <core.slurm_messages.exit_code>.", "Both tasks exited with code <none.slurm_messages.exit_code>."),
    ("Both tasks stopped at line <none.slurm_messages.line_no>.", "Both tasks exited with code <none.slurm_messages.exit_code>."),
    ("Rank <core.fatal_signals.rank> died of <core.fatal_signals:1.signal_name>.", "Rank <core.fatal_signals.rank> died of <core.fatal_signals.signal_name>."),
    ("Rank <core.fatal_signals:1.rank> died of <core.fatal_signals:1.signal_name>.", "Process <core.fatal_signals.pid> died of signal <core.fatal_signals.signal>."),
    ("Rank <core.fatal_signals.rank> died of <core.fatal_signals.pid>.", "Rank <core.fatal_signals.rank> died of signal <core.fatal_signals.signal>."),
    ("Node <core.fatal_signals.host> died of <core.fatal_signals.signal_name>.", "Rank <core.fatal_signals.rank> died of <core.fatal_signals.signal_name>."),
    ("Rank <core.fatal_signals.rank> was sent <core.fatal_signals.signal_name> by the launcher.", "Ranks <core.fatal_signals:1.all_ranks> were sent <core.fatal_signals:1.signal_name> by the launcher."),
    ("The other ranks, <oom.fatal_signals:1.all_ranks>, were sent <oom.fatal_signals:1.signal_name> by the launcher.", "The other ranks, <oom.fatal_signals.all_ranks>, were sent <oom.fatal_signals.signal_name> by the launcher."),
    ("The user's signal ended ranks <core.fatal_signals:1.all_ranks>.", "Ranks <core.fatal_signals:1.all_ranks> got signal <core.fatal_signals:1.signal> on <core.fatal_signals:1.hosts> nodes."),
    ("<core.fatal_signals:1.hosts> nodes were terminated.", "Ranks <core.fatal_signals:1.all_ranks> were terminated with signal <core.fatal_signals:1.signal>."),
    ("Rank <core.fatal_signals:1.rank> got a segmentation fault: signal <core.fatal_signals:1.signal>.", "Rank <core.fatal_signals.rank> got a segmentation fault: signal <core.fatal_signals.signal>."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of nine jobs."""
    return book(tmp_path_factory.mktemp("lake"), MORE)


test_what_the_rows_do_not_say_is_refused, test_what_the_rows_say_passes = sides(SAID)
