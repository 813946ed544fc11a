"""What a run of the suite says: a table by family, what was taken for what, calibration; as text, JSON or JUnit XML."""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree

from evals.scorers.calibration import brier, reliability
from evals.suite import Outcome


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The figures of a run: accuracy by family and in all, blame, abstention, calibration."""
    decided = [o for o in outcomes if o.decided]
    blind = [o for o in outcomes if not o.decided]
    blamed = [o for o in decided if o.expected_attribution is not None]
    pairs = [(o.confidence, o.family_right) for o in decided]
    # An abstention says that nobody could tell: right where the decisive source is gone.
    pairs += [(o.confidence, o.family_right) for o in blind if o.family == "U0"]
    return {
        "cases": len(outcomes),
        "right": sum(o.right for o in outcomes),
        "family_accuracy": _share([o.family_right for o in decided]),
        "attribution_accuracy": _share([o.attribution == o.expected_attribution for o in blamed]),
        "hardware_blamed_wrongly": sum(
            o.attribution == "infrastructure" and o.expected_attribution not in (None, "infrastructure") for o in blamed
        ),
        "healthy_called_broken": sum(o.truth[:1] == ("G1",) and not o.family_right for o in decided),
        "abstention": _share([o.family_right for o in blind]),
        "brier": round(brier(pairs), 4) if pairs else None,
        "reliability": [dataclasses.asdict(b) for b in reliability(pairs)],
        "families": {code: _family(group) for code, group in _by_truth(decided).items()},
        "confusion": [
            {"expected": a, "got": b, "cases": n}
            for (a, b), n in sorted(Counter((o.truth[0], o.family or "error") for o in decided if o.truth and not o.family_right).items())
        ],
    }  # fmt: skip


def _share(values: Sequence[bool]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


def _by_truth(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    groups: dict[str, list[Outcome]] = {}
    for o in outcomes:
        groups.setdefault(o.truth[0] if o.truth else "?", []).append(o)
    return dict(sorted(groups.items()))


def _family(group: Sequence[Outcome]) -> dict[str, Any]:
    n = len(group)
    right = sum(o.family_right for o in group)
    share = right / n
    return {
        "cases": n,
        "family_right": right,
        "accuracy": round(share, 4),
        "standard_error": round(math.sqrt(share * (1 - share) / n), 4),
        "all_right": sum(o.right for o in group),
        "mean_confidence": round(sum(o.confidence for o in group) / n, 3),
    }


def lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The report as text."""
    s = summary(outcomes)
    yield f"{'family':8}{'cases':>6}{'right':>7}{'share':>8}{'s.e.':>7}{'all right':>11}{'confidence':>12}  taken for"
    taken: dict[str, list[str]] = {}
    for c in s["confusion"]:
        taken.setdefault(c["expected"], []).append(f"{c['got']} {c['cases']}")
    for code, f in s["families"].items():
        yield (
            f"{code:8}{f['cases']:6}{f['family_right']:7}{f['accuracy']:8.1%}{f['standard_error']:7.1%}"
            f"{f['all_right']:11}{f['mean_confidence']:12.2f}  {', '.join(taken.get(code, []))}"
        )
    for name in ("family_accuracy", "attribution_accuracy", "abstention"):
        if s[name] is not None:
            yield f"{name.replace('_', ' '):28}{s[name]:8.1%}"
    for name in ("hardware_blamed_wrongly", "healthy_called_broken", "brier"):
        yield f"{name.replace('_', ' '):28}{s[name]}"
    for b in s["reliability"]:
        yield f"  confidence {b['low']:.2f} to {b['high']:.2f}: {b['count']:5} verdicts, mean {b['confidence']:.2f}, right {b['right']:.2f}"
    yield f"{s['right']} of {s['cases']} cases right in every respect"


def as_json(outcomes: Sequence[Outcome]) -> str:
    """Summary and every outcome."""
    return json.dumps(
        {"summary": summary(outcomes), "outcomes": [{**dataclasses.asdict(o), "right": o.right} for o in outcomes]},
        indent=1, sort_keys=True,
    )  # fmt: skip


def as_junit(outcomes: Sequence[Outcome]) -> str:
    """JUnit XML: one test case a case."""
    suite = ElementTree.Element(
        "testsuite", name="inquest.evals", tests=str(len(outcomes)), errors=str(sum(bool(o.error) for o in outcomes)),
        failures=str(sum(bool(o.failures) for o in outcomes)), time=f"{sum(o.seconds for o in outcomes):.1f}",
    )  # fmt: skip
    for o in outcomes:
        case = ElementTree.SubElement(suite, "testcase", classname=o.stem, name=o.case, time=f"{o.seconds:.2f}")
        if o.error:
            ElementTree.SubElement(case, "error", message=o.error)
        elif o.failures:
            text = "; ".join(f"{scorer}: {why}" for scorer, why in o.failures)
            ElementTree.SubElement(case, "failure", message=text[:400]).text = o.headline
    return ElementTree.tostring(suite, encoding="unicode")
