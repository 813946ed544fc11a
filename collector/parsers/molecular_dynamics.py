"""molecular_dynamics: the steps that engines of molecular dynamics print with the temperature and the energies.

SOURCE    LAMMPS (thermo_style one, custom, multi), GROMACS (md.log, mdrun -v), NAMD, Amber (pmemd), OpenMM (StateDataReporter),
          CP2K, VASP (a step of the ions)
ROWS      train_step without a loss: an energy is none, and a simulation that goes on is all that is said
CAVEAT    A table is known by its heading: `Step` and at least one column that only such an engine prints. Its rows are numbers,
          as many as the heading has names, and no step goes back. Steps planned are told where the engine prints its own input.
EXAMPLES
       Step          Temp          E_pair         TotEng         Press
          0   1.44          -6.7733681     -4.6134356     -5.0197073
               Step           Time
               5000       10.00000
    ENERGY:    1000       331.1812       811.7312       511.9911        35.8812
        3 F= -.53037241E+03 E0= -.53037241E+03  d E =-.122345E-04
     NSTEP =     5000   TIME(PS) =      20.000  TEMP(K) =   300.36  PRESS =   -10.4
    #"Progress (%)","Step","Potential Energy (kJ/mole)","Temperature (K)"
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.values import NUMBER
from store import lazy

_HEADING = lazy.compile(r"\s*Step(?P<columns>(?:\s+[A-Za-z][\w./\[\]-]{0,60}){1,60})\s*$")
_COLUMNS = frozenset(
    (
        *("Temp", "Press", "PotEng", "KinEng", "TotEng", "E_pair", "E_mol", "E_bond", "E_vdwl", "E_coul", "E_long"),
        *("Volume", "Density", "Enthalpy", "Pxx", "Pyy", "Pzz", "Lx", "Ly", "Lz", "Atoms", "Fmax", "Fnorm"),
    )
)
_ROW = lazy.compile(rf"\s*(?P<step>\d{{1,15}})(?:\s+(?:{NUMBER}|-?nan|-?inf))+\s*$")
_REPORTER = lazy.compile(r'#?"(?:Progress \(%\)|Step|Time \(ps\))"(?P<separator>[,\t])')
_REPORTED = lazy.compile(r'"[^"]{1,60}"')
_PLANNED = lazy.compile(
    r"\s*(?:nsteps\s+=|Info: NUMBER OF STEPS|.{0,80}\bnstlim\s*=|\s*MD\| Number of time steps)\s+(\d{1,15})\b"
)
_LINES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("lammps", lazy.compile(r"-{4,} Step\s+(?P<step>\d{1,15}) -{3,} CPU =")),
    ("gromacs", lazy.compile(r"\s*step (?P<step>\d{1,15}),? (?:remaining wall clock time|will finish )")),
    ("gromacs", lazy.compile(r"\s*Step (?P<step>\d{1,15}), time [\d.]+ \(ps\)")),
    ("namd", lazy.compile(rf"ENERGY:\s+(?P<step>\d{{1,15}})(?:\s+{NUMBER}){{8,}}")),
    ("amber", lazy.compile(r"\s*NSTEP =\s*(?P<step>\d{1,15})\s+TIME\(PS\) =")),
    ("vasp", lazy.compile(r"\s*(?P<step>\d{1,9}) (?:T= *[\d.]+ E= *[-+.\dE]+ )?F= *-?\d*\.\d+E[-+]\d+ E0= ")),
    ("cp2k", lazy.compile(r"\s*(?:MD\| Step number|STEP NUMBER\s+=)\s+(?P<step>\d{1,15})\s*$")),
)
_MOST_BETWEEN = 12


class MolecularDynamics:
    """State: the engine and width of the open table, its last step, the lines since, and the steps planned."""

    name: ClassVar[str] = "molecular_dynamics"
    anchors: ClassVar[tuple[str, ...]] = (
        "Step",
        " F= ",
        ", remaining wall clock",
        ", will finish ",
        "ENERGY: ",
        "NSTEP =",
        "STEP NUMBER",
        "nsteps  ",
        "NUMBER OF STEPS",
        "nstlim",
    )

    def __init__(self) -> None:
        self._engine = ""
        self._width = 0
        self._at = 0
        self._separator: str | None = None
        self._last = -1
        self._between = 0
        self._planned: int | None = None

    @staticmethod
    def ignores(text: str) -> bool:
        """What has no word of an engine."""
        return not (
            _opens(text) or _REPORTER.match(text) or _PLANNED.match(text) or any(p.match(text) for _, p in _LINES)
        )

    @property
    def wants_more(self) -> bool:
        """True while rows may follow."""
        return bool(self._engine)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text[:2000]
        if planned := _PLANNED.match(text):
            self._planned = int(planned[1])
            return ()
        for engine, pattern in _LINES:
            if found := pattern.match(text):
                return [self._step(line, engine, int(found["step"]))]
        if opened := _opens(text):
            self._engine, self._width = opened
            self._at, self._separator, self._last, self._between = 0, None, -1, 0
            return ()
        if found := _REPORTER.match(text):
            names = [name.strip('"') for name in _REPORTED.findall(text)]
            if "Step" in names and len(names) > 1:
                self._engine, self._width, self._at = "openmm", len(names), names.index("Step")
                self._separator, self._last, self._between = found["separator"], -1, 0
            return ()
        if not self._engine:
            return ()
        step = self._row(text)
        if step is None:
            self._between += 1
            if self._between > _MOST_BETWEEN or text.startswith("Loop time of"):
                self._engine = ""
            return ()
        self._last, self._between = step, 0
        return [self._step(line, self._engine, step)]

    def close(self) -> Iterable[ParsedRow]:
        """Every row was given when it was read."""
        self._engine = ""
        return ()

    def _row(self, text: str) -> int | None:
        """The step of a row of the open table."""
        if self._separator is None:
            found = _ROW.match(text)
            step = int(found["step"]) if found and len(text.split()) == self._width else None
        else:
            cells = text.split(self._separator)
            shown = cells[self._at].strip() if len(cells) == self._width else ""
            step = int(shown) if shown.isdecimal() else None
        return step if step is not None and step >= self._last else None

    def _step(self, line: Line, engine: str, step: int) -> ParsedRow:
        planned = self._planned if self._planned and step <= self._planned else None
        return line.step(engine, step=step, total_steps=planned)


def _opens(text: str) -> tuple[str, int] | None:
    """The engine and the width of the table that a line is the heading of."""
    found = _HEADING.match(text)
    if found is None:
        return None
    names = found["columns"].split()
    if names == ["Time"]:
        return "gromacs", 2
    return ("lammps", 1 + len(names)) if _COLUMNS.intersection(names) else None
