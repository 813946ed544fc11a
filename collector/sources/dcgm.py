"""dcgm-exporter's page: SM, tensor and memory activity on GPUs before Hopper, which NVML does not give.

SOURCE  $INQUEST_DCGM_URL (http://localhost:9400/metrics where it is named and nothing is set), Prometheus text.
ROWS    gpu_sample and gpu_device where the NVML source does not run; where it does, its rows take the activity from here.
OVERHEAD  one regular expression over the page (0.4 ms for 115 KB) every fifteen seconds.
CAVEAT  http.client and not httpx: measured in this process, httpx adds 13.7 MB and this 5.3; the whole may have 35.

    DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="GPU-1f..",Hostname="node1"} 0.71
"""

from __future__ import annotations

import http.client
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from typing import Any, ClassVar
from urllib.parse import urlsplit

from collector.formats.metric_names import NAMES
from collector.formats.metric_rows import Samples
from collector.importers.base import ImportContext
from collector.importers.prometheus import LINE, parse_labels
from collector.node.here import Here
from collector.sources.base import SourceUnavailable
from store.rows import GpuSample, Row

DEFAULT = "http://localhost:9400/metrics"
MAX_PAGE = 32 << 20
ACTIVITY = ("engine_active", "sm_active", "tensor_active", "dram_active")


class Dcgm:
    """Scrapes one exporter."""

    name: ClassVar[str] = "dcgm"
    covers: ClassVar[tuple[str, ...]] = ("gpu_sample",)
    bound_s: ClassVar[float] = 15.0

    def __init__(self, here: Here, url: str | None = None) -> None:
        self._here = here
        self._url = url or os.environ.get("INQUEST_DCGM_URL") or DEFAULT
        self._told_devices = False

    @property
    def interval_s(self) -> float:
        """Seconds."""
        return 15.0

    def open(self) -> None:
        """Ask once."""
        self._page()
        self._told_devices = False

    def rows(self) -> Iterator[Row]:
        """Samples of all GPUs on the page, or what the NVML source lacks."""
        text, now = self._page(), self._here.clock.now()
        context = ImportContext(self.name, UTC, cluster=self._here.cluster, node=self._here.node)
        samples = Samples(context)
        stamp = round(now.timestamp() * 1000)
        for name, labels, value, _ in LINE.findall(text):
            if name in NAMES:
                series = samples.series(name, parse_labels(labels))
                if series is not None:
                    samples.add(series, stamp, float(value))
        owners = self._here.owners
        nvml_runs = bool(owners.gpu_order)
        for row in samples.rows():
            if not isinstance(row, GpuSample):
                continue
            if nvml_runs and row.gpu_uuid and row.mig is None:
                values: dict[str, Any] = {c: getattr(row, c) for c in ACTIVITY if getattr(row, c) is not None}
                owners.activity[row.gpu_uuid] = (self._here.clock.steady(), values)
            elif not nvml_runs:
                owner = owners.of_gpu(row.gpu_uuid)
                # An exporter in a pod calls the pod a host: the node is the one that we are on.
                yield replace(row, node=self._here.node, job_id=row.job_id or owner.job_id, attempt=owner.attempt)
        if not nvml_runs and not self._told_devices:
            self._told_devices = True
            yield from (replace(d, node=self._here.node, ts=now) for d in samples.devices())

    def close(self) -> None:
        """Nothing is held: a connection that is kept open would outlive the exporter's restarts badly."""

    def _page(self) -> str:
        parts = urlsplit(self._url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.netloc, timeout=5)
        try:
            connection.request("GET", parts.path or "/metrics", headers={"Accept": "text/plain"})
            answer = connection.getresponse()
            page = answer.read(MAX_PAGE)
            if answer.status != 200:
                raise SourceUnavailable(
                    f"{self._url} answers {answer.status}", "set INQUEST_DCGM_URL to its metrics page"
                )
            return page.decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            remedy = "start dcgm-exporter, or set INQUEST_DCGM_URL"
            raise SourceUnavailable(f"no dcgm-exporter at {self._url}: {error}", remedy) from None
        finally:
            connection.close()
