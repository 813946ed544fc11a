"""deepspeed: the pipeline engine's line of a step has the loss, and the engine's line before it the learning rate."""

from __future__ import annotations

from collector.parsers.base import parse_text
from collector.parsers.deepspeed import DeepSpeed
from store.rows import TrainStep

ENGINE = "[2026-02-03 04:05:06,789] [INFO] [logging.py:107:log_dist] [Rank 0] step={step}, skipped=0, lr=[{rate}, {rate}], mom=[(0.9, 0.95)]"
PIPE = "steps: {step} loss: 5.5000 iter time (s): 0.500 samples/sec: 64.000"


def rates(*lines: str) -> list[tuple[int | None, float | None]]:
    """Step and learning rate of each row that has a loss."""
    rows = parse_text(DeepSpeed(), "\n".join(lines))
    return [(r.step, r.learning_rate) for r in rows if isinstance(r, TrainStep) and r.loss is not None]


def test_the_loss_of_a_step_has_the_rate_that_the_engine_printed_for_it() -> None:
    lines = [text.format(step=s, rate=r) for s, r in ((10, "0.0"), (20, "3e-05")) for text in (ENGINE, PIPE)]
    assert rates(*lines) == [(10, 0.0), (20, 3e-05)]


def test_the_rate_of_another_step_is_not_its_own() -> None:
    assert rates(ENGINE.format(step=10, rate="3e-05"), PIPE.format(step=20)) == [(20, None)]
    assert rates(PIPE.format(step=20)) == [(20, None)]
