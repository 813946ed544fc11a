"""How a run ended, by its log alone: bars of an epoch, few samples, teardowns that look like a cancel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted

YOLO = (
    "      Epoch    GPU_mem   box_loss  pose_loss   cls_loss   dfl_loss  Instances       Size\n"
    "     {n}/60     0.91G     {loss}      3.100      1.010      1.300         11        640: 100%|██████████| 1/1 [00:00<00:00,  6.1it/s]\n"
    "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|██████████| 1/1 [00:00<00:00, 9.0it/s]\n"
    "                   all          4         11       0.81       0.33       0.45       0.28\n"
)
TABLE = "".join(YOLO.format(n=n, loss=f"{2 - n / 50:.4f}") for n in range(40, 55))


def test_the_bar_of_an_epoch_is_not_the_step_budget(tmp_path: Path) -> None:
    draft = drafted(
        TABLE + "\n54 epochs completed in 0.010 hours.\nOptimizer stripped from out/last.pt, 6.8MB\n", tmp_path
    )
    assert draft.family == "G1", draft.headline


@pytest.mark.parametrize(
    ("after", "family"), [("", "G1"), ("Start Epoch 8 ...\n 41%|####1\n", "U0"), (" 41%|####1\n", "U0")]
)
def test_a_save_before_another_epoch_is_no_end(tmp_path: Path, after: str, family: str) -> None:
    epoch = "100%|##########|390/390[00:21<00:00,17.10it/s]\nEpoch 7 finished, time:21.9 sec.\nModel saved to out/7.\n"
    assert drafted(epoch + after, tmp_path).family == family


def test_bars_of_several_epochs_are_not_one_short_run(tmp_path: Path) -> None:
    bars = "".join(f"Epoch {n}/9: 100%|██████████| 4/4 [00:0{n}<00:00,  1.10it/s]\n" for n in range(1, 10))
    assert drafted(bars + "Training complete! Model saved to out/model.pt\n", tmp_path).family != "E3"


def test_one_bar_of_three_steps_is_one(tmp_path: Path) -> None:
    bar = "100%|██████████| 3/3 [00:41<00:00, 13.80s/it]\n100%|██████████| 3/3 [00:42<00:00, 14.00s/it]\n"
    draft = drafted(bar + "Training completed.\n", tmp_path)
    assert (draft.family, draft.confidence >= 0.6) == ("E3", True)


@pytest.mark.parametrize(("rate", "family", "sure"), [("0.414", "E3", False), ("41.4", "G1", True)])
def test_so_few_samples_in_all_are_no_healthy_run(tmp_path: Path, rate: str, family: str, sure: bool) -> None:
    rows = "".join(
        f"{{'loss': '{3.9 - n}', 'grad_norm': '2.5', 'learning_rate': '{(4 - n) / 1e5}', 'epoch': '{n}'}}\n"
        for n in (1, 2, 3)
    )
    end = f"{{'train_runtime': '36.2', 'train_samples_per_second': '{rate}', 'train_loss': '2.4', 'epoch': '3'}}\n"
    draft = drafted(rows + end, tmp_path)
    assert (draft.family, draft.confidence >= 0.6) == (family, sure), draft.headline


@pytest.mark.parametrize(
    "before",
    [
        "srun: error: n7: task 3: Exited with exit code 1\nsrun: Terminating StepId=812.0\n",
        "yhrun: error: n7: task 3: Exited with exit code 174\nyhrun: First task exited 60s ago\n",
        "Abort(1) on node 0 (rank 0 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 1) - process 0\n"
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n",
    ],
)
def test_the_step_that_srun_ends_after_a_failure_was_not_cancelled_by_somebody(tmp_path: Path, before: str) -> None:
    cancel = "slurmstepd: error: *** STEP 812.0 ON n7 CANCELLED AT 2026-03-01T12:40:17 ***\n"
    draft = drafted("reading the input\n" + before + cancel + "srun: error: n7: tasks 0-2: Killed\n", tmp_path)
    assert draft.family not in ("A2", "F4") or draft.confidence <= 0.3


def test_a_step_that_was_cancelled_before_its_tasks_ended_still_is(tmp_path: Path) -> None:
    cancel = "slurmstepd: error: *** STEP 812.0 ON n7 CANCELLED AT 2026-03-01T12:40:17 ***\n"
    draft = drafted("reading the input\n" + cancel + "srun: error: n7: task 0: Exited with exit code 2\n", tmp_path)
    assert draft.family == "F4"


def test_the_other_tasks_of_a_failed_step_were_not_cancelled(tmp_path: Path) -> None:
    text = "[2026-03-01T12:40:17.342] error: *** STEP 812.21 ON n7 CANCELLED AT 2026-03-01T12:40:17 DUE TO TASK FAILURE ***\n"
    assert drafted("warming up\n" + text, tmp_path).family != "F4"


def test_a_container_that_failed_behind_a_thread_id_is_a_launch_failure(tmp_path: Path) -> None:
    mark = "Mar 08 03:37:03.{n} 344499 slurmstepd   0x15555200{n}: error: pyxis: "
    text = mark.format(n="834962") + "child 344500 failed with error code: 1\n"
    text += mark.format(n="835051") + "failed to import docker image\n"
    draft = drafted("chained after job 811, which ended\n" + text, tmp_path)
    assert (draft.family, draft.mode) == ("A4", "launch")


def test_lerobots_last_word_and_its_rows_are_a_healthy_run(tmp_path: Path) -> None:
    rows = "".join(
        f"INFO 2026-03-01 10:{n:02}:12 ot_train.py:357 step:{n}K smpl:{8 * n}K ep:{n} epch:{n}.50 loss:{2 / n:.3f} grdn:3.1 lr:1.0e-05\n"
        for n in range(1, 30)
    )
    draft = drafted(rows + "INFO 2026-03-01 10:40:59 ot_train.py:438 End of training\n", tmp_path)
    assert (draft.family, draft.confidence >= 0.6) == ("G1", True)


KERAS = "Epoch {n}/6\n80/80 [==============================] - 9s 110ms/step - loss: {loss} - accuracy: 0.91 - val_loss: 0.4210\n"


def keras(last: int) -> str:
    return "".join(KERAS.format(n=n, loss=f"{1.2 - n / 7:.4f}") for n in range(1, last + 1))


def test_the_last_of_the_planned_epochs_is_the_end_of_the_run(tmp_path: Path) -> None:
    draft = drafted(keras(6), tmp_path)
    assert (draft.family, draft.confidence >= 0.6) == ("G1", True), draft.headline


def test_a_few_epochs_of_a_single_batch_are_a_handful_of_steps(tmp_path: Path) -> None:
    lines = "".join(
        f"Epoch {n}/3\n1/1 [==============================] - 2s 2s/step - loss: {1.5 - n / 5:.4f}\n" for n in (1, 2, 3)
    )
    draft = drafted(lines, tmp_path)
    assert (draft.family, draft.confidence >= 0.6) == ("E3", True), draft.headline


@pytest.mark.parametrize(
    "text",
    [
        keras(4),
        keras(6) + keras(2),
        keras(5) + "Epoch 6/6\n41/80 [==============>...............] - ETA: 4s - loss: 0.4012\n",
    ],
)
def test_epochs_that_stop_early_or_begin_anew_are_no_end(tmp_path: Path, text: str) -> None:
    draft = drafted(text, tmp_path)
    assert draft.family != "G1" or draft.confidence < 0.6


def test_a_last_epoch_that_is_still_printing_its_batches_is_no_end(tmp_path: Path) -> None:
    lines = [f"Epoch [{e}/3] Loss: {2 - e / 4 - b / 100:.4f}" for e in (1, 2, 3) for b in range(12 if e < 3 else 4)]
    draft = drafted("\n".join(lines) + "\n", tmp_path)
    assert draft.family != "G1" or draft.confidence < 0.6


BAR = "  0%|          | 0/90 [00:00<?, ?it/s]\n 50%|█████     | 45/90 [03:01<03:01,  4.00s/it]\n"
FULL = "100%|██████████| 90/90 [06:02<00:00,  4.02s/it]\n"


def test_a_log_that_ends_with_its_full_bar_looks_complete_and_no_more(tmp_path: Path) -> None:
    draft = drafted(BAR + FULL, tmp_path)
    assert (draft.family, draft.confidence < 0.5) == ("G1", True)


@pytest.mark.parametrize(
    "text", [BAR, BAR + "Loading data: " + FULL, FULL.replace("06:02", "00:02"), BAR + FULL + "writing the index\n"]
)
def test_other_bars_say_nothing_of_an_end(tmp_path: Path, text: str) -> None:
    assert drafted(text, tmp_path).family == "U0"


def test_an_image_that_is_not_there_is_a_launch_failure_by_the_runtimes_word(tmp_path: Path) -> None:
    draft = drafted("FATAL:   could not open image /data/images/train.sif: no such file or directory\n", tmp_path)
    assert (draft.family, draft.mode) == ("A4", "launch")
    assert any("The container runtime says" in c.text for c in draft.shows)


def waiting(data: float, reports: int = 9) -> str:
    return "".join(
        f"Epoch: [0][{n}0/900]\tTime 1.000 (1.200)\tData {data:.3f} ({data:.3f})\tLoss {7 - n / 10:.4f} ({7 - n / 10:.4f})\n"
        for n in range(reports)
    )


@pytest.mark.parametrize(("data", "reports", "family"), [(0.8, 9, "D1"), (0.2, 9, "G1"), (0.8, 4, "G1")])
def test_a_loop_that_says_that_it_waits_for_data_is_suspected_of_it(
    tmp_path: Path, data: float, reports: int, family: str
) -> None:
    draft = drafted(waiting(data, reports), tmp_path)
    assert (draft.family, draft.confidence < 0.5) == (family, True), draft.headline


def test_a_run_that_waited_and_completed_is_healthy_with_a_warning(tmp_path: Path) -> None:
    draft = drafted(waiting(0.8) + "Training complete!\n", tmp_path)
    assert draft.family == "G1"
    assert any("waited for data" in w.text for w in draft.warnings)


def epochs(end: str, last: int = 4) -> str:
    """A loop that says `end` after each epoch."""
    return "".join(
        "".join(f"Epoch {e} step {100 * n} loss {3 - 0.3 * e - 0.05 * n:.4f}\n" for n in (1, 2, 3))
        + end.format(e)
        + "\n"
        for e in range(1, last + 1)
    )


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        (epochs("Training time 0:05:1{}") + "Epoch 5 step 100 loss 1.45\n", False),
        (epochs("Training time 0:05:1{}"), False),
        (epochs("Fold {}: training complete!") + "Epoch 5 step 100 loss 1.45\n", False),
        (epochs("Fold {}: training complete!"), True),
        (epochs("saved") + "Training time 0:05:14\n", True),
    ],
)
def test_what_is_said_after_each_epoch_is_no_end_of_the_run(text: str, sure: bool, tmp_path: Path) -> None:
    draft = drafted(text, tmp_path)
    assert (draft.family == "G1" and draft.confidence >= 0.5) is sure, (draft.family, draft.confidence, draft.headline)


HOOKED = """Traceback (most recent call last):
  File "/home/mira/seg/train.py", line 88, in <module>
    main()
  File "/home/mira/seg/train.py", line 80, in main
    runner.train()
  File "/opt/env/lib/python3.10/site-packages/mmengine/runner/loops.py", line 117, in run_epoch
    self.runner.call_hook('{hook}')
  File "/home/mira/seg/hooks/score.py", line 31, in {hook}
    best = table[self.key]
"""


@pytest.mark.parametrize(
    ("hook", "end", "family", "sure"),
    [
        ("after_train_epoch", "KeyError: 'mIoU'\n", "A3", True),
        ("after_train_epoch", "", "A3", False),
        ("before_train", "KeyError: 'mIoU'\n", "A1", True),
    ],
)
def test_what_a_trainer_calls_after_an_epoch_tells_that_it_had_trained(
    tmp_path: Path, hook: str, end: str, family: str, sure: bool
) -> None:
    draft = drafted(HOOKED.format(hook=hook) + end, tmp_path)
    assert (draft.family, draft.confidence >= 0.6) == (family, sure), draft.headline
    assert not sure or ("after a step or an epoch" in str(draft.shows)) == (family == "A3")


IMPORTING = """Traceback (most recent call last):
  File "/home/mira/seg/train.py", line 4, in <module>
    import fastops
  File "/opt/env/lib/python3.10/site-packages/fastops/__init__.py", line 9, in <module>
    from fastops._C import *
"""


@pytest.mark.parametrize(
    ("raised", "family"),
    [
        ("RuntimeError: KeyboardInterrupt: ", "F4"),
        (
            "RuntimeError: KeyboardInterrupt: <EMPTY MESSAGE>\n\nAt:\n  /opt/env/lib/python3.10/enum.py(4): <module>",
            "F4",
        ),
        ("ImportError: KeyboardInterrupt", "F4"),
        ("RuntimeError: KeyboardInterrupt is not in the table of signals", "A1"),
        ("ImportError: cannot import name 'KeyboardInterruptHandler' from 'fastops.signals'", "A1"),
    ],
)
def test_an_interrupt_that_native_code_hands_on_is_one(tmp_path: Path, raised: str, family: str) -> None:
    draft = drafted(f"{IMPORTING}{raised}\n", tmp_path)
    assert (draft.family, draft.confidence >= 0.5) == (family, True), draft.headline


@pytest.mark.parametrize(
    ("scores", "family", "sure"),
    [
        ("0.6 0.5 0.4", "G1", True),
        ("nan 0.5 0.4", "G1", True),
        ("0.6 nan nan", "G1", False),
        ("nan nan nan", "E1", True),
        ("0.6 nan inf nan", "E1", True),
        ("nan nan nan 0.6", "G1", True),
    ],
)
def test_evaluations_without_a_loss_are_no_sure_health(tmp_path: Path, scores: str, family: str, sure: bool) -> None:
    planned = len(scores.split())
    text = "".join(
        f"Epoch {n}/{planned}\n512/512 [==============================] - 12s 24ms/step - loss: {2 / n:.4f} - val_loss: {score}\n"
        for n, score in enumerate(scores.split(), 1)
    )
    draft = drafted(text, tmp_path)
    assert (draft.family, draft.confidence >= 0.5) == (family, sure), draft.headline
    assert draft.confidence < 0.6 or family == "G1"
    assert sure or "evaluations" in draft.headline


REFUSED_SETTING = """\
[2026-02-09 09:12:19,718][utils][INFO] - Instantiating model <models.Net>
[2026-02-09 09:12:22,418][utils][ERROR] -
Traceback (most recent call last):
  File "/home/u/job/train.py", line 53, in main
    log.info(cfg.data.folder)
  File "/venv/lib/python3.11/site-packages/omegaconf/_utils.py", line 797, in _raise
    raise ex.with_traceback(sys.exc_info()[2])
omegaconf.errors.ConfigAttributeError: Key 'folder' is not in struct
    full_key: data.folder
"""
STARTED = """\
[2026-02-09 09:{minute}:19,718][utils][INFO] - Instantiating model <models.Net>
[2026-02-09 09:{minute}:20,718][utils][INFO] - Instantiating datamodule <data.Module>
[2026-02-09 09:{minute}:21,718][utils][INFO] - Instantiating callbacks...
[2026-02-09 09:{minute}:22,718][utils][INFO] - Starting training!
"""


@pytest.mark.parametrize(
    ("after", "sure"),
    [
        ("", True),
        (STARTED.format(minute=12), True),
        (STARTED.format(minute=25), False),
        (STARTED.format(minute=25) + REFUSED_SETTING.replace("09:12", "09:26").replace("folder", "seed"), True),
        ("srun: error: n7: task 0: Exited with exit code 1\n" * 5, True),
        ("[2026-02-09 09:25:19,718][utils][INFO] - Output dir: out\n", True),
    ],
    ids=["ends", "another rank", "another run", "which failed", "slurm", "last words"],
)
def test_a_failure_that_its_log_outlives_by_minutes_is_not_surely_the_end(
    tmp_path: Path, after: str, sure: bool
) -> None:
    draft = drafted(REFUSED_SETTING + after, tmp_path)
    assert (draft.family, draft.mode, draft.confidence >= 0.6) == ("A1", "config", sure), draft.headline
    assert sure == (not any("goes on to" in c.text for c in draft.shows))


def test_a_failure_that_its_log_outlives_by_more_lines_than_a_buffer_holds_is_not_surely_the_end(
    tmp_path: Path,
) -> None:
    """Without times the lines are counted; the stacks of a dying process are none of another run's."""
    failed = REFUSED_SETTING.replace("[2026-02-09 09:12:19,718]", "").replace("[2026-02-09 09:12:22,418]", "")
    for n, (line, sure) in enumerate(
        (("row {} of the table\n", False), ('  File "spam/wait.py", line {} in run\n', True))
    ):
        after = "".join(map(line.format, range(480)))
        draft = drafted(failed + after, tmp_path / str(n))
        assert (draft.family, draft.confidence >= 0.6) == ("A1", sure), draft.headline
        assert sure == (not any("goes on to line" in c.text for c in draft.shows))


@pytest.mark.parametrize(("minute", "sure"), [(12, True), (31, False)])
def test_memory_that_ran_out_in_a_run_before_is_not_surely_the_end(tmp_path: Path, minute: int, sure: bool) -> None:
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.19 GiB of which 1.31 GiB is free.\n"
    before, _, _ = REFUSED_SETTING.partition("omegaconf.errors")
    draft = drafted(before + oom + STARTED.format(minute=minute), tmp_path)
    assert (draft.family, draft.confidence >= 0.6) == ("B1", sure), draft.headline


def test_a_warning_of_the_compiler_with_its_traceback_ends_no_run(tmp_path: Path) -> None:
    prefix = "W0213 14:48:26.433000 2622 site-packages/torch/_dynamo/convert_frame.py:1233] "
    told = "WON'T CONVERT forward model.py line 28\nTraceback (most recent call last):\n" + (
        '  File "/venv/lib/python3.11/site-packages/torch/_dynamo/output_graph.py", line 1483, in _call\n'
        "    raise BackendCompilerFailed(self.compiler_fn, e)\n"
        "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nRuntimeError: Failed to find C compiler.\n"
    )
    warned = "".join(f"{prefix}{line}\n" for line in told.splitlines())
    steps = "".join(f"iter {n}: loss {10.9 - n / 20:.4f}, time 210.25ms\n" for n in range(10))
    (tmp_path / "error").mkdir()
    assert drafted(warned + steps, tmp_path).family == "G1"
    assert drafted(warned.replace("W0213", "E0213"), tmp_path / "error").family == "A1"
