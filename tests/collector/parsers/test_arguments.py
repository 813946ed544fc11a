"""Wrong settings in the words of argparse, click, Hydra, OmegaConf and pydantic."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.arguments import NAMES, Arguments
from collector.parsers.base import parse_text


def parse(text):
    return parse_text(Arguments(), text)


def test_argparse_after_its_usage():
    (row,) = parse("usage: finetune [-h] --model M\nfinetune: error: bad combination of flags")
    assert (row.kind, row.name, row.exit_code, row.message) == (
        "exception",
        "ArgumentError",
        2,
        "bad combination of flags",
    )
    assert json.loads(row.detail) == {"argparse": True, "program": "finetune"}


@pytest.mark.parametrize(
    ("text", "name", "what"),
    [
        ("train.py: error: unrecognized arguments: --lerning_rate 1e-4", "ArgumentError", None),
        (
            "torchrun: error: the following arguments are required: training_script, training_script_args",
            "ArgumentError",
            None,
        ),
        ("train.py: error: argument --lr: invalid float value: 'x'", "ArgumentError", None),
        ("stderr> [node 3] fit.py: error: unrecognized arguments: --local-rank=2", "ArgumentError", None),
        ("2026-01-02 03:04:05 ERROR fit.py: error: argument --lr: invalid float value: 'x'", "ArgumentError", None),
        ("Error: No such option: --foo", "UsageError", None),
        ("│ Invalid value for '--steps': 'x' is not a valid integer.                      │", "UsageError", None),
        ("Could not override 'trainer.devicess'.", "ConfigCompositionException", "trainer.devicess"),
        (
            "In 'experiment/x': Could not override 'data@experiment.data'.",
            "ConfigCompositionException",
            "data@experiment.data",
        ),
        ("In 'config': Could not find 'model/foo'", "ConfigCompositionException", "model/foo"),
        ("Key 'lrr' is not in struct", "ConfigAttributeError", "lrr"),
        ("Key 'epocs' not in 'TrainConfig'", "ConfigAttributeError", "epocs"),
        ("Error merging 'config' with schema", "ConfigCompositionException", "config"),
        ("Primary config module 'conf.main' not found.", "ConfigCompositionException", "conf.main"),
        ("Primary config directory not found.", "ConfigCompositionException", None),
        ("Additional config directory '/lab/conf' not found", "ConfigCompositionException", "/lab/conf"),
        ("Could not delete 'sched/step'. No match in the defaults list", "ConfigCompositionException", "sched/step"),
        ("Could not delete from config. 'net.width' does not exist.", "ConfigCompositionException", None),
        ("Error merging override net.width=wide", "ConfigCompositionException", "net.width=wide"),
        (
            "Override net=wide looks like a config group override, but config group 'net' does not exist.",
            "ConfigCompositionException",
            "net=wide",
        ),
        (
            "In 'fit': ValidationError raised while composing config:",
            "ConfigCompositionException",
            None,
        ),
        ("Sweep parameters 'net.width' requires --multirun", "ConfigCompositionException", "net.width"),
        ("missing EQUAL at '<EOF>'", "OverrideParseException", "<EOF>"),
        ("extraneous input ')' expecting <EOF>", "OverrideParseException", ")"),
        ("no viable alternative at input '[a,'", "OverrideParseException", "[a,"),
        ("token recognition error at: '='", "OverrideParseException", "="),
        ("Missing mandatory value: data.path", "MissingMandatoryValue", "data.path"),
        ("Error in call to target 'torch.optim.adam.Adam':", "InstantiationException", "torch.optim.adam.Adam"),
        ("2 validation errors for AxolotlInputConfig", "ValidationError", "AxolotlInputConfig"),
        ("  Value error, batch_size must be positive [type=value_error, input_value=0]", "ValueError", None),
    ],
)
def test_messages_by_type(text, name, what):
    (row,) = parse(text)
    assert row.name == name and name in NAMES
    assert what is None or json.loads(row.detail)["what"] == what


@pytest.mark.parametrize(
    "text",
    [
        "srun: error: Unable to create step",
        "gcc: error: unrecognized command",
        "foo.c:3: error: expected ;",
        "Missing keys: none",
        "validation error 0.31",
        "Could not be better",
        "see what fit.py: error: the loss is high means",
        "Key 'head.bias' not in 'state_dict'",
        "Multiple values for seed are averaged",
    ],
)
def test_what_resembles_it_gives_nothing(text):
    assert parse(text) == []


@given(st.text(max_size=150))
def test_no_text_can_crash_it(text):
    assert all(r.name in NAMES for r in parse("a.py: error: " + text))


def test_what_a_target_raised_stands_on_the_next_line():
    (row,) = parse(
        "Error in call to target 'net.Encoder':\nFileNotFoundError(2, 'No such file or directory')\nfull_key: net\n"
    )
    assert row.message == "Error in call to target 'net.Encoder': FileNotFoundError(2, 'No such file or directory')"
    (row,) = parse("Error in call to target 'net.Encoder':\nfull_key: net\n")
    assert row.message == "Error in call to target 'net.Encoder':"
