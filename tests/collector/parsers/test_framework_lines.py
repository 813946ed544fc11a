"""Each framework's progress line gives the printed numbers exactly, once, and what resembles one gives nothing."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from collector.parsers.base import Line, parse_text
from collector.parsers.epoch_lines import EpochLines
from collector.parsers.megatron import Megatron
from collector.parsers.nanogpt import NanoGpt
from collector.parsers.registry import parser_types
from store.rows import TrainStep

NAN = float("nan")
LINES: list[tuple[str, str, dict[str, Any]]] = [
    ("hf-trainer", "{'loss': 1.25, 'learning_rate': 4.5e-05, 'epoch': 0.02}", {"loss": 1.25, "learning_rate": 4.5e-05}),
    ("hf-trainer", "{'loss': '0.7', 'grad_norm': 'nan', 'epoch': '3'}", {"loss": 0.7, "grad_norm": NAN, "epoch": 3.0}),
    ("hf-trainer", "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 0.0, 'epoch': 1.5}", {"loss": 0.0, "grad_norm": NAN}),
    (
        "hf-trainer",
        "{'loss': 2.5, 'epoch': 0.1, 'num_input_tokens_seen': 4096, 'train_runtime': 27.3, 'train_tokens_per_second': 7.2}",
        {"loss": 2.5, "epoch": 0.1},
    ),
    (
        "hf-trainer",
        " 12%|█▏        | 6/50 [01:12<08:48, 12.01s/it]{'loss': 3.5, 'grad_norm': 1.0, 'learning_rate': 1e-4, 'epoch': 0.12}",
        {"loss": 3.5, "step": 6, "total_steps": 50},
    ),
    ("hf-trainer", "{'loss': tensor(0.5), 'learning_rate': 0.001, 'epoch': 2.0}", {"loss": 0.5}),
    ("hf-trainer", "{'loss': 0.5, 'learning_rate': 1e-05, 'epoch': 0.5, 'iteration': '20/94', 'train_speed(s/it)': 0.25}", {"step": 20, "total_steps": 94}),
    ("hf-trainer", '{"loss": 0.5, "grad_norm": 1.5, "learning_rate": 1e-05, "epoch": 0.5, "step": 10}', {"loss": 0.5, "step": 10}),
    ("trl", "{'eps': 2, 'objective/kl': 0.1, 'loss/policy_avg': 0.25, 'lr': 1e-06, 'episode': 8, 'epoch': 0.01}", {"loss": 0.25, "learning_rate": 1e-06, "objective": "ppo"}),
    ("llama-factory", "[INFO|2026-01-01 22:09:01] llamafactory.train.callbacks:143 >> {'loss': 2.25, 'learning_rate': 2.5000e-06, 'epoch': 0.29, 'throughput': 1234.5}", {"loss": 2.25, "learning_rate": 2.5e-06, "tokens_per_s": 1234.5}),
    ("megatron", "iteration        2/      20", {"step": 2, "total_steps": 20, "loss": None}),
    ("tqdm", "Train step of epoch 2:  50%|██ | 5/10 [00:10<00:10, 1.0s/it, gpt_loss=0.5, lr=1e-6]", {"loss": 0.5, "step": 5, "learning_rate": 1e-6}),
    ("torchtitan", "step:  7/12  loss:  1.5000  grad_norm:  0.9790", {"loss": 1.5, "step": 7, "total_steps": 12, "grad_norm": 0.979}),
    ("torchtitan", "0: INFO    26-02-03 10:00:26.104 - 0:02:11 - step: 40  acc: 0  loss:   4.211  grad: 1.31e+00  flops: 4.7e+12  wps: 2.25e+04  iter:  0.531  data: 0.0049  lr: 5.1e-06  mem: 48%", {"loss": 4.211, "step": 40, "grad_norm": 1.31, "learning_rate": 5.1e-6, "metrics": '{"tokens_per_s_per_device": 22500.0}'}),
    ("hf-trainer", "{'eval_loss': 0.9, 'eval_runtime': 3.0, 'epoch': 1.0}", {"loss": 0.9, "split": "eval", "epoch": 1.0}),
    ("trl", "{'loss': 0.69, 'rewards/margins': 0.1, 'rewards/chosen': 0.2, 'epoch': 0.1}", {"loss": 0.69, "objective": "dpo"}),
    ("trl", "{'loss': 0.0, 'reward': 1.25, 'completions/mean_length': 12.0, 'kl': 0.01, 'epoch': 0.1}", {"objective": "grpo"}),
    (
        "llama-factory",
        '{"current_steps": 20, "total_steps": 80, "loss": 1.5, "lr": 2e-05, "epoch": 0.5, "percentage": 25.0}',
        {"loss": 1.5, "step": 20, "total_steps": 80, "learning_rate": 2e-05, "epoch": 0.5},
    ),
    (
        "megatron",
        " [2026-01-02 03:04:05] iteration       12/     900 | consumed samples:  384 | elapsed time per iteration (ms): 512.5"
        " | throughput per GPU (TFLOP/s/GPU): 98.1 | learning rate: 1.5E-05 | global batch size:    32 | lm loss: 9.25E+00"
        " | loss scale: 1.0 | grad norm: 2.125 | number of skipped iterations:   0 | number of nan iterations:   0 |",
        {"loss": 9.25, "step": 12, "total_steps": 900, "step_time_s": 0.5125, "grad_norm": 2.125, "skipped": False},
    ),
    (
        "megatron",
        " iteration        1/     900 | consumed samples:  32 | elapsed time per iteration (ms): 9000.0 | learning rate:"
        " 0.000E+00 | global batch size:    32 | loss scale: 4294967296.0 | number of skipped iterations:   1 |",
        {"loss": None, "skipped": True, "learning_rate": 0.0},
    ),
    (
        "megatron",
        " samples/sec: 121.5 | iteration      100/  320000 | elapsed time per iteration (ms): 8458.0 | learning rate: 6.0E-05"
        " | approx flops per GPU: 123.1TFLOPS | lm_loss: 7.5E+00 | loss scale: 32768.0 |",
        {"loss": 7.5, "step": 100, "samples_per_s": 121.5, "loss_name": "lm_loss"},
    ),
    (
        "megatron",
        "[20260102 03:04:05][rank-7/8][INFO ] [--trainer.py:2560] : iteration 126/ 5000 | consumed samples: 16128 | elapsed"
        " time per iteration (ms): 13372.5/13364.7 | learning rate: 1.0E-05 | global batch size: 128 | lm loss: 8.5E+00 |",
        {"loss": 8.5, "step": 126, "step_time_s": 13.3725},
    ),
    (
        "megatron",
        " iteration      100/  500 | elapsed time per iteration (ms): 99.5 | learning rate 1.500E-04 | lm loss 6.5E+00 | loss scale 1.0 |",
        {"loss": 6.5, "learning_rate": 1.5e-4},
    ),
    ("megatron", " iteration 7/ 9 | elapsed time per iteration (ms): 9.5 | lm loss: NAN | grad norm: INF |", {"loss": NAN}),
    (
        "megatron",
        " validation loss at iteration 500 | lm loss value: 2.5E+00 | lm loss PPL: 1.2E+01 | ",
        {"loss": 2.5, "step": 500, "split": "eval"},
    ),
    (
        "nemo",
        "Epoch 0:   3%|▎  | 341/11000 [5:28:58<171:22:21,  1.73it/s, loss=2.5, v_num=, reduced_train_loss=2.510, global_step=3.1e+2]",
        {"loss": 2.5, "step": 341, "epoch": 0.0, "total_steps": 11000},
    ),
    (
        "caffe",
        "I0301 10:01:00.280272  4259 solver.cpp:218] Iteration 100 (4 iter/s, 25s/100 iters), loss = 0.5",
        {"loss": 0.5, "step": 100, "step_time_s": 0.25},
    ),
    ("caffe", "I0301 10:01:00.280272  4259 solver.cpp:228] Iteration 100, loss = 0.5", {"loss": 0.5, "step": 100}),
    (
        "dit",  # bracketed_step
        "[2026-03-01 10:01:00] (step=0000100) Train Loss: 0.125, Train Steps/Sec: 4.00",
        {"loss": 0.125, "loss_name": "loss", "step": 100, "step_time_s": 0.25},
    ),
    (
        "dit",
        "(step=0000060) Train Loss mse: 0.125, Train Loss ce: 0.5, Train Steps/Sec: 0.03,",
        {"loss": 0.125, "loss_name": "mse", "step": 60, "step_time_s": None, "metrics": '{"ce": 0.5}'},
    ),
    (
        "nemo",
        "Epoch 0:   3%|▎  | 342/11000 [1:28:58<17:22:21, 14.05s/it, loss=nan, v_num=, val_loss_step=9.5, reduced_train_loss=4.250, global_step=341.0]",
        {"loss": 4.25, "loss_name": "reduced_train_loss", "step": 342},
    ),
    (
        "nemo",
        "Training epoch 1, iteration 4/9 | lr: 1.5e-05 | global_batch_size: 8 | global_step: 14 | reduced_train_loss: 8.5",
        {"loss": 8.5, "step": 14, "learning_rate": 1.5e-05, "epoch": 1.0},
    ),
    (
        "lightning",
        "Epoch 3: 100%|██████████| 938/938 [00:10<00:00, 88.2it/s, v_num=0, train_loss=0.125, val_loss=0.5]",
        {"loss": 0.125, "step": 938, "epoch": 3.0},
    ),
    (
        "tqdm",
        "Steps:  62%|██████▎   | 1862/3000 [27:56<17:04,  1.11it/s, step_loss=0.0625, lr=0.0005]",
        {"step": 1862, "total_steps": 3000, "loss": 0.0625, "learning_rate": 0.0005},
    ),
    (
        "tqdm",
        "Epoch 4/9: 100%|██████████| 98/98 [00:20<00:00,  4.86it/s, loss_train=0.125, loss_val=0.5]",
        {"step": 98, "epoch": 4.0, "loss": 0.125, "loss_name": "loss_train"},
    ),
    (
        "lightning",
        "Epoch 4: 100%|██████████| 98/98 [00:20<00:00,  4.86it/s, v_num=0, loss/val=0.5, loss/aux=0.25, loss/train_step=0.125]",
        {"step": 98, "loss": 0.125, "loss_name": "loss/train_step"},
    ),
    ("lightning", "Epoch 7:  20% 25/124 [00:05<00:20,  1.41s/it, v_num=0x8c, train/loss_step=9.5e-9]", {"loss": 9.5e-9, "step": 25}),
    (
        "lightning",
        "Epoch 2/9  ━━━━━━━━━━━━━━━━━━━━ 90/938 0:00:10 • 0:00:20 88.20it/s v_num: 0.000 train_loss: 0.75",
        {"loss": 0.75, "step": 90, "epoch": 2.0},
    ),
    (
        "deepspeed",
        "[2026-01-02 01:46:59,142] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=6, lr=[9.5e-06, 9.5e-06], mom=[(0.9, 0.95)]",
        {"step": 10, "learning_rate": 9.5e-06, "loss": None},
    ),
    ("deepspeed", "steps: 100 loss: 6.5312 iter time (s): 0.25 samples/sec: 127.5", {"loss": 6.5312, "step": 100, "step_time_s": 0.25}),
    ("deepspeed", "epoch: 0|step: 15|ppo_ep: 1|act_loss: -0.25|cri_loss: 0.125|unsuper_loss: 0.0", {"loss": -0.25, "step": 15}),
    ("keras", "118/118 [==============================] - 1s 10ms/step - loss: 0.5 - accuracy: 0.98 - val_loss: 0.75", {"loss": 0.5}),
    ("keras", "30/30 ━━━━━━━━━━━━━━━━━━━━ 2s 44ms/step - accuracy: 0.5 - loss: nan - learning_rate: 0.0010", {"loss": NAN, "learning_rate": 0.001}),
    ("keras", "33/33 - 3s - 8ms/step - accuracy: 0.9267 - loss: 0.25", {"loss": 0.25, "step_time_s": 0.008}),
    ("keras", "60000/60000 [==============================] - 5s 85us/sample - loss: 0.25 - acc: 0.9", {"loss": 0.25}),
    ("nanogpt", "iter 182: loss 2.5, time 168.5ms, mfu 1.80%", {"loss": 2.5, "step": 182, "step_time_s": 0.1685}),
    ("modded-nanogpt", "step:560/2000 train_loss:2.125 train_time:310878ms step_avg:55.5ms", {"loss": 2.125, "total_steps": 2000, "step_time_s": None, "metrics": '{"elapsed_s": 310.878, "step_avg_s": 0.0555}'}),
    ("modded-nanogpt", "step:560/2000 train_time:310878ms step_avg:nanms", {"loss": None, "step": 560, "metrics": '{"elapsed_s": 310.878}'}),
    ("nanochat", "step 00100 (0.00%) | loss: 2.75 | lrm: 1.00 | dt: 5.00ms | tok/sec: 25,618 | epoch: 1", {"loss": 2.75, "tokens_per_s": 25618.0, "learning_rate": None}),
    ("custom-pipe", "step   540 | loss 14.25 | lr 1.5e-04 | grad 0.75 | 37.5k tok/s", {"loss": 14.25, "grad_norm": 0.75, "tokens_per_s": 37500.0}),
    ("custom-pipe", "2026-03-01 10:00:26 | INFO | step 40/500 | loss 2.5 | grad_norm 0.75 | lr 1.5e-04", {"split": "train", "step": 40, "total_steps": 500, "loss": 2.5}),
    ("custom-pipe", "Step 40/500 | Loss: 2.5 | LR: 1.5e-04 | Grad Norm 0.75", {"step": 40, "loss": 2.5, "learning_rate": 1.5e-4, "grad_norm": 0.75}),
    ("plain-loop", "Epoch 3 | Step 40/500 | Loss: 2.5 | LR: 1.5e-04 | Grad Norm 0.75", {"epoch": 3.0, "step": 40, "loss": 2.5}),
    ("custom-pipe", "2026-03-01 10:00:26 | INFO | valid | step 40 | loss 2.5", {"split": "eval", "step": 40, "loss": 2.5}),
    (
        "torchtitan",
        "2026-03-04 00:44:44,441 - root - INFO - step: 19  loss:  3.5  grad_norm:  1.25  memory: 68.57GiB(86.69%)  tps: 6,785  mfu: 39.73%",
        {"loss": 3.5, "step": 19, "grad_norm": 1.25},
    ),
    ("torchtune", "1|111|Loss: 1.5: 7%|█ | 114/1618", {"loss": 1.5, "step": 111, "epoch": 1.0}),
    ("fairseq", "2026-06-13 19:19:41 | INFO | train_inner | epoch 186:    168 / 282 loss=3.5, wps=132341, num_updates=523, lr=0.5, gnorm=0.25", {"loss": 3.5, "step": 523, "grad_norm": 0.25}),
    ("nanotron", "iteration: 91 / 100 | tokens_per_sec: 11.5K | grad_norm: 1.5M | lr: 3.5e-05 | lm_loss: 9.25", {"loss": 9.25, "grad_norm": 1.5e6, "tokens_per_s": 11500.0}),
    ("timm", "Train: 2 [   5/33 ( 15%)]  Loss: 8.5 (8.86)  Time: 1.5s,    9.5/s  (1.663s,    9.62/s)  LR: 5.000e-04  Data: 0.460 (0.460)", {"loss": 8.5, "epoch": 2.0, "step": 5, "learning_rate": 5e-4}),
    ("mmengine", "03/25 10:00:00 - mmengine - INFO - Epoch(train)  [1][ 50/313]  lr: 1.5e-02  eta: 0:10:00  time: 0.25  loss: 2.5", {"loss": 2.5, "step": 50, "learning_rate": 0.015}),
    ("verl", "step:12 - actor/pg_loss:np.float64(0.25) - actor/grad_norm:0.5 - actor/lr:1e-06", {"loss": 0.25, "grad_norm": 0.5, "step": 12}),
    ("openpi", "Step 4200: grad_norm=0.25, loss=0.5, param_norm=1380.0", {"loss": 0.5, "step": 4200}),
]  # fmt: skip

NOT_PROGRESS = [
    "{'train_runtime': 16.5, 'train_samples_per_second': 1.3, 'train_steps_per_second': 0.1, 'train_loss': 1.9, 'epoch': 1.0}",
    "{'loss': 'cross_entropy', 'learning_rate': 5e-05, 'epoch': 3}",
    "{'loss': 0.5}",
    "config = {'loss': None, 'epoch': 10, 'learning_rate': 0.1}",
    'print(f"iter {it}: loss {loss:.4f}, time {dt:.2f}ms")',
    '    f"{step}/{h.iterations} train_loss: {train_loss.item():.4f} train_time: {t/60000:.1f}m"',
    "[2026-10-28 20:50:31,653] [INFO] [loss_scaler.py:191:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step.",
    "wandb:          train/loss 1.4358",
    "GPU:0 | Epoch: 0 | Batchsize: 32 | Steps: 32",
    "|    value_loss           | 3.94        |",
    "| step 40 | Loss | 2.5 |",
    "2026-03-01 10:00:26 | INFO | step 40/500 | saving",
    "[Rank 0] (after 1 iterations) memory (MB) | allocated: 10770.3 | max allocated: 15754.8",
    "    load-checkpoint ................................: (1267.00, 1267.01)",
    " > using checkpoint value 0.00015 for learning rate",
    "Epoch 0:   0%|          | 0/938 [00:00<?, ?it/s]",
    "Epoch 4: 100%|██████████| 98/98 [00:20<00:00,  4.86it/s, v_num=0, loss/val=0.5, acc/val=91.5]",
    "Epoch 4: 100%|██████████| 98/98 [00:20<00:00,  4.86it/s, v_num=0, avg_val_loss=0.5, loss_test=0.25]",
    "Validation DataLoader 0:  50%|█████     | 5/10 [00:00<00:00, 80.1it/s, v_num=0, loss=0.5]",
    "313/313 [==============================] - 0s 1ms/step",
    "Epoch 1/10",
    "Validation steps:  62%|██████▎   | 62/100 [00:56<00:34,  1.11it/s, loss=0.0625]",
    "Denoising steps:  62%|██████▎   | 31/50 [00:06<00:04,  5.11it/s, loss=0.0625]",
    "Loading checkpoint shards: 100%|██████████| 2/2 [00:05<00:00,  2.50s/it]",
    "warmup_step:1/20 train_time:5ms",
    "The training loss: 0.5 is what we want at step 10",
    "INFO | total_loss: weight=0.5",
    "step: 10",
    "iteration 2/20",
    "Saved at iteration     20",
    '{"loss": 0.5}',
    "validate step: 5728",
    "(step=0000100) Train Loss: not yet, Train Steps/Sec: 4.00",
]  # fmt: skip


def steps(text: str) -> list[TrainStep]:
    return [row for kind in parser_types() for row in parse_text(kind(), text) if isinstance(row, TrainStep)]


@pytest.mark.parametrize(("framework", "line", "fields"), LINES)
def test_a_progress_line_gives_one_step_with_its_exact_numbers(
    framework: str, line: str, fields: dict[str, Any]
) -> None:
    rows = steps(line)
    assert [r.framework for r in rows] == [framework]
    for name, value in fields.items():
        got = getattr(rows[0], name)
        assert got == value or (isinstance(value, float) and math.isnan(value) and math.isnan(got)), name


@pytest.mark.parametrize("line", NOT_PROGRESS)
def test_what_merely_resembles_progress_gives_no_step(line: str) -> None:
    assert steps(line) == []


def test_the_count_of_nan_iterations_is_a_count() -> None:
    """`nan` in a field's name is no value."""
    text = (
        " iteration      100/  500000 | consumed samples:  25600 | elapsed time per iteration (ms): 812.4 | "
        "learning rate: 3.0E-05 | lm loss: 6.5E+00 | grad norm: 1.21 | number of nan iterations:   0 |"
    )
    (row,) = parse_text(Megatron(), text)
    assert isinstance(row, TrainStep)
    assert json.loads(row.metrics or "{}") == {"consumed samples": 25600.0, "number of nan iterations": 0.0}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Step 400/9000 | Epoch 2/45 | loss: 0.5", ("train", 400, 2.0, 45.0, 0.5)),
        ("iter 5/10 | Epoch [2/3] | loss: 1.25", ("train", 5, 2.0, 3.0, 1.25)),
        ("step 10 | epoch: 1 | loss: 2.5", ("train", 10, 1.0, None, 2.5)),
    ],
)
def test_a_line_of_bars_with_an_epoch_in_it_is_one_row(text: str, want: tuple[object, ...]) -> None:
    rows = [r for kind in (NanoGpt, EpochLines) for r in kind().feed(Line(text, 1, "a")) if isinstance(r, TrainStep)]
    assert [(r.split, r.step, r.epoch, r.total_epochs, r.loss) for r in rows] == [want]


@pytest.mark.parametrize(
    ("tail", "took", "metrics"),
    [
        ("iter_time: 2.500s, data_time: 2.100s, lr: 1e-3", 2.5, {"batches": 900, "data_time": 2.1}),
        ("batch time: 2.5, lr: 1e-3", 2.5, {"batches": 900}),
        ("data_time: 2.100s, lr: 1e-3", None, {"batches": 900}),
        ("uptime: 2.5, lr: 1e-3", None, {"batches": 900}),
    ],
)
def test_a_line_of_an_epoch_tells_how_long_its_step_took_and_waited(
    tail: str, took: float | None, metrics: dict[str, float]
) -> None:
    (row,) = parse_text(EpochLines(), f"epoch: 3/40, iter: 120/900, total_loss: 1.5, {tail}")
    assert isinstance(row, TrainStep)
    assert (row.step, row.step_time_s, json.loads(row.metrics or "{}")) == (120, took, metrics)
