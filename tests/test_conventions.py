"""The house rules that a machine can check."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("store", "prompts", "collector", "agent_tools", "evals", "inquest")
MODULES = sorted(p for name in PACKAGES for p in (ROOT / name).rglob("*.py") if "examples" not in p.parts)


def test_no_module_passes_400_lines() -> None:
    """One file is one sentence of the domain."""
    every = [*MODULES, *(p for name in ("bench", "tests") for p in (ROOT / name).rglob("*.py"))]
    long = {str(p.relative_to(ROOT)): n for p in every if (n := len(p.read_text().splitlines())) > 400}
    assert not long


def test_there_is_no_package_marker_under_tests() -> None:
    assert not list((ROOT / "tests").rglob("__init__.py"))


def test_families_have_a_playbook_and_cases_each() -> None:
    """The stems of families, of their playbooks and of their folders of cases are equal."""
    families = {p.stem for p in (ROOT / "agent_tools/families").glob("[a-z][0-9]_*.py")}
    playbooks = {p.stem for p in (ROOT / "prompts/families").glob("*.md")}
    assert families, "no family was found: the check would pass on nothing"
    assert families == playbooks
    assert families == {p.parent.name for p in (ROOT / "evals/cases").glob("*/variants.py")}


def test_every_family_parser_importer_and_source_has_a_test() -> None:
    """A unit without a test that names it is not done."""
    text = "\n".join(p.stem + "\n" + p.read_text() for p in (ROOT / "tests").rglob("test_*.py"))
    lost = [
        str(path.relative_to(ROOT))
        for folder in ("agent_tools/families", "collector/parsers", "collector/importers", "collector/sources")
        for path in sorted((ROOT / folder).glob("*.py"))
        if not path.stem.startswith("_") and path.stem not in {"base", "registry"} and path.stem not in text
    ]
    assert not lost


def test_every_module_says_what_it_is() -> None:
    silent = [str(p.relative_to(ROOT)) for p in MODULES if not ast.get_docstring(ast.parse(p.read_text()))]
    assert not silent


@pytest.mark.parametrize("name", PACKAGES)
def test_no_dependency_claims_one_of_our_names(name: str) -> None:
    """The packages stand at the top level: a dependency with the same name would shadow them."""
    owners = importlib.metadata.packages_distributions().get(name, [])
    assert set(owners) <= {"jobinquest"}


def test_rows_and_parsers_load_without_the_engine() -> None:
    """A node agent imports rows; DuckDB's 70 MB must not come with them."""
    code = (
        "import sys, store.rows, collector.parsers.base; sys.exit('duckdb' in sys.modules or 'pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.xdist_group("one worker")
def test_tests_of_one_group_stay_on_one_worker(request: pytest.FixtureRequest) -> None:
    """Two clusters on one host are in each other's way; pytest-xdist tells a group by the end of a test's name."""
    spread = getattr(request.config.option, "loadgroup", False) and not request.node.nodeid.endswith("@one worker")
    assert not spread, "is pytest newer than pytest-xdist knows?"


SHARING = """
import pytest

@pytest.fixture(scope="module")
def made():
    return []

@pytest.mark.parametrize("n", [*range(5), "a@b"])
def test_shares(made, n):
    made.append(n)
    assert n != 3 and len(made) == (6 if n == "a@b" else n + 1)

def test_stands_alone():
    pass
"""


def test_what_a_module_shares_is_made_once_and_a_failure_is_run_again_alone(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_bytes((ROOT / "tests/conftest.py").read_bytes())
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_sharing.py").write_text(SHARING)

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "pytest", "-q", *words, str(tmp_path)]
        env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False).stdout

    assert "1 failed, 6 passed" in run("-n", "2", "--dist", "loadgroup")
    again = run("--last-failed", "--last-failed-no-failures", "none")
    assert "1 failed" in again and "passed" not in again
