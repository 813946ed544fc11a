"""Steps of LAMMPS, GROMACS, NAMD, Amber, OpenMM and CP2K."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import Line, parse_text
from collector.parsers.molecular_dynamics import MolecularDynamics

LAMMPS = """
   Step          Temp          E_pair         E_mol          TotEng         Press
         0   1.44          -6.7733681      0             -4.6134356     -5.0197073
WARNING: Inconsistent image flags (src/domain.cpp:819)
      1000   0.70332447    -5.6779424      0             -4.6229823      0.71152731
      2000   nan           nan             0             nan             nan
Loop time of 12.3 on 4 procs for 2000 steps with 4000 atoms
      3000   1 2 3 4 5
"""
GROMACS = """
   nsteps                         = 50000
           Step           Time
              0        0.00000

   Energies (kJ/mol)
          Angle    Proper Dih.          LJ-14     Coulomb-14        LJ (SR)
    2.33140e+02    3.11000e+01    1.0e+01    1.0e+01    1.0e+01

           Step           Time
           5000       10.00000
"""
OPENMM = """
#"Progress (%)","Step","Time (ps)","Potential Energy (kJ/mole)"
1.0%,10000,20.0,-912231.1
2.0%,20000,40.0,-911912.7
"""
NAMD = """
Info: NUMBER OF STEPS        2000
ENERGY:       0       323.7513       829.1197       501.7219        37.5561         -40112.1812      3311.6741         0.0000         0.0000
ENERGY:    1000       331.1812       811.7312       511.9911        35.8812         -40031.1287      3288.7712         0.0000         0.0000
"""
AMBER = """
 NSTEP =     5000   TIME(PS) =      20.000  TEMP(K) =   300.36  PRESS =   -10.4
 NSTEP =    10000   TIME(PS) =      40.000  TEMP(K) =   299.91  PRESS =     2.1
"""


@pytest.mark.parametrize(
    ("text", "framework", "steps", "planned"),
    [
        (LAMMPS, "lammps", [0, 1000, 2000], None),
        ("------------ Step     1000 ----- CPU =      0.4 (sec) -------------", "lammps", [1000], None),
        (GROMACS, "gromacs", [0, 5000], 50000),
        ("step 5000, remaining wall clock time:   120 s\nstep 5100, will finish Sat Mar  2 11:00:00 2026", "gromacs", [5000, 5100], None),
        (OPENMM, "openmm", [10000, 20000], None),
        (NAMD, "namd", [0, 1000], 2000),
        (AMBER, "amber", [5000, 10000], None),
        (" MD| Step number                    12", "cp2k", [12], None),
    ],
)  # fmt: skip
def test_steps_are_read_and_an_energy_is_no_loss(text, framework, steps, planned):
    rows = parse_text(MolecularDynamics(), text)
    assert [r.step for r in rows] == steps
    assert {(r.framework, r.loss, r.total_steps) for r in rows} == {(framework, None, planned)}


@pytest.mark.parametrize(
    "text",
    [
        "Step Accuracy Score\n100 0.3 0.4",
        "Step 3 of the set-up: Temp folder made",
        "   Step          Temp\n  1000 of 2000",
        "ENERGY: low\nNSTEP = many",
        "Step Time Loss\n100 0.3 0.4",
    ],
)
def test_what_is_no_table_of_an_engine_gives_nothing(text):
    assert parse_text(MolecularDynamics(), text) == []


@given(st.lists(st.sampled_from([*LAMMPS.splitlines(), *OPENMM.splitlines(), "x", "1,2,3,4", "\x00"]), max_size=20))
def test_any_order_of_lines_is_taken(lines):
    parser = MolecularDynamics()
    for n, text in enumerate(lines, 1):
        list(parser.feed(Line(text, n, "log")))
    assert list(parser.close()) == []
