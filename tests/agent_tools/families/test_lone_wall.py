"""lone_wall: a time limit after nothing but what launchers, Lmod and conda print tells less than one after a program's words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted

WALL = "slurmstepd: error: *** JOB 88 ON b4 CANCELLED AT 2026-03-02T11:00:01 DUE TO TIME LIMIT ***\n"
STARS = "*" * 41 + "\n"
_THREADS = (
    "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system "
    "being overloaded, please further tune the variable for optimal performance in your application as needed.\n"
)
BANNER = "WARNING:torch.distributed.run:\n" + STARS + _THREADS + STARS
_AT = "W0302 10:01:11.500000 4711 torch/distributed/run.py:793] "
DATED = "".join(_AT + line for line in ("\n", STARS, _THREADS, STARS))
MODULES = "\nDue to MODULEPATH changes, the following have been reloaded:\n  1) mpi/5.0     2) ucx/1.16\n\n"
SHELL = (
    "\nCommandNotFoundError: Your shell has not been properly configured to use 'conda activate'.\n"
    "To initialize your shell, run\n\n    $ conda init <SHELL_NAME>\n\nCurrently supported shells are:\n  - bash\n  - zsh\n\n"
    "See 'conda init --help' for more information and options.\n\n"
)


@pytest.mark.parametrize(
    "text", ["", BANNER, DATED, MODULES + BANNER, SHELL], ids=["", "banner", "dated", "Lmod", "conda"]
)
def test_a_wall_beside_which_the_program_said_nothing_is_all_that_is_known(text: str, tmp_path: Path) -> None:
    found = drafted(text + WALL, tmp_path)
    assert (found.family in ("F3", "U0"), found.confidence <= 0.5) == (True, True)


@pytest.mark.parametrize("own", ["loading the corpus\n", "***** Running evaluation *****\n", "fold 3 done\n"])
def test_a_word_of_the_programs_own_tells_that_it_ran(own: str, tmp_path: Path) -> None:
    found = drafted(BANNER + own + WALL, tmp_path)
    assert (found.family, 0.5 < found.confidence < 0.7) == ("F3", True), "it ran, and may have stuck at once"


def test_much_that_a_program_says_tells_that_it_worked(tmp_path: Path) -> None:
    said = "".join(f"sentence {n} of the corpus was split\n" for n in range(60))
    assert drafted(BANNER + said + WALL, tmp_path).confidence >= 0.7
