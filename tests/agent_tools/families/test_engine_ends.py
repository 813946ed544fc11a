"""What an engine of simulations says as it ends decides, before the signals that a launcher sends to the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.test_cut_and_told import drafted

HEADING = "Step Temp E_pair TotEng\n"
BOX = "\n====================\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK {} PID 41{} RUNNING AT n7\n=   KILLED BY SIGNAL: 9 (Killed)\n====================\n"
TABLE = HEADING + "0 300.0 -71.2 -68.1\n100 301.2 -71.1 -68.0\n200 299.7 -71.3 -68.2\n"
FIELDS = "CUDA Error:\n    File:       force/nep.cu\n    Line:       90\n    Error code: {}\n    Error text: {}\n"


@pytest.mark.parametrize(
    ("text", "family", "mode"),
    [
        ("Fatal error:\nThere is no domain decomposition for 20 ranks that is compatible with the\ngiven box\n\n", "A1", "config"),
        ("ERROR: Insufficient memory on accelerator (src/GPU/gpu_extra.h:38)\n", "B1", None),
        (TABLE + "ERROR: Lost atoms: original 2000 current 1987 (src/thermo.cpp:481)\n", "A3", "code"),
        ("Rank 1 [Tue May  5 10:00:26 2026] [c1-0c1s2n0] Fatal error in PMPI_Recv: Invalid rank, error stack:\nsrun: error: nid7: task 1: Aborted\n", "A1", "code"),
        (TABLE + FIELDS.format(700, "an illegal memory access was encountered") + BOX.format(0, 0) + BOX.format(1, 1), "A3", "code"),
        (FIELDS.format(35, "CUDA driver version is insufficient for CUDA runtime version"), "A1", "env"),
        ("------------- Processor 0 Exiting: Called CmiAbort ------------\nReason: FATAL ERROR: Unable to access config file eq.conf\n"
         "run.sh: line 9: 77 Aborted (core dumped) namd2 eq.conf\n", "A1", "data"),
    ],
)  # fmt: skip
def test_the_reason_that_an_engine_gives_decides(text: str, family: str, mode: str | None, tmp_path: Path) -> None:
    verdict = drafted(text, tmp_path / "log")
    assert (verdict.family, verdict.mode) == (family, mode)
    assert verdict.attribution != "hardware"


def test_a_run_whose_engine_lost_nothing_is_not_broken_by_its_warnings(tmp_path: Path) -> None:
    text = (
        TABLE
        + "WARNING: Lost atoms: original 2000 current 1999 (src/thermo.cpp:481)\nLoop time of 12.1 on 8 procs for 200 steps with 1999 atoms\nTotal wall time: 0:00:12\n"
    )
    assert drafted(text, tmp_path / "log").family in ("G1", "U0")
