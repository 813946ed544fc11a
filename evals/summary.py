"""The figures of a run: accuracy by family with its error, confusion, blame, abstention, calibration, repeats, cost.

Outcomes whose endpoint failed are counted and left out of every figure: they say nothing about the model.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from evals.outcome import Outcome
from evals.scorers.calibration import brier, reliability

Z = 1.96
"""Normal quantile of the lower bound: it holds in 97.5 of 100 runs."""


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Every figure, as plain data. Shares are None where nothing was asked that they could be of."""
    valid = [o for o in outcomes if not o.invalid]
    decided = [o for o in valid if o.decided]
    blind = [o for o in valid if not o.decided]
    blamed = [o for o in decided if o.expected_attribution is not None]
    given = [o for o in valid if o.family]
    # An abstention says that nobody could tell: right where the decisive source is gone.
    pairs = [(o.confidence, o.family_right) for o in given if o.decided or o.family == "U0"]
    return {
        "valid": len(valid) == len(outcomes),
        "invalid": len(outcomes) - len(valid),
        "errors": sum(bool(o.error) for o in valid),
        "unanswered": sum(not o.family and not o.error for o in valid),
        "cases": len({o.case for o in outcomes}),
        "runs": len(outcomes),
        "right": sum(o.right for o in valid),
        "family_accuracy": _share(o.family_right for o in decided),
        "attribution_accuracy": _share(o.attribution == o.expected_attribution for o in blamed),
        "blame": blame(valid),
        "hardware_blamed_wrongly": sum(o.hardware_blamed for o in valid),
        "healthy_called_broken": sum(o.truth[:1] == ("G1",) and o.family not in (*o.truth, "U0", "") for o in decided),
        "abstention": {
            "accuracy": _share(o.family_right for o in blind),
            **{k: sum(o.abstained == k for o in valid) for k in ("right", "unnamed", "wrong", "declined")},
        },
        "brier": round(brier(pairs), 4) if pairs else None,
        "reliability": [dataclasses.asdict(b) for b in reliability(pairs)],
        "families": {code: _family(group) for code, group in by_truth(decided).items()},
        "confusion": confusion(decided),
        "pass": passes(valid),
        "spent": _spent(given),
        "measures": _measures(given),
    }


def by_truth(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Outcomes by the family that they should have come out as, sorted by its code."""
    groups: dict[str, list[Outcome]] = {}
    for o in outcomes:
        groups.setdefault(o.truth[0] if o.truth else "?", []).append(o)
    return dict(sorted(groups.items()))


def confusion(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Expected, got, how often. What was accepted counts as the expected family."""
    pairs = Counter((o.truth[0], o.truth[0] if o.family_right else o.got) for o in outcomes if o.truth)
    return [{"expected": a, "got": b, "cases": n} for (a, b), n in sorted(pairs.items())]


def blame(outcomes: Sequence[Outcome]) -> dict[str, list[str]]:
    """Cases by the kind of wrong blame, the worst first."""
    told = [o for o in outcomes if o.decided and o.family and o.expected_attribution is not None]
    missed = [
        o for o in told if o.expected_attribution == "infrastructure" and o.attribution in ("job", "user", "none")
    ]
    other = [
        o for o in told if o.attribution != o.expected_attribution and not o.hardware_blamed and o not in missed
    ]  # fmt: skip
    return {
        "hardware_blamed_wrongly": sorted({o.case for o in outcomes if o.hardware_blamed}),
        "hardware_let_off": sorted({o.case for o in missed}),
        "other": sorted({o.case for o in other}),
    }


def passes(outcomes: Sequence[Outcome]) -> list[dict[str, float]]:
    """pass^k for every k up to the repeats: how likely it is that k runs of a case in a row are all right.

    Estimated without bias from n runs with c right as C(c,k)/C(n,k), averaged over the cases; cases that were not run
    k times are left out.
    """
    runs: dict[str, list[bool]] = {}
    for o in outcomes:
        runs.setdefault(o.case, []).append(o.right)
    found: list[dict[str, float]] = []
    for k in range(1, max(map(len, runs.values()), default=0) + 1):
        shares = [math.comb(sum(r), k) / math.comb(len(r), k) for r in runs.values() if len(r) >= k]
        found.append({"k": k, "share": round(sum(shares) / len(shares), 4), "standard_error": _error(shares)})
    return found


def _family(group: Sequence[Outcome]) -> dict[str, Any]:
    by_case: dict[str, list[bool]] = {}
    for o in group:
        by_case.setdefault(o.case, []).append(o.family_right)
    shares = [sum(r) / len(r) for r in by_case.values()]
    share = sum(shares) / len(shares)
    given = [o for o in group if o.family]
    return {
        "cases": len(by_case),
        "runs": len(group),
        "family_right": sum(o.family_right for o in group),
        "accuracy": round(share, 4),
        "standard_error": _error(shares),
        "at_least": round(wilson(share, len(shares)), 4),
        "all_right": sum(o.right for o in group),
        "mean_confidence": round(sum(o.confidence for o in given) / len(given), 3) if given else None,
    }


def _error(shares: Sequence[float]) -> float:
    """The standard error of a mean over cases; repeats of one case are one observation, not several."""
    n = len(shares)
    mean = sum(shares) / n
    return round(math.sqrt(sum((s - mean) ** 2 for s in shares) / n / n), 4)


def wilson(share: float, n: int) -> float:
    """Wilson's lower bound of a share over n: of 20 right out of 20 it says 0.84, where the standard error says 0."""
    spread = Z * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, (share + Z * Z / (2 * n) - spread) / (1 + Z * Z / n))


def _share(values: Iterable[bool]) -> float | None:
    held = list(values)
    return round(sum(held) / len(held), 4) if held else None


def _spent(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    """Median, highest and sum of what answers cost."""
    found: dict[str, dict[str, float]] = {}
    for name in ("turns", "tokens", "seconds"):
        values = [o.spent[name] for o in outcomes if name in o.spent]
        if values:
            figures = {"median": median(values), "highest": max(values), "sum": sum(values)}
            found[name] = {k: round(v, 2) for k, v in figures.items()}
    return found


def _measures(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    """Means of what is measured and never fails a case."""
    names = sorted({n for o in outcomes for n in o.measures})
    held = {n: [o.measures[n] for o in outcomes if n in o.measures] for n in names}
    return {n: {"cases": len(v), "mean": round(sum(v) / len(v), 3)} for n, v in held.items()}
