"""Labelled logs of one's own: read as they are, graded as their labels say, and refused where a label says nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evals import labelled
from evals.asking import Settings, posed
from evals.labelled import LabelError
from evals.suite import of_corpus, run

SAMPLES = Path(__file__).parent / "samples" / "labelled"
CORPUS = Settings(corpus=SAMPLES)


def test_the_samples_are_judged_as_their_labels_say() -> None:
    found = run(of_corpus(CORPUS), 1, settings=CORPUS)
    assert [(o.case, o.family, o.right) for o in found] == [
        ("labelled/k1/0", "B1", True), ("labelled/k2/0", "A1", True), ("labelled/k3/0", "U0", True),
    ]  # fmt: skip
    assert [o.measures.get("facts found") for o in found] == [1.0, 1.0, None]
    assert [o.abstained for o in found] == ["", "", "right"]


def test_what_is_accepted_has_the_best_first_and_a_mode_where_one_matters() -> None:
    k2 = labelled.read(SAMPLES, "k2").expected
    assert (k2.families, k2.decided, k2.extra["accept"]) == (("A1",), True, ["A1:env", "A1:config"])


@pytest.mark.parametrize(
    "doubt", [{"decided": False}, {"strength": "low"}, {"kind": "snippet"}, {"accept": ["U0"], "best": "U0"}]
)
def test_a_text_that_decides_nothing_asks_for_an_abstention(tmp_path: Path, doubt: dict[str, Any]) -> None:
    label = {"accept": ["B1"], "best": "B1", "decided": True, "strength": "high", "kind": "job_log", **doubt}
    (tmp_path / "a.json").write_text(json.dumps({"text": "x", "label": label}))
    assert not labelled.read(tmp_path, "a").expected.decided


def test_the_name_of_a_file_never_reaches_what_is_measured(tmp_path: Path) -> None:
    (tmp_path / "b1-telling-name.json").write_text((SAMPLES / "k1.json").read_text())
    settings = Settings(corpus=tmp_path)
    (case,) = of_corpus(settings)
    with posed(case, settings) as (reader, job_id):
        files = {r["file"] for r in reader.ask("log_extent", job_id=job_id).dicts()}
    assert files == {"slurm-4812.out"}


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"text": 1, "label": {}}', '{"text": "x", "label": {}}',
        '{"text": "x", "label": {"accept": ["Z9"]}}', '{"text": "x", "label": {"accept": ["A1:wings"]}}',
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "odd.json").write_text(text)
    with pytest.raises(LabelError, match=r"odd\.json"):
        of_corpus(Settings(corpus=tmp_path))


def labels(folder: Path, *rows: str) -> Settings:
    (folder / "runs").mkdir(parents=True)
    (folder / "runs" / "b1-telling.log").write_text(labelled.read(SAMPLES, "k1").text)
    (folder / "runs" / "other.json").write_text("{}")
    (folder / "labels.csv").write_text("\n".join(["path,kind,family,mode,decided", *rows]) + "\n")
    return Settings(corpus=folder)


def test_a_table_labels_the_files_beside_it(tmp_path: Path) -> None:
    settings = labels(
        tmp_path / "set", "runs/b1-telling.log,job_log,B1 A1,first steps,", "runs/other.json,x,-,,", "runs/*.txt,x,G1,,"
    )
    (tmp_path / "k2.json").write_text((SAMPLES / "k2.json").read_text())
    assert [c.variant for c in of_corpus(settings)] == ["runs/b1-telling.log"]
    both = Settings(corpus=tmp_path)
    assert [c.variant for c in of_corpus(both)] == ["k2", "set/runs/b1-telling.log"]
    assert labelled.read(tmp_path, "set/runs/b1-telling.log").expected.extra["accept"] == ["B1", "A1"]
    (found,) = run(of_corpus(settings), 1, settings=settings)
    assert (found.case, found.family, found.right) == ("labelled/runs/b1-telling.log/0", "B1", True)
    with posed(of_corpus(settings)[0], settings) as (reader, job_id):
        files = {r["file"] for r in reader.ask("log_extent", job_id=job_id).dicts()}
    assert files == {"job-4812.log"}


def test_a_table_may_label_a_bundle_give_a_mode_and_leave_a_case_open(tmp_path: Path) -> None:
    settings = labels(tmp_path, "runs,bundle,A1,data,", "runs/b1-telling.log,job_log,B1,,no")
    bundle, log = (labelled.read(tmp_path, c.variant) for c in of_corpus(settings))
    assert (bundle.expected.extra["accept"], bundle.expected.decided, log.expected.decided) == (
        ["A1:data"],
        True,
        False,
    )
    (tmp_path / "placed").mkdir()
    assert {p.name for p in bundle.place(tmp_path / "placed").iterdir()} == {"b1-telling.log", "other.json"}


@pytest.mark.parametrize(
    ("row", "why"),
    [("gone.log,x,B1,,", "there is no gone.log"), ("../k1.json,x,B1,,", "there is no"), ("runs,x,Z9,,", "Z9")],
)
def test_a_table_that_labels_nothing_of_its_folder_is_refused(tmp_path: Path, row: str, why: str) -> None:
    (tmp_path / "k1.json").write_text("{}")
    with pytest.raises(LabelError, match=why):
        of_corpus(labels(tmp_path / "set", row))


def test_a_table_needs_its_columns(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("file,truth\na.log,B1\n")
    with pytest.raises(LabelError, match="path and family"):
        of_corpus(Settings(corpus=tmp_path))


@pytest.mark.parametrize("path", ["/etc/hostname", "", ".", "./"])
def test_a_path_that_is_none_of_the_folder_is_named(tmp_path: Path, path: str) -> None:
    (tmp_path / "labels.csv").write_text(f"path,family\n{path},B1\n")
    with pytest.raises(LabelError, match="no path of a file"):
        of_corpus(Settings(corpus=tmp_path))


def test_two_labels_of_one_file_that_differ_are_refused_and_a_repeated_one_is_not(tmp_path: Path) -> None:
    for name, rows in (("same", "a.log,B1\n./a.log,B1\n"), ("other", "a.log,B1\n./a.log,U0\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.log").write_text("step 1\n")
        (tmp_path / name / "labels.csv").write_text(f"path,family\n{rows}")
    assert len(list(of_corpus(Settings(corpus=tmp_path / "same")))) == 1
    with pytest.raises(LabelError, match=r"a\.log has two labels"):
        of_corpus(Settings(corpus=tmp_path / "other"))


def test_a_table_of_a_spreadsheet_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("step 1\n")
    (tmp_path / "labels.csv").write_bytes(b"\xef\xbb\xbfpath, family\r\na.log, B1\r\n")
    (case,) = of_corpus(Settings(corpus=tmp_path))
    assert labelled.read(tmp_path, case.variant).expected.extra["accept"] == ["B1"]


def test_a_folder_without_labels_says_so(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match=r"no \.json file"):
        of_corpus(Settings(corpus=tmp_path))
    with pytest.raises(LabelError, match="no folder"):
        of_corpus(Settings(corpus=tmp_path / "gone"))
