"""hf_trainer: the dictionaries that Hugging Face's Trainer logs, and what is built on it.

SOURCE    ProgressCallback and PrinterCallback of transformers 2 to 5; TRL, LLaMA-Factory, Axolotl, Unsloth, ms-swift
ROWS      train_step (split train or eval), train_end
CAVEAT    the dictionary holds the epoch and not the step; the step is taken from a bar on the same line only where a
          step takes long enough for the bar not to be stale
EXAMPLES
    {'loss': 2.031, 'grad_norm': 11.28, 'learning_rate': 3.3e-07, 'epoch': 0.01}
     50%|#####     | 40/80 [1:53:42<2:00:46, 181.16s/it] {'loss': '2.159', 'grad_norm': '0.5059', 'epoch': '1'}
    {'eval_loss': 1.92, 'eval_runtime': 3.1, 'eval_samples_per_second': 41.0, 'epoch': 1.0}
    {'eps': 2, 'objective/kl': 0.1, 'loss/policy_avg': 0.02, 'lr': 1e-06, 'episode': 8, 'epoch': 0.01}
    {'train_runtime': 1663.336, 'train_steps_per_second': 0.085, 'train_loss': 1.9313, 'epoch': 1.0}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.values import TQDM, as_json, json_column, number, whole
from collector.parsers.wording import FIGURE, Repeated, Slot, Steps, Wording
from store import lazy

_PAIR = lazy.compile(
    r"""(?P<q>['"])(?P<key>[^'"{}]{1,120})(?P=q): *(?P<value>'[^']*'|"[^"]*"|[\w.]+\([^()]*\)|[^,{}\[\]]+|\[[^\]]*\])"""
)
_OPEN = lazy.compile(r"""\{ *['"][^'"{}]{1,120}['"]: """)
_STEP_PREFIX = lazy.compile(r"Step \((\d{1,18})\) Logs: \Z")
_TRL = lazy.compile(
    r"rewards?[/_]|logps/|logits/|completions?/|objective/|sampling/|policy/|val/|kl\Z|reward\Z|num_tokens|mean_token_acc|entropy\Z|clip_ratio|nll_loss|log_odds"
)
_OBJECTIVES = (
    ("log_odds_ratio", "orpo"),
    ("completions/", "grpo"),
    ("completion_length", "grpo"),
    ("reward_std", "grpo"),
    ("objective/", "ppo"),
    ("rewards/chosen", "dpo"),
    ("rewards/margins", "dpo"),
    ("mean_token_accuracy", "sft"),
)
_BANNERS = (
    ("Unsloth", "unsloth"),
    ("axolotl", "axolotl"),
    ("llamafactory", "llama-factory"),
    ("LLaMA-Factory", "llama-factory"),
)
_CORE = ("loss", "eval_loss", "grad_norm", "learning_rate", "epoch")
_FIGURE = lazy.compile(FIGURE.pattern)
# Without any of these a dictionary gives nothing; the last are the banners'.
_OWN = ("grad_norm", "learning_rate", "epoch", "eval_", "policy_avg", "runtime", "current_steps", "Unsloth", "axolotl", "llamafactory", "LLaMA-Factory")  # fmt: skip
MAX_LINES = 80

Columns = dict[str, Sequence[Any]]
"""By key: what each line has for it, a float or a text; of one kind in all lines."""


class HfTrainer:
    """One stream's Trainer output: dictionaries of one line or, from transformers 5 with many metrics, of several."""

    name: ClassVar[str] = "hf_trainer"
    anchors: ClassVar[tuple[str, ...]] = (
        "'loss': ",
        '"loss": ',
        "'loss/policy_avg': ",
        "'eval_",
        "'train_runtime': ",
        "Unsloth",
        "axolotl",
        "llamafactory",
        "LLaMA-Factory",
    )

    @staticmethod
    def ignores(text: str) -> bool:
        """Dictionaries of other loops, closed on their line: those that have nothing but a loss of what the Trainer's have."""
        begun = _OPEN.search(text)
        closed = begun is None or "}" in text[begun.start() :]
        return closed and not any(word in text for word in _OWN)

    def __init__(self) -> None:
        self._family: str | None = None
        self._pending: list[str] = []
        self._first: Line | None = None
        self.wording: Wording | None = None
        self._repeated = Repeated()

    @property
    def wants_more(self) -> bool:
        """While a dictionary has not been closed."""
        return bool(self._pending)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line; rows when its dictionary is complete."""
        self.wording = None
        if self._pending and self._first is not None:
            return self._go_on(line, self._first)
        text = line.text
        for literal, family in _BANNERS:
            if literal in text:
                self._family = family
        if (found := self._repeated.match(text)) is not None and (steps := self.steps(found)) is not None:
            self.wording = self._repeated.known
            return [line.first_of(steps)]
        start = _OPEN.search(text)
        if start is None or text.startswith('{"mode": "'):  # mmcv's
            return ()
        body = text[start.start() :]
        if "}" not in body:
            self._pending, self._first = [body], line
            return ()
        return self._dictionary(body[: body.index("}") + 1], text[: start.start()], line, line.line_no)

    def close(self) -> Iterable[ParsedRow]:
        """A dictionary that was never closed is dropped: a cut number must not pass for a value."""
        self._pending = []
        return ()

    def _go_on(self, line: Line, first: Line) -> Iterable[ParsedRow]:
        end = line.text.find("}")
        self._pending.append(line.text if end < 0 else line.text[: end + 1])
        if end >= 0:
            body, self._pending = " ".join(self._pending), []
            return self._dictionary(body, "", first, line.line_no)
        if len(self._pending) > MAX_LINES or (line.text.strip() and not _PAIR.search(line.text)):
            self._pending = []
        return ()

    def steps(self, found: Mapping[str, Sequence[str | bytes]]) -> Steps | None:
        """The rows of dictionaries of one wording, each alone on its line."""
        return self._steps("", {key: list(map(float, texts)) for key, texts in found.items()})

    def _dictionary(self, body: str, prefix: str, line: Line, line_end: int) -> Iterable[ParsedRow]:
        pairs = list(_PAIR.finditer(body))
        values: Columns = {m["key"]: [_value(m["value"])] for m in pairs}
        steps = self._steps(prefix, values)
        if steps is not None:
            if len(values) == len(pairs):
                self._repeated.learn(_wording(pairs, line.text))
            return [line.first_of(steps)]
        if any(k in values for k in ("current_steps", "loss", "loss/policy_avg")):
            return ()
        if isinstance(values.get("train_runtime", ("",))[0], float):
            return [_end(line, line_end, {k: v[0] for k, v in values.items()})]
        return ()

    def _steps(self, prefix: str, values: Columns) -> Steps | None:
        if "current_steps" in values:
            return None  # LLaMA-Factory's own row, which has its own parser
        if "loss" not in values and "loss/policy_avg" in values:  # TRL's PPO and RLOO
            rate = {"learning_rate": values["lr"]} if "lr" in values else {}
            rest = {k: v for k, v in values.items() if k not in ("lr", "learning_rate")}
            return self._fields(prefix, {**rest, "loss": values["loss/policy_avg"], **rate}, "train")
        if "loss" in values:  # with include_num_input_tokens_seen a step carries train_runtime as well
            return self._fields(prefix, values, "train")
        if isinstance(values.get("train_runtime", ("",))[0], float):
            return None
        return self._fields(prefix, values, "eval") if any(k.startswith("eval_") for k in values) else None

    def _fields(self, prefix: str, values: Columns, split: str) -> Steps | None:
        core = {k: values[k] for k in _CORE if k in values}
        if any(not isinstance(v[0], float) for v in core.values()):
            return None
        if split == "train" and not core.keys() & {"grad_norm", "learning_rate", "epoch"}:
            return None
        if split == "eval" and not ("epoch" in core or "eval_runtime" in values):
            return None
        step, total = _place(prefix)
        progress = values.get("global_step/max_steps", values.get("iteration", ("",)))[0]
        if isinstance(progress, str) and (parts := progress.partition("/"))[1]:
            step, total = whole(parts[0]), whole(parts[2])
        if match := _STEP_PREFIX.search(prefix):
            step = int(match.group(1))
        rest = {k: v for k, v in values.items() if k not in core and isinstance(v[0], float)}
        name = "loss" if split == "train" else "eval_loss"
        columns: dict[str, Sequence[Any] | None] = {
            "step": list(map(whole, values["step"])) if step is None and "step" in values else None,
            "epoch": core.get("epoch"),
            "loss": core.get(name),
            "grad_norm": core.get("grad_norm"),
            "learning_rate": core.get("learning_rate"),
            "samples_per_s": rest.get("eval_samples_per_second") if split == "eval" else None,
            "tokens_per_s": rest.get("train_tokens_per_second", rest.get("throughput")),
            "metrics": json_column(rest),
        }
        constants: dict[str, Any] = {
            "split": split,
            "step": step,
            "total_steps": total,
            "loss_name": name if core.keys() & {"loss", "eval_loss"} else None,
            "objective": _objective(tuple(values)),
        }
        kept = {k: v for k, v in columns.items() if v is not None}
        return Steps(
            self._framework(prefix, values),
            {k: v for k, v in constants.items() if v is not None and k not in kept},
            kept,
        )

    def _framework(self, prefix: str, values: Columns) -> str:
        if "logging.py:" in prefix or "callbacks.py:" in prefix:
            return "llama-factory"
        if self._family is not None:
            return self._family
        return _by_keys(tuple(values))


@lru_cache(maxsize=256)
def _by_keys(keys: tuple[str, ...]) -> str:
    if "ppl" in keys or any(k.startswith("memory/") for k in keys):
        return "axolotl"
    return "trl" if any(_TRL.match(k) for k in keys) else "hf-trainer"


@lru_cache(maxsize=256)
def _objective(keys: tuple[str, ...]) -> str | None:
    return next((o for mark, o in _OBJECTIVES if any(mark in k for k in keys)), None)


def _value(text: str) -> float | str:
    text = text.strip()
    value = number(text)
    return value if value is not None else text.strip("'\"")


def _wording(pairs: Sequence[re.Match[str]], text: str) -> Wording | None:
    """How a dictionary of numbers that stands alone on its line is worded; None for any other one."""
    pieces: list[str | Slot] = []
    at, body = 0, pairs[0].string
    if not text.startswith(body) or text[len(body) :].strip():
        return None
    for pair in pairs:
        found = _FIGURE.fullmatch(pair["value"].strip().strip("'\""))
        if found is None:
            return None
        start = body.index(found.group(), pair.start("value"))
        pieces += [body[at:start], FIGURE]
        at = start + len(found.group())
    return Wording([*pieces, body[at:] + text[len(body) :]], [pair["key"] for pair in pairs])


def _place(prefix: str) -> tuple[int | None, int | None]:
    bar = None
    for match in TQDM.finditer(prefix):
        bar = match
    if bar is None:
        return None, None
    slow = bar["unit"] == "s/it"  # faster than one a second the bar may lag behind the log
    return (int(bar["n"]) if slow else None), int(bar["total"])


def _end(line: Line, line_end: int, values: dict[str, Any]) -> ParsedRow:
    return line.event(
        "train_end",
        "train_runtime",
        severity="info",
        framework="hf-trainer",
        line_end=line_end,
        elapsed_ms=values["train_runtime"] * 1000,
        detail=as_json({k: v for k, v in values.items() if isinstance(v, float)}),
    )
