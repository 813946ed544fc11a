"""Crashes that do not tell by themselves whether steps came before: in an evaluation, of a kernel, of a benchmark's own bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.test_cut_and_told import OPEN, drafted

LIB = '  File "/opt/env/lib/python3.11/site-packages/{}", line 9, in {}\n    go()\n'
OWN = '  File "/home/ada/job/{}", line 9, in {}\n    go()\n'
SHAPES = "RuntimeError: The size of tensor a (7) must match the size of tensor b (9) at non-singleton dimension 1\n"
PLAN = "***** Running training *****\n  Num examples = 1,200\n  Total optimization steps = 450\n"
TRANSFORMERS = LIB.format("transformers/trainer.py", "evaluate") + OWN.format("run.py", "compute_metrics")
SANITY = LIB.format("lightning/pytorch/trainer/trainer.py", "_run_sanity_check")
LOOP = LIB.format("lightning/pytorch/loops/evaluation_loop.py", "run") + OWN.format("net.py", "validation_step")
FIT = LIB.format("lightning/pytorch/loops/fit_loop.py", "advance")


@pytest.mark.parametrize(
    ("text", "family"),
    [
        (PLAN + OPEN + TRANSFORMERS + SHAPES, "A3"),
        (OPEN + TRANSFORMERS + SHAPES, "A1"),
        (OPEN + FIT + LOOP + SHAPES, "A3"),
        (OPEN + SANITY + LOOP + SHAPES, "A1"),
        (OPEN + OWN.format("run.py", "train") + OWN.format("run.py", "validate") + SHAPES, "A3"),
        (OPEN + OWN.format("run.py", "train") + OWN.format("run.py", "validate_args") + "ValueError: lr is 0\n", "A1"),
    ],
)
def test_an_evaluation_inside_of_a_training_is_no_failed_start(tmp_path: Path, text: str, family: str) -> None:
    draft = drafted(text, tmp_path)
    assert draft.family == family, draft.headline


def test_an_evaluation_alone_does_not_tell_whether_steps_came_before(tmp_path: Path) -> None:
    draft = drafted(OPEN + OWN.format("run.py", "validate") + SHAPES, tmp_path)
    assert (draft.family, draft.confidence <= 0.55) == ("A1", True)
    assert any("before the evaluation" in m.text for m in draft.cannot_decide)


def test_a_deep_stack_still_tells_who_evaluated(tmp_path: Path) -> None:
    layer = LIB.format("torch/nn/modules/module.py", "_call_impl") * 2 + LIB.format(
        "transformers/modeling_x.py", "forward"
    )
    text = OPEN + LIB.format("transformers/trainer.py", "_maybe_log_save_evaluate") + layer * 7 + SHAPES
    assert drafted(text, tmp_path).family == "A3"


ASSERTED = "RuntimeError: CUDA error: device-side assert triggered\nCompile with `TORCH_USE_CUDA_DSA` to enable it.\n"


def test_a_kernel_that_meets_a_bad_batch_does_not_tell_which_batch_it_was(tmp_path: Path) -> None:
    draft = drafted(OPEN + OWN.format("run.py", "train") + ASSERTED, tmp_path / "a")
    assert (draft.family, draft.confidence) == ("A1", 0.6)
    assert any("steps came before" in m.text for m in draft.cannot_decide)
    draft = drafted(OPEN + OWN.format("run.py", "load_model") + ASSERTED, tmp_path / "b")
    assert draft.family == "A1" and draft.confidence > 0.7


@pytest.mark.parametrize(
    ("steps", "family"), [("", "A1"), ("step 10 loss 2.1\nstep 20 loss 2.0\nstep 30 loss 1.9\n", "A3")]
)
def test_a_benchmark_that_misses_its_bound_is_no_certain_crash(tmp_path: Path, steps: str, family: str) -> None:
    draft = drafted(steps + OPEN + "AssertionError: throughput 1190.1 < expected 1500.0\n", tmp_path)
    assert (draft.family, draft.mode, draft.confidence < 0.5) == (family, "code", True)
    assert "was not met" in draft.headline and not any("at fault" in c.text for c in draft.implies)


_READ = "FileNotFoundError: [Errno 2] No such file or directory: '/data/val/0417.png'\n"
_COUNT = "[2031-03-04 10:1{0}:00 INFO] Test: [{0}0/160] Time 0.41 (0.44)\n"
_BAR = "Evaluating:  {0}2%|##        | {0}0/160 [00:4{0}<01:20,  2.1it/s]\n"


@pytest.mark.parametrize(
    ("before", "script", "family"),
    [
        (_COUNT.format(3) + _COUNT.format(4), "infer.py", "A3"),
        (_BAR.format(3) + _BAR.format(4), "run_eval.py", "A3"),
        (_COUNT.format(3) + _COUNT.format(4), "main.py", "A3"),
        (_COUNT.format(3) + _COUNT.format(4) + "mIoU 0.41\nwrote results\nnext split\n", "main.py", "A1"),
        ("Test: [160 images]\n", "infer.py", "A1"),
        (_COUNT.format(3), "infer.py", "A1"),
    ],
    ids=["by name", "a bar", "in its middle", "long after it", "no count", "one count"],
)
def test_a_crash_in_the_middle_of_an_evaluation_alone_is_no_failed_start(
    tmp_path: Path, before: str, script: str, family: str
) -> None:
    draft = drafted(before + OPEN + OWN.format(script, "main") + OWN.format("data.py", "read") + _READ, tmp_path)
    assert draft.family == family, draft.headline
    if family == "A3":
        assert "while evaluating" in draft.headline
        assert any("batches had been evaluated" in c.text for c in draft.shows)
