"""The families' own sentences pass the gate: what is typed in them is no figure, so that none is dropped from a verdict."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tools import families
from agent_tools.facts.fault_rules import RULES
from agent_tools.facts.node_words import NODE_WORDS
from agent_tools.gate import figures
from agent_tools.gate.citations import Gate
from agent_tools.references import masked
from agent_tools.verdict import Claim
from tests.agent_tools.gate.gatekit import assessments, draft, ledger

FOLDER = Path(families.__file__).parent
FILES = sorted(FOLDER.glob("*.py")) + [
    FOLDER.parent / name for name in ("say.py", *(f"facts/{n}.py" for n in ("held_up", "finished", "worked")))
]
FREE = {"bf16", "fp16"}
"""Names of number formats, which advice may use."""


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """Texts of four words and more with a cell in place of what is filled in; no documentation, no pattern."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    part = {id(v) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for v in n.values}
    part |= {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    part |= {
        id(a)
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and ast.unparse(n.func) == "lazy.compile"
        for a in n.args
    }
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(v.value) if isinstance(v, ast.Constant) else "[[E1.cell]]" for v in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        if id(node) not in part and len(text.split()) > 3:
            yield getattr(node, "lineno", 0), text


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_no_figure_is_typed_in_a_sentence(path: Path) -> None:
    typed = [
        (line, found.token, text)
        for line, text in sentences(path)
        for found in figures.find(masked(text))
        if found.kind in ("figure", "word") and found.token not in FREE and "\\b" not in text
    ]
    assert typed == []


def test_such_a_figure_would_be_found(tmp_path: Path) -> None:
    source = tmp_path / "family.py"
    source.write_text(
        'x = claim(f"In the first half of it it was {row}.")\ny = ("Wait ten seconds and "\n "start again.")\n'
    )
    found = [t.token for _, text in sentences(source) for t in figures.find(masked(text))]
    assert sorted(found) == ["half", "ten"]


def test_a_sentence_that_names_a_unit_its_cell_carries_is_still_the_families_own() -> None:
    """The unit is taken out before the sentence is compared; what is said around it is theirs word for word."""
    said = "Rank [[E2.rank]] unhappily asked first for [[E2.requested_bytes]] GiB."
    found = [replace(a, speaks_for=[*a.speaks_for, Claim(text=said)]) if a.code == "B1" else a for a in assessments()]
    report = Gate().check(draft(shows=[Claim(text=said)]), ledger(), found, draft())
    assert [(c.text, c.status) for c in report.draft.shows] == [(said.replace(" GiB", ""), "established")]
    other = Gate().check(draft(shows=[Claim(text=said)]), ledger(), assessments(), draft())
    assert said.replace(" GiB", "") not in [c.text for c in other.draft.shows]


def reasons() -> list[str]:
    """What the fault classes of an exception are told with, which stands in a headline."""
    tree = ast.parse((FOLDER.parent / "facts" / "faults.py").read_text(encoding="utf-8"))
    made = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "Fault"]
    typed = [a.value for n in made for a in n.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    told = [t for w in NODE_WORDS for t in (w.why, w.advice, w.signal)]
    return [*(r.why for r in RULES), *(t for t in typed if " " in t), *told]


def test_no_reason_of_a_fault_has_a_figure_for_which_the_gate_would_drop_its_headline() -> None:
    assert len(reasons()) > 80
    assert {t: f for t in reasons() if (f := [x.token for x in figures.find(t) if x.kind in ("figure", "word")])} == {}
