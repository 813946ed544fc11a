"""Loops of their own making are known by repetition, and by nothing less."""

from __future__ import annotations

import math

import pytest

from collector.parsers.base import parse_text
from collector.parsers.epoch_lines import EpochLines
from collector.parsers.steady_lines import SteadyLines
from store.rows import TrainStep


def steps(*lines: str) -> list[TrainStep]:
    return [r for r in parse_text(SteadyLines(), "\n".join(lines)) if isinstance(r, TrainStep)]


def test_the_third_line_of_one_wording_gives_all_three() -> None:
    lines = [f"[2026-01-01T00:0{n}:00] Step {n}00 stats, train: loss = {9 - n}.25" for n in range(1, 5)]
    assert steps(*lines[:2]) == []
    assert [(r.step, r.loss) for r in steps(*lines)] == [(100, 8.25), (200, 7.25), (300, 6.25), (400, 5.25)]


def test_epoch_and_batch_in_brackets_count_together() -> None:
    got = steps("[1,  2000] loss: 2.195", "[1,  4000] loss: 1.853", "[2,  2000] loss: nan", "[2,  4000] loss: nan")
    assert [(r.epoch, r.step) for r in got] == [(1, 2000), (1, 4000), (2, 2000), (2, 4000)]
    assert got[0].loss == 2.195 and math.isnan(got[-1].loss or 0.0)


def test_a_long_line_of_many_figures_is_read_by_its_loss_per_token() -> None:
    rest = " | ".join(f"num_of_{word}_since_last_report: {n}.5E+08" for n, word in enumerate("abcdefghijkl"))
    got = steps(
        *(
            f"iteration: {n}00/ 90000   0% | elapsed time: 0{n}:41:19 | per_token_loss: {4 - n}.25 | lr: 1.5E-05 | {rest}"
            for n in (1, 2, 3)
        )
    )
    assert [(r.step, r.total_steps, r.loss, r.learning_rate) for r in got][::2] == [
        (100, 90000, 3.25, 1.5e-05),
        (300, 90000, 1.25, 1.5e-05),
    ]


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("09:1{n}:00 INFO Step {n}0 | Time: 41.5s | Reward: 0.{n}125 | Throughput: 8100.5 tokens/s", (30, None)),
        ("global_step={n}00, episodic_return=[{n}.5]", (300, None)),
        ("update {n}0/900 mean return: -{n}.5 fps 800", (30, 900)),
        ("Episode {n}/500, Reward: {n}.5, Epsilon: 0.9{n}", (3, 500)),
        ("Ep {n}	Last reward: {n}.00	Average reward: {n}.50", (3, None)),
        ("Episode {n}00	Average Score: 0.{n}5", (300, None)),
        ("episode: {n} | total reward: {n}.5 | steps: 200", (3, None)),
    ],
)
def test_what_an_agent_was_rewarded_with_beside_a_count_that_grows_is_progress(
    line: str, want: tuple[int, int | None]
) -> None:
    got = steps(*(line.replace("{n}", str(n)) for n in (1, 2, 3)))
    assert [r.split for r in got] == ["train"] * 3
    assert (got[-1].step, got[-1].total_steps, got[-1].loss) == (*want, None)


@pytest.mark.parametrize(
    "line",
    [
        "Evaluation episode {n}: reward: {n}.5",
        "Test step {n}0 reward: 2.{n}",
        "reward: {n}.5 and no count",
        "Episode {n} of the podcast was loaded",
        "step {n} returns: list of {n} items",
        "Loaded the reward model at step {n}00, reward: 0.{n}",
    ],
)
def test_a_reward_without_a_count_or_of_an_evaluation_is_no_progress(line: str) -> None:
    assert steps(*(line.replace("{n}", str(n)) for n in (1, 2, 3))) == []


def test_an_episode_with_a_loss_is_read_with_it() -> None:
    got = steps(*(f"episode: {n} | total reward: {n}.5 | steps: 200 | avg loss: 0.{9 - n}" for n in (1, 2, 3)))
    assert [(r.step, r.loss) for r in got] == [(1, 0.8), (2, 0.7), (3, 0.6)]


def test_values_of_groups_and_a_count_of_tokens_do_not_make_it_another_parsers_line() -> None:
    got = steps(
        *(
            f"tflops=63.5 step={n} loss=2.{9 - n} lr=4e-07 grad_norm={{'0_default': 1.5}} num_consumed_tokens={n}072"
            for n in (1, 2, 3)
        )
    )
    assert [(r.step, r.loss, r.learning_rate) for r in got] == [(1, 2.8, 4e-07), (2, 2.7, 4e-07), (3, 2.6, 4e-07)]
    megatron = [f"iteration {n} | consumed samples: {n}00 | lm loss: 2.{n}" for n in (1, 2, 3)]
    assert steps(*megatron) == []


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("Sample {n}00, reward -1.5, pi loss 0.2{n}", (300, None)),
        ("samples: {n}00/9000 | actor_loss: 0.2{n} | critic_loss: 1.5", (300, 9000)),
        ("Frames {n}00 Episode 4 | policy loss: -0.2{n}, v loss: 1.5, entropy 0.5", (300, None)),
        ("Timesteps={n}00, mean reward 2.5, loss_pi=-0.2{n}", (300, None)),
        ("iteration {n}00: pg loss 0.2{n}, v loss 1.5", (300, None)),
    ],
)
def test_an_agent_that_learns_counts_its_samples_beside_the_loss_of_its_policy(
    line: str, want: tuple[int, int | None]
) -> None:
    got = steps(*(line.replace("{n}", str(n)) for n in (1, 2, 3)))
    assert [r.split for r in got] == ["train"] * 3
    assert (got[-1].step, got[-1].total_steps, got[-1].loss) == (*want, None)


def test_losses_of_parts_beside_a_step_and_a_learning_rate_are_progress_without_a_loss() -> None:
    line = "iter {n}00:, soft_loss_metric=0.5, firm_loss_metric=0.2{n}, mean_dist=1.5"
    got = steps(*(line.replace("{n}", str(n)) + ", lr=0.001" for n in (1, 2, 3)))
    assert [(r.step, r.loss, r.learning_rate) for r in got] == [(n, None, 0.001) for n in (100, 200, 300)]
    assert steps(*(line.replace("{n}", str(n)) for n in (1, 2, 3))) == []


@pytest.mark.parametrize(
    "line", ["Sample {n}00, reward -1.5", "Frames {n}00: loss of 3 packets", "sample {n}00 from a policy: loss"]
)
def test_a_count_of_samples_without_the_loss_of_a_policy_is_no_training(line: str) -> None:
    assert steps(*(line.replace("{n}", str(n)) for n in (1, 2, 3))) == []


def test_held_out_losses_are_told_from_training() -> None:
    got = steps(*(f"step {n}: val loss 2.{n}" for n in range(1, 4)))
    assert [r.split for r in got] == ["eval"] * 3


def test_an_epoch_that_was_evaluated_is_held_out() -> None:
    got = parse_text(EpochLines(), "Epoch 3 trained with loss: 0.5.\nEpoch 3 evaluated with loss: 0.75, score: 0.25.")
    assert [(r.split, r.loss) for r in got if isinstance(r, TrainStep)] == [("train", 0.5), ("eval", 0.75)]


def test_a_loss_after_a_time_in_seconds_is_the_whole_loss() -> None:
    got = steps(*(f"[INFO] Epoch {n}, Time {n}.4s, Loss 0.{n}, LR 0.25" for n in range(1, 4)))
    assert [(r.epoch, r.loss, r.learning_rate) for r in got] == [(1, 0.1, 0.25), (2, 0.2, 0.25), (3, 0.3, 0.25)]


def test_an_epoch_may_be_told_again_and_again_until_the_next_one_shows_that_it_is_a_loop() -> None:
    lines = [f"epoch:  {epoch} loss:  {0.9 - epoch / 4 - part / 100:.2f}" for epoch in range(3) for part in range(4)]
    assert steps(*lines[:4]) == []
    got = steps(*lines)
    assert [(r.epoch, r.loss) for r in got[:5]] == [(0, 0.9), (0, 0.89), (0, 0.88), (0, 0.87), (1, 0.65)]
    assert len(got) == 12
    assert [r.epoch for r in steps(*lines[4:6], *lines[:2], lines[4], lines[8])] == [0, 0, 1, 2], "it began anew"


def test_many_losses_of_one_epoch_are_a_loop_and_one_loss_many_times_is_none() -> None:
    assert len(steps(*(f"epoch 0 loss {2 - n / 200}" for n in range(120)))) == 120
    assert not steps(*(f"epoch 0 loss {2 - n / 200}" for n in range(90)))
    assert not steps(*["epoch 0 loss 2.5"] * 300)


def test_what_merely_resembles_progress_is_left_alone() -> None:
    assert not steps("step 1 loss 0.5", "round 2: the loss 0.4 was seen", "epoch 3 box_loss 0.3"), "three wordings"
    assert not steps(*(f"step {n}: discriminator loss 0.{n}" for n in range(1, 6))), "the loss of a part"
    assert not steps(*["step 5: loss 0.5"] * 6), "the count does not grow"
    assert not steps(*(f"iter {n}: loss 2.9, time 250.1ms, mfu 12.0%" for n in range(1, 6))), "another parser's"
    assert not steps(*(f"Epoch [{n}/9], Step [10/60], Loss: 0.3{n}" for n in range(1, 6))), "another parser's"


@pytest.mark.parametrize(
    ("worded", "want"),
    [
        ("[Step {n}/9000] Loss: 0.5 | LR: 1.00e-03 | Time: 12.5s", {"total_steps": 9000, "loss": 0.5, "learning_rate": 0.001}),
        ("[3/50][{n}/448] loss: 0.5 lr: 0.001", {"epoch": 3, "total_epochs": 50, "total_steps": None, "metrics": '{"batches": 448}'}),
        ("Train: [3/50][{n}/448]\teta 0:12:31 lr 0.001\tloss 0.5 (0.75)\tgrad_norm 1.5 (1.25)", {"epoch": 3, "grad_norm": 1.5}),
        ("Epoch:[3/50]({n}/448) loss:0.5 lr:0.001 epoch_Time:31.0min:", {"epoch": 3, "loss": 0.5, "learning_rate": 0.001}),
        ("{n}/9000 (epoch 3.25), train_loss = 0.5, time/batch = 0.125", {"epoch": 3.25, "total_steps": 9000, "loss": 0.5}),
        ("{n} | loss 0.5 | lr 1.000000e-03 | 231.40ms | mfu 41.25%", {"loss": 0.5, "learning_rate": 0.001}),
        ("It: {n}, Loss: 5.000e-01, Loss_res: 2.5e-02,  Loss_bcs: 3.5e-02", {"loss": 0.5}),
        ("[2026-01-02 10:00:00] Elapsed, Iter [{n} / 9000], G_loss: 0.25, D_loss: 0.75", {"total_steps": 9000, "loss": None}),
        ("(epoch: 3, iters: {n}, time: 0.125, data: 0.5) G_GAN: 0.25 D_real: 0.5", {"epoch": 3, "loss": None}),
        ("[epoch:   3/ 50, iter:   {n}/  448] total: 0.5, tar: 0.25", {"epoch": 3, "loss": 0.5}),
        ("Epoch:3/50 || Epochiter: {n}/448 || Loc: 0.5 Cla: 0.25 || LR: 0.001 || ETA: 1:02:03", {"loss": None, "learning_rate": 0.001}),
        ("Steps : {n}, Gen Loss Total : 0.5, Mel-Spec. Error : 0.25, s/b : 0.412", {"loss": None}),
        ("[ ({n} ) Loss: 0.5, train_Acc: 0.75, valid_Loss: 0.25]", {"loss": 0.5}),
        ("Step {n} @ 10:27 PM : 0.5 C.E. Loss, 94.25% Accuracy", {"loss": 0.5, "epoch": None}),
        ("Training loss (for one batch) at step {n}: 0.5", {"loss": 0.5, "epoch": None}),
        ("Loss after iteration {n}: 0.5", {"loss": 0.5}),
        ("iter {n}: mean loss over last 100 = 0.5", {"loss": 0.5}),
        ("batch_idx: {n}, train_loss: 0.5", {"loss": 0.5}),
        ("{n} steps done, avg loss = 0.5", {"loss": 0.5}),
        (">> it  {n} | loss 0.5 | t 1.2s", {"loss": 0.5}),
        ("{n} [D loss: 0.75, acc.: 52.34%] [G loss: 0.25]", {"loss": None, "epoch": None}),
        ("I0301 10:00:00.123456 4812 train.py:88] {n}: loss=0.5, steps_per_sec=3.25", {"loss": 0.5}),
        ("[{n}/9000 12%] running loss 0.5", {"loss": 0.5, "total_steps": 9000}),
        ("Cost after iteration {n}: 0.5", {"loss": 0.5}),
        ("At step {n} loss was 0.5", {"loss": 0.5}),
        ("step {n}/9000, recon loss = 0.5", {"loss": 0.5}),
        ("step {n}/9000, recon loss = 0.25, kl loss = 0.5", {"loss": None}),
        ("iter {n} | nll 0.5 | bpd 0.25 | lr 1e-3", {"loss": 0.5, "learning_rate": 0.001}),
        ("train.py:88 INFO ep 3 it {n} loss 0.5 gn 1.0 lr 1.00e-03", {"loss": 0.5, "epoch": 3, "learning_rate": 0.001}),
        ("INFO] {n} iteration, USE_EMA: True, train/sup_loss: 0.25, train/total_loss: 0.5, lr: 0.001", {"loss": 0.5}),
    ],
)  # fmt: skip
def test_counts_stand_in_brackets_between_bars_or_first(worded: str, want: dict[str, object]) -> None:
    got = steps(*(worded.format(n=n) for n in (100, 200, 300)))
    assert [(r.split, r.step) for r in got] == [("train", n) for n in (100, 200, 300)]
    assert {k: getattr(got[0], k) for k in want} == want


@pytest.mark.parametrize(
    "worded",
    [
        "[Evaluating] Iter {n}/448, loss: 0.5",
        "Epoch 3 Validation | {n}/448 | Loss 0.5",
        "Step {n}/448 | val_loss 0.5 | val_acc 0.25",
    ],
)
def test_an_evaluation_that_is_told_of_batch_by_batch_is_no_training(worded: str) -> None:
    assert {r.split for r in steps(*(worded.format(n=n) for n in (100, 200, 300)))} <= {"eval"}


@pytest.mark.parametrize(
    "worded",
    [
        "[{n}/448] forward 0.12s backward 0.24s, loss 0.02s",
        "[epoch: 3, iter: {n}] mIoU: 0.31, acc: 0.45",
        "Error during training step {n}: loss is 3",
        "=> loaded checkpoint (epoch {n}, loss 0.5)",
        "Saving checkpoint of step {n}, loss 0.5",
        "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {n}.0",
        "Iter {n}: best loss 0.5, target loss 0.25",
        "iteration {n}: packet loss 0.5",
        "loss at step {n} went up by 0.5",
        "packet loss at step {n}: 0.5",
        "{n} [D-Bus loss: 3 packets] [G4 gone]",
        "eval.py:88] {n}: val_loss=0.5",
        "the cost after iteration {n} went up: 0.5",
        "step {n}: cost 0.5 seconds",
        "iteration {n}: 0.5 packet loss, 3 sent",
        "step {n}/448 lr 0.001 expected loss 10.5",
        " {n}%|##   | {n}/448 [00:01<00:09,  1.20it/s, loss=0.5]",
        "Steps : {n}, Gen Loss : 0.5, Error : 0.25",
        "Epoch 3 step {n} D_real: 0.5 D_fake: 0.25",
    ],
)
def test_timings_scores_checkpoints_and_aims_are_no_progress(worded: str) -> None:
    assert not steps(*(worded.format(n=n) for n in (1, 2, 3, 4)))


def test_a_stream_without_steady_lines_is_given_up() -> None:
    parser = SteadyLines()
    for n in range(300):
        parse_text(parser, f"some words about a loss {n * 7 % 13}")
    assert not [r for n in range(1, 9) for r in parse_text(parser, f"step {n}: loss 0.{n}")]


def test_a_row_of_a_table_counts_by_its_first_cell() -> None:
    got = steps(*(f"|   {n}00 | loss 3.{9 - n}1 | gnorm 0.8 | lr 2.0e-04 | 640 ms |" for n in range(1, 5)))
    assert [(r.step, r.loss) for r in got] == [(100, 3.81), (200, 3.71), (300, 3.61), (400, 3.51)]
    assert steps(*(f"| class {n} | loss 0.{n} | 212 images |" for n in range(1, 5))) == []


def test_an_episode_in_brackets_is_counted() -> None:
    got = steps(*(f"[ep   {n}] reward {n}.5 kl 0.02 loss 0.1{n} entropy 1.2" for n in range(1, 5)))
    assert [(r.epoch, r.loss) for r in got] == [(1, 0.11), (2, 0.12), (3, 0.13), (4, 0.14)]


@pytest.mark.parametrize(
    "worded",
    [
        "{n},  train loss: 0.{m}, val loss: 0.3{m}",
        "10:14:0{n} [INFO] {n}, train_loss=0.{m}, test_loss=0.3{m}, LR=0.1, time 9.06s",
        "{n} - loss: 0.{m} - val_acc: 0.7{m}",
        "  {n}: training loss=0.{m}; eval f1=0.5{m}",
    ],
)
def test_a_bare_figure_before_both_losses_counts_epochs(worded: str) -> None:
    got = steps(*(worded.format(n=n, m=9 - n) for n in (1, 2, 3)))
    assert [(r.epoch, r.step, r.loss, r.split) for r in got] == [(n, None, (9 - n) / 10, "train") for n in (1, 2, 3)]


@pytest.mark.parametrize(
    "worded",
    [
        "{n}, loss: 0.{m}",
        "{n} samples, train loss: 0.{m}",
        "{n}. the train loss and the val loss",
        "{n}: val loss: 0.{m}",
    ],
)
def test_a_bare_figure_before_less_counts_nothing(worded: str) -> None:
    assert steps(*(worded.format(n=n, m=9 - n) for n in (1, 2, 3))) == []


def test_two_networks_and_a_likelihood_are_told_of_by_epochs_too() -> None:
    got = steps(*(f"Epoch {n}/200 - D loss: 0.75 - G loss: 0.25" for n in (1, 2, 3)))
    assert [(r.split, r.epoch, r.loss) for r in got] == [("train", n, None) for n in (1, 2, 3)]
    got = steps(*(f"Epoch {n} | train NLL 0.5 | val NLL 0.75" for n in (1, 2, 3)))
    assert [(r.split, r.epoch, r.loss) for r in got] == [("train", n, 0.5) for n in (1, 2, 3)]
    assert {r.split for r in steps(*(f"Epoch {n} | val NLL 0.75" for n in (1, 2, 3)))} <= {"eval"}
