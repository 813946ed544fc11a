"""A1: exceptions before any step, by fault class; against rendezvous errors, memory at load, and crashes in mid-run."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.cases import Variant
from evals.scenarios.endings import at_start, crash, raised
from evals.scenarios.faults import blind, sound
from evals.scenarios.plan import Plan, healthy
from evals.scorers.base import Expected


def _raises(mode: str, text: str, frame: str = "train.py") -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = at_start(seed)
        raised(plan, plan.minutes - 0.2, text, frame)
        return plan, Expected(("A1",), mode, "job", facts=(text.split(":")[0].rsplit(".", 1)[-1],))

    return make


def _rendezvous(seed: int) -> tuple[Plan, Expected]:
    plan = at_start(seed, gpus=16)
    raised(
        plan,
        plan.minutes - 0.2,
        "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.",
    )
    return plan, Expected(("C1",))


def _memory(seed: int) -> tuple[Plan, Expected]:
    plan = at_start(seed)
    raised(
        plan,
        plan.minutes - 0.2,
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.10 GiB is free.",
    )
    return plan, Expected(("B1",), None, "job")


def _later(seed: int) -> tuple[Plan, Expected]:
    plan, _, minute = crash(seed)
    raised(plan, minute, "KeyError: 'input_ids'", "data.py")
    return plan, Expected(("A3",), None, "job")


def _noisy(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    plan.say(
        0.4,
        f"{plan.at(0.4):%Y-%m-%d %H:%M:%S},332 WARNING setup: could not import flash_attn, using the math kernel",
        "FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated.",
    )
    return plan, sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    return at_start(seed).without("log_line"), blind("log_line")


VARIANTS = (
    Variant("package", "fault", _raises("env", "ModuleNotFoundError: No module named 'flash_attn'"), 2),
    Variant("adapter", "fault", _raises("config", "ValueError: Target modules {'query_key_value'} not found in the base model. Please check the target modules and try again."), 2),
    Variant("repository", "fault", _raises("asset", "OSError: meta/large-9b is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'"), 2),
    Variant("columns", "fault", _raises("data", "datasets.exceptions.DatasetGenerationError: An error occurred while generating the dataset"), 2),
    Variant("name", "fault", _raises("code", "NameError: name 'optimzer' is not defined"), 1),
    Variant("arguments", "fault", _raises("config", "ValueError: Some keys are not used by the HfArgumentParser: ['lerning_rate']"), 1),
    Variant("rendezvous", "twin", _rendezvous, 2),
    Variant("memory", "twin", _memory, 2),
    Variant("later", "twin", _later, 2),
    Variant("noisy", "healthy", _noisy, 2),
    Variant("gone", "blind", _gone, 2),
)  # fmt: skip
