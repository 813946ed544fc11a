"""The log of a made-up job as text, in three styles of program, read by the same importer as real ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from math import exp
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

from collector.importers.base import ImportContext
from collector.importers.job_log import JobLog
from evals.scenarios.plan import Plan
from store import lazy
from store.rows import Row

_TIME = lazy.compile(r"(\d{4}-\d\d-\d\d)([ T_])(\d\d:\d\d:\d\d)")
_STAMP = lazy.compile(r"(?m)^(\d+: )?( ?\[)?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d+)?\]? ?")
_RANK = lazy.compile(r"\[rank(\d+)\]")


def text(plan: Plan) -> str:
    """Banner, progress until it stops, what else was said, and the words of the end where the run finished."""
    rng = Random(plan.rng.getrandbits(64))
    timed = [(s.minute, s.text) for s in plan.said]
    if not plan.silent:
        timed += _banner(plan) + list(_progress(plan, rng))
    timed = [pair for pair in timed if pair[0] <= plan.until.get("log_line", 1e9)]
    timed.sort(key=lambda pair: pair[0])
    lines = [_labelled(plan, line) for _, said in timed for line in said.split("\n")]
    body = "".join(plan.left) + _local("".join(f"{line}\n" for line in lines), plan.site.zone)
    return body if plan.clock_shown else _STAMP.sub("", body)


def _labelled(plan: Plan, line: str) -> str:
    """`srun -l` puts the task's number before what a task prints; Slurm's own words stay as they are."""
    if not plan.site.labelled or plan.silent or line.startswith(("srun:", "slurmstepd", "/var/spool", "+ ")):
        return line
    said = _RANK.match(line)
    return f"{said.group(1) if said else 0:>{len(str(len(plan.gpus) - 1))}}: {line}"


def _local(body: str, zone: ZoneInfo | None) -> str:
    """The times of a text, which are UTC, as clocks of that zone show them."""
    if zone is None:
        return body

    def shown(found: re.Match[str]) -> str:
        day, between, time = found.groups()
        at = datetime.fromisoformat(f"{day}T{time}+00:00").astimezone(zone)
        return f"{at:%Y-%m-%d}{between}{at:%H:%M:%S}"

    return _TIME.sub(shown, body)


def rows(plan: Plan, folder: Path) -> Iterator[Row]:
    """The rows that the importer makes of the log; `folder` is scratch space."""
    body = text(plan)
    if not body:
        return
    path = folder / f"slurm-{plan.job_id}.out"
    path.write_text(body, encoding="utf-8")
    context = ImportContext(
        name=f"logs/slurm-{plan.job_id}.out", zone=plan.site.zone or UTC, zone_known=True, cluster=plan.cluster, job_id=plan.job_id,
        attempt=1 + len(plan.attempts), modified=plan.end, size=len(body),
    )  # fmt: skip
    yield from JobLog().rows(path, context)


def _banner(plan: Plan) -> list[tuple[float, str]]:
    world = len(plan.gpus)
    return [
        (0.05, f"{_clock(plan, 0.05)} INFO launch: job {plan.job_id} on {','.join(plan.nodes)}"),
        (0.3, f"{_clock(plan, 0.3)} INFO setup: world size {world}, building model and data"),
    ]


def _progress(plan: Plan, rng: Random) -> Iterator[tuple[float, str]]:
    whole = max(plan.minutes - plan.setup_min - 0.8, 0.5)
    if plan.state == "TIMEOUT" or not plan.finishes:
        whole = max(plan.minutes - plan.setup_min - 0.05, 0.5)
    reports = plan.steps // plan.stride
    # A run that finishes spreads its steps over its time; another one had as much more to do as its seed says.
    planned = reports if plan.finishes else int(reports * rng.uniform(1.2, 2.5))
    factors = [plan.pace(plan.setup_min + whole * i / reports) * rng.uniform(0.97, 1.03) for i in range(reports)]
    unit = max(whole - plan.saves * plan.save_min, 0.1) / max(sum(factors), 1e-9)
    minute = plan.setup_min
    stop = plan.progress_until if plan.progress_until is not None else plan.minutes
    total = plan.first_step + planned * plan.stride
    for number, factor in enumerate(factors, 1):
        minute += unit * factor
        if minute > stop:
            return
        step = plan.first_step + number * plan.stride
        share = number * plan.stride / (total - plan.first_step)
        loss = plan.loss(share) * (1 + rng.gauss(0, plan.noise(share)))
        yield (
            minute,
            _line(
                plan, minute, step, total, loss, plan.grad(share), plan.rate(share), unit * factor * 60 / plan.stride
            ),
        )
        if plan.saves_every and number * plan.stride % plan.saves_every == 0:
            if plan.save_begun:
                yield minute + 1e-4, f"{_clock(plan, minute)} INFO train: saving checkpoint at step {step}"
            minute += plan.save_min
            yield minute + 1e-4, _saved(plan, minute, step)
            if plan.scores:
                yield minute + 2e-4, _scored(plan, step, loss)
    if plan.finishes:
        for line in _end(plan, total):
            yield plan.minutes - 0.1, line


def _line(
    plan: Plan, minute: float, step: int, total: int, loss: float, grad: float, rate: float, pace_s: float
) -> str:
    if plan.style == "megatron":
        return (
            f" [{plan.at(minute):%Y-%m-%d %H:%M:%S}] iteration {step:8d}/{total:8d} | consumed samples: {step * 512:12d} | "
            f"elapsed time per iteration (ms): {pace_s * 1000:.1f} | learning rate: {rate:.6E} | global batch size:   512 | "
            f"lm loss: {loss:.6E} | loss scale: 1.0 | grad norm: {grad:.3f} | number of skipped iterations:   0 | "
            "number of nan iterations:   0 |"
        )
    if plan.style == "trainer":
        epoch = round(3 * step / total, 3)
        return (
            f"{step * 100 // total:3d}%|█████     | {step}/{total} [{_hours(minute)}<{_hours(60)}, {pace_s:5.2f}s/it]"
            f"{{'loss': {loss:.4f}, 'grad_norm': {grad:.4f}, 'learning_rate': {rate:.3e}, 'epoch': {epoch}}}"
        )
    return (
        f"{_clock(plan, minute)} INFO train: step {step}/{total} loss {loss:.4f} grad_norm {grad:.3f} lr {rate:.3e} "
        f"{pace_s:.3f} s/it"
    )


def _saved(plan: Plan, minute: float, step: int) -> str:
    path = f"/scratch/{plan.user}/{plan.name}"
    if plan.style == "megatron":
        return f"  successfully saved checkpoint from iteration {step:7d} to {path} [ t 1/1, p 1/1 ]"
    if plan.style == "trainer":
        return f"Saving model checkpoint to {path}/checkpoint-{step}"
    return f"{_clock(plan, minute)} INFO train: saved checkpoint to {path}/step_{step}.pt"


def _scored(plan: Plan, step: int, loss: float) -> str:
    if plan.style == "megatron":
        return f" validation loss at iteration {step} | lm loss value: {loss:.6E} | lm loss PPL: {exp(min(loss, 20.0)):.6E} |"
    return f"{{'eval_loss': {loss:.4f}, 'eval_runtime': {plan.save_min * 60:.1f}, 'epoch': {round(3 * step / plan.steps, 3)}}}"


def _end(plan: Plan, total: int) -> list[str]:
    if plan.style == "megatron":
        return [f"[after training is done] datetime: {plan.at(plan.minutes - 0.1):%Y-%m-%d %H:%M:%S} "]
    if plan.style == "trainer":
        seconds = plan.minutes * 60
        return [
            f"{{'train_runtime': {seconds:.1f}, 'train_samples_per_second': {total * 32 / seconds:.3f}, "
            f"'train_steps_per_second': {total / seconds:.3f}, 'train_loss': {plan.loss(0.5):.4f}, 'epoch': 3.0}}"
        ]
    return [f"{_clock(plan, plan.minutes - 0.1)} INFO train: training finished after {total} steps"]


def _clock(plan: Plan, minute: float) -> str:
    return f"{plan.at(minute):%Y-%m-%d %H:%M:%S},{int(minute * 997) % 1000:03d}"


def _hours(minute: float) -> str:
    return f"{int(minute // 60)}:{int(minute % 60):02d}:{int(minute * 60 % 60):02d}"
