"""The shell, the loader, modules, conda and the bare interpreter could not start something."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.shell import NAMES, Shell


def parse(text):
    return parse_text(Shell(), text)


@pytest.mark.parametrize(
    ("text", "code", "what", "severity"),
    [
        ("/var/spool/slurmd/job77/slurm_script: line 12: torchrun: command not found", "command_not_found", "torchrun", "error"),
        ("bash: python3: command not found", "command_not_found", "python3", "error"),
        ("/var/spool/slurm/slurm_script: line 5: module: command not found", "command_not_found", "module", "warning"),
        ("/var/spool/slurmd/job00077/slurm_script: Zeile 12: torchrun: Kommando nicht gefunden.", "command_not_found", "torchrun", "error"),
        ("run.sh: ligne 3 : torchrun : commande introuvable", "command_not_found", "torchrun", "error"),
        ("./run.sh：第 12 行： python3：未找到命令", "command_not_found", "python3", "error"),
        ("/var/spool/slurmd/job77/slurm_script: 行 4: module: コマンドが見つかりません", "command_not_found", "module", "warning"),
        ("job.sh: Zeile 5: cd: /scratch/x: Datei oder Verzeichnis nicht gefunden", "no_such_file", "/scratch/x", "error"),
        ("bash: línea 9: ./train: Permiso denegado", "permission_denied", "./train", "error"),
        ("/usr/bin/env: ‘python’: No such file or directory", "no_such_file", "python", "error"),
        ("./run.sh: line 3: cd: /scratch/x: No such file or directory", "no_such_file", "/scratch/x", "error"),
        ("/etc/slurm/prolog.d/stats.sh: line 5: /run/gpustat/0: Permission denied", "permission_denied", "/run/gpustat/0", "warning"),
        ("cp: cannot create regular file '/arch/m.pt': No such file or directory", "no_such_file", "/arch/m.pt", "error"),
        ("/usr/bin/cp: error writing ‘/scratch/m.pt’: No space left on device", "no_space", "/scratch/m.pt", "error"),
        ("mv: cannot move 'out.bin' to '/pub/out.bin': Permission denied", "permission_denied", "out.bin", "error"),
        ("tar: /data/set.tar: Cannot open: No such file or directory", "no_such_file", "/data/set.tar", "error"),
        ('rsync: [sender] link_stat "/data/a" failed: No such file or directory (2)', "no_such_file", "/data/a", "error"),
        ("scp: /backup/m.pt: Read-only file system", "read_only", "/backup/m.pt", "error"),
        ("bash: ./train: Permission denied", "permission_denied", "./train", "error"),
        ("python: error while loading shared libraries: libcudart.so.12: cannot open shared object file: No such file or directory", "shared_library", "python", "error"),
        ("/lib64/libc.so.6: version `GLIBC_2.32' not found (required by x)", "glibc", "GLIBC_2.32", "error"),
        ("Lmod has detected the following error:  The following module(s) are unknown: \"cuda/99\"", "module_load", None, "warning"),
        ("   These module(s) or extension(s) exist but cannot be loaded as requested: \"cuda/99\"", "module_load", '"cuda/99"', "warning"),
        ("EnvironmentNameNotFound: Could not find conda environment: llm", "conda", "llm", "warning"),
        ("run.sh: line 9: HF_TOKEN: unbound variable", "unbound_variable", "HF_TOKEN", "error"),
        ("job.sh: line 4: syntax error near unexpected token `('", "syntax", "syntax error near unexpected token `('", "error"),
    ],
)  # fmt: skip
def test_failures_have_codes(text, code, what, severity):
    (row,) = parse(text)
    assert (row.kind, row.name, row.severity) == ("launcher_event", "shell_error", severity)
    seen = json.loads(row.detail)
    assert seen["code"] == code
    assert what is None or seen["what"] == what


@pytest.mark.parametrize(
    ("text", "name", "status"),
    [
        ("/venv/bin/python3: can't open file '/home/u/trian.py': [Errno 2] No such file or directory", "FileNotFoundError", 2),
        ("python: can't open file 'train.py': [Errno 2] No such file or directory", "FileNotFoundError", 2),
        ("/usr/bin/python: No module named torch.distributed.run", "ModuleNotFoundError", 1),
        ("/venv/bin/python: Error while finding module specification for 'a.b' (ModuleNotFoundError: No module named 'a')", "ModuleNotFoundError", 1),
    ],
)  # fmt: skip
def test_what_the_interpreter_itself_says_is_an_exception(text, name, status):
    (row,) = parse(text)
    assert (row.kind, row.name, row.exit_code, row.severity) == ("exception", name, status, "fatal")
    assert json.loads(row.detail)["interpreter"] is True and name in NAMES


@pytest.mark.parametrize(
    "text",
    [
        "FileNotFoundError: [Errno 2] No such file or directory: 'x'",
        "slurmstepd: error: execve(): a: No such file or directory",
        "key not found",
        "weights not set",
        "ModuleNotFoundError: No module named 'x'",
        "The tokenizer was not found in cache",
        "srun: error: Permission denied",
    ],
)
def test_what_belongs_elsewhere_gives_nothing(text):
    assert parse(text) == []


@given(st.text(max_size=150))
def test_no_text_can_crash_it(text):
    assert all(r.name in NAMES for r in parse("bash: " + text + ": command not found"))
