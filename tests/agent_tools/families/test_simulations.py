"""Simulations: their own last words, good and bad, and what is not asked of a run that learns nothing (unverified)."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.parsers.base import parse_text
from collector.parsers.cuda_error import CudaError
from tests.agent_tools.families.logkit import drafted, facts_of

GROMACS = "Command line:\n  gmx mdrun -deffnm npt\n\n"
RULE = "-------------------------------------------------------\n"
MANY = "Step 900, time 1.8 (ps)  LINCS WARNING\nrelative constraint deviation after LINCS:\n"
GAVE_UP = (
    RULE
    + "Fatal error:\nToo many LINCS warnings (1001)\nto go on with this\nstructure\n\nFor more information\n"
    + RULE
)
USER = RULE + "Error in user input:\nInvalid command-line options\n\nsee the manual\n" + RULE
UNSEEN = (
    RULE
    + "Fatal error:\nCannot run short-ranged interactions on a GPU because no GPU is\ndetected.\n\nsee the manual\n"
    + RULE
)
VASP = " vasp.6.4.3 19Mar24 (build Sep 03 2024 17:30:01) complex\n POSCAR found :  2 types and      16 ions\n"
SCF = "".join(f"DAV: {n:3}    -0.3124{n:02}E+03   -0.1{n}E-02   -0.18E-03  4120   0.122E+01\n" for n in range(1, 15))
ION = "   {0} F= -.3124{0}241E+03 E0= -.31241241E+03  d E =-.122345E-04\n"
REACHED = " reached required accuracy - stopping structural energy minimisation\n"
WRITES = " writing wavefunctions\n"
BAD = " VERY BAD NEWS! internal error in subroutine IBZKPT:\n Reciprocal lattice and k-lattice belong to different classes\n"
BRACKETING = " ZBRENT: fatal error in bracketing\n     please rerun with smaller EDIFF, or copy CONTCAR\n     to POSCAR and continue\n"
BOX = " ----------\n|                |\n|     EEEEEEE  RRRRRR   RRRRRR   OOOOOOO  RRRRRR      ###     |\n|     {0}     |\n|                |\n|       ---->  I REFUSE TO CONTINUE WITH THIS SICK JOB ... BYE!!! <----       |\n|               |\n ----------\n"


@pytest.mark.parametrize(
    ("log", "family", "quoted"),
    [
        (GROMACS + MANY + GAVE_UP, "A3", "Too many LINCS warnings (1001) to go on with this structure"),
        (GROMACS + USER, "A1", "Invalid command-line options"),
        (VASP + SCF + ION.format(1) + BRACKETING, "A3", "ZBRENT: fatal error in bracketing"),
        (VASP + BAD, "A1", " VERY BAD NEWS! internal error in subroutine IBZKPT:"),
        (VASP + BOX.format("No initial positions read in"), "A1", "No initial positions read in"),
        (
            VASP + "| internal error in: subrot_cluster.F  at line: 211 |\n| Please submit a report. |\n",
            "A1",
            "internal error in: subrot_cluster.F  at line: 211",
        ),
    ],
)
def test_a_simulation_that_gives_up_is_quoted_with_its_reason(
    tmp_path: Path, log: str, family: str, quoted: str
) -> None:
    facts = facts_of(log, tmp_path)
    assert drafted(log, tmp_path / "again").family == family
    assert [r.message for r in facts.raised] == [quoted] or facts.table("plain_errors").rows[0].text("text") == quoted


@pytest.mark.parametrize(
    ("log", "family"),
    [
        (VASP + SCF + ION.format(1) + ION.format(2) + REACHED + WRITES, "G1"),
        (VASP + BAD + SCF + ION.format(1) + WRITES, "G1"),  # it went on after that
        (VASP + BAD + SCF, "U0"),
        (VASP + SCF + ION.format(1), "U0"),
        (GROMACS + "Nothing was read with an error: none\n", "U0"),
    ],
)
def test_a_simulation_ends_well_by_its_own_last_words_alone(tmp_path: Path, log: str, family: str) -> None:
    made = drafted(log, tmp_path)
    assert made.family == family
    if family == "G1":
        assert "results are right" in made.headline and not any("learned" in m.text for m in made.cannot_decide)
        assert any(r.family == "E3" and "simulation" in r.text for r in made.ruled_out)


def test_a_program_that_sees_no_gpu_is_not_told_that_the_node_is_fine(tmp_path: Path) -> None:
    made = drafted(GROMACS + UNSEEN, tmp_path)
    assert (made.family, made.mode, made.attribution) == ("A1", "env", "undetermined")


def test_gromacs_tells_that_it_works_without_a_gpu() -> None:
    (row,) = parse_text(CudaError(), "      GROMACS cannot run tasks on a GPU.")
    assert row.name == "on_cpu"  # type: ignore[union-attr]
