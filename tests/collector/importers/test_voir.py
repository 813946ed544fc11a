"""A run as milabench records it: its lines are read as printed, its losses, its GPUs while it trained, and how it ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_tools import differential
from agent_tools.evidence import Ledger
from agent_tools.facts import Facts
from agent_tools.verdict import Draft
from collector.intake.bundle import import_paths
from store import Reader
from tests.collector.livekit import asked

BEGIN = 1_777_629_600.0


def event(name: str, data: Any, pipe: str | None = "data") -> str:
    return json.dumps({"event": name, "data": data, "pipe": pipe}) + "\n"


def gpus(load: float, time: float | None = None) -> str:
    told: dict[str, Any] = {
        "task": "main",
        "gpudata": {"0": {"memory": [524.0, 81251.1], "load": load, "temperature": 41}},
    }
    return event("data", told if time is None else {**told, "time": time})


def losses(first: float, last: float, n: int = 60) -> list[str]:
    return [event("data", {"task": "train", "loss": first + (last - first) * i / (n - 1)}) for i in range(n)]


def record(middle: list[str], status: int | None, seconds: float = 600) -> str:
    head = [
        event("config", {"name": "toy", "argv": {"--batch-size": 8}}),
        event("meta", {"os": {"nodename": "gpu-07"}}),
        event("start", {"command": ["python", "toy.py"], "time": BEGIN}, None),
        event("line", "loading the data\n", "stdout"),
    ]
    end = (
        [] if status is None else [event("end", {"command": [], "time": BEGIN + seconds, "return_code": status}, None)]
    )
    return "".join([*head, *middle, *end])


def drafted(text: str, tmp_path: Path) -> Draft:
    path = tmp_path / "toy.D0.jsonl"
    path.write_text(text)
    import_paths([path], tmp_path / "lake", job_id="1", durable=False)
    return differential.draft(Facts(Reader(tmp_path / "lake", threads=1), Ledger(), "1"))


def among(losses_: list[str], *loads: float) -> list[str]:
    return [text for n, loss in enumerate(losses_) for text in (loss, gpus(loads[n % len(loads)]))]


def level(n: int = 60) -> list[str]:
    return [event("data", {"task": "train", "loss": 9.0 + (0.02 if i % 2 else -0.02)}) for i in range(n)]


OOM = (
    "CUDA out of memory. Tried to allocate 1.86 GiB. GPU 0 has a total capacity of 23.73 GiB of which 1.16 GiB is free."
)
STACK = 'Traceback (most recent call last):\n  File "/home/ada/toy.py", line 9, in <module>\n    main()\n'


@pytest.mark.parametrize(
    ("middle", "status", "family"),
    [
        (among(losses(9.0, 4.0), 0.8), 0, "G1"),
        (among(losses(9.0, 4.0), 0.0, 0.0, 0.0, 0.2), 0, "D1"),
        ([gpus(0.01)] * 40 + losses(9.0, 4.0), 0, "G1"),
        ([gpus(0.9)] * 40 + losses(9.0, 4.0) + [gpus(0.0).replace('{"0": ', '{"1": {"load": 0.0}, "0": ')], 0, "G1"),
        ([event("line", STACK.splitlines()[0] + "\n", "stderr"), event("error", {"type": "OutOfMemoryError", "message": OOM})], 1, "B1"),
        ([event("error", {"type": "ModuleNotFoundError", "message": "No module named 'geo'",
                          "trace": STACK + "ModuleNotFoundError: No module named 'geo'\n"})], 1, "A1"),
        (losses(9.0, 8.0, 20), -11, "A2"),
        (losses(9.0, 8.0, 5), None, "U0"),
        ([*losses(9.0, 4.0), event("data", {"task": "early_stop", "progress": [60, 60]}), event("stop", None)], -15, "G1"),
        ([*losses(9.0, 4.0), event("data", {"task": "early_stop", "progress": [60, 60]}), event("stop", None)], 1, "G1"),
        ([*losses(9.0, 4.0), event("data", {"task": "early_stop", "progress": [60, 90]}), event("stop", None)], 1, "U0"),
        ([*level(), event("data", {"task": "early_stop", "progress": [60, 60]}), event("stop", None)], -15, "U0"),
    ],
)  # fmt: skip
def test_the_verdict_on_a_record(middle: list[str], status: int | None, family: str, tmp_path: Path) -> None:
    draft = drafted(record(middle, status), tmp_path)
    assert draft.family == family or (family == "U0" and draft.confidence < 0.5), (draft.family, draft.headline)


def test_samples_keep_their_times_or_are_laid_over_the_run(tmp_path: Path) -> None:
    timed = [gpus(0.1), losses(2.0, 1.0)[0], gpus(0.5, BEGIN + 7.5), gpus(0.9, BEGIN + 9)]
    drafted(record(timed, 0), tmp_path)
    text = "SELECT node, epoch(ts) - 1777629600 AS at, engine_active, fb_used_bytes FROM gpu_sample ORDER BY ts"
    assert asked(tmp_path / "lake", text) == [
        ("gpu-07", 7.5, 0.5, 524 << 20),
        ("gpu-07", 9.0, 0.9, 524 << 20),
    ]
    (tmp_path / "b").mkdir()
    untimed = [gpus(0.1), losses(2.0, 1.0)[0], gpus(0.5), gpus(0.9)]
    drafted(record(untimed, 0, seconds=400), tmp_path / "b")
    assert [row[1:3] for row in asked(tmp_path / "b" / "lake", text)] == [(100.0, 0.1), (200.0, 0.5), (300.0, 0.9)]
    steps = "SELECT epoch(ts) - 1777629600 AS at, ts_kind FROM train_step"
    assert asked(tmp_path / "b" / "lake", steps) == [(150.0, "carried")], "between the samples around it"


def test_a_logger_whose_event_is_its_text_is_no_such_record(tmp_path: Path) -> None:
    lines = [json.dumps({"event": f"step {n}/9 loss {4 - n / 10}", "level": "info"}) + "\n" for n in range(9)]
    drafted("".join(lines), tmp_path)
    assert asked(tmp_path / "lake", "SELECT max(step) FROM train_step") == [(8,)]
