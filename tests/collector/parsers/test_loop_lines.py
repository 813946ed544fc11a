"""Progress lines of plain loops and toolkits (meters, epoch_lines, toolkits) give the printed numbers, from one parser each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.framing.labels import split_label
from collector.parsers.base import parse_text
from collector.parsers.registry import parser_types
from collector.parsers.values import number
from store.rows import TrainStep

LINES: list[tuple[str, str, dict[str, Any]]] = [
    (
        "torchvision",
        "Epoch: [3]  [  20/400]  eta: 0:02:11  lr: 0.000250  loss: 4.5000 (4.7500)  grad_norm: 0.5 (nan)  time: 0.30  data: 0.01  max mem: 811",
        {"epoch": 3.0, "step": 20, "loss": 4.5, "learning_rate": 0.00025, "grad_norm": 0.5, "step_time_s": 0.3},
    ),
    (
        "imagenet-example",
        "Epoch: [1][  30/900]\tTime  0.250 ( 0.500)\tData  0.001 ( 0.200)\tLoss 6.5000e+00 (6.7500e+00)\tAcc@1   1.00 (  0.50)",
        {"epoch": 1.0, "step": 30, "loss": 6.5, "split": "train"},
    ),
    (
        "paddle",
        "2026-05-01 09:00:07 [INFO]\t[TRAIN] epoch: 1, iter: 40/900, loss: 1.7500, lr: 0.009000, batch_cost: 0.2500, reader_cost: 0.00205, ips: 5.7 samples/sec | ETA 00:02:40",
        {"epoch": 1.0, "step": 40, "total_steps": 900, "loss": 1.75, "learning_rate": 0.009, "step_time_s": 0.25},
    ),
    (
        "paddle",
        "[2026/05/01 09:00:07] ppocr INFO: epoch: [1/9], global_step: 40, lr: 0.000005, acc: 0.5, loss: 9.25, avg_reader_cost: 0.00971 s, avg_batch_cost: 0.125 s, avg_samples: 64.0, ips: 355.1 samples/s, eta: 0:32:33",
        {"epoch": 1.0, "total_epochs": 9.0, "step": 40, "loss": 9.25, "learning_rate": 5e-6, "step_time_s": 0.125},
    ),
    (
        "paddle",
        "[05/01 09:00:07] ppdet.engine.callbacks INFO: Epoch: [0] [ 40/900] learning_rate: 0.000029 loss: 4.5 loss_cls: 1.25 eta: 67 days, 10:28:48 batch_cost: 0.5 data_cost: 0.0034 ips: 9.0 images/s",
        {"epoch": 0.0, "step": 40, "total_steps": None, "loss": 4.5, "learning_rate": 2.9e-05, "step_time_s": 0.5},
    ),
    (
        "paddle",
        "2026-05-01 09:00:07 INFO: epoch:0  , train step:40  , loss: 6.5, top1: 0.00, lr: 0.100000, batch_cost: 0.25 s, reader_cost: 0.00056 s, ips: 225.2 images/sec.",
        {"epoch": 0.0, "step": 40, "loss": 6.5, "learning_rate": 0.1, "step_time_s": 0.25},
    ),
    (
        "clu",
        "I0502 21:38:13.425730 1399 logging_writer.py:48] [400] steps_per_second=2.0, train_accuracy=0.5, train_learning_rate=0.25, train_loss=3.25",
        {"step": 400, "loss": 3.25, "learning_rate": 0.25, "step_time_s": 0.5},
    ),
    (
        "darknet",
        "0|yolo     | 10313: 0.500000, 0.677636 avg, 0.002000 rate, 4.000000 seconds, 1320064 images",
        {"step": 10313, "loss": 0.5, "learning_rate": 0.002, "step_time_s": 4.0},
    ),
    ("darknet", " 2677: nan, nan avg loss, 0.001000 rate, 4.5 seconds, 171328 images, 9.1 hours left", {"step": 2677, "learning_rate": 0.001}),
    ("tensorflow", "I0319 04:50:41.030932   364 learning.py:507] global step 161: loss = 0.3750 (1.500 sec/step)", {"step": 161, "loss": 0.375, "step_time_s": 1.5}),
    ("tensorflow", "INFO:tensorflow:loss = 0.375, step = 1600 (12.720 sec)", {"step": 1600, "loss": 0.375}),
    ("litgpt", "Epoch 1 | iter 8 step 2 | loss train: 1.750, val: n/a | iter time: 181.34 ms (step)", {"epoch": 1.0, "step": 2, "loss": 1.75}),
    (
        "mmcv",
        '{"mode": "train", "epoch": 2, "iter": 325, "lr": 0.02, "memory": 5693, "data_time": 0.098, "loss_cls": 0.09, "loss": 0.5, "time": 0.25}',
        {"epoch": 2.0, "step": 325, "loss": 0.5, "learning_rate": 0.02, "step_time_s": 0.25},
    ),
    ("clu", "I0502 21:38:13.4 1399 logging_writer.py:48] [500] eval_accuracy=0.5, eval_loss=2.25", {"split": "eval", "step": 500, "loss": 2.25}),
    (
        "torch_xla",
        "| Training Device=xla:0/5 Epoch=1 Step=60 Loss=0.25000 Rate=461.75 GlobalRate=97.36 Time=01:51:37",
        {"epoch": 1.0, "step": 60, "loss": 0.25, "samples_per_s": 461.75},
    ),
    (
        "llama.cpp",
        "train_opt_callback: iter=    70 sample=72/5608 sched=0.700000 loss=4.750000 dt=00:04:30 eta=03:29:33 |----->",
        {"step": 70, "loss": 4.75, "step_time_s": 270.0},
    ),
    (
        "fairseq",
        '2026-03-08 12:43:15 | INFO | train | {"epoch": 1, "train_loss": "9.25", "train_ppl": "668.9", "train_num_updates": "100", "train_lr": "0.5", "train_gnorm": "36.25"}',
        {"epoch": 1.0, "step": 100, "loss": 9.25, "learning_rate": 0.5, "grad_norm": 36.25},
    ),
    (
        "fairseq",
        '2026-03-08 12:43:15 | INFO | valid | {"epoch": 1, "valid_loss": "7.25", "valid_num_updates": "100"}',
        {"split": "eval", "epoch": 1.0, "step": 100, "loss": 7.25},
    ),
    ("plain-loop", "Epoch 3/20, Validation Loss: 0.7500", {"split": "eval", "epoch": 3.0, "loss": 0.75}),
    ("imagenet-example", "Test: [ 10/50]\tTime  0.25 ( 0.50)\tLoss 2.5000e+00 (2.0000e+00)", {"split": "eval", "loss": 2.5}),
    ("plain-loop", "Epoch [2/5], Step [100/600], Loss: 0.3500", {"epoch": 2.0, "total_epochs": 5.0, "step": 100, "loss": 0.35}),
    ("plain-loop", "iteration 250, epoch 2 : loss : 1.375000, lr: 0.000800", {"epoch": 2.0, "step": 250, "loss": 1.375, "learning_rate": 0.0008}),
    ("plain-loop", "12:00:01: Iter 250/9000, Epoch 2/72, Loss: 1.375", {"epoch": 2.0, "total_epochs": 72.0, "step": 250, "total_steps": 9000, "loss": 1.375}),
    ("plain-loop", "warmup steps 500 - Epoch 3, loss: 0.25", {"epoch": 3.0, "step": None, "total_steps": None, "loss": 0.25}),
    ("plain-loop", "Train Epoch: 4 [ 2560/60000 (4%)]\tLoss: 0.125000", {"epoch": 4.0, "step": 2560, "loss": 0.125}),
    ("plain-loop", "Epoch 7 | train loss: 1.25 | lr: 1e-4 | grad norm: 2.5", {"epoch": 7.0, "loss": 1.25, "learning_rate": 1e-4, "grad_norm": 2.5}),
    ("plain-loop", "Epoch: 3 | Iteration: 40 | Box loss: 0.25 | Class loss: 0.5 | Running loss: 0.75", {"step": 40, "loss": 0.75}),
    ("plain-loop", "[Epoch 3, Batch   40] loss: 0.75", {"epoch": 3.0, "step": 40, "loss": 0.75}),
    ("plain-loop", "Epoch 3 Global_step 40\tTrain_loss: 0.75\tEval_AUC: 0.5", {"epoch": 3.0, "step": 40, "loss": 0.75}),
    (
        "opennmt",
        "[2026-01-02 10:00:00,001 INFO] Step 300/9000; acc:  20.50; ppl:  90.25; xent: 4.50; lr: 0.00050; 8000/8100 tok/s;  120 sec",
        {"step": 300, "total_steps": 9000, "loss": 4.5, "learning_rate": 0.0005, "tokens_per_s": 8000.0},
    ),
    ("mlx", "Iter 20: Train loss 2.500, Learning Rate 1.000e-05, It/sec 0.500, Tokens/sec 90.5, Trained Tokens 700, Peak mem 5.1 GB", {"step": 20, "loss": 2.5, "step_time_s": 2.0}),
    ("mlx", "Iter 1: Val loss 3.250, Val took 11.5s", {"split": "eval", "loss": 3.25}),
    (
        "maxtext",
        "completed step: 12, seconds: 2.500, TFLOP/s/device: 150.5, Tokens/s/device: 5000.25, total_weights: 4096, loss: 7.125",
        {"step": 12, "loss": 7.125, "step_time_s": 2.5},
    ),
    (
        "tqdm",
        "2026-03-01T10:00:26 - 0 - levanter - Progress on:train 1.20kit/10.0kit rate:2.0it/s remaining:2:13:00 elapsed:01:32 postfix:loss=2.5",
        {"step": 1200, "total_steps": 10000, "loss": 2.5, "step_time_s": 0.5},
    ),
    (
        "tqdm",
        "Progress on:train 4.0it/? rate:2.0s/it remaining:? elapsed:00:08 postfix:lr=0.1, loss=2.5",
        {"step": 4, "total_steps": None, "loss": 2.5, "step_time_s": 2.0},
    ),
    (
        "ultralytics",
        "      3/50      2.25G      1.500      2.250      1.125         24        640: 100%|██████████| 125/125 [00:14<00:00,  8.6it/s]",
        {"epoch": 3.0, "total_epochs": 50.0, "loss": 1.5},
    ),
    (
        "ultralytics",
        "       2/9      2.61G    0.0375   0.00750    0.0100    0.0550         4       640: 100% 400/400 [02:00<00:00,  3.33it/s]",
        {"epoch": 2.0, "total_epochs": 9.0, "loss": 0.0375},
    ),
    (
        "lerobot",
        "INFO 2026-03-01 10:04:12 ot_train.py:357 step:200 smpl:2K ep:4 epch:0.61 loss:1.250 grdn:12.5 lr:1.0e-05 updt_s:0.4",
        {"step": 200, "epoch": 0.61, "loss": 1.25, "grad_norm": 12.5, "learning_rate": 1e-5},
    ),
    ("lerobot", "step:12K smpl:96K ep:210 epch:31.50 loss:0.125 grdn:2.5 lr:9.9e-06", {"step": None, "epoch": 31.5, "loss": 0.125}),
    (
        "nemo",
        "Epoch 0: :  40%|████      | 8/20 [05:21<08:02, reduced_train_loss=9.870, global_step=7.000, lr=2e-5]",
        {"step": 8, "total_steps": 20, "epoch": 0.0, "loss": 9.87, "learning_rate": 2e-5, "step_time_s": None},
    ),
    ("nemo", "Epoch 1: : 3it [00:12,  4.10s/it, v_num=4, reduced_train_loss=0.812]", {"step": 3, "epoch": 1.0, "loss": 0.812}),
    (
        "lightning",
        "Epoch 1: |          | 240/? [00:21<00:00, 11.30it/s, v_num=4, train_loss=0.412]",
        {"step": 240, "epoch": 1.0, "loss": 0.412, "total_steps": None},
    ),
    (
        "tqdm",
        "Training (epoch 3 / 8):  25%|██▌       | 10/40 [01:40<05:00, 10.00s/it, loss=2.75, lr=0.02]",
        {"step": 10, "epoch": 3.0, "total_epochs": 8.0, "loss": 2.75, "learning_rate": 0.02, "step_time_s": 10.0},
    ),
    (
        "paddle",
        "....I0203 11:18:44.281013  7409 TrainerInternal.cpp:165]  Batch=300 samples=19200 AvgCost=0.75 CurrentCost=0.5 Eval: error=0.05",
        {"step": 300, "epoch": None, "loss": 0.5},
    ),
    ("paddle", "Pass 2, Batch 100, Cost 0.125000, {'error_evaluator': 0.0546875}", {"step": 100, "epoch": 2.0, "loss": 0.125}),
    ("plain-loop", "Train Epoch: 1.20 [92/460 (20%)]\tLoss: 0.7500\tError: 7.000\t", {"epoch": 1.2, "step": 92, "loss": 0.75}),
    ("paddle", "Pass: 2, Batch: 13, TrainCost: 37.500000", {"step": 13, "epoch": 2.0, "loss": 37.5}),
    ("nanogpt", "2026-03-22 09:31:34 iter 2970: loss 3.5000, time 1097.65ms, mfu 15.34%", {"step": 2970, "loss": 3.5}),
    ("lightning", "Epoch 7: 100%|██████████| 412/412 [02:11<00:00,  3.14it/s, v_num=11, train_loss=nan.0]", {"step": 412}),
    (
        "mmcv",
        "2026-01-02 14:15:21,465 - mmdet - INFO - Epoch [6][150/228]\tlr: 2.500e-03, eta: 1 day, 0:10:25, time: 0.5, loss_cls: 0.25, loss: 1.125, grad_norm: 6.5",
        {"epoch": 6.0, "step": 150, "loss": 1.125, "grad_norm": 6.5, "learning_rate": 0.0025},
    ),
    (
        "mmcv",
        "[ INFO ]  Epoch [6][150/228]    lr: 2.500e-03, eta: 0:10:25, time: 0.5, loss_cls: nan, loss: 1.125",
        {"epoch": 6.0, "step": 150, "loss": 1.125, "learning_rate": 0.0025},
    ),
    (
        "mmcv",
        " Epoch [6][150/228]\tlr: 2.500e-03, eta: 0:10:25, time: 0.5, loss: 1.125",
        {"epoch": 6.0, "step": 150, "loss": 1.125, "learning_rate": 0.0025},
    ),
    (
        "plain-loop",
        "epoch 2: train loss :: 1.625, train acc :: 0.412, dev acc :: 0.391",
        {"epoch": 2.0, "step": None, "loss": 1.625},
    ),
    (
        "mmcv",
        "2019-05-06 07:08:09,123 - INFO - Epoch [2][40/90]\tlr: 0.02000, eta: 1:02:03, time: 0.5, memory: 4100, loss_rpn_cls: 0.125, loss: 1.5",
        {"epoch": 2.0, "step": 40, "loss": 1.5, "learning_rate": 0.02},
    ),
    (
        "fairseq",
        "| epoch 004 | loss 5.125 | nll_loss 3.5 | ppl 11.3 | num_updates 900 | lr 0.00025 | gnorm 1.5 | clip 0.000 | wall 400",
        {"epoch": 4.0, "step": 900, "loss": 5.125, "grad_norm": 1.5},
    ),
    (
        "fairseq",
        "| epoch 004:    100 / 2400 loss=5.125, nll_loss=3.5, ppl=11.3, wps=4960, num_updates=7300, lr=0.00025, gnorm=1.5, clip=0.000, wall=400",
        {"epoch": 4.0, "step": 7300, "loss": 5.125, "learning_rate": 0.00025, "grad_norm": 1.5},
    ),
    ("fairseq", "| epoch 004 | valid on 'valid' subset | valid_loss 6.5 | ppl 90 | num_updates 900 | best 6.5", {"split": "eval", "loss": 6.5}),
]  # fmt: skip

LOOK_ALIKES = [
    "Epoch 3 finished, the loss of the generator is not printed",
    "Epoch: 1, Val accuracy: 0.75",
    "Epoch 1.3.2 [3/9] loss: 0.5",
    "epoch 3.25 | loss: 0.5",
    "Test with Pass 0, Cost 0.347865, {'error_evaluator': 0.148}",
    "Time cost: 00:04/21:46 of Batch 7, Cost 3",
    "[Epoch 3/50] [Batch 100/448] [D loss: 0.25] [G loss: 0.5]",
    "Best epoch: 5, best val loss: 0.33",
    "Saving checkpoint for epoch 5 to out/loss-0.35.pt",
    "                   all        500       1412      0.873      0.801      0.867      0.612",
    "  1/1  2.51G  640: 100%|██████████| 1/1 [00:00<00:00, 10.9it/s]",
    "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|██████████| 2/2 [00:00<00:00, 6.7it/s]",
    "step:200 of the plan: smpl:2K, loss:low",
    "Epoch 0: :  40%|████      | 8/20 [05:21<08:02, val_loss_note=pending]",
    "Test: [ 10/50]\tTime  0.25 ( 0.50)\tAcc@1 70.1 (69.0)",
]


def steps(text: str) -> list[TrainStep]:
    return [r for p in parser_types() for r in parse_text(p(), text) if isinstance(r, TrainStep)]


@pytest.mark.parametrize(("framework", "text", "want"), LINES)
def test_the_line_gives_its_numbers_once(framework: str, text: str, want: dict[str, Any]) -> None:
    rows = [r for r in steps(text) if r.loss is not None]
    assert [r.framework for r in rows] == [framework]
    assert {k: getattr(rows[0], k) for k in want} == want


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_what_resembles_progress_gives_no_loss(text: str) -> None:
    assert [r for r in steps(text) if r.loss is not None] == []


def test_an_epoch_line_with_both_losses_gives_a_training_and_an_evaluation_row() -> None:
    rows = steps("Epoch: 2, Train Loss: 1.5, Val Loss: 1.75")
    assert [(r.split, r.epoch, r.loss) for r in rows] == [("train", 2.0, 1.5), ("eval", 2.0, 1.75)]


def test_the_heading_of_a_yolo_table_names_its_losses() -> None:
    table = (
        "      Epoch    GPU_mem   box_loss  pose_loss  kobj_loss   cls_loss   dfl_loss  Instances       Size\n"
        "       7/20     0.875G      0.950      3.500      0.250      1.125      1.375         14        640: 100%|██████████| 3/3 [00:00<00:00]\n"
        "     Epoch   gpu_mem       box       obj       cls     total    labels  img_size\n"
        "       4/5     2.59G   0.0275   0.0075    0.0100    0.0450         1       640: 100% 40/40 [00:20<00:00,  2.00it/s]"
    )
    rows = [r for r in steps(table) if r.loss is not None]
    assert [(r.epoch, r.loss, r.loss_name) for r in rows] == [(7.0, 0.95, "box_loss"), (4.0, 0.045, "total")]
    assert json.loads(rows[0].metrics or "")["pose_loss"] == 3.5


def test_ultralytics_last_word_ends_the_training() -> None:
    rows = [r for p in parser_types() for r in parse_text(p(), "50 epochs completed in 0.25 hours.")]
    assert [(r.kind, r.name) for r in rows if not isinstance(r, TrainStep)] == [("train_end", "completed")]


def test_a_label_of_torchruns_template_names_both_ranks() -> None:
    label, text = split_label("[trainer3|11]:loss")
    assert (label.local_rank, label.rank, text) == (3, 11, "loss")


@pytest.mark.parametrize(("text", "want"), [("nan.0", "nan"), ("inf.00", "inf"), ("-inf.", "-inf"), ("1.50", "1.5")])
def test_a_padded_value_that_is_not_finite_is_read(text: str, want: str) -> None:
    assert str(number(text)) == want
