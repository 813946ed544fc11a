"""The iterations that nanoGPT was to make, by its settings and overrides."""

import pytest

from collector.parsers.base import parse_text
from collector.parsers.nanogpt_plan import NanoGptPlan


def parse(text):
    return parse_text(NanoGptPlan(), text)


FILE = (
    "Overriding config with config/small.py:\neval_interval = 250 # often\nmax_iters = 5000\nlr_decay_iters = 5000\n\n"
)
BEGINS = "tokens per iteration will be: 16,384\n"


@pytest.mark.parametrize(
    ("text", "total"), [(FILE + BEGINS, 5000), (FILE + "Overriding: max_iters = 20\n" + BEGINS, 20)]
)
def test_the_last_word_on_the_iterations_is_the_plan(text, total):
    (row,) = parse(text)
    assert (row.kind, row.total_steps) == ("train_plan", total)


@pytest.mark.parametrize("text", [FILE, BEGINS, "lr_max_iters = 9\n" + BEGINS, "max_iters = args.max_iters\n" + BEGINS])
def test_a_setting_of_another_loop_or_no_setting_is_no_plan(text):
    assert parse(text) == []
