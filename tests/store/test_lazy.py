"""Expressions that are compiled at their first use: what is wrong with one must show here, and not when a log has the words."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from store import lazy

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("store", "prompts", "collector", "agent_tools", "evals", "inquest")
EAGER = """
import importlib, re, sys
from store import lazy
made = []
def compile(pattern, flags=0):
    made.append(pattern)
    return re.compile(pattern, flags)
lazy.compile = compile
for name in sys.stdin.read().split():
    try:
        importlib.import_module(name)
    except ImportError as error:
        if (error.name or "").partition(".")[0] in sys.argv[1:]:
            raise
print(len(made))
"""


def test_every_expression_can_be_compiled() -> None:
    """All modules once more, each expression compiled at once, as it was written."""
    names = [
        ".".join(p.relative_to(ROOT).with_suffix("").parts)
        for package in PACKAGES
        for p in sorted((ROOT / package).rglob("*.py"))
        if p.stem not in ("__main__", "__init__") and "jobs" not in p.parts
    ]
    command = [sys.executable, "-W", "error::FutureWarning", "-c", EAGER, *PACKAGES]
    done = subprocess.run(command, input="\n".join(names), capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout.split()[-1]) > 1500


def test_it_is_used_like_a_compiled_one() -> None:
    made = lazy.compile(r"(?P<a>\d+)-(\w)", re.IGNORECASE)
    assert "search" not in vars(made)
    assert made.pattern == r"(?P<a>\d+)-(\w)"
    assert "search" not in vars(made), "its text is known without"
    found = made.search("x 12-b")
    assert found is not None and found["a"] == "12"
    real = re.compile(r"(?P<a>\d+)-(\w)", re.IGNORECASE)
    assert (made.groups, made.groupindex, made.flags) == (real.groups, real.groupindex, real.flags)
    assert made.sub("#", "1-a 2-b", count=1) == "# 2-b"
    assert [m[0] for m in made.finditer("1-a 2-b")] == ["1-a", "2-b"]
    assert made.match("1-a 2-b", 4) and made.fullmatch("1-a 2-b", 4) and not made.fullmatch("1-a 2-b")
    assert lazy.compile(rb"\d").findall(b"a1b2") == [b"1", b"2"]
    assert copy.deepcopy(made).split("a 1-b c") == real.split("a 1-b c")
    assert not hasattr(made, "serach")


def test_what_is_wrong_is_said_at_the_first_use() -> None:
    made = lazy.compile("(")
    with pytest.raises(re.error):
        made.search("x")


def test_threads_may_use_it_first_at_once() -> None:
    made = lazy.compile("|".join(f"word{n}" for n in range(2000)))
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(made.search("a word1999") is not None)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8


def test_nothing_else_compiles_them() -> None:
    """What compiles its own makes every command wait for it."""
    own = [
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if path != Path(lazy.__file__) and re.search(r"(?<![\w.])re\.compile\(", path.read_text(encoding="utf-8"))
    ]
    assert own == []
