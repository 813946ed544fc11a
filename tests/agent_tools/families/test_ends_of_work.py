"""Ends and plans that trainers print: what dies after the end is no cause (a2), and a plan of few steps is few (e3)."""

from __future__ import annotations

from pathlib import Path

from tests.agent_tools.families.logkit import drafted, looped


def test_a_worker_that_dies_below_the_last_word_of_the_work_did_not_end_it(tmp_path: Path) -> None:
    steps = "".join(f"step:{n} - actor/pg_loss:0.0{n} - critic/rewards/mean:0.{n}\n" for n in range(10, 40))
    died = (
        "(raylet) A worker died or was killed while executing a task by an unexpected system error. "
        "Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2.\n"
    )
    assert drafted(steps + "Final validation metrics: {'acc': 0.7}\n" + died, tmp_path).family == "G1"
    (tmp_path / "before").mkdir()
    assert drafted(steps + died, tmp_path / "before").family == "A2"


def test_ten_planned_iterations_are_few_however_often_their_losses_are_printed(tmp_path: Path) -> None:
    def text(planned: int) -> str:
        losses = "".join(f"iter {n}: loss {4.2 - n / 20:.4f}, time 211.12ms, mfu 3.10%\n" for n in range(planned + 1))
        head = f"Overriding: max_iters = {planned}\ntokens per iteration will be: 16,384\n"
        return f"{head}step 0: train loss 4.28, val loss 4.29\n{losses}step {planned}: train loss 3.1, val loss 3.2\n"

    found = drafted(text(10), tmp_path)
    assert any("too few" in w.text for w in found.warnings)
    (tmp_path / "more").mkdir()
    assert not any("too few" in w.text for w in drafted(text(40), tmp_path / "more").warnings)


def test_a_worker_that_an_older_ray_lost_was_killed_or_crashed(tmp_path: Path) -> None:
    """Before it gave an end a type, Ray said in words whether it had a part in it."""
    lost = (
        "2031-04-05 06:07:08,100\tWARNING worker.py:1114 -- A worker died or was killed while executing a task by an "
        "unexpected system error. To troubleshoot the problem, check the logs for the dead worker. Worker PID: 4242\n"
        "ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task.\n"
    )
    found = drafted("Loss: 3.1. Training step: 410/900\n" + lost, tmp_path)
    assert (found.family, found.confidence < 0.7) == ("A2", True), found.headline
    (tmp_path / "wanted").mkdir()
    wanted = lost.replace("Worker PID", "Worker exit type: INTENDED_USER_EXIT Worker exit detail: done. Worker PID")
    assert drafted(wanted, tmp_path / "wanted").family != "A2"


def test_a_save_that_follows_a_save_is_no_end_of_the_work(tmp_path: Path) -> None:
    def text(last: int) -> str:
        return "".join(
            f"Epoch {n}: train loss {2.0 - n / 20}\nEpoch {n}: val loss {2.1 - n / 20}\nBest model saved at epoch: {n}\n"
            for n in range(last)
        )

    found = drafted(text(12), tmp_path / "often")
    assert (found.family, found.confidence < 0.5) == ("G1", True), found.headline
    found = drafted(text(12).replace("Best model saved", "Better than") + "Model saved.\n", tmp_path / "last")
    assert (found.family, found.confidence > 0.5) == ("G1", True), found.headline


def test_a_training_that_starts_below_the_end_of_another_goes_on(tmp_path: Path) -> None:
    one = "running tune.sh for model /m/{0}\nStarting fine-tuning!\nFinished fine-tuning!\n"
    assert drafted(one.format(0) + one.format(1), tmp_path / "both").family == "G1"
    found = drafted(one.format(0) + one.format(1).replace("Finished fine-tuning!\n", ""), tmp_path / "first")
    assert found.family == "U0", found.headline


def test_done_and_saved_is_an_end(tmp_path: Path) -> None:
    found = drafted(looped(0, 400).replace("/9000", ":") + "Done. Weights saved to /runs/a/net.pt\n", tmp_path)
    assert (found.family, found.confidence > 0.8) == ("G1", True), found.headline


def test_a_plan_counted_from_zero_is_done_with_its_last_step(tmp_path: Path) -> None:
    def text(*numbers: int) -> str:
        return "".join(f"[ {n:>2}/60]: dloss: {1 / (n + 2):.4f}, gloss: {2 / (n + 2):.4f}\n" for n in numbers)

    found = drafted(text(*range(60)), tmp_path / "all")
    assert (found.family, found.headline.startswith("The run completed")) == ("G1", True), found.headline
    for name, numbers in (("short", range(59)), ("some", [*range(0, 60, 2), 59]), ("twice", [*range(59), 58])):
        assert drafted(text(*numbers), tmp_path / name).family != "G1", name
