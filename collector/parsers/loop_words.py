"""What the words of a progress line say: how far the loop is, which of its losses is the whole one, its rate and norm.

The words are those that loops without a framework share. Nothing here decides whether a line is progress.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from collector.parsers.values import NUMBER, number
from store import lazy

Of = Literal["whole", "held out", "part", "unknown", "aside"]
"""What a loss is the loss of; an `aside` is no measurement of this moment: the best one, the one that is aimed at."""

RATE = lazy.compile(rf"(?i:(?<![\w/-])(?:lr|l\.r\.|learning[_ ]?rate)) ?[:= ] ?[\[(]?({NUMBER})")
NORM = lazy.compile(rf"(?i:(?<![\w/-])(?:grad(?:ient)?s?[_ ]?norm|gnorm)|(?<=\| )norm) ?[:= ] ?({NUMBER})")
# How long the step took by name, and how much of that was waiting for data.
TOOK = lazy.compile(rf"(?<![\w/-])(?:step|iter(?:ation)?|batch)[_ ]time ?[:= ] ?((?>{NUMBER})) ?(ms|s)?(?![\w/])", re.I)
WAITED = lazy.compile(
    rf"(?<![\w/-])(?:data(?:[_ ]?load(?:ing|er)?)?|load(?:er|ing)?)[_ ](?:time|wait) ?[:= ] ?((?>{NUMBER})) ?(ms|s)?(?![\w/])",
    re.I,
)
# The same with its unit, where no word says that it is a time: `data 1.9s | total 2.1s`, `data_s=1.9`, `dataloader wait: 1.9s`.
_DATA = r"(?:data(?:[_ -]?(?:load(?:ing|er)?|fetch(?:ing)?))?|(?:data)?load(?:er|ing)?|fetch)"
_STEP_OF = r"(?:step|iter(?:ation)?|batch|total)"
_UNIT = r"(?:msec|ms|secs?|seconds?|s)"
_WAITED_SO = lazy.compile(
    rf"(?<![\w/-]){_DATA}(?:[_ ](?:time|wait|took))? ?[:= ] ?(?P<value>(?>{NUMBER})) ?(?P<unit>{_UNIT})(?![\w/])"
    rf"|(?<![\w/-]){_DATA}(?:_time)?_(?P<unit2>{_UNIT}) ?[:= ] ?(?P<value2>(?>{NUMBER}))(?![\w/])",
    re.I,
)
_TOOK_SO = lazy.compile(
    rf"(?<![\w/-])(?:{_STEP_OF}(?:[_ ](?:time|took))?|time) ?[:= ] ?(?P<value>(?>{NUMBER})) ?(?P<unit>{_UNIT})(?![\w/])"
    rf"|(?<![\w/-]){_STEP_OF}(?:_time)?_(?P<unit2>{_UNIT}) ?[:= ] ?(?P<value2>(?>{NUMBER}))(?![\w/])|(?<![\w/-])total[_ ]time ?[:= ] ?(?P<value3>(?>{NUMBER}))(?![\w/])",
    re.I,
)

_LOSS = lazy.compile(
    r"(?i:loss|(?<![A-Za-z])cost(?=\safter\s(?:epoch|iteration|step)\s))(?:\sso far)?(?P<after>(?:[_/-]?[A-Za-z]\w{0,30}|\d{1,3}(?=\s?[:=])|\s(?i:is|was|average|avg|train|training|total|mean)(?=[\s:=]))?)"
    r"(?:(?:\s\([A-Za-z ]{1,24}\))?\s(?i:at|after|for|in|on)\s(?i:(?:mini-?)?batch|iteration|iter|update|epoch|step)\s#?\d{1,12}(?:/\d{1,12})?(?:\sis(?=\s)|(?=\s?[:=]))"
    r"|\sover\s(?:the\s)?last\s\d{1,9}(?:\s[a-z]{4,12})?(?=\s?[:=]))?"
    rf"\s{{0,3}}(?P<mark>[:=]{{0,2}})\s{{0,12}}(?:\[|tensor\()?(?P<value>{NUMBER})(?![\w%]|\.\d)"
)
# The figure before its name, where none is behind it: `0.9816 C.E. Loss, 94.28% Accuracy`.
_BEHIND = lazy.compile(
    rf"(?<![\w.:/%-])(?P<value>{NUMBER}) (?P<head>(?:[A-Za-z][\w.]{{0,15}}[ -]){{0,2}})(?i:loss)(?=\s{{0,3}}(?:[,;|)\]]|$))"
)
# The negative logarithm of a likelihood, where no loss is named.
_LIKELIHOOD = lazy.compile(
    rf"(?<![\w./%-])(?P<head>(?:[A-Za-z]\w{{0,15}}[ _/-]){{0,2}})(?:nll|NLL)\s{{0,3}}[:=]?\s{{0,12}}(?P<value>{NUMBER})(?![\w%]|\.\d)"
)
NETS = lazy.compile(
    r"(?i)(?<![a-z])D(?:is\w{0,16})?[ _-]?loss(?![a-z]).{1,80}(?<![a-z])G(?:en\w{0,16})?[ _-]?loss(?![a-z])|(?<![a-z])G(?:en\w{0,16})?[ _-]?loss(?![a-z]).{1,80}(?<![a-z])D(?:is\w{0,16})?[ _-]?loss(?![a-z])"
)
"""The losses of two networks that are trained against each other."""
# What `loss` is a part of, and up to three words before it with nothing but a blank between.
_BEFORE = lazy.compile(r"(?:(?<![\w./%:-])[A-Za-z]\w{0,24}[ -]){0,3}(?:[A-Za-z_][\w./-]{0,40})?\Z")
_WORDS = lazy.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_WHOLE = frozenset(
    _WORDS.findall(
        "losses es is t tr trn train training avg average averaged ave mean total tot sum combined overall all set running current cur batch mini minibatch step epoch"
        " iter iteration local global rank slice net"
    )
)
_UNITS = frozenset(_WORDS.findall("per tok token tokens example examples sample samples"))
_HELD_OUT = frozenset(
    _WORDS.findall(
        "v vl vld val vali valid validate validated validation eval evaluated evaluation test tested tst dev"
    )
)
_PARTS = frozenset(
    _WORDS.findall(
        "d g dis disc discriminator gen generator critic actor policy value entropy adv gan cls classification reg regression box bbox giou iou dice mask"
        " obj conf rpn rcnn pi pg q vf aux auxiliary kl kld rec recon recons reconstruction content style ctc att perceptual"
    )
)
POLICY = lazy.compile(r"(?i)(?<![A-Za-z])(?:pi|pg|policy|actor)[ _/-]?loss(?![a-z])|\bloss[_/](?:pi|pg|policy|actor)\b")
"""The loss that tells that an agent learns."""
_VALUE = frozenset(("v",))
"""Beside such a loss it is that of the value which the agent expects, and no validation's."""
_ASIDE = frozenset(_WORDS.findall("best final min minimum lowest expected target initial packet prev previous"))


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss that a line names: from where its name begins to where its value ends, and that value as printed.

    `marked`: a colon or an equals sign stands between.
    """

    start: int
    end: int
    of: Of
    total: bool
    marked: bool
    value: str


def seconds(found: re.Match[str] | None) -> float | None:
    """The figure of a TOOK or a WAITED with its unit, seconds where it has none."""
    value = number(found[1]) if found else None
    return value / 1000 if found and value is not None and (found[2] or "s").lower() == "ms" else value


def step_and_wait(text: str) -> tuple[float, float] | None:
    """How long the step took that a line tells of, in seconds, and how much of that it waited for data; None where it does not say both."""
    if "data" not in text and "load" not in text and "fetch" not in text and "Data" not in text:
        return None
    waited = _timed(WAITED.search(text) or _WAITED_SO.search(text))
    took = None if waited is None else _timed(TOOK.search(text) or _TOOK_SO.search(text))
    return None if waited is None or took is None else (took, waited)


def _timed(found: re.Match[str] | None) -> float | None:
    if found is None:
        return None
    named = found.groupdict()
    if not named:
        return seconds(found)
    value = number(named["value"] or named["value2"] or named.get("value3"))
    unit = (named["unit"] or named["unit2"] or "s").lower()
    return value / 1000 if value is not None and unit.startswith("ms") else value


def losses(text: str) -> list[Loss]:
    """Every loss that is named with its figure behind the name; where there is none, one with its figure before it."""
    found: list[Loss] = []
    acts = POLICY.search(text) is not None
    for match in _LOSS.finditer(text):
        before = _BEFORE.search(text, max(0, match.start() - 70), match.start())
        head = before[0] if before else ""
        words = {w.lower() for w in (*_WORDS.findall(head), *_WORDS.findall(match["after"]))}
        of = "part" if acts and words & _VALUE else _of(words, bool(head) and not head[-1].isspace())
        start = match.start() - len(head)
        found.append(Loss(start, match.end(), of, "total" in words, bool(match["mark"]), match["value"]))
    for match in () if found else _LIKELIHOOD.finditer(text):
        words = {w.lower() for w in _WORDS.findall(match["head"])}
        found.append(Loss(match.start(), match.end(), _of(words, False), False, True, match["value"]))
    if not found and (match := _BEHIND.search(text)) is not None:
        words = {w.lower() for w in _WORDS.findall(match["head"])}
        found.append(Loss(match.start(), match.end(), _of(words, False), "total" in words, False, match["value"]))
    return found


def whole(found: list[Loss]) -> Loss | None:
    """The loss of training as a whole: the one called total, else the first."""
    of_all = [loss for loss in found if loss.of == "whole"]
    return next((loss for loss in of_all if loss.total), of_all[0] if of_all else None)


def _of(words: set[str], joined: bool) -> Of:
    if words & _ASIDE:
        return "aside"
    if words & _HELD_OUT:
        return "held out"
    if words <= _WHOLE or ("per" in words and words - _UNITS <= _WHOLE):
        return "whole"
    return "part" if joined or words & _PARTS or any(w.isdigit() for w in words) else "unknown"


# A count of steps or epochs, and of how many: `Epoch [3/50]`, `iter: 400 / 20000`, `Step 00100`, `epoch 3 of 50`.
_COUNT = lazy.compile(
    r"(?<![\w/.-])(?<!warmup )(?<!max )(?<!every )(?:(?P<word>(?i:global[ _]?step|(?:mini-?)?batch(?:_?idx)?|epochiter|iteration|iter|itr|update|epoch|step|round)s?)[\s:=#]{0,4}|(?P<short>(?i:ep|it|up)(?: ?[:=] ?|\. )|Ep |(?i:ep) (?=\d{1,9},? (?i:it|iter|iteration|step|batch) \d)|it (?=\d+/)|(?:(?<=^)|(?<=^> )|(?<=^>> ))(?i:it) {1,8}(?=\d{1,12} )|(?<=\d )(?i:it) |(?<=\d, )(?i:it) |(?<=\[)(?i:ep|it) {1,8}(?=\d{1,12}\])))"
    r"[\[(]?\s{0,6}(?P<n>(?:\d{1,3}(?:,\d{3})++|\d{1,12}+))(?:\s?(?:/|of)\s{0,6}(?P<total>\d{1,12}+))?(?![\w.]\d|[A-Za-z])"
)
# Without a word for the steps, right behind the epoch, `[3/50][100/448]`, `3 (100/448)`, `3: 100/448`, `3/50 ( 6%) [ 100/448`.
WITHIN = lazy.compile(
    r"\]?\s{0,3}(?:\(\s{0,3}\d{1,3}(?:\.\d{1,3})?%\)\s{0,3})?(?:[:,]\s{0,3}[\[(]?|[\[(])\s{0,6}(?P<n>\d{1,12}+)\s?/\s{0,6}(?P<total>\d{1,12}+)(?![./]\d)"
)
# Without a word for either: at the beginning, or behind a logger's prefix or `Train:`.
_LEAD = r"(?:^\s{0,8}|\b(?i:train(?:ing)?):?\s{1,3}|\bINFO[\s:\]]{1,8})"
_BOTH = lazy.compile(
    rf"(?:{_LEAD}|(?<=[\s|])(?=\[))\[?\s{{0,4}}(?P<epoch>\d{{1,9}}+)(?:\s?/\s{{0,4}}(?P<epochs>\d{{1,9}}+))?\]?\s{{0,3}}(?:\(\s{{0,3}}\d{{1,3}}%\)\s{{0,3}})?"
    r"[\[(]\s{0,6}(?P<n>\d{1,12}+)\s?/\s{0,6}(?P<total>\d{1,12}+)\s{0,3}[\])(]"
)
# A table's row begins with its bar.
_FIRST = lazy.compile(
    rf"(?:{_LEAD}|^\s{{0,8}}\|\s{{0,12}})(?:\[\s{{0,6}}(?P<n>\d{{1,12}}+)\s?/\s{{0,6}}(?P<total>\d{{1,12}}+)(?:\s{{1,3}}\(?\d{{1,3}}%\)?)?\]|(?P<n2>\d{{1,12}}+)(?:/(?P<total2>\d{{1,12}}+)(?=[\s:,])|\s{{0,3}}\|(?=\s)))"
)
# What an agent was rewarded with: the figure that a loop prints of it beside its step, and mostly no loss.
_REWARD = lazy.compile(
    rf"(?i)(?<![\w./-])(?:(?:mean|avg|average|episode|episodic|ep|train|running|total|smoothed)[ _]){{0,3}}(?:rewards?|returns?)(?:[ _/](?:mean|avg))?\s?[:=]\s{{0,8}}\[?{NUMBER}"
)
# What it counts by is its episodes, wherever else on the line a count of steps stands: those of the episode.
_EPISODE = lazy.compile(
    r"(?i)^.{0,60}?(?<![\w./-])(?:episodes?|ep)[\s:#=.]{0,3}[\[(]?\s{0,4}(?P<n>\d{1,9}+)(?:\s?(?:/|of)\s{0,4}(?P<total>\d{1,9}+))?(?![\w.]\d|[A-Za-z%])"
)
_SCORED = lazy.compile(rf"(?i)(?<![\w./-])(?:avg|average|mean|total)?[ _]?score\s?[:=]\s{{0,8}}\[?{NUMBER}")
# How an agent counts what it has seen, where its policy's loss stands on the line.
_SEEN = lazy.compile(
    r"(?<![\w/.-])(?:(?i:total|env|environment)[ _])?(?i:samples?|time[ _]?steps?|frames?|env[ _]?steps?|interactions?)[\s:=#]{0,4}\s{0,6}"
    r"(?P<n>(?:\d{1,3}(?:,\d{3})++|\d{1,12}+))(?:\s?(?:/|of)\s{0,6}(?P<total>\d{1,12}+))?(?![\w.]\d|[A-Za-z])"
)
_AHEAD = lazy.compile(
    r"(?<![\w./-])(?P<n>\d{1,12}+)(?P<total>) (?i:iterations?|iters?|steps?|updates?)(?: (?:done|completed|processed))?(?=[,:])"
)
# Behind a logger's place in the source, or before the losses of two networks.
_PLACED = lazy.compile(
    r"(?:\.py:\d{1,6}\] (?=\d{1,12}: (?:train[ _/])?loss\s?[=:])|^\s{0,8}(?=\d{1,12} \[[DG]\w{0,16} loss: ))(?P<n>\d{1,12}+)(?P<total>)"
)
# Nobody fills a total up with zeros: `[03/00000100]` is the hundredth step, and not three out of hundred.
_PAIR = lazy.compile(r"^\[ {0,6}(?P<epoch>\d{1,9})(?:(?:, {0,8}|/(?=0\d{3}))(?P<n>\d{1,12}))?\]")
_ROUND = lazy.compile(r"^\[?\s{0,3}\(\s?(\d{1,9})\s?\)\s")  # `[ (3 ) Loss: 0.358, train_Acc: 0.986]`
_LED = lazy.compile(r"^\s{0,8}[\[(]\s{0,4}(\d{1,9}+)\s?/\s{0,4}(\d{1,9}+)[\])]\s")
# A figure with no word for it in front of both losses, the training's and what was held out: a loop compares them once an epoch.
_BARE = lazy.compile(
    rf"{_LEAD}(?P<n>\d{{1,9}}+)\s{{0,2}}[,:;|-]?\s{{1,4}}(?=(?i:(?:train(?:ing)?|trn?)[ _.-]{{0,2}})?(?i:loss)\s{{0,2}}[:=])"
    r"(?=.{1,200}?(?<![A-Za-z])(?i:val|valid|validation|test|eval|dev)[ _.-](?i:[a-z]{0,12}loss|acc\w*|f1|iou|dice|auc)\s{0,2}[:=])"
)
_PART_EPOCH = lazy.compile(r"(?i)\bepochs?[ :=]{1,3}(\d{1,9}\.\d{1,9})(?: ?/ ?(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class Counts:
    """How far a loop is, by one line of it, and where the first count of them begins; `within`: of so many steps of the epoch."""

    start: int
    epoch: float | None = None
    epochs: float | None = None
    step: int | None = None
    total: int | None = None
    within: int | None = None


def seen(text: str) -> Counts | None:
    """What a line of an agent that learns counts beside its steps: samples, frames; None where it has no such count."""
    found = _SEEN.search(text) if POLICY.search(text) else None
    if found is None:
        return None
    total = found["total"]
    return Counts(found.start(), step=int(found["n"].replace(",", "")), total=int(total) if total else None)


def rewarded(text: str) -> bool:
    """Whether a line tells what an agent was rewarded with: its reward or return, or the score of an episode."""
    return _REWARD.search(text) is not None or (_EPISODE.search(text) is not None and _SCORED.search(text) is not None)


def episode(text: str) -> Counts | None:
    """The episode that a line tells of, where it tells what the agent was rewarded with; None where it does not."""
    found = _EPISODE.search(text) if rewarded(text) else None
    if found is None:
        return None
    return Counts(found.start("n"), step=int(found["n"]), total=int(found["total"]) if found["total"] else None)


def counts(text: str) -> Counts | None:
    """What a line counts; None where it counts neither steps nor epochs."""
    if (both := _BOTH.search(text)) is not None:
        epochs = float(both["epochs"]) if both["epochs"] else None
        return Counts(both.start(), float(both["epoch"]), epochs, int(both["n"]), None, int(both["total"]))
    if (pair := _PAIR.match(text)) is not None:
        n = pair["n"]
        return Counts(0, float(pair["epoch"]), None, int(n)) if n else Counts(0, step=int(pair["epoch"]))
    if (alone := _ROUND.match(text)) is not None:
        return Counts(0, step=int(alone[1]))
    epoch: re.Match[str] | None = None
    steps: list[re.Match[str]] = []
    for match in _COUNT.finditer(text):
        if _named(match) in ("epoch", "epochs", "ep"):
            epoch = epoch or match
        else:
            steps.append(match)
    step = next((m for m in steps if _named(m).startswith("global")), steps[0] if steps else None)
    within = WITHIN.match(text, epoch.end()) if epoch is not None and step is None else None
    first = (
        (_FIRST.search(text) or _AHEAD.search(text) or _PLACED.search(text))
        if step is None and within is None
        else None
    )
    heads = [m.start() for m in (epoch, step, first) if m is not None]
    if not heads:
        bare = _BARE.search(text)
        return None if bare is None else Counts(bare.start("n"), epoch=float(bare["n"]))
    # An epoch out of so many in brackets may lead the line, before a word for the steps.
    led = _LED.match(text) if epoch is None and step is not None else None
    part = led or _PART_EPOCH.search(text) if epoch is None else None
    at, epochs = (
        (epoch["n"], epoch["total"]) if epoch is not None else (part[1], part[2]) if part is not None else (None, None)
    )
    of_epoch = float(at.replace(",", "")) if at else None, float(epochs) if epochs else None
    if first is not None:
        n, of = next((i for i in zip(first.groups()[::2], first.groups()[1::2], strict=True) if i[0]), ("0", None))
        return Counts(min(heads), *of_epoch, int(n), int(of) if of else None)
    if within is not None:
        return Counts(min(heads), *of_epoch, int(within["n"]), None, int(within["total"]))
    if step is None:
        return Counts(min(heads), *of_epoch)
    n, total = int(step["n"].replace(",", "")), int(step["total"]) if step["total"] else None
    # What is counted over the whole run is said before the epoch that it is in, or called global.
    if led is not None and not _named(step).startswith("global"):
        return Counts(0, *of_epoch, n, None, total)
    inside = epoch is not None and not _named(step).startswith("global")
    if epoch is not None and step.start() < epoch.start() and "batch" not in _named(step):
        inside = False
    return Counts(min(heads), *of_epoch, n, None if inside else total, total if inside else None)


def _named(count: re.Match[str]) -> str:
    return (count["word"] or count["short"].rstrip(" :=.")).lower()
