"""Lines that are read many at once give the rows that they give one by one."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path

import pytest

from collector.framing import chunks, learned
from collector.framing.blocks import WINDOWS
from collector.framing.chunks import read_chunks
from collector.framing.labels import Label
from collector.framing.matcher import AnchorMatcher
from collector.framing.streams import Demux
from collector.framing.times import Clock
from collector.parsers.base import also_needed
from collector.parsers.megatron import Megatron
from collector.parsers.registry import parser_types
from collector.parsers.values import as_json, json_column
from collector.parsers.wording import COUNT, FIGURE, PADDING, Wording
from store.rows import Block

ROOT = Path(__file__).resolve().parents[3]
MODIFIED = datetime(2026, 3, 26, tzinfo=UTC)
MATCHER = AnchorMatcher([t.anchors for t in parser_types()], also=also_needed(parser_types()))
BERLIN = timezone(timedelta(hours=1))


@pytest.fixture(autouse=True)
def nothing_learned_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests of this process taught would decide which lines come in blocks."""
    monkeypatch.setattr(learned, "_learned", {})


def told(
    data: bytes, windows: tuple[int, int] | None, zone: tzinfo = UTC, own: tzinfo | None = None
) -> tuple[list[str], int]:
    """Every row as text with its parser, and how many of them came in blocks."""
    demux = Demux(
        parser_types(), MATCHER, Clock(zone, MODIFIED, own), "a.out", Label(stream="out"), frozenset(), windows
    )
    rows: list[str] = []
    blocked = 0
    for chunk in read_chunks(io.BytesIO(data)):
        for segment in demux.feed(chunk):
            for row, parser in segment.rows:
                if isinstance(row, Block):
                    blocked += row.count
                    rows += [f"{parser} {r}" for r in row.rows()]
                else:
                    rows.append(f"{parser} {row}")
    rows += [f"{parser} {row}" for row, parser in demux.close()]
    return [*rows, *demux.failures], blocked


def megatron(n: int, loss: str = "7.9E+00", at: str | None = None) -> str:
    at = at or f"2026-03-25 {n // 3600 % 24:02d}:{n // 60 % 60:02d}:{n % 60:02d}"
    return (
        f" [{at}] iteration {n:8d}/ 9000 | consumed samples: {n * 1024:12d} | elapsed time per iteration (ms): 120.9 | lm loss: {loss}"
        " | loss scale: 1.0 | grad norm: 0.764 | number of skipped iterations:   0 | number of nan iterations:   0 |"
    )


def trainer(n: int, loss: str = "0.5") -> str:
    return f"{{'loss': {loss}, 'grad_norm': 1.25, 'learning_rate': 1e-0{n % 8 + 1}, 'epoch': {n / 7:.2f}}}"


def clock(n: int) -> str:
    """The time of day, which goes on past midnight: a step takes seven minutes."""
    return f"{(20 + n * 7 // 60) % 24:02d}:{n * 7 % 60:02d}:{n % 60:02d}"


WORDINGS: tuple[Callable[[int], str], ...] = (
    megatron,
    lambda n: megatron(n, at=f"2026-03-25 10:00:00.{n:06d}"),
    lambda n: f"iteration: {n}/9000 | elapsed time per iteration (s): 1.5 | loss: {n}.5 |",
    lambda n: (
        f"iteration {n}/9000 | elapsed time per iteration (s): 1.5 | mtp 2 loss: 1 | MFU {n} % | odd | [x{n}] | loss: .5 |"
    ),
    trainer,
    lambda n: f"{{'loss': '{n}.5', 'grad_norm': '0.5', 'epoch': '{n}'}}  ",
    lambda n: (
        f"{{'eval_loss': 1.5, 'eval_runtime': 2.0, 'eval_samples_per_second': {n}, 'epoch': 1.0, 'step': {n / 2}}}"
    ),
    lambda n: f"{{'loss/policy_avg': 0.5, 'lr': 1e-6, 'learning_rate': 5, 'episode': {n}, 'epoch': 1.0, 'kl%': {n}}}",
    lambda n: f"{{'loss': 0.5, 'rewards/chosen': -{n}, 'num_tokens': 1e{n}, 'epoch': 1.0}}",
    lambda n: f"iter {n}: loss {9 / (n + 1):.4f}, time {n * 1.5:.2f}ms, mfu {-100 if n < 5 else n / 7:.2f}%",
)
LEARNED: tuple[Callable[[int], str], ...] = (
    lambda n: (
        f"Epoch {n // 50}: {2 * n % 100:3d}%|{'█' * (n // 40 % 10)}▍{' ' * 9}| {n % 50}/50 [00:{n % 60:02d}<01:01, {n / 7:5.2f}it/s, v_num=3, train_loss={9 / (n + 1):.3f}]"
    ),
    lambda n: (
        f"Epoch {n // 50}: {2 * n % 100:3d}%|###5      | {n}/5000 [1:00:{n % 60:02d}<01:01,  1.50s/it, loss=0.{n}]"
    ),
    lambda n: (
        f"Train: {n // 33} [{n % 33:4d}/33 ({3 * n % 100:3d}%)]  Loss: {9 / (n + 1):.3f} (8.86)  Time: 1.663s,    9.62/s  (1.663s,    9.62/s)  LR: 5.{n:03d}e-04  Data: 0.460 (0.460)"
    ),
    lambda n: (
        f"2022-11-23 14:{n // 60 % 60:02d}:{n % 60:02d},465 - mmdet - INFO - Epoch [6][{n}/9228]\tlr: 2.500e-03, eta: 0:10:25, time: 0.437, loss: {n / 7:.4f}, grad_norm: 6.0425"
    ),
    lambda n: (
        f"03/25 10:00:{n % 60:02d} - mmengine - INFO - Epoch(train)  [1][{n:3d}/9313]  lr: 1.0e-02  eta: 0:10:00  time: 0.21  memory: 1000  grad_norm: 3.1  loss: {n / 9:.2f}"
    ),
    lambda n: (
        f"2023-06-13 19:19:{n % 60:02d} | INFO | train_inner | epoch 186: {n:6d} / 282 loss={n / 7:.3f}, ppl=8.6, wps=132341, num_updates={n}, lr=0.000138277, gnorm=0.512"
    ),
    lambda n: (
        f"Epoch: [12]  [{n:4d}/1251]  eta: 0:05:12  lr: 0.000981  loss: {n / 9:.4f} (4.0213)  time: 0.7011  max mem: 8711"
    ),
    lambda n: (
        f"INFO:root:Epoch[{n // 50}] Batch [{n % 50}]\tSpeed: {n / 7:.2f} samples/sec\taccuracy={n / 500:.6f}\tcross-entropy={n / 9:.6f}"
    ),
    lambda n: (
        f"  step {n}00 lr 1 step-time 0.41s wps 12.41K ppl {n / 9:.2f} gN {n / 7:.2f} bleu 0.00, Thu May 11 10:00:26 2026"
    ),
    lambda n: f"Epoch [{n // 50 + 1}/50], Step [{n % 50 + 1}/50], Loss: {n / 9:.4f}",
    lambda n: f"Train Epoch: 14 [{n * 64}/60000 ({n % 100}%)]\tLoss: {n / 9:.6f}",
    lambda n: f"[2026-03-01 10:00:{n % 60:02d}] step {n}/400 loss {n / 9:.4f} grad_norm 1.815 lr 5.00e-04 {n}.8 img/s",
    lambda n: (
        f"step {n:05d}/21400 ({n / 214:.2f}%) | loss: {n / 7:.6f} | lrm: 1.00 | dt: {n}.5ms | tok/sec: {n * 97:,} | mfu: 0.00"
    ),
    lambda n: f"step {n} of a loop of its own making, train loss {9 / (n + 1):.4f}",
    lambda n: f"step {n} loss {9 / (n + 1):.4f} data_time {n / 9:.3f} step_time {n / 7:.3f}",
    lambda n: f"[step {n}] loss={9 / (n + 1):.4f} | data {n / 9:.3f}s | fwd 0.100s | total {n / 7:.3f}s",
    lambda n: f"Iteration {n}: val loss = {n / 7:e}, lr 1.0e-4, grad_norm {n}, took {n}.5 s",
    lambda n: f"Epoch {n // 50 + 1}/50 step {n % 50}/600 loss {9 / (n + 1):.4f} lr 0.0{n}",
    lambda n: f"[{n // 50 + 1}, {n % 50:5d}] loss: {9 / (n + 1):.3f}",
    lambda n: f"(epoch: {n // 50 + 1}, iters: {n % 50}, time: 0.5, data: 0.25) D_A: {n / 7:.3f} G_A: {n / 9:.3f} ",
    lambda n: f"Epoch: {n // 50 + 1} | Iter {n % 50}/50 | Loss {9 / (n + 1):.4f} | Acc {n / 7:.2f}",
    lambda n: f"[{n // 50 + 1}/90][{n % 50}/50]\tLoss_D: {n / 7:.4f}\tLoss_G: {n / 9:.4f}\tD(x): 0.5",
    lambda n: f"step {n} | loss {9 / (n + 1):.4f} | lr 3.00e-04 | {n / 7:.2f} it/s | {n}5 tok/s",
    lambda n: f"[Step {n}] loss: {9 / (n + 1):.4f} | {n / 7:.1f} samples/s",
    lambda n: f"Iter {n}, Loss: {9 / (n + 1):.4f}, Speed: {n / 7:.1f} it/s, ETA: {n // 60:02d}:{n % 60:02d}",
    lambda n: f"2026-03-25 {clock(n)},{n:03d} - INFO - step {n} loss {9 / (n + 1):.4f} grad_norm {n / 7:.3f}",
    lambda n: f"2026/03/25 {clock(n)} step {n} loss {9 / (n + 1):.4f} lr 1e-4",
    lambda n: f"03/25/2026 {clock(n)} - INFO - step {n} loss {9 / (n + 1):.4f} lr 1e-4",
    lambda n: f"2026-03-25T{clock(n)}.{n:03d}Z INFO step {n} | loss {9 / (n + 1):.4f}",
    lambda n: f"2026-03-25 {clock(n)} UTC step {n} | loss {9 / (n + 1):.4f}",
    lambda n: f"2026-03-25 {clock(n)}+02:00 step {n} | loss {9 / (n + 1):.4f}",
    lambda n: f"[{clock(n)}] step {n} loss {9 / (n + 1):.4f} lr 1e-4",
    lambda n: f"{clock(n)} | step {n} | loss {9 / (n + 1):.4f}",
    lambda n: f"I0325 {clock(n)}.{n:06d}  4812 solver.cpp:228] Iteration {n}, loss = {9 / (n + 1):.5f}",
    lambda n: f"{{'step': {n}, 'loss': {9 / (n + 1):.4f}, 'lr': 0.0001}}",
    lambda n: f"epoch = {n // 50}, step = {n % 50}, loss = {9 / (n + 1):.4f}, throughput = {n}.5 img/s",
    lambda n: (
        f"[titan] 2026-03-25 {clock(n)},000 - root - INFO - step: {n:5d}  loss: {9 / (n + 1):7.4f}  memory: 40.12GiB(50.20%)  tps: {n + 6000:,}"
    ),
)
"""Lines of parsers that read one line at a time: what their figures mean is learned."""
BREAKS = (
    "    forward-backward ...............................: (8.1, 9.2)",
    "2026-03-25 10:00:{n:02d},123 - INFO - a logger's line",
    "[10:00:{n:02d}] a clock",
    "I0325 10:00:{n:02d}.123456 glog.cc:12] a line of glog",
    "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-03-25T10:00:{n:02d} DUE TO TIME LIMIT ***",
    'Traceback (most recent call last):\n  File "a.py", line {n}, in <module>\n    main()',
    "ValueError: planted",
    "could not load it, falling back to the default and skipping {n}",
    "\r {n}%|##   | {n}/100 [00:01<00:09,  1.20it/s]",
    "\r {n}%|##   | {n}/100 [00:01<00:09,  1.20it/s]\r",
    "\x1b[32mgreen\x1b[0m ValueError\x1b[K",
    "Unsloth: patched",
    "epoch {n}: loss 0.{n}",
    "step {n} loss nan",
    "step {n}.5 loss 2.5",
    "step {n} loss 2.5%",
    "iter {n}: loss nan, time 1.5ms, mfu 0.10%",
    "iter {n}: loss 2.5, time 1.5s, mfu 0.10%",
    "step {n}: train loss 2.5, val loss 2.75",
    "{{'loss': 0.5, 'grad_norm': 1.25,",
    "{{'loss': nan, 'grad_norm': 1.25, 'learning_rate': 1e-5, 'epoch': 0.1}}",
    "{{'loss': 0.5, 'grad_norm': 1.25, 'learning_rate': 1e-5, 'epoch': 0.1, 'extra': {n}}}",
    "{{'train_runtime': {n}.5, 'train_loss': 0.5, 'epoch': 1.0}}",
    "Epoch 3:   0%|          | 0/50 [00:00<?, ?it/s, v_num=3, train_loss=0.5]",
    "Epoch 3: 100%|##########| 50/50 [00:00<00:00, 1.50it/s, v_num=3, train_loss=nan]",
    "Epoch 3: 100%|##########| 50/50 [00:00<00:00, 1.50it/s, v_num=3, train_loss=0.5]",
    "Epoch 3: 100%|##########| 50/50 [00:00<00:00, 1.50it/s, v_num=3, train_loss=0.5]",
    "Epoch [3/2], Step [9/5], Loss: 0.5",
    "Epoch {n}/9",
    "7/9 [==>.....] - ETA: 1s - loss: 0.5",
    "[2026-03-01 10:00:05] step 9/4 loss 2.5 grad_norm 1.815 lr 5.00e-04 1.8 img/s",
    "Epoch(val)  [1][{n}/9]  loss: 0.5",
    " validation loss at iteration {n} | lm loss value: 2.5E+00 | lm loss PPL: 1.2E+01 |",
    megatron(7, "nan"),
    megatron(7, "1e999"),
    megatron(7, "-0"),
    megatron(7, at="2026-02-30 10:00:00"),
    megatron(7, at="2126-01-01 10:00:00"),
    megatron(7).replace("grad norm", "grad {n}orm"),
    megatron(7) + " Traceback (most recent call last):",
    "",
    "\u202ea line in disguise \u00e9",
)
TURNS = ("[rank{r}]: ", "[default{r}]:", " {r}: ", "[trainer{r}|{r}]:")
LABELS = ("", "[default3]:", "[rank1]: ", " 3: ", "(Worker pid=12) ")


def hostile(seed: int) -> bytes:
    """Runs of one wording, broken up by whatever else a log holds, damaged in places."""
    rng = random.Random(seed)
    steady, lines, n = rng.choice(LABELS), list[str](), 0
    while n < 300:
        wording, label = (
            rng.choice(rng.choice((WORDINGS, LEARNED))),
            rng.choice(LABELS) if rng.random() < 0.2 else steady,
        )
        for _ in range(rng.choice((1, 3, 30, 80))):
            n += 1
            lines.append(label + wording(n))
            if rng.random() < 0.08:
                lines.append((label if rng.random() < 0.5 else "") + rng.choice(BREAKS).replace("{n}", str(n % 60)).replace("{n:02d}", f"{n % 60:02d}"))  # fmt: skip
    data = bytearray(rng.choice(("\n", "\n", "\r\n", "\r")).join(lines).encode())
    for _ in range(rng.choice((0, 3, 30))):
        at = rng.randrange(len(data))
        data[at : at + rng.choice((0, 1, 1, 5))] = rng.choice(
            (b"\x00", b"\xff", b"\r", b"\n", b"9", b" ", b"e", b"\xc3")
        )
    return bytes(data) + rng.choice((b"", b"\n"))


@pytest.mark.parametrize("seed", range(8))
def test_hostile_logs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data, rng = hostile(seed), random.Random(seed)
    monkeypatch.setattr(chunks, "CHUNK", rng.choice((2000, 9000, 1 << 20)))
    zone, own = rng.choice(((UTC, None), (BERLIN, None), (BERLIN, UTC)))
    alone, blocked = told(data, None, zone, own)
    assert blocked == 0
    assert len(alone) > 100
    for windows in ((64, 512), (700, 700), (1 << 10, 1 << 20)):
        assert told(data, windows, zone, own)[0] == alone


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "latin-1"])
def test_every_encoding(encoding: str) -> None:
    data = "\n".join(["d\u00e9but", *map(megatron, range(90)), "fin \u00e9"]).encode(encoding)
    alone, _ = told(data, None)
    together, blocked = told(data, (256, 1024))
    assert together == alone
    assert blocked > 50


def stamped(n: int) -> str:
    return "[2026-03-25 10:00:05] " + WORDINGS[2](n)


@pytest.mark.parametrize(("wording", "every"), [(WORDINGS[2], 4), (stamped, 9), (trainer, 5)])
def test_borders_at_many_bytes(wording: object, every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every fourth of one wording, and fewer of those that are longer."""
    assert callable(wording)
    lines = [str(wording(n)) for n in range(12)]
    lines[6:6] = ["2026-03-25 11:00:00 - INFO - between", *BREAKS[5].split("\n")[:2], "ValueError: planted"]
    data = "\n".join(lines).encode()
    alone, _ = told(data, None)
    size = len(lines[0])
    assert max(told(data, (w, w))[1] for w in range(size, 3 * size)) > 3
    for window in range(1, 3 * size, every):
        assert told(data, (window, window))[0] == alone
    for end in range(len(data) - 2 * size, len(data), every):
        assert told(data[:end], (64, 64))[0] == told(data[:end], None)[0]
    for chunk in range(size + 1, 3 * size, 3 * every):
        monkeypatch.setattr(chunks, "CHUNK", chunk)
        assert told(data, (64, 1 << 20))[0] == told(data, None)[0]


@pytest.mark.parametrize(
    "folder", ["inquest/examples", "tests/collector/importers/samples"], ids=lambda f: f.split("/")[-1]
)
def test_logs_that_ship(folder: str) -> None:
    read = 0
    for path in sorted((ROOT / folder).rglob("*")):
        if path.is_file() and path.suffix not in (".py", ".json") and path.stat().st_size < 2 << 20:
            data = path.read_bytes()
            assert told(data, (128, 2048))[0] == told(data, None)[0], path
            read += 1
    assert read


@pytest.mark.parametrize("wording", [WORDINGS[i] for i in (0, 1, 2, 4, 5, 6, 7, 8, 9)])
@pytest.mark.parametrize("label", LABELS)
def test_a_run_that_repeats_itself_is_read_in_blocks(wording: object, label: str) -> None:
    assert callable(wording)
    data = "".join(f"{label}{wording(n)}\n" for n in range(400)).encode()
    rows, blocked = told(data, (1 << 10, 1 << 20))
    assert rows == told(data, None)[0]
    assert len(rows) == 400
    assert blocked > 350


@pytest.mark.parametrize(("wording", "label"), [(w, LABELS[i % 5]) for i, w in enumerate(LEARNED)])
def test_what_lines_mean_is_learned(wording: object, label: str) -> None:
    assert callable(wording)
    data = "".join(f"{label}{wording(n)}\n" for n in range(1, 401)).encode()
    rows, blocked = told(data, (1 << 10, 1 << 20))
    assert rows == told(data, None)[0]
    assert len(rows) > 380
    assert blocked > 50


@pytest.mark.parametrize(("wording", "label"), [(w, TURNS[i % 4]) for i, w in enumerate(LEARNED[2:])])
def test_streams_that_take_turns_are_read_together(wording: object, label: str) -> None:
    assert callable(wording)
    rng = random.Random(label)
    lines: list[str] = []
    for n in range(1, 401):
        said = label.replace("{r}", str(rng.randrange(8))) + str(wording(n))
        lines += [said, f"{rng.randrange(8)} a word of no rank"] if rng.random() < 0.02 else [said]
    data = "".join(f"{line}\n" for line in lines).encode()
    rows, blocked = told(data, (1 << 10, 1 << 20))
    assert rows == told(data, None)[0]
    assert len(rows) > 380
    assert blocked > 20


@pytest.mark.parametrize("wording", LEARNED[:2])
def test_bars_that_are_drawn_over_each_other_are_lines(wording: object) -> None:
    assert callable(wording)
    bars = "".join(f"\r{wording(n)}" for n in range(400))
    data = f"begin\n{bars}\nbetween\n{bars}\r\nend\n".encode()
    rows, blocked = told(data, (1 << 10, 1 << 12))
    assert rows == told(data, None)[0]
    assert blocked > 600
    assert "line_no=2" in rows[0] and "line_no=4" in rows[-2]


def test_lines_between_do_not_stop_it_but_their_times_are_carried() -> None:
    """A dictionary has no time of its own: that of the line before it is its."""
    lines = [f"2026-03-25 10:{n // 60:02d}:{n % 60:02d} - INFO - x\n{trainer(n)}\n{trainer(n)}\n" for n in range(300)]
    rows, blocked = told("".join(lines).encode(), WINDOWS)
    assert rows == told("".join(lines).encode(), None)[0]
    assert blocked > 400
    assert "10, 4, 59, " in rows[-1]


def test_an_open_traceback_of_the_stream_hears_every_line() -> None:
    data = "".join(f"{megatron(n)}\n" for n in range(200)) + f"{BREAKS[5].replace('{n}', '3')}\n"
    data += "".join(f"{megatron(n)}\n" for n in range(200)) + "ValueError: planted\n"
    rows, blocked = told(data.encode(), (1 << 10, 1 << 12))
    assert rows == told(data.encode(), None)[0]
    assert 100 < blocked < 400


def test_a_parser_that_trips_over_a_block_is_told_of_by_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Megatron.steps

    def trips(self: Megatron, found: dict[str, list[bytes]]) -> object:
        if b"5.5" in found["lm loss"]:
            raise ValueError("tripped")
        return plain(self, found)

    monkeypatch.setattr(Megatron, "steps", trips)
    data = "".join(f"{megatron(n, '5.5' if n == 150 else '7')}\n" for n in range(200)).encode()
    rows, blocked = told(data, (1 << 10, 1 << 12))
    assert rows == told(data, None)[0]
    assert len([r for r in rows if "TrainStep" in r]) == 200
    assert blocked > 100


def test_what_may_stand_in_a_wording() -> None:
    wording = Wording(["step ", PADDING, COUNT, "/9 loss: ", FIGURE, " end"], ["a", "b"])
    rng = random.Random(1)

    def lines() -> Iterator[str]:
        while True:
            yield f"step {' ' * rng.randrange(9)}{rng.randrange(10**6)}/9 loss: {rng.choice('+- ').strip()}{rng.random() * 99:.{rng.randrange(9)}e} end"

    for _, line in zip(range(500), lines(), strict=False):
        assert wording.match(line) is not None
        start = rng.randrange(len(line))
        assert wording.may_hold([line[start : start + rng.randrange(1, 20)]])
    for never in ("Loss", "stepp", "loss: end", "/8", "9 loss:5", "x", "1 end of"):
        assert not wording.may_hold([never])
    assert not wording.may_hold([])


def test_a_column_of_times_is_what_the_lines_say() -> None:
    rng = random.Random(2)
    raws = [
        f"20{rng.randrange(20, 30)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d} {rng.randrange(24):02d}:{rng.randrange(60):02d}:{rng.randrange(60):02d}"
        + rng.choice(("", ".5", ",123", ".123456"))
        for _ in range(500)
    ]
    one, all_of_them = Clock(BERLIN, MODIFIED, UTC), Clock(BERLIN, MODIFIED, UTC)
    assert all_of_them.column([r.encode() for r in raws]) == [one.read(f"[{r}] x") for r in raws]
    assert all_of_them.last == one.last
    assert all_of_them.column([b"2026-02-30 10:00:00"]) is None


@pytest.mark.parametrize("odd", [0.0, -0.0, float("nan"), float("inf"), 1e308])
def test_numbers_of_many_rows_are_written_as_those_of_one(odd: float) -> None:
    columns = {"a%": [1.0, 1.0, 1.0], 'b"': [odd, 2.5, 1e308], "c": [0.0, -0.0, 0.0], "d": [1e-7, 1e22, odd]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert json_column(columns) == [as_json(row) for row in rows]
    assert json_column({}) is None
