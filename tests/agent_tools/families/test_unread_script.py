"""unread_script: a job script that the shell could not read, or that stopped at a variable nobody set."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("syntax error near unexpected token `fi'", "could not read the job script"),
        ("fairseq-trian: command not found", "could not find or execute it"),
        (
            "/var/spool/slurmd/job00007/slurm_script: Zeile 9: torchrun: Kommando nicht gefunden.",
            "could not find or execute it",
        ),
        ("run.sh: 第 9 行: python3: 未找到命令", "could not find or execute it"),
    ],
)
def test_a_script_that_the_shell_cannot_read_names_no_missing_program(tmp_path: Path, said: str, why: str) -> None:
    draft = drafted(f"/var/spool/slurmd/job42/slurm_script: line 9: {said}\n", tmp_path)
    assert draft.family == "A4" and why in draft.headline
    assert ("[[" in draft.headline) is ("execute it" in why), "the shell's own words name it"


_UNREAD = "/var/spool/slurmd/job42/slurm_script: line 9: syntax error near unexpected token `('\n"
_READ_AT = "/var/spool/slurmd/job42/slurm_script: line 9: `export OMP_NUM_THREADS=max(cores, 1)'\n"
_MODULES = "Lmod has detected the following error: The following module(s) are unknown:\n" + "".join(
    f"module line {n}\n" for n in range(6)
)


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        (_MODULES + _UNREAD + _READ_AT, True),
        (_MODULES + "job.sh: line 31: syntax error: unexpected end of file\n", True),
        (_MODULES + _UNREAD + _READ_AT + "reading the corpus\n", False),  # of a file that the script reads in
        ("".join(f"shard {n} written\n" for n in range(90)) + _UNREAD + _READ_AT, False),
        # of a program above it
        ("read the plan\nbackend: <class 'lab.nets.Wide'>\nthe fit is over\n" + _UNREAD + _READ_AT, False),
    ],
)
def test_a_script_whose_end_the_shell_could_not_read_had_loaded_modules_at_most(
    tmp_path: Path, text: str, unread: bool
) -> None:
    draft = drafted(text, tmp_path)
    assert (draft.family == "A4") is unread and draft.confidence < 0.7


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("nohup: ignoring input\n/home/u/run.sh: line 9: PYTHONPATH: unbound variable\n", "A4"),
        ("/opt/conda/etc/profile.d/conda.sh: line 55: PS1: unbound variable\ntrain.sbatch: 12: DATA: parameter not set\n", "A4"),
        ("run.sh: line 9: NAME[0]: unbound variable\n", "A4"),
        ("".join(f"epoch {n} loss 0.{9 - n}\n" for n in range(8)) + "run.sh: line 90: OUT: unbound variable\n", "A3"),
    ],
)  # fmt: skip
def test_a_script_that_stops_at_a_variable_nobody_set_never_started(tmp_path: Path, text: str, family: str) -> None:
    draft = drafted(text, tmp_path)
    assert draft.family == family
    assert family != "A4" or (draft.mode, "variable" in draft.headline) == ("launch", True)
