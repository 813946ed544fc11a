"""abroad: the progress lines of plain loops in other languages than English, read as the English ones are.

SOURCE    scripts that print their epochs, batches and losses in French, German, Spanish, Portuguese, Italian, Russian, Chinese,
          Japanese and Korean
ROWS      train_step (split train or eval), as `epoch_lines` gives them, else `steady_lines`
CAVEAT    a line counts only where its loss is named in such a language; what it means is left to those two. Of a Latin-1 log
          the letters with accents are lost
EXAMPLES
    エポック 3/50 バッチ 20/200 損失: 0.4123
    Époque 2 - lot 150/5000 - perte : 1.8122
    Epoch 4/20, 训练损失: 0.3121, 验证损失: 0.3307
    Schritt 400: Verlust 3.2811
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.epoch_lines import EpochLines
from collector.parsers.steady_lines import SteadyLines
from store import lazy

_LOSSES = ("perte", "Perte", "Verlust", "verlust", "pérdida", "Pérdida", "perda", "Perda", "perdita", "Perdita", "потер", "Потер", "损失", "損失", "ロス", "손실")  # fmt: skip
_WORDS: tuple[tuple[str, str], ...] = (
    (r"第 ?(?P<n>\d{1,9}(?: ?/ ?\d{1,9})?) ?(?:轮次?|輪|エポック|个?周期|에폭)", "Epoch {n} "),
    (r"[ÉéEe\ufffd]poques?|[Ee]poche|[ÉéEe\ufffd]poca|[Ээ]поха|轮次|エポック|에포크|에폭", "Epoch "),
    (r"\b(?:[Ll]ot|[ÉéEe]tape|[Ii]tération|[Ss]chritt|[Pp]aso|[Ll]ote|[Ii]teración|[Pp]asso|[Ii]teração|[Ii]terazione)\b|[Шш]аг|[Бб]атч|[Ии]терация|批次|迭代|步数|ステップ|バッチ|イテレーション|스텝|배치|단계", "batch "),
    (r"(?i:taux d[’']apprentissage|lernrate|tasa de aprendizaje|taxa de aprendizado|скорость обучения)|学习率|學習率|学習率|학습률", "lr "),
    (r"(?i:validierungs|valid\w*verlust|валидаци\w*)|验证|驗證|検証|검증", "val "),
    (r"(?i:trainings|d[’']entra[iî]nement|de entrenamiento|de treinamento|обучени\w*)|训练|訓練|学習|학습", "train "),
    (r"(?i:perte|verlust|pérdida|perda|perdita|потер[ияь])|损失|損失|ロス|손실", "loss "),
)  # fmt: skip
"""Words, and what stands for them in English; `loss` last, since German joins it to what it is of."""
_TABLE = tuple((lazy.compile(pattern), word) for pattern, word in _WORDS)
_WIDE = str.maketrans({"：": ":", "，": ",", "（": "(", "）": ")", "／": "/", "｜": "|", "\u00a0": " "})
# `perte de validation : 0.31`: the languages that put it behind say so with a word for `of`.
_BEHIND = lazy.compile(r"loss +(?:de|di|на|of) +(?i:valid\w*|val)\b")


class Abroad(LineParser):
    """One line, in English words."""

    name: ClassVar[str] = "abroad"
    anchors: ClassVar[tuple[str, ...]] = _LOSSES

    def __init__(self) -> None:
        self._lines = EpochLines()
        self._loops = SteadyLines()

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if len(line.text) > 600 or "oss" in line.text:
            return ()
        text = line.text.translate(_WIDE)
        for pattern, word in _TABLE:
            text = pattern.sub(lambda m, word=word: word.format(**m.groupdict()), text)
        text = _BEHIND.sub("val loss", re.sub(r" {2,}", " ", text))
        told = replace(line, text=text)
        return list(self._lines.feed(told)) or self._loops.feed(told)
