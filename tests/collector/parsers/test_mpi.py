"""Failed ranks in the words of Open MPI, MPICH and Intel MPI."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.mpi import NAMES, Mpi


def parse(text):
    return parse_text(Mpi(), text)


HYDRA = """\
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 3 PID 812 RUNNING AT n7
=   KILLED BY SIGNAL: 9 (Killed)
===================================================================================
"""
OPEN = """\
--------------------------------------------------------------------------
mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[40563,1],2]
  Exit code:    1
--------------------------------------------------------------------------
"""


def test_the_box_of_hydra():
    (row,) = parse(HYDRA)
    assert (row.kind, row.name, row.rank, row.pid, row.host, row.signal) == (
        "launcher_summary",
        "child_failed",
        3,
        812,
        "n7",
        9,
    )


def test_the_box_of_open_mpi():
    (row,) = parse(OPEN)
    assert (row.rank, row.exit_code, row.signal) == (2, 1, None)


@pytest.mark.parametrize("who", ["mpirun", "prterun", "mpiexec"])
def test_a_rank_that_a_signal_ended(who):
    (row,) = parse(
        f"{who} noticed that process rank 3 with PID 812 on node n7 exited on signal 11 (Segmentation fault)."
    )
    assert (row.rank, row.pid, row.host, row.signal) == (3, 812, "n7", 11)


def test_an_abort_names_its_rank():
    (row,) = parse("MPI_ABORT was invoked on rank 5 in communicator MPI_COMM_WORLD")
    assert (row.kind, row.name, row.rank) == ("launcher_event", "abort_called", 5)


@pytest.mark.parametrize("label", ["[n7:8123] ", ""])
def test_mpi_that_ends_the_program_over_an_error_aborts_it(label):
    (row,) = parse(f"{label}*** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,")
    assert (row.kind, row.name, row.rank, row.severity) == ("launcher_event", "abort_called", None, "error")


@pytest.mark.parametrize(
    "text",
    [
        "mpirun -np 4 python train.py",
        "lost connection to my thoughts",
        "set by default: *** MPI_ERRORS_ARE_FATAL (aborts), *** MPI_ERRORS_RETURN (goes on)",
    ],
)
def test_what_resembles_it_gives_nothing(text):
    assert parse(text) == []


@given(
    st.lists(st.one_of(st.sampled_from([*HYDRA.splitlines(), *OPEN.splitlines()]), st.text(max_size=40)), max_size=20)
)
def test_no_text_can_crash_it(lines):
    assert all(r.name in NAMES for r in parse("\n".join(lines)))


LOST = "ORTE has lost communication with a remote daemon.\n\n  HNP daemon   : [[9,0],0] on node n1\n"


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ("  Remote daemon: [[9,0],1] on node n2\n" + HYDRA, [("lost_daemon", "n2"), True]),
        (HYDRA, [("lost_daemon", None), True]),
        ("step 100 loss 2.3\n", [("lost_daemon", None)]),
    ],
)
def test_what_follows_a_lost_daemon_is_read_too(after, told):
    lost, *others = parse(LOST + after)
    assert [(lost.name, lost.host), *(row.rank == 3 for row in others)] == told
