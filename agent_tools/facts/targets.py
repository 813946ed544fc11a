"""A check of a benchmark that was not met: the run came that far, and a figure of its own fell short of what was asked.

`assert tps > 1500` says nothing of a mistake in the program, its settings or its data: what was slow or inexact is not in it.
"""

from __future__ import annotations

import re

from store import lazy

_MEASURE = (
    r"(?:throughput|tokens?(?: |_)?(?:/|per)(?: |_)?s|samples?(?: |_)?(?:/|per)(?: |_)?s|images?(?:/|_per_)s|t?flop/?s\b|\bmfu\b|latency|"
    r"(?:step|iter(?:ation)?|epoch|elapsed|wall|run)[ _]?time|duration|speed(?:[ -]?up)?\b|bandwidth|\b(?:bus|alg)bw\b|utili[sz]ation|"
    r"performance(?= (?:regress|dropp|target|below|too))|\bacc(?:uracy)?\b|\bbleu\b|\bwer\b|perplexity|\bscore\b|\bloss\b)"
)
_COMPARED = (
    r"(?:<=?|>=?|\b(?:below|under|above|lower|less|smaller|greater|higher|larger|slower|faster|worse|better) than\b|\bbelow\b|\bat (?:least|most)\b|"
    r"\bexceed(?:s|ed)?\b|\bexpected\b|\btargets?\b|\bthreshold\b|\bregress\w*|\btoo (?:slow|low|high|long)\b|\bbaseline\b|\brequired?\b)"
)
_NUMBER = r"(?<![\w.])\d+(?:\.\d+)?"
_MISSED = lazy.compile(
    rf"{_MEASURE}.{{0,60}}?{_NUMBER}.{{0,60}}?{_COMPARED}.{{0,40}}?{_NUMBER}"
    rf"|{_COMPARED}.{{0,40}}?{_MEASURE}.{{0,40}}?{_NUMBER}|{_MEASURE}.{{0,40}}?{_COMPARED}.{{0,40}}?{_NUMBER}",
    re.IGNORECASE | re.DOTALL,
)
_SETTINGS = lazy.compile(
    r"divisible|multiple of|\b(?:batch|hidden|vocab|head|world|group)[ _]?size\b|must be|argument|config", re.I
)


def missed_target(name: str, message: str) -> bool:
    """Whether an exception of this type and text says that a figure of the run fell short of a bound."""
    if name.rsplit(".", 1)[-1] not in ("AssertionError", "Failed", "PerformanceError", "ThresholdError"):
        return False
    return _MISSED.search(message[:600]) is not None and _SETTINGS.search(message[:600]) is None
