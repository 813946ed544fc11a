"""dcgm-exporter over HTTP: a page as release 4.2 prints it, served on this host."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from collector.node.here import Here
from collector.sources.base import SourceUnavailable
from collector.sources.dcgm import Dcgm
from collector.sources.nvml import Nvml
from collector.topology.owners import Owner
from store.rows import GpuDevice, GpuSample
from tests.collector.livekit import SetClock
from tests.collector.sources.softgpu import fresh

PAGE = (Path(__file__).parent / "samples/dcgm.txt").read_bytes()


@pytest.fixture
def exporter() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/metrics" else 404)
            self.end_headers()
            self.wfile.write(PAGE if self.path == "/metrics" else b"no")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_page_to_samples(exporter: str) -> None:
    """The exporter's pod is not the node; the job is that of the GPU's processes."""
    here = Here(node="node1", clock=SetClock())
    here.owners.gpus["GPU-00000000-1111-2222-3333-444455556666"] = Owner("4812", 1)
    source = Dcgm(here, f"{exporter}/metrics")
    source.open()
    rows = list(source.rows())
    first, second = (r for r in rows if isinstance(r, GpuSample))
    assert (first.node, first.job_id, first.gpu, first.sm_active, first.activity_source) == (
        "node1",
        "4812",
        0,
        0.71,
        "dcgm",
    )
    assert (first.fb_used_bytes, first.temp_c, second.sm_active, second.job_id) == (71234 << 20, 55.0, 0.02, None)
    assert [d.model for d in rows if isinstance(d, GpuDevice)] == ["NVIDIA A100-SXM4-80GB"] * 2
    assert not [r for r in source.rows() if isinstance(r, GpuDevice)]


def test_beside_nvml_it_lends_the_activity(exporter: str) -> None:
    """One row a GPU, not two: NVML's, with the shares that only DCGM knows on an A100."""
    gpus = fresh(1)
    gpus.gpu(0).gpm_supported = 0
    here = Here(node="node1", clock=SetClock())
    nvml, dcgm = Nvml(here), Dcgm(here, f"{exporter}/metrics")
    nvml.open()
    assert not list(dcgm.rows())
    sample = next(r for r in nvml.rows() if isinstance(r, GpuSample))
    assert (sample.sm_active, sample.engine_active, sample.activity_source, sample.power_w) == (
        0.71,
        0.95,
        "dcgm",
        640.0,
    )
    here.clock.passes(60)  # type: ignore[attr-defined]
    sample = next(r for r in nvml.rows() if isinstance(r, GpuSample))
    assert (sample.sm_active, sample.activity_source) == (None, "nvml")


def test_no_exporter_is_said_with_a_remedy(exporter: str) -> None:
    with pytest.raises(SourceUnavailable, match="404"):
        Dcgm(Here(), f"{exporter}/elsewhere").open()
    with pytest.raises(SourceUnavailable) as said:
        Dcgm(Here(), "http://127.0.0.1:1/metrics").open()
    assert said.value.remedy and "dcgm-exporter" in said.value.remedy
