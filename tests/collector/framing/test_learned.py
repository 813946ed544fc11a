"""What is learned of one line holds for every other line of its wording; where it might not, nothing is learned."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.framing import learned as learning
from collector.framing.learned import alone, learn, silent
from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.registry import parser_types
from collector.parsers.values import number

KINDS = {kind.name: kind for kind in parser_types()}
TEMPLATES = (
    ("lightning", "Epoch {n}:  42%|{bar}| {n}/9{n} [0{c}<0{c}, {x}it/s, v_num=3, train_loss={x}]"),
    ("lightning", "Epoch {n}:  42%|{bar}| {n}/9{n} [0{c}<0{c}, {x}s/it, loss={x}]"),
    (
        "vision",
        "Train: {n} [ {n}/{n} ({n}%)]  Loss: {x} ({x})  Time: {x}s, {x}/s  ({x}s, {x}/s)  LR: {x}  Data: {x} ({x})",
    ),
    (
        "vision",
        "03/25 1{c}:07 - mmengine - INFO - Epoch(train)  [{n}][{n}/{n}]  lr: {x}  time: {x}  grad_norm: {x}  loss: {x}",
    ),
    (
        "fairseq",
        "2023-06-13 19:1{c}| INFO | train_inner | epoch {n}: {n} / {n} loss={x}, wps={x}, num_updates={n}, lr={x}",
    ),
    ("meters", "Epoch: [{n}]  [ {n}/{n}]  eta: 0:{c}  lr: {x}  loss: {x} ({x})  time: {x}  data: {x}  max mem: {n}"),
    ("epoch_lines", "Epoch [{n}/{n}], Step [{n}/{n}], Loss: {x}"),
    ("plain_loop", "[2026-03-01 1{c}:26] step {n}/9{n} loss {x} grad_norm {x} lr {x} {x} img/s"),
    ("nanogpt", "step {n}/{n} ({x}%) | loss: {x} | lrm: {x} | dt: {x}ms | tok/sec: {n} | mfu: {x} | epoch: {n}"),
    (
        "torchtitan",
        "[rank0]: step: {n}  loss: {x}  grad_norm: {x}  memory: {x}GiB({x}%)  tps: {n}  tflops: {x}  mfu: {x}%",
    ),
)


@pytest.fixture(autouse=True)
def nothing_learned_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests of this process taught would be learned at once."""
    monkeypatch.setattr(learning, "_learned", {})


def worded(template: str, rng: random.Random) -> str:
    """A line with other figures in it, as runs print them and now and then as nobody does."""
    text = template
    for mark, made in (
        ("{n}", lambda: str(rng.randrange(10 ** rng.randrange(1, 7))).zfill(rng.choice((1, 1, 4)))),
        ("{c}", lambda: f"{rng.randrange(10)}:{rng.randrange(60):02d}"),
        ("{bar}", lambda: ("█" * rng.randrange(11) + "▍" + " " * 10)[:10]),
        (
            "{x}",
            lambda: rng.choice(
                (
                    f"{rng.random() * 99:.4f}",
                    f"{rng.random():e}",
                    f"{rng.random():.3g}",
                    f"{rng.random():.9f}",
                    f"{9 * rng.random():.2f}",
                    "0",
                    "7.",
                    "-1.5",
                )
            ),
        ),
    ):
        while mark in text:
            text = text.replace(mark, made(), 1)
    return text


@pytest.mark.parametrize(("name", "template"), TEMPLATES)
def test_each_line_of_a_wording_that_was_learned_is_read_alike(name: str, template: str) -> None:
    kind, rng = KINDS[name], random.Random(template)
    assert alone(kind)
    learned, fits, lessons = None, 0, 0
    for n in range(600):
        text = worded(template, rng)
        rows = list(kind().feed(Line(text, n, "a.out")))
        if rows and lessons < 10 and (learned is None or learned.wording.match(text) is None):
            learned, lessons = learn(kind, text), lessons + 1
        found = None if learned is None else learned.wording.match(text)
        if learned is None or found is None or learned.odd(found):
            continue
        fits += 1
        assert rows == [Line(text, n, "a.out").first_of(learned.steps(found))], text
    assert fits > 30


@given(st.integers(0, 10**9), st.floats(-1e9, 1e9), st.integers(0, 10**6), st.integers(0, 10**6))
def test_figures_of_every_form(epoch: int, loss: float, step: int, total: int) -> None:
    line = "Epoch [{}/{}], Step [{}/{}], Loss: {}"
    kind = KINDS["epoch_lines"]
    learned = learn(kind, line.format(1, 5, 100, 600, 0.3512))
    assert learned is not None
    for shown in (repr(loss), f"{loss:.4f}", f"{loss:.3e}", f"{loss:g}"):
        text = line.format(epoch, total, step, total, shown)
        found = learned.wording.match(text)
        if found is not None and not learned.odd(found):
            assert list(kind().feed(Line(text, 1, "a"))) == [Line(text, 1, "a").first_of(learned.steps(found))]


class Fussy(LineParser):
    """Gives a row with one field made of the figure by `how`, or none."""

    anchors: ClassVar[tuple[str, ...]] = ("loss ",)
    how: ClassVar[str] = ""

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take `loss X at N`."""
        words = line.text.split(" ")
        loss, step = number(words[1]), number(words[3])
        if len(words) != 4 or loss is None or step is None:
            return ()
        if (self.how == "even" and step % 2) or (self.how == "small" and step > 10**5):
            return ()
        both = self.how == "product"
        return [
            line.step("fussy", step=int(step), loss=loss * step if both else loss**2 if self.how == "square" else loss)
        ]


@pytest.mark.parametrize(
    ("how", "widest"),
    [("", "999999999"), ("even", "12"), ("square", "999999999"), ("product", "12"), ("small", "9999")],
)
def test_nothing_is_learned_that_does_not_hold_for_all(how: str, widest: str) -> None:
    """A figure on which more hangs than its value stays as it is, or as narrow as it has to."""
    kind = type(f"Fussy{how}", (Fussy,), {"how": how})
    learned = learn(kind, "loss 0.25 at 12")
    rng = random.Random(how)
    for _ in range(300):
        text = f"loss {rng.random() * 9:.{rng.randrange(5)}f} at {rng.randrange(10 ** rng.randrange(1, 12))}"
        found = None if learned is None else learned.wording.match(text)
        if learned is not None and found is not None and not learned.odd(found):
            assert list(kind().feed(Line(text, 1, "a"))) == [Line(text, 1, "a").first_of(learned.steps(found))]
    if how in ("", "small"):
        assert learned is not None
        assert learned.wording.match(f"loss 0.5 at {widest}") is not None


def test_who_keeps_notes_is_not_alone() -> None:
    stateful = {name for name, kind in KINDS.items() if not alone(kind)}
    assert {"traceback", "keras", "steady_lines", "tqdm_bar", "nnunet", "ultralytics", "launcher"} <= stateful
    assert not {"vision", "fairseq", "meters", "epoch_lines"} & stateful


def test_who_is_silent_gives_nothing_of_any_line() -> None:
    assert silent(KINDS["fairseq"], ["loss", "| epoch 1"])
    assert not silent(KINDS["epoch_lines"], ["loss", "Epoch 1, Loss: 0.5"])
