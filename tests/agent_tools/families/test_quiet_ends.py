"""Ends that no error marks: programs that are no training, words of a script, a loss scale gone, ranks that wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import among, drafted, facts_of

PME = " PME mesh              16    1     500001     180.478       6049.820   4.7\n"
EPOCH = "epoch {n}: train loss = {loss:.4f}, val acc = 0.{acc}\n"
CLOSED = (
    "wandb: Run history:\nwandb: score ▁▄▆█\nwandb: \nwandb: Run summary:\nwandb: score 0.81\nwandb: \n"
    "wandb: Synced 5 W&B file(s), 0 media file(s)\nwandb: Find logs at: ./wandb/run-20260303_110248-k2x8/logs\n"
)
LOOP = "".join(EPOCH.format(n=n, loss=2 / (n + 1), acc=50 + n) for n in range(12))


@pytest.mark.parametrize(
    "end",
    [
        "Finished mdrun on rank 0 Tue Mar  3 11:02:48 2026\n",
        "Total wall time: 0:41:07\n",
        "   JOB DONE.\n=------------=\n",
        "                             ****ORCA TERMINATED NORMALLY****\n",
        "[Mon Mar  2 10:00:01 2026]\n12 of 12 steps (100%) done\nComplete log: .snakemake/log/x.log\n",
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 183.204\n#\n",
        "Generate test with beam=4: BLEU4 = 27.31, 58.9/33.0/21.1/13.9 (BP=0.962)\n",
        "Sender: LSF System <lsf@n1>\nSubject: Job 4411: <eval> in cluster <c1> Done\n\nJob <eval> was submitted from host <n1>.\n",
    ],
)
def test_a_known_code_that_prints_its_normal_end_came_to_it(tmp_path: Path, end: str) -> None:
    draft = among(facts_of(PME + end, tmp_path), "G1")
    assert (draft.family, draft.confidence >= 0.6) == ("G1", True), draft.headline


@pytest.mark.parametrize(
    "end",
    [
        "### Done !\n",
        ">>> SUCCESS: encoder_b.yaml (GPU 3)\n",
        "Export complete (12.1s)\nCommand is:\nrun --engine=a.engine\nrun --engine=b.engine\nrun --shapes=1x3\n",
        "All experiments finished.\n",
        "Predictions written to out/preds.json\n",
        "Job finished at: Tue Mar  3 11:02:48 CET 2026\n",
        "Execution time: 93.25 seconds\nlast weights kept\n",
        "Program run time was 01:20:11\n",
        "Done writing panels.\n",
        "Result = PASS\n\nNOTE: these figures are no measurement.\n",
        "Models saved.\n",
        "Saved the fitted classifier to out/forest.joblib\n=====\n",
        "              precision    recall  f1-score   support\n\n        spam       0.91      0.88      0.89        41\n"
        "   macro avg       0.90      0.89      0.89        80\nweighted avg       0.90      0.90      0.90        80\n",
        "TRAINING SUMMARY\n=====\nEpisodes: 30\nBest reward: 27.5\nTargets:\nnot met\n",
        CLOSED,
        "wandb: Waiting for W&B process to finish... (success).\n" + CLOSED + "Application 7f2 resources: utime=188s\n",
        "===== RESULTS =====\nIoU:       0.6727\nPrecision: 0.7107\n===================\n",
        "***** eval metrics *****\n"
        + "".join(f"  eval_part_{n}  =  0.{n}31\n" for n in range(1, 9))
        + "{'task': 'x'}\n",
    ],
)
def test_words_of_a_script_at_its_very_end_are_a_weak_sign(tmp_path: Path, end: str) -> None:
    draft = among(facts_of("Method Acc AUC\nforest 78.1 0.81\n" + end, tmp_path), "G1")
    assert (draft.family, draft.confidence < 0.5) == ("G1", True), draft.headline


@pytest.mark.parametrize(
    "end",
    [
        "Loading data ... done\n",
        "Best model saved with 0.71\n",
        "Saved the model card's template\n",
        "weighted avg       0.61      0.60      0.60        80\nnow set 2\nweighted avg       0.64      0.62      0.63        80\n",
        "Training summary\nreading the next set\nnow set 2\nnow set 3\nnow set 4\n",
        "Results will be saved to out/run3\n",
        "The export is not complete\n",
        "Execution time limit: 40 min each\n",
        "Execution time of 3 kernels\n",
        "Done writing panels of seed 3, next is 4\n",
        "Epoch 3 finished\n",
        "wandb: Run summary:\nwandb: score 0.81\nwandb: \n",  # cut in the middle of it
        "".join(line for line in CLOSED.splitlines(True) if "Run summary" not in line),  # it had logged nothing
        "wandb: Waiting for W&B process to finish... (failed 1).\n" + CLOSED,
        "Could not reach the judge: request aborted\n" + CLOSED,
        "Results:\nacc: 0.31\nResults:\nacc: 0.33\n",
        "Results:\nreading the next set\nnow set 2\nnow set 3\nnow set 4\n",
        "Result = FAIL\n",
        "Subject: Job 4411: <eval> in cluster <c1> Exited\n",
        "### Done !\nnow the second half\nreading shards\nreading more shards\nreading the last shards\nlinking\n",
    ],
)
def test_words_of_a_part_of_the_work_are_none(tmp_path: Path, end: str) -> None:
    assert among(facts_of("Method Acc AUC\nforest 78.1 0.81\n" + end, tmp_path), "G1").family == "U0"


def test_results_saved_after_every_report_do_not_end_a_run(tmp_path: Path) -> None:
    saved = "".join(
        EPOCH.format(n=n, loss=2 / (n + 1), acc=50 + n) + f"Predictions saved to out/{n}.npz\n" for n in range(12)
    )
    draft = drafted(saved, tmp_path)
    assert draft.confidence < 0.5 or draft.family == "U0", (draft.family, draft.confidence)
    assert "finished" not in draft.headline


PART = "".join(f"Epoch {n}/100 - Loss: {3 - n / 10:.3f}, Accuracy: 0.{40 + n}\n" for n in range(1, 16))
STEPS = "".join(f"step {n}0/1000 loss {3 - n / 10:.3f} lr 1e-4\n" for n in range(1, 16))


@pytest.mark.parametrize(
    ("log", "cut"),
    [
        (PART + "Model saved to out/net.pt\n", True),
        (PART + "Best model saved with 0.71\n", True),
        (PART + "Weights written to out/w.bin\n", True),
        (STEPS + "Model successfully saved as out/net.pt\n", True),
        (PART.replace("/100", "") + "Best model saved with 0.71\n", True),
        (PART.replace("/100", "") + "Models saved.\n", False),
        (PART.replace("/100", "/15") + "Model saved to out/net.pt\n", False),
    ],
)
def test_a_model_that_is_kept_before_the_plan_is_through_ends_no_run(tmp_path: Path, log: str, cut: bool) -> None:
    draft = drafted(log, tmp_path)
    assert draft.family == "G1"
    assert ("its end is not in it" in draft.headline) is cut, draft.headline
    assert draft.confidence < 0.5 or not cut


def test_a_bar_of_the_data_and_a_save_in_the_middle_of_the_training_complete_nothing(tmp_path: Path) -> None:
    bar = "reading the data\n100%|##########| 84100/84100 [00:13<00:00, 6142.77it/s]\n"
    loop = "".join(
        f"train loss = {2 / n:.5f}\nloss: {2.2 / n:.5f}, Better than before... saving the model\n" for n in range(1, 9)
    )
    assert drafted(bar + loop, tmp_path).family == "U0"


@pytest.mark.parametrize(("stop", "sure"), [("", False), ("Early stopping triggered\n", True)])
def test_an_end_long_before_the_plan_needs_a_reason(tmp_path: Path, stop: str, sure: bool) -> None:
    log = "".join(f"Epoch {n}/100 completed - Loss: {3 - n / 10:.3f}, Accuracy: 0.{40 + n}\n" for n in range(1, 16))
    draft = drafted(log + stop + "Training completed successfully\n", tmp_path)
    assert (draft.family, draft.confidence >= 0.6) == ("G1", sure), draft.headline


@pytest.mark.parametrize(("lowest", "family"), [(-40, "E1"), (5, "U0")])
def test_a_loss_scale_that_fell_to_nothing_is_a_divergence(tmp_path: Path, lowest: int, family: str) -> None:
    log = "".join(
        f"Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {2.0**n!r}\n"
        for n in range(16, lowest - 1, -1)
    )
    draft = drafted("opt_level : O1\n" + log, tmp_path)
    assert draft.family == family, draft.headline


def test_a_gradient_norm_that_is_not_finite_says_nothing_of_the_loss(tmp_path: Path) -> None:
    row = " iteration {n:8}/   90000 | consumed samples: {s} | elapsed time per iteration (ms): 812.9 | learning rate: 1.5E-04 | global batch size: 8 | loss scale: 1.0 | grad norm: nan | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    draft = drafted("".join(row.format(n=n, s=8 * n) for n in range(310, 316)), tmp_path)
    assert (draft.family, draft.mode) == ("E1", "non_finite")
    assert draft.headline.startswith("The gradient norm was not finite")


WAIT = "Waiting in store based barrier to initialize process group for rank: 1, key: store_based_barrier_key:1 (world_size=8, worker_count=3, timeout=0:30:00)\n"


@pytest.mark.parametrize(
    ("log", "family"),
    [
        (WAIT * 4, "C1"),
        (WAIT, "U0"),
        (WAIT * 4 + "Rank 1: Completed store-based barrier for key:1 with 8 nodes.\nbuilding the model\n", "U0"),
    ],
)
def test_ranks_that_wait_until_the_log_ends_never_formed_a_group(tmp_path: Path, log: str, family: str) -> None:
    assert drafted("torch 1.13\n" + log, tmp_path).family == family


@pytest.mark.parametrize(
    ("raised", "hang"), [("RuntimeError: Socket Timeout", True), ("ValueError: the socket has another size", False)]
)
def test_a_collective_whose_store_got_no_answer_waited_in_vain(tmp_path: Path, raised: str, hang: bool) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/home/ada/train.py", line 12, in <module>\n    dist.all_reduce(n)\n'
        '  File "/opt/lib/python3.8/site-packages/torch/distributed/distributed_c10d.py", line 1285, in all_reduce\n'
        f"    work = default_pg.allreduce([tensor], opts)\n{raised}\n"
    )
    assert (drafted(log, tmp_path).family == "C2") == hang


def test_an_override_that_spacy_refuses_and_a_folder_that_exists_are_named_as_what_they_are(tmp_path: Path) -> None:
    refused = drafted("\n[x] Invalid config override 'paths.dev': name should start with --\n", tmp_path / "a")
    assert (refused.family, refused.mode) == ("A1", "config")
    there = drafted(
        'Traceback (most recent call last):\n  File "/home/ada/prep.py", line 2, in <module>\n    os.mkdir(folder)\n'
        "FileExistsError: [Errno 17] File exists: '/scratch/corpus/shards'\n",
        tmp_path / "b",
    )
    assert (there.family, "is there already" in there.headline) == ("A1", True), there.headline


CRASH = (
    "Traceback (most recent call last):\n"
    '  File "/home/a/job/run.py", line 198, in <module>\n    main(args)\n'
    '  File "/home/a/job/run.py", line 160, in main\n    net = build(args)\n'
    "ValueError: unknown width: 7\n"
)
WHOLE = "".join(
    f"[{e}, {n:5d}] loss: {2.1 - 0.3 * e - n / 9000:.3f}\n" for e in (1, 2) for n in range(2000, 8001, 2000)
)


@pytest.mark.parametrize("end", ["Finished Training\n", "=== Training Complete ===\n"])
def test_a_run_that_came_to_its_end_below_the_crash_of_one_before_is_the_one_that_counts(
    tmp_path: Path, end: str
) -> None:
    told = WHOLE + end + "Accuracy of the network on the test images: 55 %\n"
    after, before = tmp_path / "a", tmp_path / "b"
    after.mkdir()
    before.mkdir()
    assert drafted(CRASH + told, after).family == "G1"
    assert drafted(told + CRASH, before).family in ("A1", "A3")
    without = tmp_path / "c"
    without.mkdir()
    assert drafted(CRASH + WHOLE, without).family != "G1"


@pytest.mark.parametrize("end", ["=== JOB COMPLETED ===\n", "Total elapsed time: 512.25 s\n", CLOSED])
def test_words_of_a_script_below_a_loss_that_fell_are_likely_its_end_and_no_proof(tmp_path: Path, end: str) -> None:
    draft = drafted(LOOP + end, tmp_path)
    assert (draft.family, 0.5 <= draft.confidence < 0.7) == ("G1", True), draft.headline
    still = "".join(EPOCH.format(n=n, loss=2 + n % 2 / 50, acc=50) for n in range(12))
    assert drafted(still + end, tmp_path / "still").confidence < 0.5


@pytest.mark.parametrize(
    ("end", "ended"),
    [
        ("exit code: 0\n", True),
        ("Job 77 finished with exit code 0\n", True),
        ("python exited with status 0.\n", True),
        ("exit code: 1\n", False),
        ("exit code 0 is what a good run gives\n", False),
    ],
)
def test_an_exit_status_that_the_script_prints_last_is_the_end_of_the_run(
    tmp_path: Path, end: str, ended: bool
) -> None:
    draft = drafted(LOOP + end, tmp_path)
    assert (draft.family == "G1" and draft.confidence >= 0.7) is ended, (draft.headline, draft.confidence)


@pytest.mark.parametrize("what", ["iteration", "epoch", "round"])
def test_a_part_that_the_training_finished_is_not_its_end(tmp_path: Path, what: str) -> None:
    log = "".join(
        f"Training finished {what} {n} at 2026-03-01 10:{n:02d}:00. Total running time: {n}min 1s\n"
        for n in range(1, 8)
    )
    draft = drafted(log, tmp_path)
    assert draft.confidence < 0.5 or draft.family == "U0", (draft.family, draft.confidence, draft.headline)


@pytest.mark.parametrize(("bars", "ended"), [((155,), True), ((155, 155), False), ((), False)])
def test_the_only_iteration_of_a_bar_that_is_full_is_its_end(
    tmp_path: Path, bars: tuple[int, ...], ended: bool
) -> None:
    parts = "".join(
        f"100%|##########| {bar}/{bar} [07:12<00:00,  2.85s/it]\n\n"
        f"Training finished iteration {n} at 2026-03-01 10:{n:02d}:00. Total running time: {n}min 1s\n"
        for n, bar in enumerate(bars, 1)
    )
    parts = parts or "Training finished iteration 1 at 2026-03-01 10:01:00. Total running time: 1min 1s\n"
    draft = drafted(f"Loading the model\n{parts}", tmp_path)
    assert (draft.family == "G1" and draft.confidence >= 0.5) is ended, (draft.family, draft.confidence, draft.headline)
