"""The examples: which job, what happens to it, which of its files are kept, and what a good verdict says."""

from __future__ import annotations

from dataclasses import dataclass, field

from evals.recorder import drives
from evals.recorder.drives import Drive, Submission


@dataclass(frozen=True)
class Expected:
    """The right answer: the family's code, its mode, who is to act. `facts` are regular expressions over the recording; what they match is what a verdict cites."""

    family: str
    mode: str | None
    attribution: str
    facts: tuple[str, ...]


@dataclass(frozen=True)
class Scenario:
    """One example. `logs` are patterns in the folder of the script with `{job}` for the id of each job of the bundle."""

    name: str
    submission: Submission
    logs: tuple[str, ...]
    expected: Expected
    drive: Drive = field(default=drives.to_the_end)
    site: str = "lab"
    alone: bool = False
    memory_cgroups: bool = False


SFT_LOGS = ("slurm-{job}.out",)
SFT2_LOGS = ("logs/*-{job}.out", "logs/*-{job}.err")
VIT_LOGS = ("slurm-{job}.out", "torchrun-{job}/**/*.log")
GPT_LOGS = ("*-{job}.log",)
CHAT_LOGS = ("logs/*_{job}.out", "logs/*_{job}.err")
SEG_LOGS = ("*.{job}.out", "*.{job}.err")


def _sft(arguments: str, options: tuple[str, ...] = ()) -> Submission:
    return Submission("/home/mira/llama-sft/sft_1gpu.sbatch", tuple(arguments.split()), "mira", options)


def _vit(arguments: str, options: tuple[str, ...] = ()) -> Submission:
    return Submission("/home/dario/vit-pretrain/pretrain.sbatch", tuple(arguments.split()), "dario", options)


def _gpt(arguments: str, options: tuple[str, ...] = ()) -> Submission:
    return Submission("/home/wen/gpt-nano/run.sbatch", tuple(arguments.split()), "wen", options)


def _chat(arguments: str, export: tuple[str, ...] = ()) -> Submission:
    return Submission("/home/wen/data-prep/finetune.sbatch", tuple(arguments.split()), "wen", export=export)


def _seg(arguments: str) -> Submission:
    return Submission("/home/dario/segment/seg.sbatch", tuple(arguments.split()), "dario")


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        "preempted-and-resumed",
        _sft(
            "--full --resume --hidden 256 --lr 2e-4 --max-steps 400 --save-steps 25 --output-dir /mnt/data/runs/mira/sft-long",
            options=("--requeue", "--open-mode=append", "--nodelist=gpu04", "--gres=gpu:4"),
        ),
        SFT_LOGS,
        Expected("F2", "preemption", "scheduler", (r"DUE TO PREEMPTION", r"Resuming training from checkpoint \S+")),
        drives.preempted(
            "slurm-{job}.out",
            "'epoch': '0.1",
            Submission("/home/mira/llama-sft/urgent.sbatch", (), "mira", ("--nodelist=gpu04",)),
        ),
    ),
    Scenario(
        "wrong-lora-targets",
        Submission("/home/mira/llama-sft/sft_2node.sbatch", ("--lora-targets", "query_key_value")),
        SFT2_LOGS,
        Expected("A1", "config", "job", (r"NoMatchingPeftModuleError", r"query_key_value")),
    ),
    Scenario(
        "host-memory-kill",
        _vit("--cache --pixels 512"),
        VIT_LOGS,
        Expected(
            "A2",
            None,
            "job",
            (r"Signal 9 \(SIGKILL\) received by PID \d+", r"oom-kill event", r"OUT_OF_MEMORY"),
        ),
        memory_cgroups=True,
    ),
    Scenario(
        "killed-rank",
        _vit("--pace 0.2", options=("--mem=6G",)),
        VIT_LOGS,
        Expected("A2", None, "undetermined", (r"Signal 9 \(SIGKILL\) received by PID \d+",)),
        drives.killed("torchrun-{job}/*/attempt_0/*/stdout.log", "step 20/", 2),
    ),
    Scenario(
        "no-rendezvous",
        Submission(
            "/home/dario/vit-pretrain/pretrain_srun.sbatch",
            ("--timeout", "45"),
            "dario",
            export=("MASTER_ADDR=10.20.0.41",),
        ),
        VIT_LOGS,
        Expected("C1", None, "undetermined", (r"10\.20\.0\.41", r"timed out after \d+ms")),
    ),
    Scenario(
        "time-limit",
        _gpt(
            "--max-iters 20000 --pace 0.1 --lr 1e-4 --out /mnt/data/runs/wen/gpt-long",
            options=("--time=00:02:00",),
        ),
        GPT_LOGS,
        Expected("F3", None, "job", (r"DUE TO TIME LIMIT", r"00:02:00", r"(?s).*iter (\d+): loss")),
        site="coast",
    ),
    Scenario(
        "too-few-steps",
        _sft("--max-steps 2 --logging-steps 1 --output-dir /mnt/data/runs/mira/sft-short"),
        SFT_LOGS,
        Expected("E3", None, "job", (r"'max_steps': (2)\b", r"'train_loss': '([\d.]+)'")),
    ),
    Scenario(
        "healthy",
        _sft("--full --max-steps 300 --lr 5e-4 --progress --output-dir /mnt/data/runs/mira/sft-v1"),
        SFT_LOGS,
        Expected("G1", "healthy", "none", (r"'loss': '([^']+)'", r"(?s).*'loss': '([^']+)'", r"COMPLETED")),
    ),
    Scenario(
        "bad-record",
        _seg("--bad-record 2011"),
        SEG_LOGS,
        Expected("A3", "data", "job", (r"KeyError: 'scan_02011'",)),
    ),
    Scenario(
        "disk-full",
        _seg("--width 64 --save-every 20 --out /mnt/scratch/segment"),
        SEG_LOGS,
        Expected("A3", "storage", "job", (r"No space left on device|PytorchStreamWriter failed.*",)),
    ),
    Scenario(
        "cancelled-by-user",
        _gpt("--max-iters 20000 --pace 0.1 --lr 1e-4 --out /mnt/data/runs/wen/gpt-cancelled"),
        GPT_LOGS,
        Expected("F4", "user", "user", (r"CANCELLED", r"(wen)")),
        drives.cancelled("gpt-nano-{job}.log", "iter 150:"),
    ),
    Scenario(
        "cut-json-line",
        _chat("--data /mnt/data/chat/train_v2.jsonl"),
        CHAT_LOGS,
        Expected("A1", "data", "job", (r"DatasetGenerationError|JSON parse error", r"train_v2\.jsonl")),
    ),
    Scenario(
        "missing-package",
        _chat("--attention flash_attention_2"),
        CHAT_LOGS,
        Expected("A1", "env", "job", (r"ModuleNotFoundError: No module named 'flash_attn'",)),
    ),
    Scenario(
        "no-weights",
        _chat("--model /mnt/data/models/llama-3.2-1b-chat"),
        CHAT_LOGS,
        Expected("A1", "asset", "job", (r"OSError: .*", r"/mnt/data/models/llama-3\.2-1b-chat")),
    ),
    Scenario(
        "hub-offline",
        _chat("--model meta-llama/Llama-3.2-1B", export=("HF_HUB_OFFLINE=1",)),
        CHAT_LOGS,
        Expected("A1", "asset", "job", (r"meta-llama/Llama-3\.2-1B", r"OSError: .*")),
    ),
    Scenario(
        "code-error",
        _chat("--freeze 2"),
        CHAT_LOGS,
        Expected("A1", "code", "job", (r"AttributeError: 'LlamaForCausalLM' object has no attribute '\w+'",)),
    ),
    Scenario(
        "command-not-found",
        Submission("/home/wen/gpt-nano/run_missing.sbatch", ("--out", "/mnt/data/runs/wen/night"), "wen"),
        GPT_LOGS,
        Expected("A4", "launch", "job", (r"torchrun-nightly", r"No such file or directory")),
    ),
    Scenario(
        "dependency-never-satisfied",
        _gpt("--init-from resume --out /mnt/data/runs/wen/night"),
        GPT_LOGS,
        Expected("A4", "pending", "user", (r"DependencyNeverSatisfied", r"afterok:(\d+)")),
        drives.never_started(
            Submission("/home/wen/gpt-nano/run_missing.sbatch", ("--out", "/mnt/data/runs/wen/night"), "wen")
        ),
    ),
    Scenario(
        "diverged",
        _sft(
            "--full --max-steps 200 --lr 3.0 --warmup 40 --max-grad-norm 1000000 --output-dir /mnt/data/runs/mira/sft-lr3",
        ),
        SFT_LOGS,
        Expected("E1", "non_finite", "job", (r"'loss': '([^']+)'", r"'grad_norm': 'nan'", r"COMPLETED")),
    ),
    Scenario(
        "stuck-high",
        _sft(
            "--full --max-steps 240 --lr 1.0 --warmup 5 --schedule constant_with_warmup --output-dir /mnt/data/runs/mira/sft-lr1"
        ),
        SFT_LOGS,
        Expected("E1", "spike", "job", (r"'loss': '([^']+)'", r"(?s).*'loss': '([^']+)'", r"COMPLETED")),
    ),
    Scenario(
        "flat-loss",
        _sft("--full --max-steps 200 --lr 2e-9 --output-dir /mnt/data/runs/mira/sft-flat"),
        SFT_LOGS,
        Expected(
            "E1",
            "flat",
            "job",
            (r"'loss': '([^']+)'", r"(?s).*'loss': '([^']+)'", r"'learning_rate': '(1\.99\d*e-09)'"),
        ),
    ),
    Scenario(
        "native-crash",
        _vit("--pace 0.1 --native-crash-at 25", options=("--mem=6G",)),
        VIT_LOGS,
        Expected("A2", None, "job", (r"Signal 11 \(SIGSEGV\) received by PID \d+", r"exitcode  : (-11)")),
    ),
    Scenario(
        "healthy-ddp",
        _vit("--steps 120", options=("--mem=6G",)),
        VIT_LOGS,
        Expected("G1", "healthy", "none", (r"step 5/120 loss ([\d.]+)", r"step 120/120 loss ([\d.]+)", r"COMPLETED")),
    ),
    Scenario(
        "no-rendezvous-torchrun",
        Submission("/home/mira/llama-sft/sft_2node.sbatch", (), export=("RDZV_HOST=10.20.0.41",)),
        SFT2_LOGS,
        Expected("C1", None, "undetermined", (r"10\.20\.0\.41", r"RendezvousConnectionError")),
    ),
    Scenario(
        "requeued-by-operator",
        _gpt("--max-iters 600 --pace 0.02 --init-from resume --out /mnt/data/runs/wen/gpt-requeued"),
        GPT_LOGS,
        Expected("F2", "requeue", "scheduler", (r"REQUEUED",)),
        drives.requeued("gpt-nano-{job}.log", "iter 150:"),
    ),
    Scenario(
        "resumed-from-scratch",
        _gpt(
            "--max-iters 300 --out /mnt/data/runs/wen/gpt-part2 --init-from /mnt/data/runs/wen/gpt-part1/ckpt_last.pt",
        ),
        GPT_LOGS,
        Expected("E2", "silent", "job", (r"Initializing a new model from scratch", r"iter 0: loss ([\d.]+)")),
        drives.after(_gpt("--max-iters 300 --out /mnt/data/runs/wen/gpt-part1")),
    ),
    Scenario(
        "checkpoint-size-mismatch",
        _gpt(
            "--max-iters 400 --embd 192 --out /mnt/data/runs/wen/gpt-wide --init-from /mnt/data/runs/wen/gpt-base/ckpt.pt",
        ),
        GPT_LOGS,
        Expected("E2", "load_crash", "job", (r"size mismatch for wte\.weight", r"gpt-base/ckpt\.pt")),
        drives.after(_gpt("--max-iters 150 --out /mnt/data/runs/wen/gpt-base")),
    ),
    Scenario(
        "node-down",
        Submission(
            "/home/dario/vit-pretrain/pretrain_srun.sbatch",
            ("--pace", "0.2"),
            "dario",
            ("--no-requeue", "--nodelist=gpu02,gpu03"),
        ),
        VIT_LOGS,
        Expected("F1", None, "infrastructure", (r"NODE_FAIL", r"gpu03", r"DUE TO NODE FAILURE")),
        drives.node_lost("slurm-{job}.out", "step 60/", "gpu03", "power supply B failed"),
        alone=True,
    ),
    Scenario(
        "collective-hang",
        _vit("--pace 0.1 --stuck-at 42", options=("--time=00:02:00", "--mem=6G")),
        VIT_LOGS,
        Expected("C2", None, "undetermined", (r"step (40)/400", r"DUE TO TIME LIMIT")),
    ),
)
"""Every example, slow ones first so that the others run beside them."""

SITES = {"lab": ("UTC", 4801), "coast": ("America/Los_Angeles", 73101)}
"""The clusters that are recorded: the time zone in which each prints its times, and its first job's id."""
