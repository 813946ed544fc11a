"""on_cpu: a run that had GPUs and says that it works on the CPU is told so, and never against a GPU that worked."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.facts.on_cpu import on_cpu
from collector.parsers.base import parse_text
from collector.parsers.cuda_error import CudaError
from store.rows import GpuSample, LogEvent
from tests.agent_tools.families.logkit import among
from tests.agent_tools.families.world import JOB, T, World

FELL_BACK = "WARNING:jax._src.xla_bridge:No GPU/TPU found, falling back to CPU."
NAMED = "2026-10-01 10:00:00,123 - train - INFO - Using device: cpu"


def codes(text: str) -> list[str]:
    rows = [r for r in parse_text(CudaError(), text) if isinstance(r, LogEvent) and r.name == "on_cpu"]
    return [(r.detail or "").split('"')[3] for r in rows]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (FELL_BACK, "jax"),
        ("An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to cpu.", "jax"),
        ("Skipping registering GPU devices...", "tensorflow"),
        ("UserWarning: User provided device_type of 'cuda', but CUDA is not available. Disabling", "torch"),
        ("GPU available: False, used: False", "lightning"),
        ("GPU available: True (cuda), used: False", "lightning"),
        ("No GPU found, using CPU instead", "program"),
        (NAMED, "device"),
        ("Using device: cpu", "device"),
        ("Using cpu device", "device"),
        ("device = 'cpu'", "device"),
        ("[rank0]: Running on CPU", "device"),
    ],
)  # fmt: skip
def test_words_of_work_on_the_cpu_are_read(text: str, code: str) -> None:
    assert codes(text) == [code]
    assert codes(f"{text}\n" * 3) == [code], "once for all ranks"


@pytest.mark.parametrize(
    "text",
    [
        "GPU available: True (cuda), used: True",
        "Using device: cuda:0",
        "Using device: cpu\ntokenizing\n2026-10-01 10:00:00 INFO Using device: cuda:3",
        "Using device: cpu for the tokenizer",
        "weights are loaded with map_location device: cpu",
        "Using CPU offload for the optimizer",
        "device: cpu_adam",
        "No GPU memory is left",
    ],
)
def test_words_that_resemble_them_are_not(text: str) -> None:
    assert codes(text) == []


def run(folder: Path, code: str, framework: str, engine: float | None = None, beside: str = "", **job: object) -> World:
    """A run of fifty reports that came to its end, with such words before it."""
    world = World(folder)
    if job or engine is not None:
        world.job("COMPLETED", **job)
    world.say("warning", "on_cpu", "No GPU here.", severity="info", detail=f'{{"code": "{code}"}}')
    if beside:
        world.say(beside, "ib_error" if beside == "nccl_error" else "torch_oom", "of a GPU", severity="warning")
    world.train([9 * 0.97**i for i in range(50)], total_steps=500, framework=framework).text("training finished")
    world.say("train_end", "finished", "training finished", severity="info")
    if engine is not None:
        busy = {"engine_active": engine, "fb_used_bytes": 1 << 30}
        world.add(*(GpuSample(job_id=JOB, node="n1", gpu=k, ts=T, **busy) for k in range(8)))
    return world


@pytest.mark.parametrize(
    ("code", "framework", "more", "said"),
    [
        ("torch", "loop", {}, True),
        ("torch", "loop", {"gpus": 16}, True),
        ("torch", "loop", {"gpus": 0}, False),
        ("torch", "loop", {"engine": 0.9}, False),
        ("torch", "loop", {"engine": 0.0}, True),
        ("torch", "loop", {"beside": "nccl_error"}, False),
        ("torch", "loop", {"beside": "cuda_oom"}, False),
        ("lightning", "lightning", {}, True),
        ("tensorflow", "keras", {}, True),
        ("tensorflow", "hf-trainer", {"gpus": 16}, False),  # imported beside it, and never used
        ("tensorflow", "loop", {"gpus": 16}, False),
        ("jax", "maxtext", {}, True),
        ("jax", "megatron", {"gpus": 16}, False),
        ("device", "loop", {}, False),  # of a log alone nobody knows that there was a GPU to use
        ("device", "loop", {"gpus": 16}, True),
        ("device", "loop", {"gpus": 16, "engine": 0.4}, False),
    ],
)
def test_it_is_told_where_there_was_a_gpu_to_use_and_none_was_seen_at_work(
    code: str, framework: str, more: dict[str, object], said: bool, tmp_path: Path
) -> None:
    facts = run(tmp_path, code, framework, **more).facts()  # type: ignore[arg-type]
    assert (on_cpu(facts) is not None) is said
    # Whether idle GPUs are another family's is asked where there are samples of them.
    draft = differential.draft(facts) if "engine" in more else among(facts, "G1")
    assert draft.family == "G1"
    assert ("on the CPU" in draft.headline) is said and any("on the CPU" in w.text for w in draft.warnings) is said
    assert any("asks for the GPU" in c.text for c in draft.actions) is (said or more.get("engine") == 0.0)


def test_a_word_of_jax_beside_a_loop_of_nobodys_is_told_with_a_doubt(tmp_path: Path) -> None:
    draft = differential.draft(run(tmp_path, "jax", "loop").facts())
    assert "CPU" not in draft.headline
    assert any(w.text.startswith("If JAX is what trained") for w in draft.warnings)


def test_a_run_that_its_limit_ended_is_told_it_too(tmp_path: Path) -> None:
    world = (
        World(tmp_path)
        .job("TIMEOUT", 120, gpus=16)
        .train([9 * 0.97**i for i in range(50)], every_s=140.0, total_steps=5000)
    )
    world.say("warning", "on_cpu", FELL_BACK, severity="info", detail='{"code": "torch"}')
    draft = differential.draft(world.facts())
    assert draft.family == "F3" and any("on the CPU" in w.text for w in draft.warnings)
