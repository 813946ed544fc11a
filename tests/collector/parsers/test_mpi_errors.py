"""`collector.parsers.mpi_errors`: calls that MPI refuses, and errors of MPI's that are about no call."""

import pytest

from collector.parsers.base import parse_text
from collector.parsers.mpi_errors import MpiErrors


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Rank 3 [Tue May  5 10:00:26 2026] [c1-0c1s2n0] Fatal error in PMPI_Recv: Message truncated, error stack:", "PMPI_Recv: Message truncated"),
        ("Abort(67698692) on node 0 (rank 0 in comm 0): Fatal error in PMPI_Bcast: Invalid root, error stack:", "PMPI_Bcast: Invalid root"),
        ("Fatal error in internal_Isend: Invalid count, error stack:", "internal_Isend: Invalid count"),
        ("[n7:8123] *** MPI_ERR_RANK: invalid rank", "MPI_ERR_RANK: invalid rank"),
    ],
)  # fmt: skip
def test_a_refused_call_is_an_exception(text: str, said: str) -> None:
    (row,) = parse_text(MpiErrors(), text)
    assert (row.kind, row.name, row.severity, row.message) == ("exception", "MPIError", "fatal", said)


@pytest.mark.parametrize(
    "text",
    [
        "Fatal error in PMPI_Allreduce: Other MPI error, error stack:",
        "Fatal error in PMPI_Init_thread: Invalid error code, error stack:",
        "Abort(1) on node 0: Fatal error in internal_Barrier: Unknown error class, error stack:",
        "[n7:8123] *** MPI_ERR_PROC_FAILED: Process Failure",
        "[n7:8123] *** MPI_ERR_INTERN: internal error",
        "to be ready for MPI_ERR_RANK: invalid rank",
        "seen: Fatal error in PMPI_Recv: Message truncated, error stack: and so on",
    ],
)
def test_an_error_that_is_about_no_call_is_none(text: str) -> None:
    assert list(parse_text(MpiErrors(), text)) == []
