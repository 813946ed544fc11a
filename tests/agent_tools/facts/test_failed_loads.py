"""A checkpoint that could not be loaded (agent_tools/facts/failed_loads.py)."""

from __future__ import annotations

import pytest

from agent_tools.facts.failed_loads import FailedLoad, names_saved_run


def load(text: str, frames: str = "") -> FailedLoad:
    return FailedLoad(text, frames, "", "")


@pytest.mark.parametrize(
    "text",
    [
        "FileNotFoundError: /runs/a/checkpoint-800/optimizer.pt",
        "KeyError: 'optimizer_state'",
        "KeyError: 'model.optim.exp_avg_sq'",
        "ValueError: loaded state dict has a different number of parameter groups",
        "ValueError: loaded state dict contains a parameter group that doesn't match the size of optimizer's group",
    ],
)
def test_what_only_a_saved_run_holds_tells_a_resume(text: str) -> None:
    assert load(text).of_saved_run


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: Error(s) in loading state_dict for ResNet: size mismatch for fc.weight",
        "KeyError: 'model'",
        "OSError: Unable to load weights from pytorch checkpoint file",
    ],
)
def test_a_base_model_fails_with_the_same_words(text: str) -> None:
    failed = load(text, "~/train.py in main\n~/train.py in build_model")
    assert not (failed.of_saved_run or failed.of_slot or failed.resumes or failed.surely_resumes)


def test_the_calls_tell_a_resume_more_or_less_surely() -> None:
    load_only = load("", "~/train.py in main\n~/utils.py in load_checkpoint")
    assert load_only.resumes
    assert not load_only.surely_resumes
    resume = load("", "~/train.py in main\n~/train.py in resume_training")
    assert resume.resumes
    assert resume.surely_resumes


@pytest.mark.parametrize(
    ("frame", "surely"),
    [
        ("torch/optim/optimizer.py in load_state_dict", True),
        ("spam/core/optimizer/distrib_optimizer.py in load_state_dict", True),
        ("torch/optim/lr_scheduler.py in load_state_dict", True),
        ("torch/nn/modules/module.py in load_state_dict", False),
        ("torch/optim/optimizer.py in step", False),
    ],
)
def test_only_a_run_that_goes_on_loads_the_state_of_an_optimizer(frame: str, surely: bool) -> None:
    assert load("", f"~/train.py in main\n{frame}\n> raise RuntimeError(").of_saved_run is surely


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "not in the log"),
        ("RuntimeError: size mismatch for head.weight", "do not match"),
        ("RuntimeError: Expected 1 entries in state dict, but got 3.", "do not match"),
        ("KeyError: 'scheduler'", "lacks a part"),
        ("NotFoundError: Key dense/kernel/Adam not found in checkpoint", "lacks a part"),
        ("ValueError: No valid checkpoint found in output directory (out)", "no valid checkpoint"),
        ("RuntimeError: PytorchStreamReader failed reading zip archive", "broken or incomplete"),
    ],
)
def test_what_is_wrong_with_the_checkpoint(text: str, kind: str) -> None:
    assert kind in load(text).kind[0]


def test_a_line_about_a_load_may_name_a_saved_run() -> None:
    assert names_saved_run("Resuming from out/checkpoint-1200")
    assert names_saved_run(" loading distributed checkpoint from /ck/run at iteration 4500")
    assert not names_saved_run(" loading release checkpoint from /ck/base at iteration 0")
    assert not names_saved_run("loading weights of bert-base-uncased")
