"""A sealed verdict verifies alone and against its lake, and no changed byte of it goes unnoticed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_tools import seal as sealing
from agent_tools.seal import SealError, ledger_of, seal
from agent_tools.verdict import Verdict
from agent_tools.verify import verify
from store import Reader, Writer
from store.rows import LogEvent
from tests.agent_tools.casekit import T, verdict


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return json.loads(json.dumps(seal(verdict(tmp_path_factory.mktemp("case")))))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, (*path, i))
    else:
        yield path


def changed(value: Any) -> Any:
    """A leaf of the same kind with another value: a digit or a letter more."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    return f"{value}0" if isinstance(value, str) else "0"


def at(bundle: dict[str, Any], path: tuple[Any, ...]) -> tuple[Any, Any]:
    inner: Any = bundle
    for key in path[:-1]:
        inner = inner[key]
    return inner, path[-1]


def test_a_sealed_verdict_holds_without_its_lake(bundle: dict[str, Any]):
    report = verify(bundle)
    assert report.ok, report.problems
    assert report.checked > 5
    assert bundle["family"] == "A1"


def test_a_change_of_any_leaf_is_noticed(bundle: dict[str, Any]):
    """Every scalar of the document is changed once: its own digest never matches again."""
    count = 0
    for path in list(leaves(bundle)):
        forged = copy.deepcopy(bundle)
        holder, key = at(forged, path)
        holder[key] = changed(holder[key])
        try:
            assert not verify(forged).ok, path
        except SealError:
            assert path == ("format",)
        count += 1
    assert count > 200


def test_a_forger_who_mends_the_document_digest_still_fails_at_the_rows(bundle: dict[str, Any]):
    """A changed cell of cited evidence does not match that evidence's digest."""
    count = 0
    for path in [p for p in leaves(bundle) if p[0] == "evidence" and "rows" in p and "coverage" not in p]:
        forged = copy.deepcopy(bundle)
        holder, key = at(forged, path)
        holder[key] = changed(holder[key])
        forged["sha256"] = sealing.document_digest(forged)
        report = verify(forged)
        assert any(c.status == "tampered" for c in report.checks), path
        count += 1
    assert count > 20


@pytest.mark.parametrize(
    ("field", "value", "status"),
    [
        ("headline", "It ran for 99 hours", "uncited"),
        ("headline", "Seven ranks failed", "uncited"),
        ("headline", "[[E99.name]] failed", "unresolved"),
        ("headline", "[[E2:9.name]] failed", "unresolved"),
        ("headline", "[[E1.failed_node]] failed", "unresolved"),
        ("family", "Z9", "tampered"),
        ("mode", "pending", "tampered"),
    ],
)
def test_a_forger_who_mends_every_digest_still_cannot_cite_nothing(
    bundle: dict[str, Any], field: str, value: str, status: str
):
    forged = {**copy.deepcopy(bundle), field: value}
    forged["sha256"] = sealing.document_digest(forged)
    assert status in {c.status for c in verify(forged).failures}


def test_against_its_lake_every_cited_question_is_asked_again(tmp_path: Path):
    sealed = seal(verdict(tmp_path))
    with Reader(tmp_path / "lake") as reader:
        report = verify(sealed, reader)
    assert report.ok, report.problems
    assert sum("the same rows today" in c.detail for c in report.checks) >= 2


def test_rows_that_differ_in_the_lake_are_noticed_even_where_every_digest_is_forged(tmp_path: Path):
    sealed = json.loads(json.dumps(seal(verdict(tmp_path))))
    record = next(r for r in sealed["evidence"] if r["id"] == "E2")
    names = [c["name"] for c in record["columns"]]
    record["rows"][0][names.index("message")] = "another message"
    record["sha256"] = sealing.digest(names, record["rows"])
    sealed["sha256"] = sealing.document_digest(sealed)
    assert verify(sealed).ok
    with Reader(tmp_path / "lake") as reader:
        assert [c.what for c in verify(sealed, reader).failures] == ["E2"]


def test_a_lake_that_has_grown_since_says_changed(tmp_path: Path):
    sealed = seal(verdict(tmp_path))
    late = LogEvent(
        job_id="7", attempt=1, ts=T, file="late.out", line_no=1, kind="exception", name="KeyError", severity="fatal"
    )
    Writer(tmp_path / "lake").append([late], batch="late")
    with Reader(tmp_path / "lake") as reader:
        assert {c.status for c in verify(sealed, reader).failures} == {"changed"}


def test_a_bundle_over_its_size_keeps_the_cited_rows_and_says_what_it_left_out(tmp_path: Path):
    made = verdict(tmp_path)
    small = json.loads(json.dumps(seal(made, max_bytes=100)))
    report = verify(small)
    assert report.ok, report.problems
    assert "partial" in {c.status for c in report.checks}
    forged = copy.deepcopy(small)
    record = next(r for r in forged["evidence"] if r.get("kept"))
    record["kept"]["0"][0] = "other"
    forged["sha256"] = sealing.document_digest(forged)
    assert not verify(forged).ok
    with Reader(tmp_path / "lake") as reader:
        assert verify(small, reader).ok


def test_a_verdict_read_from_a_file_fills_its_references(bundle: dict[str, Any]):
    read = Verdict.model_validate({k: v for k, v in bundle.items() if k in Verdict.model_fields})
    assert ledger_of(read).get("E2").value("name") == "ValueError"


def test_extra_fields_are_sealed_along(tmp_path: Path):
    sealed = seal(verdict(tmp_path), extra={"rendered": {"headline": "x"}})
    assert verify(sealed).ok
    sealed["rendered"]["headline"] = "y"
    assert not verify(sealed).ok


@pytest.mark.parametrize("document", [{}, {"format": "inquest-verdict/9"}, {"format": 3}])
def test_something_else_is_said_to_be_no_verdict(document: dict[str, Any]):
    with pytest.raises(SealError, match="no sealed verdict"):
        verify(document)


@pytest.mark.parametrize(
    "broken", [[{}], [{"rows": []}], [{"id": "E1", "rows": [[1]], "columns": [], "sha256": "x"}], [3], "x"]
)
def test_broken_evidence_is_a_finding_and_no_crash(bundle: dict[str, Any], broken: Any):
    forged = {**copy.deepcopy(bundle), "evidence": broken}
    forged["sha256"] = sealing.document_digest(forged)
    assert not verify(forged).ok
