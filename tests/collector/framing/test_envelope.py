"""Logs in JSON, a line an object: what the program said is read as if it had been printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.framing.envelope import unwrap, wrapped
from collector.intake.bundle import import_paths
from store import Reader
from tests.collector.livekit import asked

SAID = [
    "loading data",
    *(f"step {n}/100 loss {3.21 - n / 10:.2f} lr 1e-4" for n in range(1, 7)),
    "Traceback (most recent call last):",
    '  File "/home/mira/train.py", line 88, in <module>',
    "    main()",
    '  File "/home/mira/train.py", line 41, in main',
    "    batch = next(loader)",
    "KeyError: 'scan_02011'",
]
AT = 1777629600


def docker(n: int, text: str) -> dict[str, Any]:
    return {"log": text + "\n", "stream": "stderr", "time": f"2026-05-01T10:00:{n:02d}.12Z"}


def journald(n: int, text: str) -> dict[str, Any]:
    return {"__REALTIME_TIMESTAMP": str((AT + n) * 10**6), "_HOSTNAME": "gpu-01", "MESSAGE": list(text.encode())}


def logger(n: int, text: str) -> dict[str, Any]:
    return {"ts": AT + n + 0.5, "level": "INFO", "message": text, "rank": 3}


@pytest.mark.parametrize("write", [docker, journald, logger])
def test_steps_and_the_traceback_are_read_at_their_lines_and_times(
    tmp_path: Path, write: Callable[[int, str], dict[str, Any]]
) -> None:
    log = tmp_path / "slurm-7.out"
    log.write_text("".join(json.dumps(write(n, text)) + "\n" for n, text in enumerate(SAID)))
    import_paths([log], tmp_path / "lake", durable=False)
    assert asked(tmp_path / "lake", "SELECT count(*), min(step), max(step), max(line_no) FROM train_step") == [
        (6, 1, 6, 7)
    ]
    ((name, frame, line, ts),) = asked(tmp_path / "lake", "SELECT name, frame, line_no, ts FROM log_event")
    assert (name, frame, line) == ("KeyError", "/home/mira/train.py:41 in main", 8)
    assert abs(datetime.fromisoformat(str(ts)) - datetime.fromtimestamp(AT + 7, UTC)).total_seconds() <= 0.5
    ranks = asked(tmp_path / "lake", "SELECT DISTINCT rank FROM log_line")
    assert ranks == [(3,) if write is logger else (None,)]


def test_a_stack_in_a_field_of_its_own_is_read_and_later_lines_keep_their_numbers(tmp_path: Path) -> None:
    lines = [{"timestamp": "2026-05-01T10:00:00Z", "level": "info", "event": text} for text in SAID[:3]]
    lines += [{"timestamp": "2026-05-01T10:00:09Z", "event": "training failed", "exception": "\n".join(SAID[7:])}]
    lines += [{"timestamp": "2026-05-01T10:00:10Z", "event": "bye"}]
    log = tmp_path / "slurm-7.out"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    import_paths([log], tmp_path / "lake", durable=False)
    assert asked(tmp_path / "lake", "SELECT name, line_no FROM log_event WHERE kind = 'exception'") == [("KeyError", 4)]
    with Reader(tmp_path / "lake") as reader:
        last = reader.ask("log_tail", job_id="7").dicts()[-1]
    assert (last["line_no"], str(last["text"]).endswith("bye")) == (5, True)


@pytest.mark.parametrize(
    "failed",
    [
        {"exception": {"type": "KeyError", "value": "scan_02011", "stack": ["train.py:88 main", "train.py:41 step"]}},
        {"error": {"type": "KeyError", "message": "scan_02011", "stack_trace": "\n".join(SAID[7:])}},
        {"exception": [{"exc_type": "KeyError", "exc_value": "scan_02011", "frames": []}]},
        {"err": {"class": "KeyError", "message": "scan_02011"}},
    ],
)
def test_an_exception_that_is_an_object_is_read_among_objects_with_figures(
    tmp_path: Path, failed: dict[str, Any]
) -> None:
    lines: list[dict[str, Any]] = [{"ts": AT, "level": "INFO", "msg": "starting"}]
    lines += [{"ts": AT + n, "level": "INFO", "msg": "train", "step": n, "loss": 4.0 - n / 10} for n in range(1, 9)]
    lines += [{"ts": AT + 9, "level": "ERROR", "msg": "training failed", **failed}]
    log = tmp_path / "slurm-7.out"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    import_paths([log], tmp_path / "lake", durable=False)
    assert asked(tmp_path / "lake", "SELECT name, line_no FROM log_event") == [("KeyError", 10)]
    assert asked(tmp_path / "lake", "SELECT count(*) FROM train_step") == [(8,)]


def test_an_object_with_figures_of_training_stays_as_it_is() -> None:
    figures = json.dumps({"event": "train", "step": 3, "loss": 2.5}).encode()
    assert unwrap(figures) == figures
    assert not wrapped(b"\n".join([figures] * 9))


def test_lines_between_that_are_no_objects_stay_and_a_plain_log_is_no_such_log() -> None:
    line = json.dumps({"message": "step 1"}).encode()
    assert unwrap(b"srun: hello\n" + line + b"\n{broken}\n") == b"srun: hello\nstep 1\n{broken}\n"
    assert wrapped(b"srun: hello\n" + (line + b"\n") * 3)
    assert not wrapped(b"plain\n" * 9 + line + b"\n")


@given(st.lists(st.one_of(st.binary(max_size=40), st.text(max_size=40).map(lambda t: json.dumps({"log": t}).encode()))))
def test_whatever_a_line_holds_it_stays_one_line(lines: list[bytes]) -> None:
    data = b"\n".join(lines)
    assert unwrap(data).count(b"\n") == data.count(b"\n")


@pytest.mark.parametrize(
    "line",
    [b'{"message": "x", "time": 1e999}', b'{"message": "x", "time": "NaN"}', b'{"MESSAGE": [300]}', b"[" * 100_000,
     b'{"message": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", b'{"message": "\\ud800"}', b'{"message": "x", "n": ' + b"9" * 5000 + b"}"],
)  # fmt: skip
def test_hostile_objects_do_no_harm(line: bytes) -> None:
    assert unwrap(line).count(b"\n") == 0


def test_the_lead_of_a_determined_task_log_is_taken_off(tmp_path: Path) -> None:
    lead = "[2026-05-01T10:00:0{n}.405{n}87Z] 8de2ca8{n} || [rank={n}] "
    lines = [lead.format(n=1) + line for line in SAID[-6:]]
    lines.append(
        "<info>    [2026-05-01 10:00:09] 8de2ca81 || INFO: container failed with non-zero exit code:  (exit code 1)"
    )
    data = ("\n".join(lines) + "\n").encode()
    assert wrapped(data)
    assert (
        unwrap(data).split(b"\n")[-2]
        == b"2026-05-01T10:00:09.000000000Z INFO: container failed with non-zero exit code:  (exit code 1)"
    )
    (tmp_path / "trial.log").write_bytes(data)
    import_paths([tmp_path / "trial.log"], tmp_path / "lake", durable=False)
    rows = asked(tmp_path / "lake", "SELECT name, message, rank FROM log_event WHERE kind = 'exception'")
    assert rows == [("KeyError", "'scan_02011'", 1)]


@pytest.mark.parametrize(
    "line", [b"[2026-05-01 10:00:09] a || b", b"8de2ca81 || x", b"[2026-05-01 10:00:09] 8de2ca81 | x", b"[10:00] || x"]
)
def test_what_resembles_that_lead_stays(line: bytes) -> None:
    assert unwrap(line) == line
