"""A family's code with one of its deciding conditions inverted, or removed.

Deciding are the conditions of `assess` itself and those on the way to an assessment that is confirmed; with `wide` also
those that choose between confirmed and suspected, and each condition is removed besides. The code is changed, never its result: the mutated module is compiled from the family's
own source, and takes the family's place in the registry while its cases are run. U0 is what is left where no family
stands, so its condition is the differential's: what is enough to stand.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

from agent_tools.families.base import Family
from agent_tools.families.registry import families

DIFFERENTIAL, PRIMARY = "agent_tools.differential", "primary_of"
U0 = "U0"
How = Literal["inverted", "removed"]
HOW: tuple[How, ...] = ("inverted", "removed")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One condition of a module, the n-th of those that decide, and what is done to it. `text` is how it stands.

    Inverted, a condition holds where it did not. Removed, a guard lets everything pass, and what was confirmed under a
    condition is confirmed always.
    """

    code: str
    module: str
    index: int
    how: How
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.how} at line {self.line}: {self.text}"


def mutants(code: str, *, wide: bool = False) -> list[Mutant]:
    """Every mutant of a family, in the order of its source. Raises KeyError for a family that does not exist."""
    module = DIFFERENTIAL if code == U0 else f"agent_tools.families.{families()[code].stem}"
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    return [
        Mutant(code, module, i, how, test.lineno, " ".join(ast.unparse(test).split()))
        for i, (test, _, chooses) in enumerate(_tests(tree, code))
        for how in (HOW if wide else HOW[:1])
        if wide or not chooses
    ]


@contextmanager
def installed(mutant: Mutant) -> Generator[None]:
    """With the mutant in place of the code that it was made from."""
    module = importlib.import_module(mutant.module)
    changed = _compiled(module, mutant)
    if mutant.code == U0:
        kept = getattr(module, PRIMARY)
        setattr(module, PRIMARY, getattr(changed, PRIMARY))
        try:
            yield
        finally:
            setattr(module, PRIMARY, kept)
        return
    registry = families()
    family = registry[mutant.code]
    registry[mutant.code] = Family(family.code, family.stem, family.explains, changed.assess)
    try:
        yield
    finally:
        registry[mutant.code] = family


def _compiled(module: ModuleType, mutant: Mutant) -> Any:
    tree = ast.parse(inspect.getsource(module))
    test, without, _ = _tests(tree, mutant.code)[mutant.index]
    instead = ast.UnaryOp(ast.Not(), test) if mutant.how == "inverted" else ast.Constant(without)
    _Replaced(test, instead).visit(tree)
    made = ModuleType(module.__name__)
    made.__file__ = module.__file__
    exec(compile(ast.fix_missing_locations(tree), f"{module.__file__} mutated", "exec"), made.__dict__)  # noqa: S102
    return made


class _Replaced(ast.NodeTransformer):
    """Puts one expression in the place of another."""

    def __init__(self, wanted: ast.expr, instead: ast.expr) -> None:
        self.wanted, self.instead = wanted, instead

    def visit(self, node: ast.AST) -> ast.AST:
        """The other expression where this is the one; else look inside."""
        return self.instead if node is self.wanted else super().visit(node)


def _tests(tree: ast.Module, code: str) -> list[tuple[ast.expr, bool, bool]]:
    """The conditions that decide, in source order: what stands there once one is removed, and whether it only chooses."""
    functions = {f.name: f for f in tree.body if isinstance(f, ast.FunctionDef)}
    if code == U0:
        made = next(n for n in ast.walk(functions[PRIMARY]) if isinstance(n, ast.DictComp))
        return [(test, True, False) for test in made.generators[0].ifs]
    chosen: list[ast.expr] = []
    guards: list[ast.expr] = []
    for name, function in functions.items():
        chosen += _choices(function)
        guards += _guards(function.body, everything=name in ("assess", "_assess"))
    found = [(t, True, True) for t in chosen] + [(t, False, False) for t in dict.fromkeys(guards)]
    return sorted(found, key=lambda each: (each[0].lineno, each[0].col_offset))


def _choices(function: ast.FunctionDef) -> list[ast.expr]:
    """Conditions that choose the status: `"confirmed" if sure else "suspected"`."""
    return [n.test for n in ast.walk(function) if isinstance(n, ast.IfExp) and _confirms(n.body, deep=False)]


def _guards(body: list[ast.stmt], *, everything: bool) -> list[ast.expr]:
    """Conditions of a block on the way to a confirmed assessment; with `everything`, all those that return or choose one."""
    found: list[ast.expr] = []
    reached = any(_confirms(s, deep=True) for s in body)
    for i, statement in enumerate(body):
        if not isinstance(statement, ast.If):
            continue
        later = any(_confirms(s, deep=True) for s in body[i + 1 :])
        leaves = any(isinstance(s, ast.Return) for s in statement.body)
        inside = _confirms(statement, deep=True)
        if inside or (leaves and (later or everything)) or (everything and _makes(statement)):
            found.append(statement.test)
        if inside or everything or reached:
            found += _guards(statement.body, everything=everything)
            found += _guards(statement.orelse, everything=everything)
    return found


def _confirms(node: ast.AST, *, deep: bool) -> bool:
    nodes = ast.walk(node) if deep else (node,)
    return any(isinstance(n, ast.Constant) and n.value == "confirmed" for n in nodes)


def _makes(statement: ast.If) -> bool:
    """Whether a branch makes the assessment that is returned later."""
    return any(
        isinstance(s, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "result" for t in s.targets)
        for s in (*statement.body, *statement.orelse)
    )
