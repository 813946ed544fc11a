"""`collector.parsers.bar_words`: the loss that a bar's description tells."""

import pytest

from collector.parsers.bar_words import BarWords
from collector.parsers.base import parse_text

TAIL = " 40%|####      | 8/20 [00:21<00:32,  2.70s/it]"


@pytest.mark.parametrize(
    ("line", "step", "epoch", "loss"),
    [
        (f"Epoch: 3. Loss: 1.25000: {TAIL}", 8, 3.0, 1.25),
        (f"Epoch [4/9] train_loss=2e-3: {TAIL}", 8, 4.0, 0.002),
        (f"training loss 0.75: {TAIL}", 8, None, 0.75),
        (f"accuracy: 0.75, batch_loss: 0.5, loss: 1.5 ||: {TAIL}", 8, None, 1.5),
        (f"Train Epoch: 3 loss=1.5 | lr=1e-4: {TAIL}", 8, 3.0, 1.5),
        (f"Epoch: 2. Loss: 1.5: {TAIL.replace('8/20', '20/20')}Epoch: 3. Loss: 1.25: {TAIL}", 8, 3.0, 1.25),
        (f"Epoch: 3. Loss: 1.5: {TAIL}Gradient overflow.  Skipping step", 8, 3.0, 1.5),
    ],
)
def test_a_bar_that_tells_its_loss_first(line, step, epoch, loss):
    (row,) = parse_text(BarWords(), line)
    assert (row.step, row.epoch, row.loss) == (step, epoch, loss)


@pytest.mark.parametrize(
    "line",
    [
        f"Epoch 3, val loss: 0.4: {TAIL}",
        f"1|8|Loss: 1.75: {TAIL}",
        f"Validating, Loss: 0.4: {TAIL}",
        f"G loss: 0.4 D loss: 0.5: {TAIL}",
        f"Gloss: 3: {TAIL}",
        f"Loss: 0.4 of nothing|{TAIL}",
        "Epoch 3, Loss: 1.2:  40%|####      | 8/20 [00:21<00:32,  2.70s/it, loss=1.3]",
        "Loss: 1.2: 40% of the work",
        "Downloading: 40%|####      | 8/20 [00:21<00:32,  2.70s/it]",
    ],
)
def test_other_bars_and_words_give_nothing(line):
    assert parse_text(BarWords(), line) == []
