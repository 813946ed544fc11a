"""The pictures of a verdict's page: they show the rows, name the culprit, and swallow whatever a row may hold."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from evals.scenarios.build import lake
from evals.scenarios.cases import made, standing
from inquest.__main__ import main
from inquest.render.pictures import Bars, gpus, loss

SM = Bars("sm_mean", "engine_mean", "Activity")


def record(rows: list[dict[str, Any]]) -> dict[str, Any]:
    names = ["node", "gpu", "gpu_uuid", "sm_mean", "engine_mean"]
    return {"id": "E1", "columns": [{"name": n} for n in names], "rows": [[r.get(n) for n in names] for r in rows]}


def test_the_straggler_s_page_shows_every_gpu_and_colours_the_one(tmp_path: Path) -> None:
    case = next(c for c in standing() if str(c).startswith("d3_straggler/many"))
    _, plan, expected = made(case)
    folder = lake(plan, tmp_path)
    assert main(["why", plan.job_id, "--lake", str(folder), "--html", str(tmp_path / "v.html")]) == 0
    page = (tmp_path / "v.html").read_text(encoding="utf-8")
    first = page.index("<figure>")
    picture = page[first : page.index("</figure>")]
    assert len(re.findall(r'class="(?:front|mark)"', picture)) == len(plan.gpus)
    (told,) = re.findall(r'class="mark"[^>]*><title>([^<]*)', picture)
    assert told.startswith(f"{expected.extra['culprit']['node']} GPU {expected.extra['culprit']['gpu'][0]}:")
    assert "Training loss" not in picture
    assert "Training loss" in page[first:], "the loss is drawn below"


def test_what_a_row_holds_cannot_break_the_picture() -> None:
    rows: list[dict[str, Any]] = [
        {"node": '"><script>alert(1)</script>', "gpu": 0, "gpu_uuid": "GPU-a", "sm_mean": 0.5, "engine_mean": 0.9},
        {"node": None, "gpu": None, "gpu_uuid": None, "sm_mean": None, "engine_mean": float("nan")},
        {"node": "n1", "gpu": 1, "gpu_uuid": "GPU-b", "sm_mean": 7.0, "engine_mean": "no number"},
    ]
    drawn = gpus(record(rows), {("n1", 1, "GPU-b")}, SM)
    tree = ET.fromstring(drawn)
    assert not [e for e in tree.iter() if e.tag == "script"]
    heights = [float(e.attrib["height"]) for e in tree.iter("rect")]
    assert max(heights) < float(tree.find("svg").attrib["viewBox"].split()[3])  # pyright: ignore[reportOptionalMemberAccess]
    assert [e.attrib["class"] for e in tree.iter("rect")] == ["back", "front", "mark"]


@pytest.mark.parametrize("rows", [[], [{"node": "n1", "gpu": 0, "sm_mean": None, "engine_mean": 0.5}]])
def test_without_the_figure_there_is_no_picture(rows: list[dict[str, Any]]) -> None:
    assert gpus(record(rows), set(), SM) == ""


def test_a_loss_that_is_not_finite_leaves_a_gap() -> None:
    losses = [3.0, 2.0, 1.5, float("nan"), 1.2, 1.1, 1.0]
    columns = [{"name": "first_step"}, {"name": "loss"}]
    drawn = loss({"id": "E2", "columns": columns, "rows": [[10 * k, v] for k, v in enumerate(losses)]})
    assert len(re.findall("<polyline", drawn)) == 2
    assert "nan" not in drawn


def test_a_step_that_begins_anew_does_not_draw_the_epochs_over_one_another() -> None:
    columns = [{"name": "first_step"}, {"name": "loss"}]
    anew = loss({"id": "E2", "columns": columns, "rows": [[10 * (k % 3), 3.0 - 0.2 * k] for k in range(9)]})
    on = loss({"id": "E2", "columns": columns, "rows": [[10 * k, 3.0 - 0.2 * k] for k in range(9)]})
    assert "by report" in anew
    assert "by step" in on
    points = [float(p.split(",")[0]) for p in re.findall(r'points="([^"]*)"', anew)[0].split()]
    assert points == sorted(set(points))
