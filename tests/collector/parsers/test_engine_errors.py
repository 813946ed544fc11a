"""Why an engine of simulations ends, in its own words, and what merely resembles them."""

import pytest

from collector.parsers.base import parse_text
from collector.parsers.engine_errors import NAMES, EngineErrors

BLOCK = "-------------------------------------------------------\nProgram:     gmx mdrun, version 2024.1\nSource file: src/gromacs/domdec/domdec.cpp (line 2200)\n\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BLOCK + "Fatal error:\nThere is no domain decomposition for 20 ranks that is compatible with the\nbox and a cell size of 1.2 nm\n\nFor more information",
         "There is no domain decomposition for 20 ranks that is compatible with the box and a cell size of 1.2 nm"),
        (BLOCK + "Inconsistency in user input:\nThe group cutoff scheme is gone.\n\nFor more information", "The group cutoff scheme is gone."),
        ("Fatal error:\nToo many LINCS warnings (1001)\nFor more information and tips", "Too many LINCS warnings (1001)"),
        ("Fatal error:\nstopped short of its end", "stopped short of its end"),
        ("Error in user input:\nInvalid command-line options\n\nFor more", "Invalid command-line options"),
        ("| " + "EEEEEEE  RRRRRR   RRRRRR" + "   OOO |\n|          |\n|   The grid is not\n|   positive.   |\n|   ---->  I REFUSE TO CONTINUE WITH THIS SICK JOB ... BYE!!! <----  |\n",
         "The grid is not positive."),
        ("|     ---->  I REFUSE TO CONTINUE WITH THIS SICK JOB ... BYE!!! <----    |", "I REFUSE TO CONTINUE WITH THIS SICK JOB ... BYE!!!"),
        ("|     internal error in: pot_mix.F  at line: 77     |", "internal error in: pot_mix.F  at line: 77"),
        (" ZBRENT: fatal error in bracketing", "ZBRENT: fatal error in bracketing"),
        ("ERROR: Lost atoms: original 2000 current 1987 (src/thermo.cpp:481)", "Lost atoms: original 2000 current 1987"),
        ("ERROR on proc 3: Bond atoms missing (../ntopo_bond_all.cpp:59)", "Bond atoms missing"),
        ("------------- Processor 0 Exiting: Called CmiAbort ------------\nReason: FATAL ERROR: UNABLE TO OPEN .xsc FILE\n", "UNABLE TO OPEN .xsc FILE"),
    ],
)  # fmt: skip
def test_the_reason_is_one_fatal_row(text: str, message: str) -> None:
    (row,) = parse_text(EngineErrors(), text)
    assert (row.kind, row.name, row.severity, row.message) == ("exception", "EngineError", "fatal", message)
    assert row.name in NAMES


@pytest.mark.parametrize(
    "text",
    [
        "ERROR: could not reach the tracker (client.cpp:44)",  # any program's logger prints so, and goes on
        "WARNING: Lost atoms: original 2000 current 1987 (src/thermo.cpp:481)",
        "Fatal error: none so far",
        "Fatal error:\n\nstep 3",
        "Feature not implemented:\nsparse gradients, dense ones are used",
        "Assertion failed:\nretrying",
        "Called CmiAbort in a comment\nReason: none",
        "Source file: notes.md\nAssertions hold",
        "| EEEEEEE  RRRRRR   RRRRRR |\n|  only letters so far  |\nand on it goes",
        "internal error in: the queue, retrying",
    ],
)
def test_what_resembles_it_gives_nothing(text: str) -> None:
    assert not parse_text(EngineErrors(), text)
