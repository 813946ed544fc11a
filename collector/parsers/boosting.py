"""boosting: the rounds that XGBoost, LightGBM and CatBoost print, and how the latter two say that they end.

SOURCE    xgboost/callback.py (EvaluationMonitor); lightgbm/callback.py (log_evaluation, early_stopping); catboost's own log
ROWS      train_step: the round as step, and as loss the first measure that is one (an error, a deviance); train_end
CAVEAT    Of a measure that is better the higher it is (auc, ndcg, accuracy) no loss is made.
EXAMPLES
    [10]	train-rmse:1.34501	eval-rmse:1.50213
    [100]	training's l2: 0.181	valid_0's l2: 0.234
    120:	learn: 0.4789	test: 0.5012	best: 0.5003 (117)	total: 1.2s	remaining: 8.8s
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_XGB = lazy.compile(
    rf"^(?:\[[\d:]{{5,8}}\] )?\[(?P<n>\d{{1,9}})\](?P<rest>(?:\s+[\w.]{{1,40}}-[\w@.:-]{{1,40}}?:{NUMBER}(?:\+{NUMBER})?)+)\s*$"
)
_XGB_PAIR = lazy.compile(rf"\s(?P<set>[\w.]{{1,40}})-(?P<name>[\w@.-]{{1,40}}?):(?P<value>{NUMBER})")
_LGB = lazy.compile(
    rf"^(?:\[LightGBM\] \[Info\] )?\[(?P<n>\d{{1,9}})\](?P<rest>(?:\s+[\w.]{{1,40}}'s [\w@.-]{{1,40}}: {NUMBER}(?: \+ {NUMBER})?)+)\s*$"
)
_LGB_PAIR = lazy.compile(rf"\s(?P<set>[\w.]{{1,40}})'s (?P<name>[\w@.-]{{1,40}}): (?P<value>{NUMBER})")
_CAT = lazy.compile(
    rf"^(?P<n>\d{{1,9}}):\s+learn: (?P<learn>{NUMBER})(?:\s+test: (?P<test>{NUMBER}))?(?:\s+best: {NUMBER} \(\d+\))?\s+total: \S"
)
_END = lazy.compile(
    r"^(?P<early>Early stopping, best iteration is:)|^Did not meet early stopping\. Best iteration is:|^bestTest = |^Shrink model to first \d+ iterations"
)
# A text that was copied out of a terminal has blanks where XGBoost printed tabs.
_ROUND = lazy.compile(
    r"^(?:\[[\d:]{5,8}\] |\[LightGBM\] \[Info\] )?\[\d{1,9}\](?:\t| {1,8}[\w.]{1,40}-[\w@.-]{1,40}:\S)"
)
_IS_LOSS = lazy.compile(
    r"(?i)rms|mae|mse|mape|loss|error|^l[12]$|deviance|huber|poisson|gamma|tweedie|cox|quantile|entropy|kullback|fair"
)
_MEASURES = ("-rmse:", "-rmsle:", "-mae:", "-logloss:", "-mlogloss:", "-error:", "-merror:", "-auc:")
"""How the measures that XGBoost has by itself stand in its lines."""


class Boosting(LineParser):
    """One line, one round."""

    name: ClassVar[str] = "boosting"
    anchors: ClassVar[tuple[str, ...]] = ("]\t", "learn: ", "stopping", "bestTest = ", "Shrink model", *_MEASURES)

    @staticmethod
    def ignores(text: str) -> bool:
        """Lines that begin with no round of their own: `Epoch: [0][14/5005]` has the same bracket before a tab."""
        return _ROUND.match(text) is None and "learn: " not in text and _END.match(text) is None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text
        if len(text) > 1000:
            return
        if end := _END.match(text):
            name = "early_stop" if end["early"] else "completed"
            yield line.event("train_end", name, severity="info", parser=self.name, framework="boosting")
        elif match := _CAT.match(text):
            yield self._round(line, "catboost", int(match["n"]), "train", {"learn": number(match["learn"])})
            if match["test"]:
                yield self._round(line, "catboost", int(match["n"]), "eval", {"test": number(match["test"])})
        else:
            for head, pairs, framework in ((_XGB, _XGB_PAIR, "xgboost"), (_LGB, _LGB_PAIR, "lightgbm")):
                if match := head.match(text):
                    yield from self._sets(line, framework, int(match["n"]), pairs.finditer(match["rest"]))

    def _sets(self, line: Line, framework: str, n: int, pairs: Iterable[re.Match[str]]) -> Iterable[ParsedRow]:
        seen: dict[str, dict[str, float | None]] = {}
        for pair in pairs:
            split = "train" if re.match(r"(?i)train", pair["set"]) else "eval"
            seen.setdefault(split, {}).setdefault(pair["name"], number(pair["value"]))
        for split, values in seen.items():
            yield self._round(line, framework, n, split, values)

    def _round(self, line: Line, framework: str, n: int, split: str, values: dict[str, float | None]) -> ParsedRow:
        catboost = framework == "catboost"
        which = next((k for k in values if catboost or _IS_LOSS.search(k)), None)
        rest = {k: v for k, v in values.items() if k != which and v is not None}
        # CatBoost does not name its measure on the line: it may be one that rises, so it is kept as a figure and not as a loss.
        if catboost:
            rest, which = {k: v for k, v in values.items() if v is not None}, None
        return line.step(
            framework,
            split=split,
            step=n,
            loss=values[which] if which else None,
            loss_name=which,
            metrics=as_json(rest),
        )
