"""bar_words: a tqdm bar whose description, before the percentage, tells the loss of training.

SOURCE    loops that set a bar's description: `bar.set_description(f"Epoch: {e}. Loss: {l}")`
ROWS      train_step (one for each state of the bar that a line shows)
CAVEAT    the step is the bar's: batches of this epoch. A loss of validation, and a bar whose postfix has the loss, are not read here.
EXAMPLES
    accuracy: 0.8121, batch_loss: 0.4121, loss: 0.5211 ||: 100%|##########| 123/123 [00:21<00:00,  5.61it/s]
    Epoch: 29. Loss: 3.32882:  76%|███████▌  | 263/348 [02:17<00:44,  1.92it/s]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, number
from store import lazy

_BAR = lazy.compile(
    r"(?P<words>[^%\r]{4,200}): *\d{1,3}%\|[^|\r]{0,300}\| *(?P<n>\d{1,12})/(?P<total>\d{1,12}) \[\d[^\]\r]{0,120}\]"
)
_TORCHTUNE = lazy.compile(r"\d\|\d{1,12}\|Loss: ")  # which has a parser of its own
_AFTER_A_BAR = lazy.compile(r"^.*(?:it/s|s/it)[^\]]{0,120}\]")
_LOSS = lazy.compile(
    rf"(?<![\w/-])(?P<name>(?:[Tt]rain(?:ing)?[ _])?[Ll]oss) ?[:=]? ?(?P<loss>{NUMBER})(?=[\s,;.|)\]]*(?:$|[\s,;|:]))"
)
_EPOCH = lazy.compile(r"(?i)\bepoch\b[ :#]{0,3}\[?(?P<epoch>\d{1,9})")
_HELD_OUT = lazy.compile(r"(?i)\b(?:val|valid\w*|test\w*|eval\w*|dev|pred\w*)\b|val_|eval_|test_")


class BarWords(LineParser):
    """Each line's last bar, if its description has one loss and speaks of no evaluation."""

    name: ClassVar[str] = "bar_words"
    anchors: ClassVar[tuple[str, ...]] = ("%|",)
    also: ClassVar[str] = "oss"

    @staticmethod
    def ignores(text: str) -> bool:
        """Bars without a loss before their percentage."""
        return "oss" not in text[: text.rfind("%|")]

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text[-2000:]
        if self.ignores(text):
            return ()
        last = next(reversed(list(_BAR.finditer(text))), None)
        if last is None or _TORCHTUNE.search(text) or "oss" in last[0][last.end("words") - last.start() :]:
            return ()
        words = _AFTER_A_BAR.sub("", last["words"])
        losses = list(_LOSS.finditer(words))
        if len(losses) != 1 or _HELD_OUT.search(words):
            return ()
        epoch = _EPOCH.search(words)
        return [
            line.step(
                "tqdm",
                step=int(last["n"]),
                epoch=float(epoch["epoch"]) if epoch else None,
                loss=number(losses[0]["loss"]),
                loss_name=losses[0]["name"],
            )
        ]
