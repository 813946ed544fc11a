"""The health check's look at GPUs, through the real pynvml and a software driver: in a process as the prolog starts it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inquest.preflight.gpus import expected_gpus
from tests.software_gpu.driver import GPU_IS_LOST, SoftwareGpus, build, why_not

ROOT = Path(__file__).resolve().parents[3]
GRES = "# GPUs\nNodeName=gpu[01-02] Name=gpu Type=h100 File=/dev/nvidia[0-3]\nNodeName=gpu03 Name=gpu Count=2\n"


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    problem = why_not()
    if problem:
        pytest.skip(problem)
    return build(tmp_path_factory.mktemp("lib"))


@pytest.fixture
def gpus(tmp_path: Path, libraries: Path) -> Iterator[SoftwareGpus]:
    with SoftwareGpus(tmp_path / "gpus", count=4, libraries=libraries) as made:
        yield made


def preflight(gpus: SoftwareGpus, folder: Path, *more: str, node: str = "gpu01") -> tuple[int, list[dict[str, Any]]]:
    """Status and findings of `inquest preflight --enforce`."""
    (folder / "gres.conf").write_text(GRES)
    argv = [
        sys.executable,
        "-m",
        "inquest",
        "preflight",
        "--json",
        "--enforce",
        "--gres-conf",
        str(folder / "gres.conf"),
    ]
    argv += ["--kmsg", str(folder / "none"), "--disk", str(folder), *more]
    env = {**gpus.environment, "SLURMD_NODENAME": node}
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, [f for f in json.loads(done.stdout)["findings"] if f["check"] == "gpus"]


def test_healthy_gpus_with_a_history_are_fit(gpus: SoftwareGpus, tmp_path: Path) -> None:
    """Rows that were remapped and errors that were dealt with refuse nothing."""
    gpus.gpu(1).remapped_uncorrectable = 2
    gpus.gpu(1).remapped_correctable = 5
    status, found = preflight(gpus, tmp_path)
    assert status == 0
    assert [f["status"] for f in found] == ["fit"]
    assert "4 GPUs" in found[0]["text"]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("remap_pending", 1, "waits for its row"),
        ("remap_failure", 1, "could not be remapped"),
        ("recovery_action", 1, "asks to reset the GPU"),
        ("error", GPU_IS_LOST, "fallen off the bus"),
    ],
)
def test_a_serious_current_fault_refuses_and_says_what_to_do(
    gpus: SoftwareGpus, tmp_path: Path, field: str, value: int, words: str
) -> None:
    setattr(gpus.gpu(2), field, value)
    status, found = preflight(gpus, tmp_path)
    assert status == 10
    assert [f["status"] for f in found] == ["fault"]
    assert words in found[0]["text"]
    assert "GPU 2" in found[0]["text"]
    assert "drain" in found[0]["remedy"]


def test_a_gpu_that_is_missing_against_gres_refuses(gpus: SoftwareGpus, tmp_path: Path) -> None:
    assert preflight(gpus, tmp_path, node="gpu03")[0] == 0
    status, found = preflight(gpus, tmp_path, "--gpus", "8")
    assert status == 10
    assert "shows 4 GPUs, gres.conf gives the node 8" in found[0]["text"]


def test_a_driver_that_hangs_refuses_nothing_and_is_not_waited_for(gpus: SoftwareGpus, tmp_path: Path) -> None:
    gpus.gpu(0).hang_ms = 20_000
    status, found = preflight(gpus, tmp_path, "--limit", "1")
    assert status == 0
    assert [f["status"] for f in found] == ["unknown"]


def test_gres_conf_is_read_for_the_node(tmp_path: Path) -> None:
    path = tmp_path / "gres.conf"
    path.write_text(GRES)
    assert [expected_gpus(path, n) for n in ("gpu01", "gpu03", "login1")] == [4, 2, None]
    path.write_text("AutoDetect=nvml\nName=gpu File=/dev/nvidia[0-7]\n")
    assert expected_gpus(path, "anywhere") == 8
    path.write_text("AutoDetect=nvml\n")
    assert expected_gpus(path, "anywhere") is None
    assert expected_gpus(tmp_path / "absent", "gpu01") is None
