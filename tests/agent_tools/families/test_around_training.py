"""What stands before and after the training in one whole log: bars of data preparation, a script's own end, a loss that comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools import differential
from tests.agent_tools.families.logkit import drafted, facts_of

BAR = (
    "{0}:  98%|█████████▊| 980/1000 [00:09<00:00, 101.1it/s]\r{0}: 100%|██████████| 1000/1000 [00:10<00:00, 99.7it/s]\n"
)
NO_FEATURES = """Error executing job with overrides: ['+seed=1', 'model=Cnn6', 'dataset.path=/scratch/words/data']
Error in call to target 'audio.sets.words.Words':
ValueError("Directory features_subdir='mel_8k' does not exist in '/scratch/words/data'.")

Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.
"""
TRAINED = """{'loss': 0.7, 'grad_norm': 0.5, 'learning_rate': 9e-06, 'epoch': 0.2}
{'loss': 0.5, 'grad_norm': 0.5, 'learning_rate': 6e-06, 'epoch': 0.5}
{'loss': 0.4, 'grad_norm': 0.5, 'learning_rate': 1e-06, 'epoch': 1.0}
"""
END = "{'train_runtime': 812.4, 'train_samples_per_second': 9.1, 'train_steps_per_second': 0.3, 'train_loss': 0.53, 'epoch': 1.0}\n"
CRASH = """Traceback (most recent call last):
  File "/home/ana/tune/run.py", line 88, in <module>
    report(settings.top)
AttributeError: 'Settings' object has no attribute 'top'
"""


def test_a_bar_over_the_split_of_a_dataset_is_no_training(tmp_path: Path) -> None:
    facts = facts_of(BAR.format("Words-8k-test") + NO_FEATURES, tmp_path)
    draft = differential.draft(facts)
    assert not facts.progress.begun
    assert draft.family == "A1", draft.headline


def test_a_bar_without_such_words_is_training(tmp_path: Path) -> None:
    assert facts_of(BAR.format("Epoch 1"), tmp_path).progress.begun


def test_a_crash_after_the_end_of_training_is_told_as_one(tmp_path: Path) -> None:
    draft = drafted(TRAINED + END + CRASH, tmp_path)
    assert draft.family == "A3"
    assert "after training had ended" in draft.headline


def test_a_service_that_fails_after_the_end_is_not_told_as_one_that_failed_in_training(tmp_path: Path) -> None:
    crash = (
        'Traceback (most recent call last):\n  File "/srv/lm/fit.py", line 9, in <module>\n    trainer.push_to_hub()\n'
    )
    error = "huggingface_hub.errors.HfHubHTTPError: 503 Server Error: Service Unavailable for url: https://huggingface.co/api/x\n"
    draft = drafted(TRAINED + END + crash + error, tmp_path)
    assert draft.family == "A3"
    assert any("after training had ended" in c.text for c in draft.implies)
    assert not any("while training ran" in c.text for c in draft.implies)


def test_a_crash_before_the_end_of_training_is_one_while_training(tmp_path: Path) -> None:
    draft = drafted(TRAINED + CRASH, tmp_path)
    assert draft.family == "A3"
    assert "while training" in draft.headline


THREAD = """Exception in thread Thread-7:
Traceback (most recent call last):
  File "/opt/py/lib/python3.11/threading.py", line 1045, in _bootstrap_inner
    self.run()
  File "/opt/py/lib/python3.11/site-packages/summaries/writer.py", line 88, in run
    item = self.queue.get(True, wait)
OSError: handle is closed
"""
TORN = """Exception in thread Thread-7:
Exception in thread Thread-9:

Traceback (most recent call last):
Traceback (most recent call last):
  File "/opt/py/lib/python3.11/threading.py", line 1045, in _bootstrap_inner
  File "/opt/py/lib/python3.11/threading.py", line 1045, in _bootstrap_inner
    self.run()
  File "/opt/py/lib/python3.11/site-packages/summaries/writer.py", line 88, in run
    self.run()
  File "/opt/py/lib/python3.11/site-packages/summaries/writer.py", line 88, in run
    raise OSError("handle is closed")
OSError: handle is closed
    raise OSError("handle is closed")
OSError: handle is closed
"""


@pytest.mark.parametrize("stack", [THREAD, TORN])
def test_a_thread_that_fails_once_training_has_ended_ended_nothing(tmp_path: Path, stack: str) -> None:
    draft = drafted(TRAINED + "End training....\n" + stack, tmp_path)
    assert draft.family == "G1", draft.headline


@pytest.mark.parametrize("stack", [THREAD, TORN])
def test_a_thread_that_fails_while_training_is_a_suspicion(tmp_path: Path, stack: str) -> None:
    draft = drafted(TRAINED + stack, tmp_path)
    assert (draft.family, draft.confidence) == ("A3", 0.55)


def test_the_main_thread_that_fails_once_training_has_ended_is_a_crash(tmp_path: Path) -> None:
    draft = drafted(TRAINED + "End training....\n" + CRASH, tmp_path)
    assert draft.family == "A3" and draft.confidence > 0.8


def test_a_loss_that_came_back_from_nan_above_its_start_has_not_fallen(tmp_path: Path) -> None:
    seen = ["0.70", "0.72", "nan", "nan", "nan", "0.75", "0.81", "0.94", "1.05", "1.21", "1.30", "1.37"]
    lines = [f"episode={i} step={i * 50} reward={90 + i}.0 epsilon=0.9{i:02} loss={x}\n" for i, x in enumerate(seen, 1)]
    draft = drafted("".join([*lines, "Training completed.\n"]), tmp_path)
    assert not any("loss fell" in claim.text for claim in draft.shows), draft.headline
