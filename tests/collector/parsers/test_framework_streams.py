"""What several lines of one framework say together."""

from __future__ import annotations

import json

import pytest

from collector.parsers.base import parse_text
from collector.parsers.hf_plan import HfPlan
from collector.parsers.hf_trainer import HfTrainer
from collector.parsers.keras import Keras
from collector.parsers.lightning import Lightning
from collector.parsers.llama_factory import LlamaFactory
from collector.parsers.megatron import Megatron
from collector.parsers.nanogpt import NanoGpt
from collector.parsers.olmo import Olmo
from collector.parsers.tqdm_bar import TqdmBar
from store.rows import LogEvent, TrainStep


def test_a_dictionary_over_several_lines_is_one_step() -> None:
    rows = parse_text(
        HfTrainer(), "{'loss': '0.5', 'grad_norm': '0.25',\n 'mean_token_accuracy': '0.75', 'epoch': '3.5'}\n"
    )
    assert [(r.loss, r.epoch, r.framework) for r in rows if isinstance(r, TrainStep)] == [(0.5, 3.5, "trl")]


def test_a_dictionary_that_never_ends_gives_nothing() -> None:
    assert parse_text(HfTrainer(), "{'loss': '0.5', 'grad_norm': '0.2\nTraceback (most recent call last):\n") == []


def test_the_summary_of_a_run_is_its_end_and_no_step() -> None:
    (row,) = parse_text(HfTrainer(), "{'train_runtime': 16.5, 'train_loss': 1.5, 'epoch': 1.0}")
    assert isinstance(row, LogEvent)
    assert (row.kind, row.elapsed_ms, json.loads(row.detail or "")["train_loss"]) == ("train_end", 16500.0, 1.5)


def test_a_banner_names_what_is_built_on_the_trainer() -> None:
    text = "==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1\n{'loss': 0.5, 'epoch': 0.1}"
    assert [r.framework for r in parse_text(HfTrainer(), text)] == ["unsloth"]


def test_the_plan_says_how_many_steps_were_meant() -> None:
    text = (
        "[INFO|trainer.py:2134] 2026-07-17 00:18:20,620 >> ***** Running training *****\n"
        "[INFO|trainer.py:2135] 2026-07-17 00:18:20,620 >>   Num examples = 1,024\n"
        "[INFO|trainer.py:2136] 2026-07-17 00:18:20,620 >>   Num Epochs = 3\n"
        "[INFO|trainer.py:2137] 2026-07-17 00:18:20,620 >>   Total optimization steps = 97\n"
    )
    (row,) = parse_text(HfPlan(), text)
    assert isinstance(row, LogEvent)
    assert (row.kind, row.total_steps, row.total_epochs, row.line_no, row.line_end) == ("train_plan", 97, 3.0, 1, 4)
    assert json.loads(row.detail or "")["Num examples"] == 1024.0


def test_unsloths_banner_is_a_plan() -> None:
    (row,) = parse_text(HfPlan(), "   \\\\   /|    Num examples = 1,000 | Num Epochs = 1 | Total steps = 60\n")
    assert isinstance(row, LogEvent)
    assert (row.framework, row.total_steps) == ("unsloth", 60)


def test_a_bar_of_the_planned_length_is_progress_and_any_other_only_a_hint() -> None:
    bars = "  3%|▎  | 12/406 [00:10<05:12,  1.26it/s]\n 100%|███| 406/406 [05:10<00:00,  1.30it/s]\n"
    rows = parse_text(TqdmBar(), "  Total optimization steps = 406\n" + bars)
    assert [(r.step, r.loss) for r in rows if isinstance(r, TrainStep)] == [(12, None), (406, None)]
    (row,) = parse_text(TqdmBar(), bars)
    assert isinstance(row, LogEvent)
    assert (row.kind, row.step, row.total_steps) == ("train_plan", 406, 406)


def test_keras_epochs_are_taken_from_the_line_before_and_a_second_bar_is_evaluation() -> None:
    text = (
        "Epoch 1/2\n10/10 [====] - 1s 10ms/step - loss: 0.5\nEpoch 2/2\n10/10 [====] - 1s 10ms/step - loss: 0.25\n"
        "5/5 [====] - 0s 5ms/step - loss: 0.75\n"
    )
    rows = [r for r in parse_text(Keras(), text) if isinstance(r, TrainStep)]
    assert [(r.epoch, r.loss, r.split) for r in rows] == [
        (1.0, 0.5, "train"),
        (2.0, 0.25, "train"),
        (2.0, 0.75, "eval"),
    ]


def test_a_keras_run_that_stopped_inside_an_epoch_shows_how_far_it_came() -> None:
    text = "Epoch 1/2\n 3/10 [==>...] - ETA: 3s - loss: 0.75\n 4/10 [===>..] - ETA: 2s - loss: 0.5\n"
    rows = [r for r in parse_text(Keras(), text) if isinstance(r, TrainStep)]
    assert [(r.loss, json.loads(r.metrics or "")["batch"]) for r in rows] == [(0.5, 4)]


@pytest.mark.parametrize("lead", [" - 15s", "15s", " - 15s 40ms/step"])
def test_a_keras_line_without_counts_is_the_epochs_report_of_its_heading(lead: str) -> None:
    text = f"Epoch 2/9\n{lead} - loss: 0.75 - acc: 0.5 - val_loss: nan\nEpoch 3/9\n{lead} - loss: 0.5 - acc: 0.625\n"
    rows = [r for r in parse_text(Keras(), text) if isinstance(r, TrainStep)]
    assert [(r.epoch, r.total_epochs, r.loss) for r in rows] == [(2.0, 9.0, 0.75), (3.0, 9.0, 0.5)]
    assert json.loads(rows[0].metrics or "") == {"acc": 0.5, "val_loss": "nan"}
    assert parse_text(Keras(), f"{lead} - loss: 0.75 - acc: 0.5\n") == []


def test_epoch_lines_of_a_plain_loop_are_not_keras() -> None:
    assert parse_text(Keras(), "Epoch 1/2\ntrained for 3s - loss: 0.5\nEpoch 2/2\n") == []


def test_a_bar_that_is_redrawn_is_one_step() -> None:
    bar = "Epoch 0:  50%|█ | 2/4 [00:00<00:00, 25.43it/s, loss=nan, v_num=49]\n"
    assert len(parse_text(Lightning(), bar * 3)) == 1


@pytest.mark.parametrize(
    ("words", "epoch", "epochs"),
    [
        ("Epoch 2/30 [Train]: ", 2.0, 30.0),
        ("Epoch: 2 - Training: ", 2.0, None),
        ("Época 2/30: ", 2.0, 30.0),
        ("第2轮训练: ", 2.0, None),
        ("Эпоха 2/30: ", 2.0, 30.0),
    ],
)
def test_the_words_of_a_loops_own_bar_name_its_epoch(words: str, epoch: float, epochs: float | None) -> None:
    bar = f"{words} 49%|████▉     | 25/51 [00:26<00:24,  1.05it/s, loss=0.74]batch of 6\n"
    (row,) = parse_text(Lightning(), bar)
    assert isinstance(row, TrainStep)
    assert (row.epoch, row.total_epochs, row.step, row.loss) == (epoch, epochs, 25, 0.74)


@pytest.mark.parametrize("words", ["Epoch 2/30 [Val]: ", "Epoch 2 Valid: ", "第2轮验证: ", "Época 2/30 (prueba): ", ""])
def test_a_bar_of_something_else_is_no_step(words: str) -> None:
    assert not parse_text(Lightning(), f"{words} 49%|████▉     | 25/51 [00:26<00:24,  1.05it/s, loss=0.74]\n")


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("Training: ", (None, None)),
        ("[rank 0] Fine-tuning", (None, None)),
        ("09:10:11 INFO train 2/30: ", (2.0, 30.0)),
        ("(epoch 2) ", (2.0, None)),
    ],
)
def test_a_bar_that_is_described_as_training_is_progress_each_time_that_its_loss_is_another(
    words: str, place: tuple[float | None, float | None]
) -> None:
    bars = [f"{words} 100%|██████████| 51/51 [00:26<00:00,  1.05it/s, Loss={x}, acc: 0.5]" for x in (0.75, 0.5)]
    rows = parse_text(Lightning(), "\n".join([*bars, bars[-1]]))
    assert [(r.epoch, r.total_epochs, r.step) for r in rows if isinstance(r, TrainStep)][:1] == [(*place, 51)]
    assert len(rows) == (2 if place[0] is None else 1)


def test_a_bar_whose_postfix_names_the_epoch_is_of_that_epoch() -> None:
    bar = " 49%|████▉     | 25/51 [00:26<00:24,  1.05it/s, epoch={}, avg_epoch_loss=0.75]\n"
    rows = parse_text(Lightning(), bar.format("1/10") + bar.format("2/10") + bar.format("2/10"))
    assert [(r.epoch, r.total_epochs, r.loss) for r in rows if isinstance(r, TrainStep)] == [
        (1.0, 10.0, 0.75),
        (2.0, 10.0, 0.75),
    ]


@pytest.mark.parametrize("words", ["Evaluating the training set: ", "train/val: ", "Generating: ", "trained weights: "])
def test_a_bar_that_is_described_otherwise_is_none(words: str) -> None:
    assert not parse_text(Lightning(), f"{words} 49%|████▉     | 25/51 [00:26<00:24,  1.05it/s, loss=0.74]\n")


def test_lightning_says_why_it_stopped() -> None:
    (row,) = parse_text(Lightning(), "`Trainer.fit` stopped: No training batches.")
    assert (row.kind, row.name, row.step) == ("train_end", "no_training_batches", 0)
    (row,) = parse_text(Lightning(), "`Trainer.fit` stopped: `max_epochs=10` reached.")
    assert isinstance(row, LogEvent)
    assert (row.kind, row.name, row.total_epochs) == ("train_end", "max_epochs", 10.0)


def test_megatrons_arguments_are_the_plan() -> None:
    (row,) = parse_text(Megatron(), "  train_iters ..................................... 500000\n")
    assert isinstance(row, LogEvent)
    assert (row.kind, row.total_steps) == ("train_plan", 500000)


def test_nanogpts_evaluation_is_a_train_loss_and_a_validation_loss() -> None:
    rows = parse_text(NanoGpt(), "step 250: train loss 1.5, val loss 2.0")
    assert [(r.split, r.loss, r.step) for r in rows if isinstance(r, TrainStep)] == [
        ("train", 1.5, 250),
        ("eval", 2.0, 250),
    ]


def test_an_olmo_block_is_one_step() -> None:
    text = (
        "[2026-04-17 09:42:26] INFO     [olmo.train:816, rank=0] [step=1/739328]\n    train/CrossEntropyLoss=11.25\n"
        "    train/Perplexity=76,880\n    optim/total_grad_norm=9.5\n[2026-04-17 09:42:38] INFO [olmo.train:816] done\n"
    )
    rows = parse_text(Olmo(), text)
    assert [(r.step, r.total_steps, r.loss, r.grad_norm) for r in rows if isinstance(r, TrainStep)] == [
        (1, 739328, 11.25, 9.5)
    ]


def test_a_row_of_llama_factorys_log_without_a_loss_is_progress_all_the_same() -> None:
    rows = parse_text(
        LlamaFactory(), '{"current_steps": 5, "total_steps": 250, "percentage": 2.0, "elapsed_time": "0:00:19"}'
    )
    assert [(r.step, r.total_steps, r.loss) for r in rows if isinstance(r, TrainStep)] == [(5, 250, None)]


def test_a_cut_row_of_llama_factorys_log_is_left_alone() -> None:
    assert parse_text(LlamaFactory(), '{"current_steps": 5, "total_steps": 250, "loss": 1.') == []


def test_fields_that_change_between_iterations_are_read_anew() -> None:
    head = " iteration {:8d}/     900 | elapsed time per iteration (ms): 512.5 | learning rate: 1.5E-05 |"
    text = "\n".join(
        [
            head.format(1) + " lm loss: 9.5E+00 | grad norm: 2.0 |",
            head.format(2) + " lm loss: 8.5E+00 | grad norm: 3.0 |",
            head.format(3) + " loss scale: 1.0 | grad norm: 4.0 |",
            head.format(4) + " lm loss: nan | grad norm: 5.0 |",
        ]
    )
    rows = [r for r in parse_text(Megatron(), text) if isinstance(r, TrainStep)]
    assert [(r.step, r.grad_norm) for r in rows] == [(1, 2.0), (2, 3.0), (3, 4.0), (4, 5.0)]
    assert [str(r.loss) for r in rows] == ["9.5", "8.5", "None", "nan"]
