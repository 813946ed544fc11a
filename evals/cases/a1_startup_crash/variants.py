"""A1: exceptions before any step, by fault class; against rendezvous errors, memory at load, and crashes in mid-run."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.appended import appended, ran_out
from evals.scenarios.cases import Variant
from evals.scenarios.endings import at_start, attempt_before, crash, raised
from evals.scenarios.faults import blind, sound
from evals.scenarios.plan import Plan, healthy
from evals.scenarios.settings import placed, unseen
from evals.scorers.base import Expected


def _raises(mode: str, text: str, frame: str = "train.py") -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = at_start(seed)
        raised(plan, plan.minutes - 0.2, text, frame)
        return plan, Expected(("A1",), mode, "job", facts=(text.split(":")[0].rsplit(".", 1)[-1],))

    return make


def _driver(text: str, of: str) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan, _ = _raises("env", f"RuntimeError: {text}")(seed)
        return plan, Expected(("A1",), "env", of)

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
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of {plan.card_gib:.2f} GiB of which 1.10 GiB is free.",
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


def _every_rank(seed: int) -> tuple[Plan, Expected]:
    plan = at_start(seed, gpus=256)
    for gpu in plan.gpus[:64:8]:
        raised(plan, plan.minutes - 0.2 + gpu.rank * 1e-4, "ModuleNotFoundError: No module named 'transformer_engine'")
    return plan, Expected(("A1",), "env", "job", facts=("transformer_engine",))


def _after_node(seed: int) -> tuple[Plan, Expected]:
    """A node was lost under the first attempt; the second one dies of a setting."""
    plan = at_start(seed, gpus=16)
    attempt_before(plan, "NODE_FAIL", None)
    raised(plan, plan.minutes - 0.2, "ValueError: num_layers must be divisible by pipeline_model_parallel_size")
    return plan, Expected(("A1",), "config", "job", facts=("ValueError",))


def _resuming(seed: int) -> tuple[Plan, Expected]:
    plan = at_start(seed)
    plan.slurm["submit_line"] = "sbatch train.sbatch --resume-from-checkpoint /scratch/run/checkpoint-900"
    raised(
        plan,
        plan.minutes - 0.2,
        "RuntimeError: Error(s) in loading state_dict for GPT:\n\tsize mismatch for wte.weight: copying a param with shape "
        "torch.Size([50257, 1024]) from checkpoint, the shape in current model is torch.Size([50304, 1024]).",
        "checkpointing.py",
    )
    return plan, Expected(("E2",), "load_crash", "job")


VARIANTS = (
    Variant("package", "fault", _raises("env", "ModuleNotFoundError: No module named 'flash_attn'")),
    Variant("adapter", "fault", _raises("config", "ValueError: Target modules {'query_key_value'} not found in the base model. Please check the target modules and try again.")),
    Variant("repository", "fault", _raises("asset", "OSError: meta/large-9b is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'")),
    Variant("columns", "fault", _raises("data", "datasets.exceptions.DatasetGenerationError: An error occurred while generating the dataset")),
    Variant("name", "fault", _raises("code", "NameError: name 'optimzer' is not defined")),
    Variant("arguments", "fault", _raises("config", "ValueError: Some keys are not used by the HfArgumentParser: ['lerning_rate']")),
    Variant("rendezvous", "twin", _rendezvous),
    Variant("memory", "twin", _memory),
    Variant("later", "twin", _later),
    Variant("noisy", "healthy", _noisy),
    Variant("gone", "blind", _gone),
    Variant("many", "fault", _every_rank),
    Variant("after-node", "fault", _after_node),
    Variant("resuming", "twin", _resuming),
    Variant("token", "fault", _raises("asset", "huggingface_hub.errors.GatedRepoError: 401 Client Error. Cannot access gated repo for url https://huggingface.co/org/base-8b/resolve/main/config.json. Access to model org/base-8b is restricted.")),
    Variant("architecture", "fault", _raises("env", "ValueError: The checkpoint you are trying to load has model type `nova3` but Transformers does not recognize this architecture. This could be because of an issue with the checkpoint, or because your version of Transformers is out of date.")),
    *placed("package", _raises("env", "ModuleNotFoundError: No module named 'flash_attn'"), "exporter", "printed", "array", "latent", "beside"),
    *placed("columns", _raises("data", "datasets.exceptions.DatasetGenerationError: An error occurred while generating the dataset"), "shared"),
    *placed("noisy", _noisy, "array", "latent", kind="healthy"),
    *unseen("package", _raises("env", "ModuleNotFoundError: No module named 'flash_attn'"), "log_line", "log_line", until=0.2),
    *placed("package", _raises("env", "ModuleNotFoundError: No module named 'flash_attn'"), "unaccounted"),
    Variant("fed-nan", "fault", _raises("data", "ValueError: Input X contains NaN.")),
    *appended("after-oom", ran_out, _raises("env", "ModuleNotFoundError: No module named 'flash_attn'"), "last", "all", "none"),
    Variant("driver-down", "fault", _driver("Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized", "infrastructure")),
    Variant("held", "fault", _driver("CUDA error: all CUDA-capable devices are busy or unavailable", "undetermined")),
)  # fmt: skip
