"""Runs of a program, one after the other in one file: where the next begins, and single runs that merely look like two."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collector.framing.logkit import (
    KEY,
    OOM,
    PREEMPTED,
    SUMMARY,
    WALL,
    begins,
    head,
    labelled,
    lightning,
    megatron,
    raised,
    runs,
    said,
    steps,
    unloaded,
)

DONE = ["Training finished."]
EXITED = ["srun: error: gpu01: task 2: Exited with exit code 1"]
RESTARTED = [
    "[2026-04-06 04:34:28,001] torch.distributed.elastic.agent.server.api: [INFO] [default] Worker group FAILED. 3/3 attempts left;"
    " will restart worker group"
]

SHOWN = [
    "Thu Apr  2 10:43:35 2026",
    "+---------------------------------------------------------------------+",
    "| NVIDIA-SMI 580.95.05    Driver Version: 580.95.05  CUDA Version: 13.0 |",
    "+---------------------------------------------------------------------+",
]

REPORTED = [
    *['  File "fit.py", line 7', "    if lr = 3:", "          ^", "SyntaxError: invalid syntax", "", "-" * 60],
    *[
        "Sender: LSF System <lsf@n7>",
        "Subject: Job <71>: <fit> in cluster <c2> Exited",
        "",
        "Exited with exit code 1.",
        "",
    ],
    "The output (if any) is above this job summary.",
]

AGAIN = {
    "a crash and another": [head() + steps(0, 200) + raised(OOM), head() + steps(0, 100) + raised(KEY)],
    "a crash and one at the start": [head() + steps(0, 200) + raised(OOM), head() + raised(KEY)],
    "a crash and one at the imports": [head() + steps(0, 200) + raised(OOM), unloaded("ModuleNotFoundError: No module named 'flash_attn'")],
    "one with times and one without": [
        [f"2026-03-12 16:37:0{n},049 {line}" for n, line in enumerate(head())] + steps(0, 200) + raised(OOM), head() + raised(KEY)
    ],
    "one with labels and one without": [head() + steps(0, 200) + raised(OOM), head() + [f" 0: {line}" for line in raised(KEY)]],
    "two at the start": [head() + raised("FileNotFoundError: /data/wiki"), head() + raised(KEY)],
    "a crash and success": [head() + raised(KEY), head() + steps(0, 300) + DONE],
    "a requeue that resumes": [head() + steps(0, 200) + PREEMPTED, head() + steps(200, 300) + raised(KEY)],
    "a time limit": [head() + steps(0, 200) + WALL, head() + steps(200, 300) + DONE],
    "a crash and a resumption": [
        head() + steps(0, 200) + raised(OOM),
        head("Resumed from checkpoint /ckpt/step_190.pt (step 190)") + steps(200, 300) + raised(KEY),
    ],
    "a framework's start": [megatron(10, 200) + PREEMPTED, megatron(200, 300) + raised(KEY) + SUMMARY],
    "a launcher's last word": [megatron(10, 200) + raised(OOM) + SUMMARY, megatron(10, 100) + raised(KEY) + SUMMARY],
    "other nodes in the head": [
        said("INFO launch: job 7 on a002", "INFO setup: world size 8, building model") + steps(10, 90) + raised(OOM) + SUMMARY,
        said("INFO launch: job 7 on gpu006,gpu007", "INFO setup: world size 16, building model") + raised(KEY) + SUMMARY,
    ],
    "lightning": [lightning(0, 5) + raised(OOM), lightning(0, 3) + raised(KEY)],
    "labels": [
        labelled(head() + steps(0, 100), 0, 1, 2) + labelled(raised(OOM), 2) + EXITED,
        labelled(head() + steps(0, 100), 0, 1, 2) + labelled(raised(KEY), 1),
    ],
    "the GPUs shown, and one of the first words": [
        head() + raised(KEY), SHOWN[2:] + head()[:1] + said("serving on port 8000", "answered 1 request"),
    ],
    "success and success": [head() + steps(0, 200) + DONE, head() + steps(0, 200) + DONE],
    "success and a crash at the start": [head() + steps(0, 200) + DONE, head() + raised(KEY)],
    "an import that fails under a launcher": [
        megatron(10, 200) + [f"[rank3]: {line}" for line in raised(OOM)] + SUMMARY,
        unloaded("ModuleNotFoundError: No module named 'megatron'") + SUMMARY,
    ],
}  # fmt: skip

ONE = {
    "an error at the start that was caught, and another": [raised(OOM), steps(0, 100) + raised(KEY)],
    "ranks that fail alike where their output is elsewhere": [raised(KEY)] * 3,
    "steps that each epoch counts anew": [head() + steps(0, 100), said("epoch 2") + steps(0, 100) + raised(KEY)],
    "an error that was caught": [head() + steps(0, 100) + raised(KEY), steps(100, 200) + DONE],
    "ranks that fail one by one": [megatron(10, 200) + raised(OOM), raised("RuntimeError: NCCL error: remote process exited"), SUMMARY],
    "ranks that do not come past their imports": [*[unloaded("ModuleNotFoundError: No module named 'x'")] * 4, SUMMARY],
    "workers that their launcher starts again": [megatron(10, 200) + raised(OOM) + RESTARTED, megatron(10, 100) + raised(KEY) + SUMMARY],
    "a test after the fit": [lightning(0, 5), lightning(0, 0) + said("Testing DataLoader 0: 100%|####| 10/10") + raised(KEY)],
    "a healthy run": [megatron(10, 300)],
    "one that goes on after it was told to end": [head() + steps(0, 200) + WALL, steps(200, 230)],
    "what is left of a traceback": [said("    return self._call(x)", "    return call(x)") * 2 + said("RuntimeError: sizes do not fit")],
    "an error whose own lines speak as a start does": [
        head() + raised("ValueError: No valid checkpoint found in output directory (/scratch/fit)")[:-1]
        + said('    raise ValueError(f"No valid checkpoint found in output directory ({where})")')
        + ["ValueError: No valid checkpoint found in output directory (/scratch/fit)"]
    ],
    "the GPUs shown after the failure": [head() + steps(0, 100) + raised(OOM) + SHOWN + said("see the table above")],
    "the GPUs shown first, and after the failure": [SHOWN + head() + steps(0, 100) + raised(OOM) + SHOWN + said("cleaning up")],
    "the GPUs shown while it trains": [SHOWN + head() + steps(0, 100), SHOWN + said("evaluating") + steps(100, 200) + raised(KEY)],
    "an end, and then what was held back": [raised(KEY) + WALL, said("training ...") + steps(0, 50)],
}  # fmt: skip

OPEN = {
    "a program that fails in two ways where its output is elsewhere": [raised(OOM), raised(KEY)],
    "folds": [head() + steps(0, 200), head() + steps(0, 200), head() + steps(0, 90) + raised(OOM)],
    "a kill without a word": [head() + steps(0, 200), head() + steps(0, 100) + raised(KEY)],
    "a retry after an error that was caught": [head() + steps(0, 50) + raised(OOM), steps(0, 200) + DONE],
    "an epoch that says the same as the first": [head() + steps(0, 100) + raised(KEY), head() + steps(100, 200) + DONE],
    "ranks that say the same and fail alike": [head() + raised(KEY)] * 4,
    "a report below an error that is all the run said": [REPORTED, REPORTED],
    "ranks that say the same before one fails": [head() + raised(OOM), head() + raised(KEY), SUMMARY],
}


@pytest.mark.parametrize("name", AGAIN)
def test_a_run_begins_where_something_ended_the_one_before_and_a_start_comes_again(tmp_path: Path, name: str) -> None:
    assert begins(tmp_path, *AGAIN[name]) == {1: True}


@pytest.mark.parametrize("name", ONE)
def test_one_run_is_not_taken_for_two(tmp_path: Path, name: str) -> None:
    assert True not in begins(tmp_path, *ONE[name]).values()


def test_the_lines_of_an_error_are_no_start_of_another_run(tmp_path: Path) -> None:
    """The line that raises names what is looked for at a start, and so does the message."""
    assert runs(tmp_path, ONE["an error whose own lines speak as a start does"][0]) == []


@pytest.mark.parametrize("name", OPEN)
def test_what_may_be_either_is_found_and_is_not_certain(tmp_path: Path, name: str) -> None:
    found = begins(tmp_path, *OPEN[name])
    assert found and True not in found.values()


def test_crashes_of_two_programs_may_be_two_stages_of_one_script(tmp_path: Path) -> None:
    first = head() + steps(0, 50) + raised("FileNotFoundError: a", "/home/ana/lm/prepare.py")
    assert begins(tmp_path, first, head() + raised("FileNotFoundError: b")) == {1: False}


def test_a_run_tells_where_it_lies_and_how_it_ended(tmp_path: Path) -> None:
    told = runs(
        tmp_path, megatron(10, 30) + PREEMPTED, megatron(20, 40) + raised(OOM) + SUMMARY, megatron(30, 50) + raised(KEY)
    )
    assert [(r.run, r.first_line, r.last_line, r.attempt, r.ended_by, r.ended_how) for r in told] == [
        (1, 1, 7, -1, "preempted", "job"),
        (2, 8, 38, 0, "torch.OutOfMemoryError", "program"),
        (3, 39, 50, 1, "KeyError", "program"),
    ]


def test_a_file_of_one_run_has_none(tmp_path: Path) -> None:
    assert runs(tmp_path, megatron(10, 300) + raised(KEY) + SUMMARY) == []


def test_the_advice_below_an_error_of_cuda_is_no_head_of_a_run(tmp_path: Path) -> None:
    advice = [
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.",
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.",
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
        "",
    ]
    word = "CUDA error: an illegal memory access was encountered"
    text = [
        '  File "/home/ada/fit/net.py", line 71, in encode',
        "    y = self.mix(x)",
        f"RuntimeError: {word}",
        *advice,
        f"[E ProcessGroupNCCL.cpp:916] [Rank 3] NCCL watchdog thread terminated with exception: {word}",
        *advice,
        "Exception raised from c10_cuda_check_implementation at ../c10/cuda/CUDAException.cpp:44 (most recent call first):",
    ]
    assert runs(tmp_path, text) == []


def test_the_box_that_a_launcher_prints_for_each_rank_is_no_head_of_a_run(tmp_path: Path) -> None:
    def box(rank: int) -> list[str]:
        return [
            "=" * 60,
            "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
            f"=   RANK {rank} PID {900 + rank} RUNNING AT n7",
            "=   KILLED BY SIGNAL: 9 (Killed)",
            "=" * 60,
            "",
        ]

    error = [
        "CUDA Error:",
        "    File:       force/nep.cu",
        "    Error code: 700",
        "    Error text: an illegal memory access was encountered",
    ]
    assert runs(tmp_path, ["   300 1.25 -17.5", *error, "", *box(0), *box(1), *box(2)]) == []
