"""prometheus_json: several answers in one file, and the lines of an export, are read whole."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collector.importers.base import ImportContext
from collector.importers.prometheus_json import PrometheusJson
from store.rows import GpuSample

AT = int(datetime(2026, 3, 1, 10, tzinfo=UTC).timestamp())
SERIES = [
    {
        "metric": {"__name__": name, "gpu": "0", "Hostname": node},
        "values": [[AT, str(value)], [AT + 30, str(value + 1)]],
    }
    for node in ("n1", "n2")
    for name, value in (("DCGM_FI_DEV_GPU_TEMP", 61), ("DCGM_FI_DEV_SM_CLOCK", 1410))
]


def answer(*series: dict[str, Any]) -> str:
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}})


def export(series: dict[str, Any]) -> str:
    values = {"values": [float(v) for _, v in series["values"]], "timestamps": [t * 1000 for t, _ in series["values"]]}
    return json.dumps({"metric": series["metric"], **values}, separators=(",", ":"))


@pytest.mark.parametrize(
    "text",
    [
        answer(*SERIES),
        "\n".join(answer(s) for s in SERIES),
        "".join(answer(s) for s in SERIES),
        f"[{','.join(answer(s) for s in SERIES)}]",
        json.dumps(SERIES),
        "\n".join(json.dumps(s) for s in SERIES),
        "\n".join(export(s) for s in SERIES) + "\n",
    ],
    ids=["one", "one a line", "joined", "a list", "bare", "series a line", "export"],
)
def test_every_series_of_a_file_is_read(text: str, tmp_path: Path) -> None:
    path = tmp_path / "gpu.json"
    path.write_text(text)
    ctx = ImportContext(path.name, UTC, size=path.stat().st_size)
    assert PrometheusJson().claims(path, text.encode()[:65536]) > 0
    found = [r for r in PrometheusJson().rows(path, ctx) if isinstance(r, GpuSample)]
    assert sorted((r.node, r.temp_c, r.sm_clock_mhz) for r in found) == [
        (node, 61 + i, 1410 + i) for node in ("n1", "n2") for i in (0, 1)
    ]
    assert ctx.problem_count == 0
