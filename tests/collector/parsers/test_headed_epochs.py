"""An epoch on a line of its own, and the losses of its splits below it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import Line, parse_text
from collector.parsers.headed_epochs import HeadedEpochs


def told(text):
    return [(r.split, r.epoch, r.total_epochs, r.loss) for r in parse_text(HeadedEpochs(), text)]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (
            "Epoch 0/9\n----------\ntrain Loss: 0.75 Acc: 0.5\nval Loss: 0.5 Acc: 0.625\n\n"
            "Epoch 1/9\n----------\ntrain Loss: 0.25 Acc: 0.75\nval Loss: nan Acc: 0.5\n",
            [("train", 0, 9, 0.75), ("eval", 0, 9, 0.5), ("train", 1, 9, 0.25), ("eval", 1, 9, None)],
        ),
        ("Epoch 1\n-------\nloss: 2.5  [   64/60000]\nloss: 1.5  [ 6464/60000]\nTest Error: \n Accuracy: 50.9%, Avg loss: 2.25 \n\nEpoch 2\n-------\nloss: 1.25  [   64/60000]\n", [("train", 1, None, 2.5), ("train", 1, None, 1.5), ("train", 2, None, 1.25)]),
        ("loss: 2.5 of [ 64/60000]\n[ 64/60000] images loaded\nloss: 0.5  [64/60000] of the test\n", []),
        ("**** Epoch 2 (3/32) ****\nTraining mean loss: 0.5\nTraining accuracy: 0.8\neval mean loss: 0.75\nthe best mean loss: 9.5\n", [("train", 2, 32, 0.5), ("eval", 2, 32, 0.75)]),
        ("Epoch: 2\n[    0/8000 (  0%)]  Loss: 1.5\n[ 4000/8000 ( 50%)]  Loss: 0.75\n\nAverage test loss: 0.5  Accuracy: 700/800\n", [("train", 2, None, 1.5), ("train", 2, None, 0.75)]),
        ("Epoch 003 | time 20.5s | beta 0.100\nTRAIN | loss 0.5 | recon 0.4 | psnr 33.2\nVAL   | loss 0.25 | psnr 34.1\nBEST  | val psnr 34.1 | loss 9.5\n", [("train", 3, None, 0.5), ("eval", 3, None, 0.25)]),
        ("Epoch 3 | loss 0.5 | beta 1\nTRAIN | loss 0.75\n[ 4000/8000 ( 50%)] done, Loss: 0.75\n", []),
        ("Epoch 2 (best 1)\nTraining mean loss: 0.5\n", []),
        ("Epoch: 3\n----\nTraining loss: 1.5; Acc: 0.7\nValidation loss: 2.5; Acc: 0.6\n", [("train", 3, None, 1.5), ("eval", 3, None, 2.5)]),
        ("2026-01-07 09:22:06,498 - INFO - [Epoch 19/20]\n2026-01-07 09:22:11,494 - INFO - Train Loss: 0.5, Train Acc: 0.9\n", [("train", 19, 20, 0.5)]),
        ("==== Epoch 2 of 5 ====\n 7%|▋ | 1/14 [00:01<00:12, 1.0s/it]\n  train_loss = 0.5\n  val_loss = 0.25\n", [("train", 2, 5, 0.5), ("eval", 2, 5, 0.25)]),
        ("EPOCH 3:\n  batch 1000 loss: 1.5\nLOSS train 0.5 valid 0.25\nLOSS train 9.5 valid 9.5\nLOSS train 0.5 valid 0.25 of old\n", [("train", 3, None, 0.5), ("eval", 3, None, 0.25)]),
    ],
)  # fmt: skip
def test_each_split_of_a_headed_epoch_is_a_row(text, want):
    assert [row if row[3] == row[3] else (*row[:3], None) for row in told(text)] == want


def test_a_summary_below_the_last_epoch_is_not_of_it():
    text = "Epoch 1/1\ntrain Loss: 0.5\nval Loss: 0.75\nTest Loss: 9.5\ntrain loss: 3.5\n"
    assert told(text) == [("train", 1, 1, 0.5), ("eval", 1, 1, 0.75)]


@pytest.mark.parametrize(
    "text",
    [
        "Epoch 1/2\n",
        "train Loss: 0.5 Acc: 0.5\n",
        "Epoch 1/2 begins now\ntrain Loss: 0.5\n",
        "Epoch 3\ntrain loss went down\nval Loss: 75%\n",
        "epoch:  7\n2026-01-24 04:10:30.664587: train loss : -0.75\n",
        "Epoch 1/2\nbest val Loss: 0.5\nretrain Loss: 0.5\n",
    ],
)
def test_a_heading_or_a_loss_alone_gives_nothing(text):
    assert told(text) == []


def test_lines_of_others_are_left_to_them():
    for text in ("Epoch 1/2 train Loss: 0.5", "{'loss': 0.5, 'epoch': 1}", "step 4 train loss 0.5"):
        assert HeadedEpochs.ignores(text)
    for text in ("Epoch 1/2", "----- Epoch [3/9] -----", "val Loss: 0.5 Acc: 0.5"):
        assert not HeadedEpochs.ignores(text)


@given(st.text(max_size=200))
def test_any_text_is_taken(text):
    list(HeadedEpochs().feed(Line(text, 1, "log")))
