"""Random, cut and oversized input: an importer answers with rows, problems or ImportFailed, never with anything else.

This covers every importer of the registry: sacct, sacct_json, scontrol_job, scontrol_node, sacctmgr_event, sdiag, squeue,
squeue_json, nodes_json, sinfo, kernel_log, prometheus, prometheus_json, nvidia_smi, flight_recorder, tables.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collector.formats import text
from collector.importers.base import ImportContext, Importer, ImportFailed
from collector.importers.registry import importers, pick
from store.rows import Row

SAMPLES = sorted((Path(__file__).parent / "samples").iterdir())
OURS = [i for i in importers() if i.name != "job_log"]
NOW = datetime(2026, 3, 2, tzinfo=UTC)


def survive(importer: Importer, path: Path, body: bytes) -> list[Row]:
    path.write_bytes(body)
    ctx = ImportContext(path.name, UTC, modified=NOW, size=len(body))
    importer.claims(path, body[: text.HEAD])
    try:
        rows = list(importer.rows(path, ctx))
    except (ImportFailed, OSError):
        return []
    for row in rows:
        assert row.ts is None or row.ts.tzinfo is not None
    return rows


@pytest.mark.parametrize("importer", OURS, ids=lambda i: i.name)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=3000))
def test_random_bytes(importer: Importer, body: bytes, tmp_path: Path) -> None:
    survive(importer, tmp_path / "gpu_sample.csv", body)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.name)
def test_samples_cut_anywhere_and_with_bytes_changed(sample: Path, tmp_path: Path) -> None:
    body = sample.read_bytes()
    importer = pick(sample, body)
    assert importer is not None
    dice = random.Random(4812)
    for _ in range(40):
        cut = body[: dice.randrange(len(body))]
        survive(importer, tmp_path / sample.name, cut)
        changed = bytearray(body)
        for _ in range(dice.randrange(1, 30)):
            changed[dice.randrange(len(changed))] = dice.choice(b'\x00\xff|"{}[]:,=\n9-e\\')
        survive(importer, tmp_path / sample.name, bytes(changed))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.name)
def test_lines_repeated_shuffled_and_enormous(sample: Path, tmp_path: Path) -> None:
    lines = sample.read_bytes().splitlines(keepends=True)
    importer = pick(sample, b"".join(lines))
    assert importer is not None
    random.Random(1).shuffle(lines)
    survive(importer, tmp_path / sample.name, b"".join(lines * 3))
    first, rest = sample.read_bytes().split(b"\n", 1)
    huge = first + b"\n" + rest.replace(b"gpu", b"g" * 300_000, 1)
    survive(importer, tmp_path / sample.name, huge)
    survive(importer, tmp_path / sample.name, sample.read_bytes() + b"x" * 3_000_000)


@pytest.mark.parametrize(
    "value",
    [
        "9" * 400,
        "1e400",
        "-1",
        "9999999999999999999",
        "NaN",
        "99999-99:99:99",
        "0001-01-01T00:00:00",
        "9999-12-31T23:59:59",
        "n[0-99999999]",
    ],
)
def test_numbers_and_times_beyond_every_bound(value: str, tmp_path: Path) -> None:
    for sample in SAMPLES:
        body = sample.read_text()
        importer = pick(sample, body.encode())
        assert importer is not None
        for real in ("2026-03-01T10:05:00", "1772359200", "gpu[07-08]", "gpu[08-09]", "16", "64G", "97", "79"):
            if real in body:
                survive(importer, tmp_path / sample.name, body.replace(real, value).encode())


def test_an_encoding_with_a_mark_is_read(tmp_path: Path) -> None:
    """Windows tools save text as UTF-16, or as UTF-8 with a mark."""
    sacct = next(i for i in OURS if i.name == "sacct")
    for codec in ("utf-16", "utf-8-sig"):
        body = "JobID|State\r\n4812|FAILED\r\n".encode(codec)
        assert sacct.claims(tmp_path / "x", body) > 0, codec
        (job, _) = survive(sacct, tmp_path / "x.txt", body)
        assert (job.job_id, job.state) == ("4812", "FAILED")  # type: ignore[attr-defined]
