"""The loop of VITS and of the voice models that copy it."""

import json
import math

import pytest

from collector.parsers.base import parse_text
from collector.parsers.vits import Vits


def parse(text):
    return parse_text(Vits(), text)


def test_an_epoch_and_the_list_of_its_losses():
    epoch, losses = parse(
        "INFO:alto:Train Epoch: 15 [70%]\nINFO:alto:[2.06, 3.0, 14.57, 20.43, 2.23, 1.02, 845200, 0.0001653]\n"
    )
    assert (epoch.epoch, epoch.step, json.loads(epoch.metrics)) == (15.0, None, {"percent": 70.0})
    assert (losses.step, losses.learning_rate, losses.loss) == (845200, 0.0001653, 20.43)
    assert json.loads(losses.metrics)["loss_3"] == 20.43 and len(json.loads(losses.metrics)) == 6


@pytest.mark.parametrize(
    "text",
    [
        "2023-05-01 10:01:02,345\talto\tINFO\t[2.5, nan, 9.0, 18.0, 0.9, 800, 9.9e-05]",
        "2023-05-01 10:01:02,345 alto INFO Losses: [2.5, nan, 9.0, 18.0, 0.9], step: 800, lr: 9.9e-05",
    ],
)
def test_a_loss_that_is_no_number_is_the_loss(text):
    (row,) = parse(text)
    assert (row.step, row.learning_rate, math.isnan(row.loss)) == (800, 9.9e-05, True)


@pytest.mark.parametrize(
    "text",
    [
        "Train Epoch: 4 [ 2560/60000 (4%)]\tLoss: 0.125000",
        "INFO:root:Train Epoch: 4 [70%] Loss: 0.5",
        "INFO:alto:[1, 2]",
        "INFO:alto:====> Epoch: 15",
        "INFO:root:input shape [8, 3, 224, 224]",
        "INFO: [0.1, 0.2, 0.3, 0.4] are the class weights",
        "INFO:root:[8, 3, 224, 224, 1]",
        "battery [70%]",
    ],
)
def test_what_resembles_it_gives_nothing(text):
    assert parse(text) == []
