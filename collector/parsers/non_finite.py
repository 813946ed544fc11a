"""NaN, infinity and overflow named in words; a step that loss scaling skipped.

SOURCE  PyTorch Lightning, Megatron (also its check of a result by running the step again), Apex, DeepSpeed, fairseq, Keras's TerminateOnNaN, TensorFlow's estimators, Detectron2,
        ESPnet, icefall, DETR-style loops, autograd's anomaly mode,
        darknet (what a region says of cells without an object; `-nan` elsewhere in its line only means that no object was there).
ROWS    `non_finite`; the loss scale in detail.scale, and detail.floor where it was no lower than before.
CAVEAT  a skipped step with a lower scale is how mixed precision starts: normal unless it goes on. Numbers in progress lines
        (`loss: nan`) are the progress parsers' business; a perplexity stands alone in some. It may be infinite where its loss is not.
EXAMPLE Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail, whole
from store import lazy

NAMES: dict[str, str] = {
    "stopped": "training stops because the loss or gradient is not finite",
    "overflow": "a gradient overflow: the step is skipped and the loss scale lowered (detail.scale)",
    "scale_floor": "the loss scale would be lowered and stands at its lowest already (detail.scale); the training goes on",
    "scale_exhausted": "the loss scale cannot be lowered further: training gives up",
    "nan_loss": "the loss is named as NaN or infinite",
    "nan_grad": "a gradient or its norm is named as NaN or infinite",
    "nan_found": "NaN or infinity was found somewhere else (an activation, a parameter, an input)",
    "anomaly": "autograd's anomaly mode names the function that returned NaN",
}

_N = r"(?:NaN|nan|NAN|[Ii]nf(?:inity|inite)?|non-?finite|not finite)"
_RULES: tuple[tuple[str, str, str], ...] = (
    ("scale_exhausted", "fatal", r"[Ll]oss scale already at minimum|Minimum loss scale reached|^\W*(?:\w+Error: )?grad_scale is too small, exiting"),
    ("overflow", "info", r"Gradient overflow\.?\s+Skipping step.{0,40}?(?:reducing loss scale to (?P<scale>[\d.e+-]+))?$"),
    ("overflow", "info", r"OVERFLOW!.{0,40}?Skipping step\. Attempted loss scale: (?P<tried>[\d.e+-]+), (?:but hysteresis.{0,60}|reducing to (?P<scale>[\d.e+-]+))"),
    ("overflow", "info", r"overflow detected, setting loss scale to:? (?P<scale>[\d.e+-]+)|Found inf(?:s)? in gradients?, skipping"),
    ("overflow", "info", r"[Oo]verflow detected(?:\. Skipping step\. Attempted loss scale: (?P<tried>[\d.e+-]+), reducing to (?P<scale>[\d.e+-]+))?"),
    ("scale_floor", "info", r"Reducing dynamic loss scale from (?P<scale>[\d.e+-]+) to (?P=scale)$"),
    ("stopped", "fatal", rf"(?:[Ll]oss|grad(?:ient)?[_ ]?norm|gradients?|(?:[Oo]utput|[Ll]ogit|[Pp]rediction|[Ww]eight|[Pp]arameter)s?) (?:is|became|was|are) (?:a )?{_N}\b.{{0,40}}?(?:[Ss]top|[Tt]erminat|[Aa]bort|[Ee]xit|[Hh]alt)"),
    ("stopped", "fatal", r"The gradients at all steps are invalid in this epoch\..{0,60}training was stopped"),
    ("stopped", "fatal", rf"Correct result \(but possible Application error\) \(.{{0,60}}{_N}"),
    ("stopped", "fatal", r"Batch \d+: Invalid loss, terminating training|Model diverged with loss = NaN|Loss became infinite or NaN at iteration"),
    ("anomaly", "fatal", r"Function '(?P<where>\w+)' returned nan values"),
    ("nan_loss", "error", rf"[Ll]oss (?:returned in .{{1,40}} )?(?:is|became|was|=) (?:a )?{_N}\b(?! *, *time)|[Nn]on-?finite loss|found {_N} in local forward loss|Unexpected result {_N}|(?:NaN|Inf|nan|inf) (?:or (?:NaN|Inf|nan|inf) )?(?:detected |found |encountered )?in (?:the )?loss"),
    ("nan_loss", "error", rf"^\s*(?:\w{{1,20}}_)?loss {{1,40}}= {{1,40}}{_N}\s*$|(?<![\w-])(?:PPL|ppl|[Pp]erplexity)(?: ?[:=] ?| )nan\b(?!-)"),
    ("nan_grad", "error", rf"found {_N} in (?:local )?grad|{_N}.{{0,20}} (?:in|detected in) (?:the )?grad|gradients? (?:is|are|contains?|has) {_N}|grad[_ ]norm (?:is|became) {_N}|gradients? from `parameters` is non-finite"),
    ("nan_found", "error", r"Region \d+ Avg IOU: .{1,80}No Obj: -?nan"),
    ("nan_found", "error", rf"(?:Detected|Found|Encountered|detected|found|encountered) {_N}\b(?:/{_N}| (?:and/)?or {_N})?(?! (?:0|of 0))|\b{_N}\b(?:/{_N}| (?:and/)?or {_N})? (?:detected|found|encountered|values? (?:detected|found|in))|contains either `inf`, `nan`|has {_N} (?:values|entries)"),
)  # fmt: skip
_TABLE = tuple((name, severity, lazy.compile(pattern)) for name, severity, pattern in _RULES)
_NOT = lazy.compile(
    r"\b(?:0|no|No(?! Obj:)|without|if|check(?:ing)? for|detect_anomaly=|--\w*nan\w*|number of) .{0,20}(?:NaN|nan|inf)\b"
    # one test for several things, of which the figure beside it says that it was the other one
    rf"|\b{_N}(?:/{_N}| or {_N})?(?:/| or )(?!{_N})[a-z-]+ .{{0,40}}?(?:norm|value|loss|grad\w*)\s*[=:] ?-?\d"
)
_STEP = lazy.compile(r"(?:step|iteration|iter)[ :=#]+(\d{1,12})")


class NonFinite(LineParser):
    """One line, one word about a number that is none."""

    name: ClassVar[str] = "non_finite"
    # "nan" alone would let through every progress line of a run that diverged, and each of Megatron's.
    anchors: ClassVar[tuple[str, ...]] = (
        "NaN",
        "NAN",
        "is nan",
        "is inf",
        "is -inf",
        "became nan",
        "became inf",
        "was nan",
        "are nan",
        "contains nan",
        "has nan",
        "   nan",
        "PPL nan",
        "PPL: nan",
        "ppl nan",
        "ppl: nan",
        "ppl=nan",
        "plexity nan",
        "plexity: nan",
        "result nan",
        "result inf",
        "ound nan",
        "ound inf",
        "etected nan",
        "etected inf",
        "ncountered nan",
        "ncountered inf",
        "nan in ",
        "inf in ",
        "nan or inf",
        "inf or nan",
        "nan/inf",
        "inf/nan",
        "nan values",
        "nan detected",
        "nan found",
        "nan encountered",
        "`nan`",
        "n-finite",
        "nonfinite",
        "No Obj: nan",
        "No Obj: -nan",
        "not finite",
        "verflow",
        "OVERFLOW",
        "oss scale already",
        "dynamic loss scale from",
        "Minimum loss scale",
        "Invalid loss",
        "grad_scale is too small",
        "gradients at all steps",
        "possible Application error",
    )

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text
        if len(text) > 2000 or "elapsed time per iteration" in text:
            return []  # not a message; Megatron's progress line, which names loss scale and NaN iterations every time
        for name, severity, pattern in _TABLE:
            if found := pattern.search(text):
                if name.startswith("nan") and _NOT.search(text):
                    return []
                got = found.groupdict()
                step = _STEP.search(text)
                return [
                    line.event(
                        "non_finite",
                        name,
                        severity=severity,
                        parser=self.name,
                        step=whole(step[1]) if step else None,
                        detail=detail(
                            scale=_number(got.get("scale")),
                            floor=True if got.get("scale") and got.get("tried") == got.get("scale") else None,
                            where=got.get("where"),
                        ),
                    )
                ]
        return []


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
