"""What a run of the suite says, as text, JSON or JUnit XML."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree

from evals.baseline import Comparison, reason
from evals.outcome import Outcome
from evals.summary import summary

LISTED = 40
"""Cases that a comparison names before it only counts."""


def lines(outcomes: Sequence[Outcome], comparison: Comparison | None = None) -> Iterator[str]:
    """The report as text."""
    s = summary(outcomes)
    if not s["valid"]:
        yield f"INVALID: the model's endpoint failed in {s['invalid']} of {s['runs']} runs. This is no result of the model."
        yield from sorted({f"  {o.invalid}" for o in outcomes if o.invalid})[:3]
        if s["invalid"] == s["runs"]:
            return
        yield "What was answered:"
    yield from _families(s)
    yield ""
    yield from _figures(s)
    yield from _spent(s)
    if comparison is not None:
        yield ""
        yield from compared(comparison)
    yield ""
    yield f"{s['right']} of {s['runs']} {'runs' if s['runs'] > s['cases'] else 'cases'} right in every respect"


def _families(s: dict[str, Any]) -> Iterator[str]:
    head = f"{'family':8}{'cases':>6}{'right':>7}{'share':>8}{'s.e.':>7}{'at least':>10}{'all right':>11}{'confidence':>12}"
    yield f"{head}  taken for"
    taken: dict[str, list[str]] = {}
    for c in s["confusion"]:
        if c["got"] != c["expected"]:
            taken.setdefault(c["expected"], []).append(f"{c['got']} {c['cases']}")
    for code, f in s["families"].items():
        confidence = "-" if f["mean_confidence"] is None else f"{f['mean_confidence']:.2f}"
        yield (
            f"{code:8}{f['runs']:6}{f['family_right']:7}{f['accuracy']:8.1%}{f['standard_error']:7.1%}{f['at_least']:10.1%}"
            f"{f['all_right']:11}{confidence:>12}  {', '.join(taken.get(code, []))}"
        ).rstrip()


def _figures(s: dict[str, Any]) -> Iterator[str]:
    for name, title in (("family_accuracy", "right family"), ("attribution_accuracy", "right blame")):
        if s[name] is not None:
            yield f"{title:30}{s[name]:8.1%}"
    wrongly = s["blame"]["hardware_blamed_wrongly"]
    yield f"{'hardware blamed wrongly':30}{s['hardware_blamed_wrongly']:8}  {', '.join(wrongly[:3])}".rstrip()
    yield f"{'hardware let off':30}{len(s['blame']['hardware_let_off']):8}"
    yield f"{'healthy called broken':30}{s['healthy_called_broken']:8}"
    a = s["abstention"]
    if a["accuracy"] is not None:
        yield f"{'abstained where it should':30}{a['accuracy']:8.1%}"
    yield (
        f"{'abstention':30}{a['right']:8} right, {a['wrong']} wrong (answered without grounds), "
        f"{a['unnamed']} without naming what is missing, {a['declined']} declined with grounds"
    )
    if s["unanswered"]:
        yield f"{'gave no answer that holds':30}{s['unanswered']:8}"
    if s["errors"]:
        yield f"{'errors of the suite':30}{s['errors']:8}"
    if s["brier"] is not None:
        yield f"{'Brier':30}{s['brier']:8.4f}"
    for b in s["reliability"]:
        yield f"  confidence {b['low']:.2f} to {b['high']:.2f}: {b['count']:5} verdicts, mean {b['confidence']:.2f}, right {b['right']:.2f}"
    for p in s["pass"] if len(s["pass"]) > 1 else ():
        yield f"{'pass^' + str(p['k']):30}{p['share']:8.1%}  s.e. {p['standard_error']:.1%}"


def _spent(s: dict[str, Any]) -> Iterator[str]:
    for name, f in s["spent"].items():
        yield f"{f'{name} per answer':30}{f['median']:8g}  median, {f['highest']:g} highest, {f['sum']:g} in all"
    for name, f in s["measures"].items():
        yield f"{name:30}{f['mean']:8.3f}  mean of {f['cases']}, decides nothing"


def compared(c: Comparison) -> Iterator[str]:
    """A comparison with a baseline as text."""
    yield f"beside the baseline: {len(c.worse)} worse, {len(c.better)} better, {c.same} as before, {c.new} new, {len(c.gone)} gone"
    for word, changes in (("worse", c.worse), ("better", c.better), ("new and wrong", c.unknown)):
        for change in changes[:LISTED]:
            was = "" if word == "new and wrong" else f" {change.before:.0%} to {change.now:.0%}"
            yield f"  {word:7} {change.case}{was}  {change.why}".rstrip()
        if len(changes) > LISTED:
            yield f"  and {len(changes) - LISTED} more that are {word}"


def as_json(outcomes: Sequence[Outcome], comparison: Comparison | None = None) -> dict[str, Any]:
    """Summary, every outcome, and the comparison where there is one: what `--baseline` reads later."""
    found: dict[str, Any] = {
        "summary": summary(outcomes),
        "outcomes": [{**dataclasses.asdict(o), "right": o.right} for o in outcomes],
    }
    if comparison is not None:
        found["comparison"] = {**dataclasses.asdict(comparison), "held": comparison.held}
    return found


def as_junit(outcomes: Sequence[Outcome]) -> str:
    """JUnit XML: one test case a run; an endpoint that failed is an error, never a pass and never skipped."""
    suite = ElementTree.Element(
        "testsuite", name="inquest.evals", tests=str(len(outcomes)), skipped="0",
        errors=str(sum(bool(o.error or o.invalid) for o in outcomes)),
        failures=str(sum(bool(o.failures) and not o.error for o in outcomes)),
        time=f"{sum(o.seconds for o in outcomes):.1f}",
    )  # fmt: skip
    for o in outcomes:
        name = o.case if o.run == 1 else f"{o.case} run {o.run}"
        case = ElementTree.SubElement(suite, "testcase", classname=o.stem, name=name, time=f"{o.seconds:.2f}")
        if o.error or o.invalid:
            ElementTree.SubElement(case, "error", message=_legal(reason(o))[:400])
        elif o.failures:
            ElementTree.SubElement(case, "failure", message=_legal(reason(o))[:400]).text = _legal(o.headline)
    return ElementTree.tostring(suite, encoding="unicode")


def _legal(text: str) -> str:
    """Text without the characters that XML has no way to write."""
    return "".join(c if c.isprintable() else " " for c in text)
