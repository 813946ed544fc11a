from __future__ import annotations

import json
import random
from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.families.g1_healthy import assess
from store.rows import GpuSample, Process, SlurmJob
from tests.agent_tools.families.logkit import among, facts_of
from tests.agent_tools.families.world import JOB, T, World, judge


def falling(n: int = 100) -> list[float]:
    rng = random.Random(n)
    return [3 + 7 * 0.97**i + rng.gauss(0, 0.05) for i in range(n)]


def gpus(world: World, sm: float, dbe: tuple[int, int] = (0, 0)) -> World:
    return world.add(
        *(
            GpuSample(job_id=JOB, attempt=1, node=node, gpu=gpu, ts=T + timedelta(minutes=m), sm_active=sm,
                      engine_active=0.9, ecc_dbe_total=dbe[0] if m < 30 else dbe[1])
            for node in ("n1", "n2") for gpu in range(2) for m in range(1, 60, 5)
        )
    )  # fmt: skip


def healthy(folder: Path) -> World:
    world = World(folder).job().train(falling(), every_s=30, total_steps=1000)
    return world.say("train_end", "train_runtime", "training finished", severity="info")


def test_completion_progress_and_a_falling_loss_are_health(tmp_path: Path) -> None:
    a = judge(healthy(tmp_path), assess)
    assert (a.status, a.mode, a.attribution) == ("confirmed", "healthy", "none")
    assert a.confidence >= 0.85
    assert any("gpu_sample" in m.signal for m in a.missing)


def test_gpus_that_worked_raise_the_confidence(tmp_path: Path) -> None:
    a = judge(gpus(healthy(tmp_path), 0.6), assess)
    assert a.confidence >= 0.95
    assert any("all_sm_median" in c.text for c in a.speaks_for)


def test_gpus_that_idled_make_it_slow(tmp_path: Path) -> None:
    a = judge(gpus(healthy(tmp_path), 0.08), assess)
    assert (a.mode, a.confidence <= 0.85) == ("healthy_but_slow", True)
    assert a.warnings


def test_a_serious_counter_that_rose_lowers_it(tmp_path: Path) -> None:
    assert judge(gpus(healthy(tmp_path), 0.6, (0, 2)), assess).confidence < 0.6


@pytest.mark.parametrize(("until", "rose"), [(60, 0), (40, 0), (60, 2)])
def test_work_is_told_without_sm_activity_by_memory_that_stayed_busy(tmp_path: Path, until: int, rose: int) -> None:
    """What dcgm-exporter gives by default, beside collectors of the job's processes."""
    world = healthy(tmp_path).add(Process(job_id=JOB, attempt=1, node="n1", ts=T, pid=7, rank=0))
    for gpu in range(2):
        for m in range(1, 60):
            busy = {"engine_active": 0.95, "dram_active": 0.4 if m < until else 0.01, "tensor_active": 0.3}
            errors = rose if m > 30 else 0
            world.add(
                GpuSample(
                    job_id=JOB, attempt=1, node="n1", gpu=gpu, ts=T + timedelta(minutes=m), **busy, ecc_dbe_total=errors
                )
            )
    a = judge(world, assess)
    told = " ".join(c.text for c in a.speaks_for)
    if until == 60 and not rose:
        assert a.confidence >= 0.95 and "working" in told and "SM activity was not measured" in told
    else:
        assert a.confidence < 0.6 and (
            "ecc_dbe_total" in told or "counter" in told if rose else "do not tell work" in told
        )
    assert "are not there" not in told


@pytest.mark.parametrize("cards", [1, 2])
def test_memory_that_hardly_works_all_along_is_no_sure_work(tmp_path: Path, cards: int) -> None:
    """GPUs that wait for a slow network show the same to the end, with an engine that is always busy; one alone never waits."""
    world = healthy(tmp_path)
    for gpu in range(cards):
        for m in range(1, 60):
            slow = {"engine_active": 0.99, "dram_active": 0.05, "tensor_active": 0.04}
            world.add(GpuSample(job_id=JOB, attempt=1, node="n1", gpu=gpu, ts=T + timedelta(minutes=m), **slow))
    a = judge(world, assess)
    waited = any("may have waited all along" in c.text for c in a.speaks_for)
    assert (waited, a.confidence <= 0.6) == ((True, True) if cards == 2 else (False, False))


def test_the_log_alone_is_enough_where_it_holds_the_end(tmp_path: Path) -> None:
    a = judge(healthy(tmp_path).without(SlurmJob), assess)
    assert (a.status, 0.8 <= a.confidence <= 0.93) == ("confirmed", True)


def test_a_log_without_an_end_is_a_weak_suspicion(tmp_path: Path) -> None:
    a = judge(World(tmp_path).train(falling(30), total_steps=1000), assess)
    assert (a.status, a.confidence < 0.5) == ("suspected", True)
    assert "end of the log" in a.missing[0].signal


def test_the_absence_of_errors_is_not_health(tmp_path: Path) -> None:
    a = judge(World(tmp_path).text("hello", "world"), assess)
    assert (a.status, a.confidence <= 0.15) == ("undecidable", True)


def test_completed_without_any_progress_is_unverifiable(tmp_path: Path) -> None:
    a = judge(World(tmp_path).job().text("done"), assess)
    assert a.confidence < 0.5
    assert any("unverifiable" in m.text for m in a.missing)


@pytest.mark.parametrize("state", ["FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "OUT_OF_MEMORY"])
def test_a_bad_end_rules_it_out(tmp_path: Path, state: str) -> None:
    assert judge(World(tmp_path).job(state).train(falling()), assess).status == "ruled_out"


def test_a_loss_that_went_to_nan_rules_it_out(tmp_path: Path) -> None:
    assert judge(World(tmp_path).job().train(falling() + [float("nan")] * 20), assess).status == "ruled_out"


def test_a_crash_that_only_the_log_knows_rules_it_out(tmp_path: Path) -> None:
    assert judge(World(tmp_path).train(falling()).say("exception", "ValueError", "x"), assess).status == "ruled_out"


def test_a_full_bar_and_a_save_complete_a_run_of_an_unknown_program(tmp_path: Path) -> None:
    bar = "100%|##########| 260/260 [02:38<00:00,  1.64it/s]"
    a = judge(
        World(tmp_path).text(bar, "Training completed! Saving trained model to out", "Model successfully saved"), assess
    )
    assert (a.status, a.confidence < 0.85) == ("confirmed", True)


def test_what_a_site_prints_at_the_end_of_a_job_tells_that_it_completed(tmp_path: Path) -> None:
    shown = World(tmp_path).text(
        "Name                : tune-a", "State               : COMPLETED", "ExitCode            : 0:0"
    )
    assert judge(shown, assess).status == "suspected"


def test_a_full_bar_of_an_epoch_completes_nothing(tmp_path: Path) -> None:
    a = judge(World(tmp_path).text("Epoch 1/90: 100%|##########| 260/260 [02:38<00:00,  1.64it/s]"), assess)
    assert a.status == "undecidable"


def test_a_run_whose_loss_ended_above_its_start_is_not_healthy_for_certain(tmp_path: Path) -> None:
    """Another stage of the data, or a collapse: too weak to be told, and too much to call it health."""
    rng = random.Random(6)
    losses = [2.8 + 1.2 * 0.9**i + rng.gauss(0, 0.04) for i in range(40)] + [
        4.1 + rng.gauss(0, 0.04) for _ in range(60)
    ]
    a = judge(World(tmp_path).job().train(losses, every_s=30, total_steps=1000), assess)
    assert (a.status, a.confidence) == ("suspected", 0.4)


def test_a_loss_that_never_moved_is_no_evidence_of_health(tmp_path: Path) -> None:
    still = [6.91 + (0.01 if i % 2 else -0.01) for i in range(60)]
    draft = differential.draft(World(tmp_path).job().train(still, every_s=60.0).facts())
    assert (draft.family, draft.mode, draft.confidence < 0.5) == ("E1", "flat", True)
    went_on = (
        World(tmp_path).job().say("checkpoint", "loaded", "successfully loaded checkpoint from /c at iteration 400")
    )
    assert differential.draft(went_on.train(still, every_s=60.0).facts()).family == "G1"


def test_a_fall_that_a_few_reports_cannot_prove_is_told_as_such(tmp_path: Path) -> None:
    """10.93 to 10.75 in a hundred steps: as much as a warm-up gives. Far on in a run that resumed it is what to expect."""

    def run(folder: str, reports: int) -> World:
        rng = random.Random(reports)
        losses = [10.93 - 0.18 * i / reports + rng.gauss(0, 0.01) for i in range(reports)]
        return World(tmp_path / folder).job().train(losses, every_s=5.0)

    short = judge(run("short", 100), assess)
    assert (short.status, short.confidence) == ("confirmed", 0.65)
    assert any("by little" in m.text for m in short.missing)
    assert judge(run("long", 400), assess).confidence > 0.7
    resumed = run("resumed", 100).say("checkpoint", "loaded", "successfully loaded checkpoint from /c at iteration 400")
    assert judge(resumed, assess).confidence > 0.7


def test_errors_that_no_memory_corrected_are_the_headline_of_a_run_that_completed(tmp_path: Path) -> None:
    world = World(tmp_path).job().train([9.0 - i / 10 for i in range(60)], every_s=60.0)
    for m in range(60):
        world.add(GpuSample(node="n1", gpu=5, ts=T + timedelta(minutes=m), sm_active=0.7, ecc_dbe_total=m // 30))
    a = judge(world, assess)
    assert "check what it computed" in a.headline and a.confidence < 0.6
    assert "out of service" in a.actions[0].text
    mute = World(tmp_path / "mute").job().say("train_end", "train_runtime", "training finished", severity="info")
    for m in range(60):
        mute.add(GpuSample(node="n1", gpu=5, ts=T + timedelta(minutes=m), sm_active=0.7, ecc_dbe_total=m // 30))
    assert "check what it computed" in judge(mute, assess).headline, "where it printed no loss, too"


@pytest.mark.parametrize("late_s", [8.5, 5.4])
def test_a_run_that_became_slower_on_the_way_is_told_of(late_s: float, tmp_path: Path) -> None:
    """A hot card that loses a quarter of its clock makes a step a third longer."""
    world = World(tmp_path).job()
    for i in range(60):
        step_s = 4.0 if i < 20 else late_s
        world.train([9.0 - i / 10], every_s=60.0 * (i + 1), first_step=10 * (i + 1), step_time_s=step_s)
    found = judge(world, assess)
    assert any("became slower" in w.text for w in found.warnings)
    assert (found.mode, found.confidence < 0.7) == ("healthy_but_slow", True), "no GPU was watched: why is not known"
    assert any("took longer" in m.text for m in found.missing)
    assert [a.text[:19] for a in found.actions] == ["Compare a late step"]
    even = World(tmp_path).job().train([9.0 - i / 10 for i in range(60)], every_s=60.0, step_time_s=4.0)
    assert not judge(even, assess).warnings


@pytest.mark.parametrize(("late", "told"), [(16, False), (12, True), (8, True)])
@pytest.mark.parametrize("name", ["consumed samples", "consumed_samples"])
def test_steps_that_grow_with_a_batch_that_was_planned_to_grow_are_no_slower_ones(
    late: int, told: bool, name: str, tmp_path: Path
) -> None:
    """Megatron's ramp of the batch: twice the time for twice the samples, for half as many more, for as many."""
    world, fed = World(tmp_path).job(), 0
    for i in range(60):
        fed += 10 * (8 if i < 20 else late)
        fields = {"step_time_s": 4.0 if i < 20 else 8.0, "metrics": json.dumps({name: float(fed)})}
        world.train([9.0 - i / 10], every_s=60.0 * (i + 1), first_step=10 * (i + 1), **fields)
    found = judge(world, assess)
    assert any("became slower" in w.text for w in found.warnings) is told
    assert found.mode == ("healthy_but_slow" if told else "healthy")


@pytest.mark.parametrize(("level", "sure"), [(10.8, False), (1.25, True)])
def test_a_loss_as_high_as_a_guess_that_never_fell_is_no_positive_evidence(
    tmp_path: Path, level: float, sure: bool
) -> None:
    rng = random.Random(7)
    losses: list[float | None] = [level + rng.gauss(0, 0.003 * level) for _ in range(60)]
    world = World(tmp_path).job().train(losses, every_s=30, total_steps=600)
    a = judge(gpus(world.say("train_end", "train_runtime", "training finished", severity="info"), 0.6), assess)
    assert (a.confidence >= 0.6) is sure
    assert ("did what it should" in a.headline and "does not show" not in a.headline) is sure


def anew(folder: Path, *parts: list[float], epochs: bool) -> World:
    """A run whose step begins anew with each part; `epochs`: they are named."""
    world = World(folder).job()
    for number, losses in enumerate(parts):
        world.train(losses, total_steps=10 * len(losses), epoch=float(number) if epochs else None)
    return world.say("train_end", "train_runtime", "training finished", severity="info")


@pytest.mark.parametrize("epochs", [False, True])
def test_no_run_is_healthy_whose_loss_leapt_up_after_steps_began_anew(tmp_path: Path, epochs: bool) -> None:
    rng = random.Random(4)
    first = [2.4 * 0.95**i for i in range(20)]
    lost = [9.8 - 0.01 * i + rng.gauss(0, 0.02) for i in range(20)]
    a = judge(anew(tmp_path / "lost", first, lost, lost, lost, epochs=epochs), assess)
    assert a.confidence <= 0.4
    assert not a.headline.startswith("The run is healthy")
    learned = [1.0 * 0.97**i for i in range(20)]
    b = judge(anew(tmp_path / "fell", first, learned, epochs=epochs), assess)
    assert b.confidence >= 0.85


def test_a_second_run_in_the_same_log_that_learns_the_same_is_not_doubted(tmp_path: Path) -> None:
    fold = [2.4 * 0.95**i for i in range(30)]
    assert judge(anew(tmp_path, fold, fold, fold, epochs=False), assess).confidence >= 0.85


@pytest.mark.parametrize(("before", "sure"), [(True, False), (False, True)])
def test_gpus_that_were_watched_only_before_training_say_nothing_of_it(
    tmp_path: Path, before: bool, sure: bool
) -> None:
    """A program that loads and compiles: its GPUs look idle, and are not looked at again."""
    world = World(tmp_path).job().train(falling(), every_s=30, total_steps=1000)
    for n in range(12):
        ts = T + timedelta(seconds=n) if before else T + timedelta(minutes=5 + n)
        world.add(GpuSample(job_id=JOB, attempt=1, node="n1", gpu=0, ts=ts, engine_active=0.0 if before else 0.9))
    a = judge(world.say("train_end", "train_runtime", "training finished", severity="info"), assess)
    assert (a.mode, a.confidence > 0.5) == ("healthy", sure)
    assert any("not known" in c.text for c in a.speaks_for) == before
    assert not any("little used" in c.text for c in a.warnings)


def _epochs(counted: bool, reports: int, batches: int, every: int) -> str:
    """Two epochs of a loop in which every so many steps print a line; `counted` through both of them."""
    lines: list[str] = []
    for epoch in (1, 2):
        for n in range(every, reports + 1, every):
            at = n + (epoch - 1) * reports * counted
            lines.append(f"Epoch [{epoch}/2] Step [{at}/{batches}] Loss: {3 / (1 + 0.02 * (n + epoch * reports)):.4f}")
    return "\n".join([*lines, "Training complete.", ""])


@pytest.mark.parametrize(
    ("counted", "reports", "batches", "every", "short"),
    [(True, 30, 180, 1, True), (False, 30, 180, 1, True), (False, 180, 180, 9, False), (False, 100, 190, 50, False)],
)
def test_an_end_far_from_the_end_of_the_last_epoch_is_doubted(
    counted: bool, reports: int, batches: int, every: int, short: bool, tmp_path: Path
) -> None:
    found = assess(facts_of(_epochs(counted, reports, batches, every), tmp_path))
    assert ("of its last epoch" in found.headline) is short, found.headline
    assert not short or found.confidence < 0.5


@pytest.mark.parametrize("leading", [False, True])
def test_the_last_state_of_a_bar_in_one_line_is_where_the_epoch_ended(leading: bool, tmp_path: Path) -> None:
    """A bar that is drawn anew in its own line: whichever side of a state the carriage return stands on, the last state is the latest."""
    states = [
        f"Epoch 0: {n // 2:3d}%|####      | {n}/200 [0{n // 100}:{n % 60:02d}<01:10,  1.25it/s, v_num=1, train_loss={3 / (1 + 0.02 * n):.3f}]"
        for n in range(10, 201, 10)
    ]
    bar = "".join(f"\r{s}" if leading else f"{s}\r" for s in states)
    found = assess(
        facts_of(
            f"GPU available: True (cuda), used: True\n{bar}\n`Trainer.fit` stopped: `max_steps=200` reached.\n",
            tmp_path,
        )
    )
    assert "of its last epoch" not in found.headline
    assert found.confidence > 0.7


@pytest.mark.parametrize("reports", [1, 2])
@pytest.mark.parametrize("end", ["Training completed successfully\n", ""])
def test_a_single_report_of_the_loss_is_told_as_one(reports: int, end: str, tmp_path: Path) -> None:
    losses = "".join(f"Epoch: {n}, Train Loss: 2.4\n" for n in range(1, reports + 1))
    told = " ".join(c.text for c in assess(facts_of(f"{losses}{end}", tmp_path)).speaks_for)
    assert ("The only report of the loss" in told, "near the start" in told) == (reports == 1, reports > 1)


SAVED = "  successfully saved checkpoint at iteration {:>7} to /ckpt/lm\n"


@pytest.mark.parametrize(
    ("text", "family"),
    [
        # the first of half a million steps, and saves after each without a word of how many are planned
        (" iteration        1/  400000 | consumed samples:  96 | elapsed time per iteration (ms): 812.4 |\n" + SAVED.format(1), "U0"),
        (" validation loss at iteration 3 | lm loss value: 1.08E+01 |\n" + SAVED.format(3) + "saving checkpoint at iteration 4 to /ckpt/lm\n", "U0"),
        (SAVED.format(200) + "[after training is done] datetime: 2026-02-03 04:05:06 \n", "G1"),
        # a bar of whole epochs is the run's, and one of an epoch's batches is not
        ("Epochs: 100%|####| 40/40 [10:15<00:00, 15.40s/it, loss=0.21]\nSaving model to out/last-ep39.ckpt\n", "G1"),
        ("Epochs 3/9: 100%|####| 40/40 [10:15<00:00, 15.40s/it, loss=0.21]\nSaving model to out/last-ep3.ckpt\n", "U0"),
        ("Epoch 3: 100%|####| 40/40 [10:15<00:00, 15.40s/it, loss=0.21]\nSaving model to out/last-ep3.ckpt\n", "U0"),
    ],
)  # fmt: skip
def test_a_save_of_a_step_and_a_bar_of_an_epoch_complete_nothing(text: str, family: str, tmp_path: Path) -> None:
    assert among(facts_of(text, tmp_path), "G1").family == family
