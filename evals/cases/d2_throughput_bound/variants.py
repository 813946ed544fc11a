"""D2: save storms, slow interconnects and serialised launches, against hangs, stragglers, starved and well-fed jobs."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.cases import Variant
from evals.scenarios.endings import time_limit
from evals.scenarios.faults import activity, blind, but, frozen, no_launches, only, resting, sound
from evals.scenarios.plan import Plan, healthy
from evals.scenarios.settings import placed, unseen
from evals.scorers.base import Expected

_SOCKET = "{host}:{pid}:{pid} [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.{n}<0>"
_USING = "{host}:{pid}:{pid} [0] NCCL INFO Using network Socket"


def _storm(
    every: int, style: str | None = None, engine: float = 0.2, sm: float = 0.08
) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed, style=style)
        plan.stride = 1
        plan.steps = 60 + seed % 50
        plan.saves_every = every
        plan.gpu_changes.append(activity(plan, engine, sm))
        return plan, Expected(("D2",), "save_storm", "job")

    return make


def _interconnect(sm: float, *, words: bool) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed, gpus=(8, 16, 32, 64)[seed % 4])
        plan.gpu_changes.append(activity(plan, 0.985, sm))
        plan.cuda_changes.append(lambda v, g, m: v.update(api_time_s=0.87 * v["interval_s"]) if v["launches"] else None)
        plan.nccl_changes.append(lambda v, g, m: v.update(duration_ms=900.0))
        if words:
            host, pid = plan.nodes[0], plan.gpus[0].pid
            plan.say(0.4, _SOCKET.format(host=host, pid=pid, n=seed % 250), _USING.format(host=host, pid=pid))
        return plan, Expected(("D2",), "interconnect", "infrastructure")

    return make


def _blocking(where: str) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed)
        plan.gpu_changes.append(activity(plan, 0.55, 0.3))
        plan.cuda_changes.append(
            lambda v, g, m: (
                v.update(sync_time_s=0.78 * v["interval_s"], api_time_s=0.92 * v["interval_s"])
                if v["launches"]
                else None
            )
        )
        if where == "submit":
            plan.slurm["submit_line"] = "sbatch --export=ALL,CUDA_LAUNCH_BLOCKING=1 train.sbatch"
        elif where == "log":
            plan.say(0.02, "+ export CUDA_LAUNCH_BLOCKING=1", "+ CUDA_LAUNCH_BLOCKING=1")
        else:
            for gpu in plan.gpus:
                plan.process[gpu.rank] = {"command": "env CUDA_LAUNCH_BLOCKING=1 python train.py"}
        return plan, Expected(("D2",), "launch_blocking", "job")

    return make


def _advice(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    minute = plan.minutes * 0.6
    plan.stop("FAILED", minute=minute + 0.3, exit_code=1)
    plan.say(
        minute,
        "Traceback (most recent call last):",
        f'  File "/home/{plan.user}/{plan.name}/train.py", line 98, in step',
        "    out = model(batch)",
        "RuntimeError: CUDA error: device-side assert triggered",
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.",
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
    )
    return plan, Expected(("A3",), "code", "job")


def _socket_but_fast(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=16)
    host, pid = plan.nodes[0], plan.gpus[0].pid
    plan.say(0.4, _SOCKET.format(host=host, pid=pid, n=3), _USING.format(host=host, pid=pid))
    return plan, sound()


def _straggler(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=8)
    gpu = plan.some_gpu()
    plan.gpu_changes.append(activity(plan, 0.97, 0.55, only(gpu)))
    plan.gpu_changes.append(activity(plan, 0.985, 0.15, but(gpu)))
    return plan, Expected(("D3",))


def _starved(seed: int) -> tuple[Plan, Expected]:
    """NCCL chose sockets, and it is the input that the GPUs wait for."""
    plan = healthy(seed, gpus=16)
    host, pid = plan.nodes[0], plan.gpus[0].pid
    plan.say(0.4, _SOCKET.format(host=host, pid=pid, n=3), _USING.format(host=host, pid=pid))
    plan.gpu_changes.append(activity(plan, 0.06, 0.03))
    plan.cuda_changes.append(
        lambda v, g, m: v.update(launches=v["launches"] // 8, max_launch_gap_s=5.0) if v["launches"] else None
    )
    return plan, Expected(("D1",), None, "job")


def _usual_saves(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    plan.saves_every = plan.stride * 4
    return plan, sound("healthy")


def _cheap_saves(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    plan.stride, plan.steps, plan.saves_every = 1, 60, 1
    return plan, sound("healthy")


def _seldom(style: str, *, told: bool, scores: bool = False) -> Callable[[int], tuple[Plan, Expected]]:
    """Few saves that each take minutes: more than a third of the run, in which no GPU does anything."""

    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed, minutes=50 + seed % 30, style=style)
        plan.steps = plan.stride * 48
        plan.saves_every = plan.stride * 4
        plan.save_min = (0.45 + seed % 20 / 100) * (plan.minutes - plan.setup_min) / plan.saves
        plan.save_begun, plan.scores = told, scores
        resting(plan)
        if scores:
            return plan, sound()
        return plan, Expected(("D2",), "save_storm", "job", facts=("By the log's own times",) if told else ())

    return make


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _ = _interconnect(0.1, words=False)(seed)
    return plan.losing("gpu_sample"), blind("gpu_sample")


def _unmeasured(seed: int) -> tuple[Plan, Expected]:
    """The setting is known, and what it cost is not: a warning beside a run that did what it should."""
    plan, _ = _blocking("submit")(seed)
    plan.without(
        "gpu_sample", "cuda_sample", "nccl_sample", "process", "cgroup_sample", "host_sample", "gpu_event", "host_event"
    )
    return plan, sound(warning="serialises")


def _wide(seed: int) -> tuple[Plan, Expected]:
    """A slow transport under 256 GPUs."""
    plan = healthy(seed, gpus=256, minutes=40)
    plan.gpu_changes.append(activity(plan, 0.985, 0.1))
    plan.cuda_changes.append(lambda v, g, m: v.update(api_time_s=0.87 * v["interval_s"]) if v["launches"] else None)
    plan.nccl_changes.append(lambda v, g, m: v.update(duration_ms=900.0))
    return plan, Expected(("D2",), "interconnect", "infrastructure")


def _to_the_wall(seed: int) -> tuple[Plan, Expected]:
    """Saves at every step, until the wall."""
    plan, _ = _storm(1)(seed)
    return time_limit(plan), Expected(("D2", "F3"), "save_storm", "job")


def _frozen(seed: int) -> tuple[Plan, Expected]:
    """A slow transport that stops at last is a hang."""
    plan = healthy(seed, gpus=8, minutes=80)
    gpu = plan.some_gpu()
    plan.progress_until = 45.0
    plan.gpu_changes += [activity(plan, 0.985, 0.1, end=45), activity(plan, 0.995, 0.04, start=45)]
    plan.cuda_changes.append(no_launches(lambda _: True, 45))
    plan.nccl_changes.append(frozen(gpu, 45))
    return time_limit(plan), Expected(("C2",), extra={"culprit": {"rank": gpu.rank}})


VARIANTS = (
    Variant("storm", "fault", _storm(1), 2),
    Variant("storm-two", "fault", _storm(2)),
    Variant("storm-trainer", "fault", _storm(1, "trainer")),
    Variant("storm-half", "fault", _storm(1, None, 0.45, 0.28)),
    Variant("slow-net", "fault", _interconnect(0.1, words=False), 2),
    Variant("sockets", "fault", _interconnect(0.12, words=True)),
    Variant("blocking-submit", "fault", _blocking("submit")),
    Variant("blocking-log", "fault", _blocking("log")),
    Variant("blocking-process", "fault", _blocking("process")),
    Variant("advice", "twin", _advice),
    Variant("sockets-fast", "twin", _socket_but_fast),
    Variant("straggler", "twin", _straggler),
    Variant("starved", "twin", _starved),
    Variant("usual-saves", "twin", _usual_saves),
    Variant("cheap-saves", "healthy", _cheap_saves),
    Variant("gone", "blind", _gone),
    Variant("wide", "fault", _wide),
    Variant("wall", "fault", _to_the_wall),
    Variant("frozen", "twin", _frozen),
    *placed("storm", _storm(1), "coarse", "exporter", "array", "uuids", "latent"),
    *placed("slow-net", _interconnect(0.1, words=False), "coarse", "uuids", "shared", "delayed"),
    *placed("sockets", _interconnect(0.12, words=True), "exporter", "indices"),
    Variant("blocking-unmeasured", "healthy", _unmeasured),
    *placed("blocking-submit", _blocking("submit"), "exporter"),
    *placed("sockets-fast", _socket_but_fast, "coarse", kind="twin"),
    *placed("cheap-saves", _cheap_saves, "coarse", "shared", kind="healthy"),
    *unseen("slow-net", _interconnect(0.1, words=False), "gpu_sample", "gpu_sample", until=0.1, ways=("bare", "stale")),
    Variant("seldom-timed", "fault", _seldom("plain", told=True)),
    Variant("seldom-rested", "fault", _seldom("megatron", told=False)),
    Variant("seldom-scored", "twin", _seldom("megatron", told=False, scores=True)),
)
