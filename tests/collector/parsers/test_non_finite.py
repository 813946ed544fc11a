"""NaN and overflow in words; numbers in progress lines and zero counts are none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.non_finite import NAMES, NonFinite


def parse(text):
    return parse_text(NonFinite(), text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Loss is nan, stopping training", "stopped"),
        ("WARNING:root:grad_norm became NaN. Stopping training.", "stopped"),
        ("Batch 12: Invalid loss, terminating training", "stopped"),
        ("ERROR:tensorflow:Model diverged with loss = NaN.", "stopped"),
        ("FloatingPointError: Loss became infinite or NaN at iteration=166!", "stopped"),
        (
            "(trainer:404) WARNING: The gradients at all steps are invalid in this epoch. Something seems wrong. This training was stopped at 7epoch",
            "stopped",
        ),
        (
            "Rank 1, node n2, device 0, iteration #9: Correct result (but possible Application error) (found NaN in local grad norm)!",
            "stopped",
        ),
        ("RuntimeError: grad_scale is too small, exiting: 2.5e-21", "scale_exhausted"),
        ("warning: the loss became infinite at step 12", "nan_loss"),
        ("  eval_loss               =        nan", "nan_loss"),
        ("Epoch 3 ; Iter 50/90 ; LR 0.5 ; tokens/s 2100 ; PPL nan ;", "nan_loss"),
        ("Validation perplexity: nan", "nan_loss"),
        ("The loss returned in `training_step` is nan.", "nan_loss"),
        ("Unexpected result nan (message='found NaN in local forward loss calculation')", "nan_loss"),
        ("Rank 3: found NaN in local grad norm for bucket #0 in backward pass", "nan_grad"),
        (
            "RuntimeError: The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be clipped.",
            "nan_grad",
        ),
        ("RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.", "anomaly"),
        ("RuntimeError: probability tensor contains either `inf`, `nan` or element < 0", "nan_found"),
        ("NaN detected after softmax", "nan_found"),
        ("found nan/inf/spiky gradient (norm=nan)", "nan_found"),
        ("Found NaN or Inf in the loss at step: 12", "nan_loss"),
        (
            "Region 94 Avg IOU: nan, Class: nan, Obj: nan, No Obj: nan, .5R: 0.000000, .75R: 0.000000,  count: 1",
            "nan_found",
        ),
        ("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0", "overflow"),
        ("[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768", "overflow"),
        ("NOTE: overflow detected, setting loss scale to: 32768.0", "overflow"),
        (
            "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
            "scale_exhausted",
        ),
        (
            "FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding.",
            "scale_exhausted",
        ),
    ],
)
def test_words_by_name(text, name):
    (row,) = parse(text)
    assert (row.kind, row.name) == ("non_finite", name) and name in NAMES


def test_the_loss_scale_is_a_number():
    (row,) = parse("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0")
    assert json.loads(row.detail)["scale"] == 32768.0


@pytest.mark.parametrize(
    "text",
    [
        " iteration 5/ 10 | lm loss: 1.0E+00 | number of skipped iterations: 0 | number of nan iterations: 0 |",
        "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 0.0, 'epoch': 0.0}",
        "iter 0: loss nan, time 4507.43ms, mfu -100.00%",
        "33/33 [====] - loss: nan - val_loss: nan",
        "check_for_nan_in_loss_and_grad ......... True",
        "no NaN found in data",
        "detected nan/inf/spiky gradient (norm=2.19); skipping the step",
        "found NaN or exploding gradients, grad_norm: 14.2",
        "Region 82 Avg IOU: -nan, Class: -nan, Obj: -nan, No Obj: 0.000001, .5R: -nan, .75R: -nan,  count: 0",
        "  eval_loss               =     0.7312",
        "Epoch 1 ; Iter 50/90 ; PPL inf ;",
        "Validation perplexity: nan-safe",
        "finance report",
        "nanoGPT config",
        "Info: inference found 3 files",
    ],
)
def test_what_resembles_it_gives_nothing(text):
    assert parse(text) == []


@given(st.text(max_size=150))
def test_no_text_can_crash_it(text):
    assert all(r.name in NAMES for r in parse("nan " + text + " overflow detected"))
