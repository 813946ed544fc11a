"""trainer_state: what Hugging Face's Trainer saved of its own log.

SOURCE    trainer_state.json in an output folder: one JSON document with log_history
ROWS      train_step (split train or eval), log_event (train_plan: max_steps and num_train_epochs)
CAVEAT    no times, so no row has one; a state inside a checkpoint-N folder is left alone unless it was asked for by name,
          because a resumed run's folder can hold a stale one of an older run
EXAMPLE
    {"epoch": 1.0, "global_step": 181, "max_steps": 181, "log_history": [{"epoch": 0.05, "loss": 0.61, "step": 10}, ...]}
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, cast

from collector.importers.base import ImportContext, ImportFailed
from collector.importers.saved import document, origin
from collector.parsers.values import as_json, number, whole
from store import lazy
from store.rows import LogEvent, Row, TrainStep

_CHECKPOINT = lazy.compile(r"checkpoint-\d+\Z")
_CORE = ("loss", "eval_loss", "grad_norm", "learning_rate", "epoch", "step")


class TrainerState:
    """Reads one trainer_state.json of up to 64 MiB."""

    name: ClassVar[str] = "trainer_state"
    covers: ClassVar[tuple[str, ...]] = ("train_step", "log_event")

    def claims(self, path: Path, head: bytes) -> int:
        """A JSON object with the Trainer's own keys."""
        if not head.lstrip().startswith(b"{"):
            return 0
        if path.name == "trainer_state.json":
            return 90
        return 80 if b'"is_world_process_zero"' in head and b'"log_history"' in head else 0

    @staticmethod
    def passes_over(path: Path) -> bool:
        """The states in checkpoints."""
        return _CHECKPOINT.search(path.parent.name) is not None

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """One row for each entry of log_history that has a loss or a step. Raises ImportFailed."""
        state = document(path, ctx)
        history = state.get("log_history")
        if not isinstance(history, list):
            raise ImportFailed("no log_history in it, so it is not a Trainer's state")
        base = origin(ctx)
        total, epochs = whole(state.get("max_steps")), number(state.get("num_train_epochs"))
        yield LogEvent(
            kind="train_plan",
            name="trainer_state",
            severity="info",
            parser=self.name,
            framework="hf-trainer",
            message=f"Trainer's state at step {state.get('global_step')} of {total}",
            step=whole(state.get("global_step")),
            total_steps=total,
            total_epochs=epochs,
            **base,
        )
        for number_, entry in enumerate(cast("list[Any]", history), 1):
            row = _row(cast("dict[str, Any]", entry), total, epochs, base) if isinstance(entry, dict) else None
            if row is not None:
                yield row
            elif not (isinstance(entry, dict) and "train_runtime" in entry):
                ctx.problem(f"log_history entry {number_}: neither a loss nor a metric of an evaluation")


def _row(entry: dict[str, Any], total: int | None, epochs: float | None, base: dict[str, Any]) -> TrainStep | None:
    training = number(entry.get("loss")) is not None
    evaluating = not training and any(k.startswith("eval_") for k in entry)
    if not training and not evaluating:
        return None
    rest = {k: v for k, raw in entry.items() if k not in _CORE and (v := number(raw)) is not None}
    name = "loss" if training else "eval_loss"
    return TrainStep(
        framework="hf-trainer",
        split="train" if training else "eval",
        step=whole(entry.get("step")),
        total_steps=total,
        epoch=number(entry.get("epoch")),
        total_epochs=epochs,
        loss=number(entry.get(name)),
        loss_name=name if name in entry else None,
        grad_norm=number(entry.get("grad_norm")),
        learning_rate=number(entry.get("learning_rate")),
        metrics=as_json(rest),
        **base,
    )
