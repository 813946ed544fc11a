"""`agent_tools.facts.evaluating`: which frames of an evaluation show that steps had been trained."""

import pytest

from agent_tools.facts.evaluating import beside_training, came_after_steps, evaluates, evaluator

FIT = "lightning/pytorch/trainer/trainer.py in fit\n"
EVALUATE = (
    "transformers/trainer.py in evaluate\ntransformers/trainer.py in evaluation_loop\n~/ft/run.py in compute_metrics"
)
MM = "mmengine/runner/runner.py in train\nmmengine/runner/loops.py in run\n"


@pytest.mark.parametrize(
    "calls",
    [
        "transformers/trainer.py in _maybe_log_save_evaluate\n" + EVALUATE,
        FIT + "lightning/pytorch/loops/fit_loop.py in advance\nlightning/pytorch/loops/evaluation_loop.py in run\n~/a.py in validation_step",
        "ultralytics/engine/trainer.py in _do_train\nultralytics/engine/trainer.py in validate\nultralytics/engine/validator.py in __call__",
        "~/yolo/train.py in main\n~/yolo/train.py in train\n~/yolo/val.py in run",
        MM + "mmengine/runner/loops.py in run\nmmengine/evaluator/evaluator.py in evaluate",
        "keras/src/backend/tensorflow/trainer.py in fit\nkeras/src/backend/tensorflow/trainer.py in evaluate",
        "nnunetv2/run/run_training.py in run_training\nnnunetv2/training/nnUNetTrainer/nnUNetTrainer.py in perform_actual_validation",
        "~/fairseq/fairseq_cli/train.py in train\n~/fairseq/fairseq_cli/train.py in validate_and_save",
        "~/job/main.py in main\n~/job/loop.py in train_model\n~/job/loop.py in evaluate\n~/job/metrics.py in iou",
    ],
)  # fmt: skip
def test_an_evaluation_inside_of_a_training_comes_after_steps(calls: str) -> None:
    assert came_after_steps(calls)


@pytest.mark.parametrize(
    "calls",
    [
        FIT + "lightning/pytorch/trainer/trainer.py in _run_sanity_check\nlightning/pytorch/loops/evaluation_loop.py in run\n~/a.py in validation_step",
        "transformers/trainer.py in _inner_training_loop\ntransformers/trainer.py in _evaluate\n" + EVALUATE,
        "verl/trainer/ppo/ray_trainer.py in fit\nverl/trainer/ppo/ray_trainer.py in _validate",
        MM + "mmengine/runner/loops.py in run_epoch\nmmengine/runner/loops.py in run_iter",
        "keras/src/backend/tensorflow/trainer.py in fit\nkeras/src/backend/tensorflow/trainer.py in train_step",
        "~/job/train.py in main\n~/job/train.py in evaluate",
        "~/job/train.py in train\n~/job/train.py in validate_args",
        "lightning/pytorch/trainer/trainer.py in validate\nlightning/pytorch/loops/evaluation_loop.py in run",
    ],
)  # fmt: skip
def test_other_evaluations_say_nothing_of_steps(calls: str) -> None:
    assert not came_after_steps(calls)


def test_a_trainer_that_evaluates_by_itself_is_beside_its_training() -> None:
    assert beside_training("~/ft/run.py in main\n" + EVALUATE)
    assert not beside_training("~/ft/run.py in main\ntransformers/trainer.py in train\n" + EVALUATE)


def test_a_program_that_only_evaluates_is_no_open_question() -> None:
    assert evaluates("~/job/train.py in main\n~/job/train.py in validate", "/home/u/job/train.py")
    assert not evaluates("~/job/test.py in main\n~/job/test.py in evaluate", "/home/u/job/test.py")
    assert not evaluates("~/job/train.py in main\n~/job/train.py in load", "/home/u/job/train.py")


@pytest.mark.parametrize("script", ["/home/ada/infer.py", "run_eval.py", "test_net.py", "predict_all.py"])
def test_a_script_by_the_name_of_an_evaluation(script: str) -> None:
    assert evaluator(script)


@pytest.mark.parametrize("script", ["latest.py", "train_val.py", "main.py", "interval.py", ""])
def test_a_script_by_another_name(script: str) -> None:
    assert not evaluator(script)
