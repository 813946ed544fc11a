"""Files that nobody should trust: links, devices, tars, what cannot be read; each spoils only itself."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from collector.intake.bundle import import_paths
from tests.collector.intake.bundlekit import SAMPLES, Lake, named


def tarred(name: str, body: bytes) -> bytes:
    """An archive of one file, as `tar -c` writes it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(body)
        archive.addfile(entry, io.BytesIO(body))
    return packed.getvalue()


def test_links_that_lead_out_devices_and_pipes_are_left_alone(tmp_path: Path, lake: Lake) -> None:
    outside = tmp_path / "secret.out"
    outside.write_text("password\n")
    root = tmp_path / "b"
    (root / "logs").mkdir(parents=True)
    (root / "logs" / "a-1.out").write_text("hello\n")
    (root / "logs" / "link.out").symlink_to(outside)
    (root / "logs" / "same.out").symlink_to(root / "logs" / "a-1.out")
    (root / "logs" / "loop").symlink_to(root)
    os.mkfifo(root / "logs" / "pipe.out")
    report = import_paths([root], Path("lake"))
    assert "leads out" in (named(report, "logs/link.out").error or "")
    assert "not a plain file" in (named(report, "logs/pipe.out").error or "")
    assert [r.text for r in lake.rows("log_line")] == ["hello"], "a second name of the same file is not read again"


@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        ("slurm/junk.bin", bytes(range(256)) * 40, "binary data"),
        ("slurm/notes.txt", b"just some words\n", "text in no known format"),
        ("slurm/empty.txt", b"", "empty file"),
        ("slurm/sacct.json", b'{"jobs": [{"association": ', "no job could be read"),
        ("metrics/dcgm.prom.gz", gzip.compress(b"node_load1 1 1772359200000\n" * 9000, mtime=0)[:-20], None),
        ("kernel/n1.log.zst", b"\x28\xb5\x2f\xfd" + b"\0" * 20, "zstd"),
        (
            "slurm/job.tgz",
            gzip.compress(tarred("slurm-1.out", b"step 1/2 loss 2.5\n"), mtime=0),
            "a tar archive; unpack it first",
        ),
        ("slurm/job.tar", tarred("slurm-1.out", b"step 1/2 loss 2.5\n"), "a tar archive; unpack it first"),
        ("slurm/job.zip", b"PK\x03\x04" + b"\0" * 30, "a ZIP archive; unpack it first"),
    ],
)
def test_what_cannot_be_read_says_why_and_spoils_nothing_else(
    tmp_path: Path, lake: Lake, name: str, body: bytes, words: str | None
) -> None:
    root = tmp_path / "b"
    for place in ("slurm", "metrics", "kernel"):
        (root / place).mkdir(parents=True)
    (root / name).write_bytes(body)
    shutil.copy(SAMPLES / "sdiag.txt", root / "slurm" / "sdiag.txt")
    report = import_paths([root], Path("lake"))
    bad = named(report, name)
    if words is None:
        assert bad.error is None, "what stands before the break is kept"
        assert any("breaks off" in p for p in bad.problems)
    else:
        assert words in (bad.error or "")
    assert len(lake.rows("slurm_controller_sample")) == 1


def test_nothing_there_is_an_error_of_its_own(tmp_path: Path, lake: Lake) -> None:
    (report,) = import_paths([tmp_path / "gone.out"], Path("lake")).files
    assert report.error == "no such file or directory"


def test_compressed_files_read_as_plain_ones(tmp_path: Path, lake: Lake) -> None:
    path = tmp_path / "sacct.txt.gz"
    path.write_bytes(gzip.compress((SAMPLES / "sacct.txt").read_bytes()))
    (report,) = import_paths([path], Path("lake")).files
    assert report.importer == "sacct"
    assert len(lake.rows("slurm_job")) == 4


def test_an_importer_that_breaks_spoils_only_its_file(
    job_folder: Path, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Any:
        raise KeyError("unforeseen")

    monkeypatch.setattr("collector.importers.kernel_log.KernelLog.rows", broken)
    report = import_paths([job_folder], Path("lake"))
    assert "could not cope" in (named(report, "kernel/gpu07.log").error or "")
    assert [h.ok for h in lake.rows("source_health") if h.source == "kernel_log"] == [False] * 3
    assert named(report, "slurm/sacct.txt").error is None
