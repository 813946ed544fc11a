from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.families.base import Assessment
from agent_tools.families.e3_undertrained import assess
from store.rows import LogEvent, SlurmJob, TrainStep
from tests.agent_tools.families.logkit import drafted
from tests.agent_tools.families.world import World, judge


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_completed_run_of_a_handful_of_steps_is_undertrained(tmp_path: Path, steps: int) -> None:
    world = World(tmp_path).job().train([10.0] * steps, stride=1, total_steps=steps)
    a = judge(world, assess)
    assert (a.status, a.attribution) == ("confirmed", "job")
    assert a.confidence >= 0.85


def test_run_time_and_rate_tell_the_steps_where_no_step_is_printed(tmp_path: Path) -> None:
    world = World(tmp_path).say(
        "train_end",
        "train_runtime",
        severity="info",
        detail='{"train_runtime": 41.6, "train_steps_per_second": 0.024, "epoch": 1.0}',
    )
    assert judge(world, assess).status == "confirmed"


def test_of_several_trainings_each_has_its_own_time_and_rate(tmp_path: Path) -> None:
    def trained(folder: str, *ends: tuple[float, float]) -> Assessment:
        world = World(tmp_path / folder)
        for seconds, rate in ends:
            said = f'{{"train_runtime": {seconds}, "train_steps_per_second": {rate}, "epoch": 1.0}}'
            world.say("train_end", "train_runtime", severity="info", detail=said)
        return judge(world, assess)

    # Six steps each; the longest time and the highest rate would be fifteen.
    assert trained("alike", (20.0, 0.3), (8.0, 0.75)).status == "confirmed"
    assert trained("one of many", (20.0, 0.3), (800.0, 0.75)).status == "ruled_out"


def test_the_limit_of_steps_that_lightning_reached_is_their_number(tmp_path: Path) -> None:
    def fits(folder: str, *limits: tuple[str, int | None]) -> Assessment:
        world = World(tmp_path / folder)
        for name, steps in limits:
            world.say("train_end", name, severity="info", framework="lightning", total_steps=steps)
        return judge(world, assess)

    assert fits("one", ("max_steps", 2)).status == "confirmed"
    assert fits("many", ("max_steps", 4000)).status == "ruled_out"
    assert fits("longer", ("max_steps", 2), ("max_steps", 4000)).status == "ruled_out"
    # How many steps the epochs of the other fit were, nothing says.
    assert fits("both", ("max_steps", 2), ("max_epochs", None)).status == "undecidable"


def test_a_run_without_a_step_lacked_batches_and_not_only_budget(tmp_path: Path) -> None:
    world = World(tmp_path).say("train_end", "max_steps", severity="info", framework="lightning", total_steps=0)
    found = judge(world, assess)
    assert found.status == "confirmed"
    assert "no batch to train on" in found.headline
    assert "step budget was far too low" not in found.headline
    assert "length of the data set" in found.actions[0].text


def test_words_of_an_early_stop_tell_the_steps(tmp_path: Path) -> None:
    assert (
        judge(World(tmp_path).text("Stopped early after 1 optimizer updates in epoch 0."), assess).status == "confirmed"
    )


def test_few_steps_that_a_rule_for_stopping_early_ended_are_no_short_plan(tmp_path: Path) -> None:
    world = World(tmp_path).train([9.0, 3.0, 2.5, 2.4, 2.6, 2.7], stride=1)
    a = judge(world.say("train_end", "early_stop", "Epoch 6: early stopping", severity="info"), assess)
    assert (a.status, bool(a.warnings)) == ("ruled_out", True)


def test_a_short_run_of_many_steps_is_not_undertrained(tmp_path: Path) -> None:
    a = judge(World(tmp_path).job().train([3.0 - i / 50 for i in range(60)], stride=1, total_steps=60), assess)
    assert (a.status, a.confidence < 0.05) == ("ruled_out", True)


def test_ten_steps_are_a_suspicion_and_a_warning(tmp_path: Path) -> None:
    a = judge(World(tmp_path).job().train([3.0] * 10, stride=1, total_steps=10), assess)
    assert a.status == "suspected"
    assert a.confidence < 0.5


def test_a_log_that_is_cut_after_two_steps_is_undecidable(tmp_path: Path) -> None:
    a = judge(World(tmp_path).train([10.0, 9.9], stride=1, total_steps=1000), assess)
    assert a.status == "undecidable"
    assert any("slurm_job" in m.signal for m in a.missing)


def test_few_steps_before_a_crash_are_a_consequence(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").train([10.0, 9.9], stride=1, total_steps=1000)
    assert judge(world.say("exception", "ValueError", "bad sample"), assess).status == "ruled_out"


def test_without_steps_and_end_it_is_undecidable(tmp_path: Path) -> None:
    world = World(tmp_path).job().train([1.0], total_steps=1).text("hello")
    assert judge(world.without(TrainStep, LogEvent, SlurmJob), assess).status == "undecidable"


@pytest.mark.parametrize(
    ("name", "said", "status"),
    [
        ("pretrain", "smoke test ok", "ruled_out"),
        ("smoke_test", "done", "ruled_out"),
        ("pretrain", "Running in `fast_dev_run` mode: will run the requested loop using 1 batch(es)", "ruled_out"),
        ("pretrain", "args: dry_run=False, smoke_test: false", "confirmed"),
        ("pretrain", "Sanity Checking DataLoader 0: 100%", "confirmed"),
        ("smokehouse", "done", "confirmed"),
        ("pretrain", "node check: GPU smoke test passed on n1", "confirmed"),
        ("pretrain", "NCCL sanity test: 8 ranks ok", "confirmed"),
    ],
)
def test_so_few_steps_are_meant_where_the_run_is_called_a_test(
    name: str, said: str, status: str, tmp_path: Path
) -> None:
    world = World(tmp_path).job(name=name).train([10.0, 9.9, 9.8], stride=1, total_steps=3).text(said)
    a = judge(world, assess)
    assert a.status == status
    assert bool(a.warnings) == (status == "ruled_out")


def test_a_loop_that_began_and_was_done_in_one_second_made_no_step(tmp_path: Path) -> None:
    def looped(folder: str, done: str, between: str = "") -> Assessment:
        world = World(tmp_path / folder).text("done with setup ...")
        for line in (f"[before the start of training step] datetime: {BEGAN}", between, f"{DONE} {done}", "saved"):
            world = world.text(line) if line else world
        return judge(world, assess)

    assert looped("at once", BEGAN).status == "confirmed"
    assert "without a single optimizer step" in looped("again", BEGAN).headline
    assert looped("later", "2025-04-03 10:09:00").status == "undecidable"
    assert looped("at work", BEGAN, " iteration 1/ 1 | elapsed time per iteration (ms): 9.1 |").status == "undecidable"


@pytest.mark.parametrize(
    ("runtime", "loss", "before", "family"),
    [
        ("0.0094", "0.0", "  0%|          | 0/400 [00:00<?, ?it/s]\n", "E3"),
        ("0.0094", "0.0", "", "E3"),
        ("0.0094", "0.7311", "", "G1"),
        ("94.0107", "0.0", "", "G1"),
        ("0.0094", "0.0", "{'loss': 0.0, 'grad_norm': 0.0, 'learning_rate': 2e-05, 'epoch': 1.0}\n100%|#| 400/400 [00:00<00:00]\n", "G1"),
    ],
    ids=["its bar at the beginning", "alone", "a loss", "a time", "steps"],
)  # fmt: skip
def test_a_trainer_that_was_over_in_no_time_and_summed_up_no_loss_made_no_step(
    runtime: str, loss: str, before: str, family: str, tmp_path: Path
) -> None:
    rate = 400 / float(runtime)
    end = f"{{'train_runtime': {runtime}, 'train_samples_per_second': {8 * rate:.1f}, 'train_steps_per_second': {rate:.1f}, 'train_loss': {loss}, 'epoch': 2.0}}\n"
    assert drafted(before + end, tmp_path).family == family


BEGAN = "2025-04-03 10:00:00"
DONE = "[after training is done] datetime:"


def _trained(steps: int, epoch: float) -> str:
    """A trainer's reports of each step, and what it says at its end."""
    lines = [
        f"{{'loss': {2.5 - n / 10:.4f}, 'grad_norm': 4.5, 'learning_rate': 2e-05, 'epoch': {epoch * n / steps:.3f}}}"
        for n in range(1, steps + 1)
    ]
    end = f"{{'train_runtime': {steps * 4.0}, 'train_samples_per_second': 2.0, 'train_steps_per_second': 0.25, 'train_loss': 2.0, 'epoch': {epoch}}}"
    return "\n".join([*lines, end, ""])


@pytest.mark.parametrize(("steps", "epoch"), [(9, 0.05), (12, 0.002)])
def test_a_dozen_steps_at_the_beginning_of_an_epoch_are_no_healthy_run(
    tmp_path: Path, steps: int, epoch: float
) -> None:
    draft = drafted(_trained(steps, epoch), tmp_path)
    assert (draft.family, draft.confidence < 0.7) == ("E3", True), draft.headline


@pytest.mark.parametrize(("steps", "epoch"), [(10, 1.0), (12, 3.0), (14, 0.05)])
def test_a_dozen_steps_through_all_of_a_small_data_set_may_be_meant(tmp_path: Path, steps: int, epoch: float) -> None:
    assert drafted(_trained(steps, epoch), tmp_path).family == "G1"


@pytest.mark.parametrize(
    ("line", "family"),
    [
        ("Epoch: [{n}]  [  0/900]  eta: 0:10:11  lr: 0.0001  loss: {loss} (2.5)  time: 0.6  data: 0.2\n", "G1"),
        ("Epoch [{n}/9] batch 1: loss {loss}, lr 0.001\n", "G1"),
    ],
)
def test_the_first_batch_of_each_epoch_is_no_number_of_steps(tmp_path: Path, line: str, family: str) -> None:
    log = "".join(line.format(n=n, loss=f"{3 - n / 5:.3f}") for n in range(10))
    draft = drafted(log + "Training time 1:21:03\n", tmp_path)
    assert draft.family == family, draft.headline
    short = drafted(line.format(n=0, loss="2.5") + "Training time 0:00:03\n", tmp_path / "short")
    assert short.family != family or short.confidence < 0.7, short.headline
