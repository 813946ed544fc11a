"""A job of 1,024 GPUs: the verdict names the one that matters, and reads no longer than that of a small job."""

from __future__ import annotations

import re
from pathlib import Path

from agent_tools.agent import diagnose
from evals.scenarios import healthy
from evals.scenarios.build import lake
from evals.scenarios.faults import activity, but, only
from inquest.render.show import markdown_text, terminal_text
from store import Reader


def told(gpus: int, folder: Path) -> tuple[str, str, str]:
    """The slow GPU's node, and the verdict on a terminal and as Markdown."""
    plan = healthy(7, gpus=gpus, minutes=25).without(
        "cuda_sample", "nccl_sample", "process", "cgroup_sample", "host_sample"
    )
    slow = plan.gpus[len(plan.gpus) * 2 // 3]
    plan.gpu_changes += [activity(plan, 0.96, 0.6, only(slow)), activity(plan, 0.985, 0.16, but(slow))]
    folder.mkdir()
    with Reader(lake(plan, folder)) as reader:
        verdict = diagnose(reader, plan.job_id)
    assert verdict.family == "D3"
    return slow.node, terminal_text(verdict), markdown_text(verdict)


def test_a_verdict_on_1024_gpus_reads_as_one_on_8(tmp_path: Path) -> None:
    _, small, _ = told(8, tmp_path / "small")
    node, large, markdown = told(1024, tmp_path / "large")
    assert node in large.split("\n\n")[0]
    assert len(large.splitlines()) <= len(small.splitlines()) + 5
    shown = markdown.split("## Evidence")[0]
    assert len(set(re.findall(r"\b" + re.sub(r"\d+$", "", node) + r"\d+\b", shown))) <= 6
    assert not re.search(r"(?:\d+, ){8}", shown)
