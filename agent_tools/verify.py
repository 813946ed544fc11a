"""Does a sealed verdict hold? Without a lake: nothing was changed and every reference leads to a cell. With one: every
cited question, asked again, gives the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pydantic import ValidationError

from agent_tools import seal
from agent_tools.evidence import Asks, Ledger
from agent_tools.gate import figures
from agent_tools.gate.grounds import draft_texts
from agent_tools.gate.quantities import borne_out
from agent_tools.references import BadReference, cited, masked, parse, resolve
from agent_tools.verdict import FAMILIES, Verdict
from store.result import Result, StoreError, digest

Status = Literal["ok", "tampered", "unresolved", "uncited", "changed", "unavailable", "partial"]
_FAILED = frozenset({"tampered", "unresolved", "uncited", "changed", "unavailable"})


class Lakes(Asks, Protocol):
    """A reader that knows its lake, which free SQL needs."""

    lake: Any


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: `what` is an evidence id, a reference or "document"."""

    what: str
    status: Status
    detail: str = ""


@dataclass(slots=True)
class VerifyReport:
    """Every check that was made. `partial` alone does not fail: it says what only the lake can show."""

    checks: list[Check] = field(default_factory=list[Check])
    again: list[Check] = field(default_factory=list[Check])
    """Those of them for which a question was asked again."""

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not any(c.status in _FAILED for c in self.checks)

    @property
    def checked(self) -> int:
        """How many checks were made."""
        return len(self.checks)

    @property
    def problems(self) -> list[str]:
        """What failed, in words."""
        return [f"{c.what}: {c.status}{f' ({c.detail})' if c.detail else ''}" for c in self.failures]

    @property
    def failures(self) -> list[Check]:
        """The checks that failed."""
        return [c for c in self.checks if c.status in _FAILED]


def verify(bundle: dict[str, Any], reader: Lakes | None = None) -> VerifyReport:
    """Verify a sealed bundle. Raises SealError for something that is none."""
    if bundle.get("format") != seal.FORMAT:
        raise seal.SealError(f"this is no sealed verdict: its format is {bundle.get('format')!r}, not {seal.FORMAT!r}")
    report = VerifyReport()
    same = bundle.get("sha256") == seal.document_digest(bundle)
    report.checks.append(Check("document", "ok" if same else "tampered", "" if same else "its digest does not match"))
    try:
        verdict = Verdict.model_validate({k: v for k, v in bundle.items() if k in Verdict.model_fields})
    except ValidationError as error:
        report.checks.append(Check("verdict", "tampered", f"{error.error_count()} fields are not a verdict's"))
        return report
    _family(verdict, report)
    for record in verdict.evidence:
        report.checks.append(_digests(record))
    _references(verdict, report)
    if reader is not None:
        report.again = [_again(record, reader) for record in verdict.evidence if _used(record)]
        report.checks += report.again
    return report


def _used(record: dict[str, Any]) -> bool:
    return record.get("rows") is not None or "kept" in record


def _family(verdict: Verdict, report: VerifyReport) -> None:
    modes = FAMILIES.get(verdict.family, ("", ()))[1]
    if verdict.family not in FAMILIES or (verdict.mode is not None and verdict.mode not in modes):
        report.checks.append(Check("family", "tampered", f"{verdict.family} {verdict.mode or ''} does not exist"))


def _digests(record: dict[str, Any]) -> Check:
    id = str(record.get("id"))
    try:
        if record["rows"] is not None:
            whole = digest([c["name"] for c in record["columns"]], record["rows"]) == record["sha256"]
            return Check(id, "ok" if whole else "tampered", "" if whole else "the rows do not match their digest")
        for place, row in record.get("kept", {}).items():
            if seal.row_digest(record["columns"], row) != record["row_sha256"][int(place)]:
                return Check(id, "tampered", f"row {place} does not match its digest")
    except (KeyError, IndexError, TypeError, ValueError) as error:
        return Check(id, "tampered", f"the record is broken: {error!r}")
    return Check(id, "partial", "its other rows are not in the bundle") if "kept" in record else Check(id, "ok")


def _references(verdict: Verdict, report: VerifyReport) -> None:
    """Every reference resolves to a cell that holds something, and no sentence has a figure of its own."""
    texts = [*draft_texts(verdict), verdict.cost.basis]
    try:
        ledger = seal.ledger_of(verdict)
    except seal.SealError as error:
        report.checks.append(Check("evidence", "tampered", str(error)))
        return
    for ref in cited(texts):
        try:
            empty = resolve(ref, ledger).value is None
        except BadReference as error:
            report.checks.append(Check(ref, "unresolved", str(error)))
        else:
            report.checks.append(Check(ref, "unresolved" if empty else "ok", "the cell is empty" if empty else ""))
    try:
        reach = seal.asked_of(verdict)
    except (KeyError, TypeError, ValueError):
        reach = ledger  # a record that is broken is told above
    cut = {str(r.get("id")) for r in verdict.evidence if "kept" in r}
    advice = {c.text for c in verdict.actions}
    for text in texts:
        if text not in advice:
            part = any(parse(ref)[0] in cut for ref in cited([text]))  # then not all that its words count is here
            found = figures.find(masked(text))
            counted = borne_out(text, reach) if found else []
            found = [f for f in found if not any(a <= f.start and f.end <= b for a, b in counted)]
            bare = [f.token for f in found if f.kind == "figure" or (f.kind == "word" and not part)]
            bare = [
                token for token in bare if token.lower() != "one"
            ]  # a family's own definition may say "more than one"
            report.checks += [
                Check(token, "uncited", f"a figure without a reference in {text[:60]!r}") for token in bare
            ]


def _again(record: dict[str, Any], reader: Lakes) -> Check:
    """Ask the question of a record again and compare."""
    id, what = record["id"], f"{record['id']} {record['query']}"
    held = len(record["rows"]) if record["rows"] is not None else len(record["row_sha256"])
    try:
        result = _ask(record, reader, max(held, 1))
    except StoreError as error:
        return Check(id, "unavailable", f"{what}: {error}")
    now = Ledger().record(result, record["tool"], {})
    if now.sha256 != record["sha256"]:
        return Check(id, "changed", f"{what}: the rows are not the same today")
    if now.row_count != record["row_count"]:
        return Check(id, "changed", f"{what}: {now.row_count} rows today, {record['row_count']} then")
    return Check(id, "ok", f"{what}: the same rows today")


def _ask(record: dict[str, Any], reader: Lakes, max_rows: int) -> Result:
    if record["query"] == "sql":
        from store import free_sql

        lake = getattr(reader, "lake", None)
        if lake is None:
            raise StoreError("free SQL sees every job, which is an operator's to ask")
        return free_sql.run(lake, record["sql"], max_rows=max_rows)
    params = {k: v for k, v in record["params"].items() if v is not None}
    return reader.ask(record["query"], max_rows=max_rows, **params)
