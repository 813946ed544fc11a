"""Progress lines in other languages than English give the rows of the English ones."""

import pytest

from collector.parsers.abroad import Abroad
from collector.parsers.base import parse_text


def parse(text):
    return parse_text(Abroad(), text)


@pytest.mark.parametrize(
    ("text", "epoch", "step", "loss"),
    [
        ("エポック 3/50 バッチ 20/200 損失: 0.4123", 3, 20, 0.4123),
        ("Époque 2 - lot 150/5000 - perte : 1.8122", 2, 150, 1.8122),
        ("Epoche 7/40, Schritt 30, Verlust: 0.2210, Lernrate: 1e-4", 7, 30, 0.2210),
        ("Época 4/10 | paso 12/90 | pérdida: 2.31", 4, 12, 2.31),
        ("Эпоха 5/9, шаг 70/700, потери: 1.25", 5, 70, 1.25),
        ("第 6/30 轮，批次 40/400，损失：0.871", 6, 40, 0.871),
        ("Epoch 4/20, 训练损失: 0.3121", 4, None, 0.3121),
        ("에폭 2/8 배치 5/60 손실: 0.91", 2, 5, 0.91),
    ],
)
def test_a_loss_that_is_named_in_another_language_is_read(text, epoch, step, loss):
    (row,) = parse(text)
    assert (row.split, row.epoch, row.step, row.loss) == ("train", epoch, step, loss)


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        ("Epoch 4/20, 训练损失: 0.3121, 验证损失: 0.3307", 0.3307),
        ("エポック 4/20 検証損失: 0.31", 0.31),
        ("Epoche 3: Validierungsverlust: 0.52", 0.52),
        ("Époque 3 : perte de validation : 0.61", 0.61),
    ],
)
def test_a_loss_of_the_validation_is_none_of_the_training(text, loss):
    rows = parse(text)
    assert [r.loss for r in rows if r.split == "eval"] == [loss]
    assert all(r.loss != loss for r in rows if r.split != "eval")


@pytest.mark.parametrize(
    "text",
    [
        "La perte a été calculée à l'époque 3 du projet",
        "损失函数: CrossEntropyLoss",
        "Paketverlust: 0.2 %",
        "Ladungsverlust 3/50",
        "検証損失: 0.31",
        "Epoch 3/50, loss: 0.41 (损失)",
    ],
)
def test_prose_and_other_losses_are_no_progress(text):
    assert parse(text) == []


def test_steps_without_an_epoch_are_a_loop_from_the_third_on() -> None:
    lines = [f"Schritt {n}00: Verlust {4 - n / 4}" for n in range(1, 5)]
    assert parse("\n".join(lines[:2])) == []
    assert [(row.step, row.loss) for row in parse("\n".join(lines))] == [
        (100, 3.75),
        (200, 3.5),
        (300, 3.25),
        (400, 3.0),
    ]
