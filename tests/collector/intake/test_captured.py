"""Caught output read as a log, and given way to an imported one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collector.intake.bundle import import_paths
from collector.intake.captured import settle as settled
from store import Reader, commits
from store.lake import Lake
from store.rows import CapturedLine
from store.writer import Writer
from tests.collector.livekit import asked

START = datetime(2026, 3, 1, 10, tzinfo=UTC)
OUT = [f"step {n}/40 | loss {3 - n / 20:.3f} | lr 1e-4" for n in range(1, 21)]
ERR = [
    "Traceback (most recent call last):",
    '  File "/home/mira/train.py", line 12, in <module>',
    "    main()",
    "ValueError: bad batch",
]


def settle(lake: Path, job_id: str) -> int:
    with Reader(lake) as reader:
        return settled(lake, reader, job_id)


def caught(lake: Path, lines: list[str], stream: str, batch: str, first: int = 1) -> None:
    """Rank 3's lines, a second apart."""
    Writer(lake).append(
        [
            CapturedLine(
                node="node1", job_id="4812", rank=3, step_id="0", ts=START + timedelta(seconds=first + n), text=text,
                file=f"node1/77.{stream}", stream=stream, line_no=first + n, ts_kind="written", origin="ebpf",
            )
            for n, text in enumerate(lines)
        ],
        batch=batch,
    )  # fmt: skip


def test_caught_lines_become_the_log_that_the_job_did_not_keep(tmp_path: Path) -> None:
    caught(tmp_path, OUT, "out", "a")
    caught(tmp_path, ERR, "err", "b")
    assert settle(tmp_path, "4812") > 0
    assert asked(tmp_path, "SELECT count(*), min(ts), count(DISTINCT rank) FROM log_line") == [
        (24, "2026-03-01T10:00:01Z", 1)
    ]
    assert asked(tmp_path, "SELECT kind, name, rank, job_id, node FROM log_event WHERE kind = 'exception'") == [
        ("exception", "ValueError", 3, "4812", "node1")
    ]
    assert asked(tmp_path, "SELECT max(step), max(rank), max(ts) FROM train_step") == [(20, 3, "2026-03-01T10:00:20Z")]


def test_it_is_read_again_when_there_is_more_and_never_stands_there_twice(tmp_path: Path) -> None:
    caught(tmp_path, OUT[:10], "out", "a")
    settle(tmp_path, "4812")
    settle(tmp_path, "4812")
    assert asked(tmp_path, "SELECT count(*) FROM log_line") == [(10,)]
    caught(tmp_path, OUT[10:], "out", "b", first=11)
    settle(tmp_path, "4812")
    assert asked(tmp_path, "SELECT count(*), count(DISTINCT line_no) FROM log_line") == [(20, 20)]
    assert asked(tmp_path, "SELECT count(*), count(DISTINCT step) FROM train_step") == [(20, 20)]


def test_what_torchrun_repeats_of_its_workers_stands_there_once(tmp_path: Path) -> None:
    """Two ranks under --tee: the agent's copies go. A line of its own, and one that no worker wrote, stay."""
    rows: list[CapturedLine] = []

    def wrote(pid: int, rank: int | None, texts: list[str]) -> None:
        for n, text in enumerate(texts):
            rows.append(
                CapturedLine(
                    node="node1", job_id="4812", rank=rank, local_rank=rank, step_id="0", ts=START + timedelta(seconds=n),
                    text=text, file=f"node1/{pid}.out", stream="out", line_no=1 + n, ts_kind="written", origin="ebpf",
                )
            )  # fmt: skip

    wrote(
        70, None, ["W0301 agent starts"] + [f"[default{r}]:{t}" for t in OUT for r in (0, 1)] + ["[default1]:its own"]
    )
    wrote(71, 0, OUT)
    wrote(72, 1, OUT)
    Writer(tmp_path).append(rows, batch="a")
    settle(tmp_path, "4812")
    assert asked(tmp_path, "SELECT count(*), count(*) FILTER (rank IS NULL OR rank = 1) FROM log_line") == [(42, 22)]
    assert asked(tmp_path, "SELECT count(*), count(DISTINCT (rank, step)) FROM train_step") == [(40, 40)]


def test_an_imported_log_takes_its_place(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    caught(lake, OUT, "out", "a")
    settle(lake, "4812")
    (tmp_path / "slurm-4812.out").write_text("\n".join(OUT) + "\n")
    import_paths([tmp_path / "slurm-4812.out"], lake, job_id="4812")
    assert settle(lake, "4812") == 0
    assert asked(lake, "SELECT count(*), count(DISTINCT step) FROM train_step") == [(20, 20)]
    assert asked(lake, "SELECT count(*) FROM log_line") == [(20,)]


def test_a_job_of_which_nothing_was_caught_costs_no_batch(tmp_path: Path) -> None:
    caught(tmp_path, OUT, "out", "a")
    assert settle(tmp_path, "4813") == 0
    assert asked(tmp_path, "SELECT count(*) FROM log_line") == [(0,)]


def test_what_is_up_to_date_is_read_from_a_lake_that_may_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a user reads an operator's lake; root may write everywhere, so the writer itself is taken away."""
    caught(tmp_path, OUT, "out", "a")
    stand = settle(tmp_path, "4812")
    monkeypatch.setattr("collector.intake.captured.Writer", None)
    assert settle(tmp_path, "4812") == stand > 0


def test_an_imported_log_alone_costs_no_batch(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    (tmp_path / "slurm-4812.out").write_text("\n".join(OUT) + "\n")
    import_paths([tmp_path / "slurm-4812.out"], lake, job_id="4812")
    caught(lake, OUT, "out", "a")
    assert settle(lake, "4812") == 0
    assert commits.read(Lake.of(lake), "captured/4812") is None
