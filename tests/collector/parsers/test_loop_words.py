"""What the words of a progress line say (loop_words): counts, and which loss is that of the training as a whole."""

from __future__ import annotations

import pytest

from collector.parsers.loop_words import counts, losses, whole

LOSSES = [
    ("Epoch 2 | Classification loss: 0.25 | Regression loss: 0.5 | Running loss: 0.75", "0.75", "part part whole"),
    ("loss_cls: 0.25, loss_box: 0.5, total_loss: 0.75, mean loss: 1.5", "0.75", "part part whole whole"),
    ("loss_net: 1.25 loss_reg: 0.25 loss_scale: 32768.0", "1.25", "whole part unknown"),
    ("G_net loss: 0.5, net_d_loss: 0.25", None, "part part"),
    ("loss_train: 1.25 acc_train: 0.5 loss_val: 1.5", "1.25", "whole held out"),
    ("T_Loss 1.25 | V_Loss 1.5", "1.25", "whole held out"),
    ("212.5 iters/s loss 1.25", "1.25", "whole"),
    ("Minibatch Loss= 1.25, best loss: 0.5", "1.25", "whole aside"),
    ("[D loss: 0.25] [G loss: 0.5] Loss_G: 0.5 lossD: 1", None, "part part part part"),
    ("Losses: 1.25, closs: 2.5, Loss2: 3.5", "1.25", "whole part part"),
    ("Loss Average : 1.25", "1.25", "whole"),
    ("avg loss so far is 1.25", "1.25", "whole"),
    ("per_token_loss: 1.25 | z_loss: 20.5 | per_example_loss: 900.5", "1.25", "whole part whole"),
    ("token_loss: 1.25, per_class_loss: 2.5", None, "part part"),
    ("the loss so far of 12 runs", None, ""),
    ("x_loss: 0.25, combined_loss: 0.75", "0.75", "part whole"),
    ("overall loss: 0.75, overall_box_loss: 0.25", "0.75", "whole part"),
    ("triplet loss: 1.25", None, "unknown"),
    ("pi loss: 0.25, v loss: 1.5, q_loss: 2.5", None, "part part part"),
    ("v loss: 1.5", None, "held out"),
    ("1.25 C.E. Loss, 91.50% Accuracy", None, "unknown"),
    ("1.25 train loss | 0.5 acc", "1.25", "whole"),
    ("1.25 val loss", None, "held out"),
    ("Epoch 3 evaluated with loss: 1.25", None, "held out"),
    ("5% loss, v1.25 loss, 3:25 loss, 1.25 loss of sight", None, ""),
    ("0% packet loss, time 31ms; loss of 3 lines; loss at 64%", None, ""),
]

COUNTS = [
    ("Epoch: [3/50][100/448] loss", (3, 50, 100, None, 448)),
    ("Epoch:[3/50](100/448) loss", (3, 50, 100, None, 448)),
    ("Train:    3/50 (  6%) [ 100/448 ( 22%)]  Loss", (3, 50, 100, None, 448)),
    ("[3/50][100/448] loss", (3, 50, 100, None, 448)),
    ("Train: [3][100/448]\tloss", (3, None, 100, None, 448)),
    ("[epoch:  3/ 50, iter:   100/  448] total", (3, 50, 100, None, 448)),
    ("(epoch: 3, iters: 100, time: 0.5) G", (3, None, 100, None, None)),
    ("[Step 100/9000] Loss", (None, None, 100, 9000, None)),
    ("100/9000 (epoch 3), train_loss", (3, None, 100, 9000, None)),
    ("100/9000 (epoch 3.25), train_loss", (3.25, None, 100, 9000, None)),
    ("Iter 100/9000, Epoch 3/72, Loss", (3, 72, 100, 9000, None)),
    ("Epoch: 3, global_step: 100, lr", (3, None, 100, None, None)),
    ("iter:   1,200 of this", (None, None, 1200, None, None)),
    ("[3/50] iter 100: loss", (3, 50, 100, None, None)),
    ("[03/00000100] Train total_loss", (3, None, 100, None, None)),
    ("- INFO - run -   | [   3/  50][   100/   448] | train_loss", (3, 50, 100, None, 448)),
    ("(3/50) batch 100/448 train loss", (3, 50, 100, None, 448)),
    ("[3/50] global step 100: loss", (3, 50, 100, None, None)),
    ("[ (100 ) Loss: 0.5, train_Acc: 0.9]", (None, None, 100, None, None)),
    ("It: 100, Loss", (None, None, 100, None, None)),
    ("100 | loss 0.5 | lr", (None, None, 100, None, None)),
    ("[x] 100 iteration, loss", (None, None, 100, None, None)),
    ("warmup steps 500 - Epoch 3, loss", (3, None, None, None, None)),
    ("the loss of every 3rd layer, version 1.2/3", None),
    ("step_size 3, batch-size 16, epoch.pt 4", None),
]


@pytest.mark.parametrize(("text", "value", "kinds"), LOSSES)
def test_the_whole_loss_is_told_from_those_of_parts(text: str, value: str | None, kinds: str) -> None:
    found = losses(text)
    assert " ".join(loss.of for loss in found) == kinds
    best = whole(found)
    assert (best.value if best is not None else None) == value


@pytest.mark.parametrize(("text", "want"), COUNTS)
def test_counts_of_an_epoch_are_told_from_those_of_the_run(text: str, want: tuple[float | None, ...] | None) -> None:
    found = counts(text)
    assert (found and (found.epoch, found.epochs, found.step, found.total, found.within)) == want
