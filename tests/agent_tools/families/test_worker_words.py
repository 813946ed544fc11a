"""a3_midrun_crash by what a loader's worker failed of (augmenters), and by a logged exception that nothing follows."""

from __future__ import annotations

from pathlib import Path

from tests.agent_tools.families.logkit import drafted, looped

_GONE = """Traceback (most recent call last):
  File "/opt/nn/bin/nnUNetv2_train", line 8, in <module>
    sys.exit(run_training_entry())
  File "/opt/nn/batchgenerators/dataloading/nondet_multi_threaded_augmenter.py", line 103, in results_loop
    raise RuntimeError("One or more background workers are no longer alive.")
RuntimeError: One or more background workers are no longer alive. Exiting. Please check the print statements above for the actual error message
"""
_EPOCHS = "".join(
    f"2025-03-01 10:{n:02d}:00.1: Epoch {n}\n2025-03-01 10:{n:02d}:50.1: train_loss {-0.2 - n / 50:.4f}\n"
    for n in range(9)
)


def test_what_a_loaders_worker_failed_of_is_the_cause_and_not_that_it_is_gone(tmp_path: Path) -> None:
    told = "Exception in background worker 2:\n [Errno 5] Input/output error: '/pre/case_7.npz'\n"
    found = drafted(_EPOCHS + told + _GONE, tmp_path)
    assert (found.family, found.mode, found.attribution) == ("A3", "storage", "infrastructure")
    (tmp_path / "untold").mkdir()
    untold = drafted(_EPOCHS + _GONE, tmp_path / "untold")
    assert untold.family == "A2" and untold.confidence < 0.6


def test_a_logged_exception_is_the_end_where_the_log_ends_with_it(tmp_path: Path) -> None:
    lines = (
        "2025-03-01 10:01:12 ERROR [__main__] main failed",
        "Traceback (most recent call last):",
        '  File "/opt/torch/serialization.py", line 604, in _save',
        "    zip_file.write_record(name, data, size)",
        "OSError: [Errno 28] No space left on device",
    )
    logged = "".join(f"2025-03-01 10:01:12.977 [7/train/5 (pid 893)] {line}\n" for line in lines)
    last = drafted(looped(0, 200) + logged, tmp_path)
    assert (last.family, last.mode) == ("A3", "storage") and last.confidence >= 0.7
    (tmp_path / "followed").mkdir()
    assert (
        drafted(
            looped(0, 200) + logged + "2025-03-01 10:02:00.100 [7/train/5 (pid 893)] retrying the save\n",
            tmp_path / "followed",
        ).confidence
        < 0.7
    )


def test_a_loaders_process_of_paddle_that_was_killed_explains_no_exception(tmp_path: Path) -> None:
    """Which of the job's processes the kernel took is not the program's fault: the wrapper exception is no cause."""
    killed = (
        "Traceback (most recent call last):\n"
        '  File "/ws/tools/train.py", line 88, in <module>\n'
        "    for batch in train_loader:\n"
        "SystemError: (Fatal) DataLoader process (pid 4821) exited is killed by signal: Killed. (at /paddle/imperative/data_loader.cc:181)\n"
    )
    found = drafted(looped(0, 200) + killed, tmp_path)
    assert found.family == "A2"
