"""SageMaker's report of a script that failed quotes the exception of that script."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.parsers.base import parse_text
from collector.parsers.sagemaker import SageMaker
from tests.agent_tools.families.logkit import drafted

HEAD = (
    "2025-02-03 09:11:15,102 sagemaker-training-toolkit ERROR    Reporting training FAILURE\n"
    "2025-02-03 09:11:15,102 sagemaker-training-toolkit ERROR    ExecuteUserScriptError:\nExitCode 1\n"
)
END = 'Command "/opt/conda/bin/python3.10 train.py --epochs 3"\n'


@pytest.mark.parametrize(
    ("quote", "name", "text"),
    [
        ("\"ImportError: cannot import name 'Foo' from 'bar'\"", "ImportError", "cannot import name 'Foo' from 'bar'"),
        ('"raise ValueError(\n ValueError: no such split: dev\n"', "ValueError", "no such split: dev"),
    ],
)
def test_the_quoted_exception_is_the_scripts(quote: str, name: str, text: str) -> None:
    (row,) = parse_text(SageMaker(), f"{HEAD}ErrorMessage {quote}\n{END}")
    assert (row.kind, row.name, row.message, row.severity) == ("exception", name, text, "fatal")


def test_a_quote_without_a_type_tells_nothing() -> None:
    assert not parse_text(SageMaker(), f'{HEAD}ErrorMessage ""\n{END}')
    assert not parse_text(SageMaker(), 'print(f"ErrorMessage {message}: KeyError: 3")\n')


def test_a_report_that_quotes_what_could_not_be_imported_is_a_crash_at_the_start(tmp_path: Path) -> None:
    quoted = f"{HEAD}ErrorMessage \"ImportError: cannot import name 'Foo' from 'bar' (/opt/conda/lib/python3.10/site-packages/bar/__init__.py)\"\n{END}"
    found = drafted(quoted, tmp_path)
    assert (found.family, found.mode) == ("A1", "env")
    (tmp_path / "bare").mkdir()
    bare = drafted(f'{HEAD}ErrorMessage ""\n{END}', tmp_path / "bare")
    assert bare.family == "U0"
