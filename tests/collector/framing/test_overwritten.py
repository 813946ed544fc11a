"""States of bars that are passed over change no row, and what only one of them says is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from collector.framing import overwritten
from collector.parsers.base import Line
from collector.parsers.keras import Keras
from tests.collector.framing.test_blocks import told

State = Callable[[int, int, float], str]
BATCHES = 700


def keras_2(n: int, of: int, loss: float) -> str:
    done = 30 * n // of
    left = "6s 3ms/step" if n == of else f"ETA: {(of - n) // 300}s"
    return f"{n:4d}/{of} [{'=' * done}{'>' if n < of else ''}{'.' * (29 - done)}] - {left} - loss: {loss:.4f} - accuracy: 0.5"


def keras_2_on_a_pipe(n: int, of: int, loss: float) -> str:
    return "\b" * 70 + "\r" + keras_2(n, of, loss)


def keras_3(n: int, of: int, loss: float) -> str:
    done = 20 * n // of
    bar = f"\x1b[32m{'━' * done}\x1b[0m\x1b[37m{'━' * (20 - done)}\x1b[0m"
    return (
        f"\x1b[1m{n:4d}/{of}\x1b[0m {bar} \x1b[1m{(of - n) // 300}s\x1b[0m 3ms/step - accuracy: 0.5 - loss: {loss:.4f}"
    )


def bare(n: int, of: int, loss: float) -> str:
    return f"{100 * n // of:3d}%|{'█' * (10 * n // of):10s}| {n}/{of} [00:{n // 60:02d}<00:{(of - n) // 60:02d}, 11.93it/s]"


def with_loss(n: int, of: int, loss: float) -> str:
    return bare(n, of, loss)[:-1] + f", loss={loss:.3f}]"


def described(n: int, of: int, loss: float) -> str:
    return f"Epoch 0: {with_loss(n, of, loss)}"


def unheard_of(n: int, of: int, loss: float) -> str:
    return f"<{n} of {of}> it/s 3.1, loss so far {loss:.4f}"


KINDS: tuple[State, ...] = (keras_2, keras_2_on_a_pipe, keras_3, bare, with_loss, described, unheard_of)


def run(state: State, last: int = BATCHES, close: str = " - val_loss: 0.9 - val_accuracy: 0.4") -> Iterator[str]:
    """Two epochs, the second up to a batch."""
    for epoch, until in ((1, BATCHES), (2, last)):
        yield f"Epoch {epoch}/3\n"
        for n in range(1, until + 1):
            yield f"\r{state(n, BATCHES, 2.5 / epoch + 1 / n)}"
        if until == BATCHES:
            yield f"\r{state(BATCHES, BATCHES, 2.5 / epoch)}{close if 'keras' in state.__name__ else ''}\n"


def rows(text: str, monkeypatch: pytest.MonkeyPatch, every: bool) -> list[str]:
    with monkeypatch.context() as m:
        m.setattr(overwritten, "DULL", 1 << 60 if every else 64)
        return told(text.encode(), None)[0]


@pytest.mark.parametrize("state", KINDS)
@pytest.mark.parametrize("last", [BATCHES, BATCHES - 41])
def test_rows_are_those_of_every_state(state: State, last: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole run, and one that breaks off: in nothing, in a line of its own, and right behind the bar."""
    text = "".join(run(state, last))
    for end in ("", "\n", "\nRuntimeError: CUDA out of memory.\n", "RuntimeError: CUDA out of memory.\n", "\rKilled\n"):
        assert rows(text + end, monkeypatch, False) == rows(text + end, monkeypatch, True)


@pytest.mark.parametrize("state", KINDS[:3])
def test_most_states_are_passed_over(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[str] = []

    def feed(self: Keras, line: Line, own: Callable[..., object] = Keras.feed) -> object:
        fed.append(line.text)
        return own(self, line)

    monkeypatch.setattr(Keras, "feed", feed)
    text = "".join(run(state))
    assert len(told(text.encode(), None)[0]) == 3, "a plan and two epochs"
    assert len(fed) < 200 < text.count("\r")


@pytest.mark.parametrize("figure", ["nan", "inf"])
@pytest.mark.parametrize("state", KINDS[:3])
def test_a_loss_that_is_not_finite_is_read_in_the_state_that_says_it_first(state: State, figure: str) -> None:
    states = list(run(state))
    first = next(i for i, s in enumerate(states) if "Epoch 2" in s) + 400
    for i in range(first, len(states)):
        states[i] = states[i].replace("loss: 1.", f"loss: {figure} - was: 1.")
    given, _ = told("".join(states).encode(), None)
    assert [f"loss={figure}" in row for row in given if "TrainStep" in row] == [False, True, True]
    assert '"batch": 400' in next(row for row in given if f"loss={figure}" in row)


def test_what_stands_between_the_states_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    words = (
        "\rWARNING: NaN or Inf found in input tensor.",
        "\rtorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
    )
    states = list(run(keras_2))
    for i, word in enumerate(words):
        states.insert(400 + 300 * i, word)
    given = rows("".join(states), monkeypatch, False)
    assert given == rows("".join(states), monkeypatch, True)
    assert any("cuda_oom" in row for row in given)


def test_a_full_bar_that_is_drawn_again_is_one_epoch_and_one_below_it_an_evaluation() -> None:
    again = "".join(run(keras_3)) + f"\r{keras_3(90, 90, 0.25)}\n"
    steps = [row for row in told(again.encode(), None)[0] if "TrainStep" in row]
    assert ["split='eval'" in row for row in steps] == [False, False, True]
    assert ["val_loss" in row for row in steps] == [True, True, False]
