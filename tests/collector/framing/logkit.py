"""Logs of loops and frameworks, written line by line, for tests of what one file holds."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from collector.importers.base import ImportContext
from collector.importers.job_log import JobLog
from store.rows import LogRun

SCRIPT = "/home/ana/lm/train.py"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.39 GiB of which 1.20 GiB is free."
KEY = "KeyError: 'labels'"
PREEMPTED = ["slurmstepd: error: *** JOB 4812 ON gpu01 CANCELLED AT 2026-04-06T04:34:28 DUE TO PREEMPTION ***"]
WALL = ["slurmstepd: error: *** JOB 4812 ON gpu01 CANCELLED AT 2026-04-06T04:34:28 DUE TO TIME LIMIT ***"]
SUMMARY = [
    "Traceback (most recent call last):",
    '  File "/opt/venv/bin/torchrun", line 8, in <module>',
    "    sys.exit(main())",
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
    "=" * 60,
    "train.py FAILED",
    "-" * 60,
    "Failures:",
    "  <NO_OTHER_FAILURES>",
    "-" * 60,
    "Root Cause (first observed failure):",
    "[0]:",
    "  time      : 2026-04-06_04:34:28",
    "  host      : gpu01",
    "  rank      : 3 (local_rank: 3)",
    "  exitcode  : 1 (pid: 4304)",
    "  error_file: <N/A>",
    "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html",
    "=" * 60,
]


def said(*lines: str) -> list[str]:
    """These lines."""
    return list(lines)


def raised(what: str, script: str = SCRIPT) -> list[str]:
    """An exception that ended a program."""
    return [
        "Traceback (most recent call last):",
        f'  File "{script}", line 88, in <module>',
        "    main()",
        f'  File "{script}", line 41, in main',
        "    step(batch)",
        what,
    ]


def unloaded(what: str, script: str = SCRIPT) -> list[str]:
    """The same of one that did not come past its imports."""
    return [
        "Traceback (most recent call last):",
        f'  File "{script}", line 3, in <module>',
        "    import flash_attn",
        what,
    ]


def head(*more: str) -> list[str]:
    """What the loop prints before its first step."""
    return ["Loading dataset from /data/wiki", "Model parameters: 124.4M", "Using device cuda:0", *more]


def steps(first: int, stop: int) -> list[str]:
    """Its steps, each tenth."""
    return [f"step {n} | loss {4 / (1 + n / 100):.4f} | lr 3.00e-04" for n in range(first, stop, 10)]


def megatron(first: int, stop: int) -> list[str]:
    """A run of Megatron-LM."""
    return [
        "using world size: 8, data-parallel size: 8",
        "setting random seeds to 1234 ...",
        "> building GPT2BPETokenizer tokenizer ...",
        "training ...",
        *(
            f" iteration {n:8d}/    1000 | consumed samples: {n * 32:12d} | elapsed time per iteration (ms): 512.3 | learning rate:"
            f" 1.5E-04 | global batch size: 32 | lm loss: {8 / (1 + n / 50):.6E} | loss scale: 1.0 | grad norm: 1.1 | number of"
            " skipped iterations: 0 | number of nan iterations: 0 |"
            for n in range(first, stop, 10)
        ),
    ]


def lightning(first: int, stop: int) -> list[str]:
    """A run of Lightning."""
    return [
        "GPU available: True (cuda), used: True",
        "TPU available: False, using: 0 TPU cores",
        "HPU available: False, using: 0 HPUs",
        "LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0]",
        *(f"Epoch {n}: 100%|##########| 100/100 [00:10<00:00, 10.00it/s, v_num=3, train_loss={2 / (n + 1):.3f}]" for n in range(first, stop)),
    ]  # fmt: skip


def labelled(lines: list[str], *ranks: int) -> list[str]:
    """As `srun -l` shows them of each of these ranks."""
    return [f"{rank}: {line}" for line in lines for rank in ranks]


def runs(folder: Path, *parts: list[str]) -> list[LogRun]:
    """What is found of runs in a file of these parts."""
    path = folder / "slurm-4812.out"
    path.write_text("".join(f"{line}\n" for part in parts for line in part))
    ctx = ImportContext(name=path.name, zone=UTC, modified=datetime(2026, 4, 7, tzinfo=UTC))
    return [row for row in JobLog().rows(path, ctx) if isinstance(row, LogRun)]


def begins(folder: Path, *parts: list[str]) -> dict[int, bool]:
    """Which parts begin a run after the first, by their place, and whether that is certain. A line within a part is none."""
    first, line = {}, 1
    for place, part in enumerate(parts):
        first[line] = place
        line += len(part)
    return {first[run.first_line or 0]: bool(run.certain) for run in runs(folder, *parts)[1:]}
