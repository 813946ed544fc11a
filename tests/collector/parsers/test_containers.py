"""What container runtimes say when the program never starts, and words that only resemble it."""

import json

import pytest

from collector.parsers.base import parse_text
from collector.parsers.containers import Containers


@pytest.mark.parametrize(
    ("text", "runtime"),
    [
        ("FATAL:   could not open image /data/images/train.sif: failed to retrieve path: lstat: no such file or directory", "apptainer"),
        ("FATAL:   while loading overlay images: failed to open overlay image /data/over.img: no such file", "apptainer"),
        ("FATAL:   container creation failed: mount /data->/data error: while mounting /data: no such file or directory", "apptainer"),
        ('FATAL:   "python3.11": executable file not found in $PATH', "apptainer"),
        ("FATAL:   Unable to handle docker://team/train:latest uri: unauthorized: authentication required", "apptainer"),
        ('docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].', "docker"),
    ],
)  # fmt: skip
def test_a_refusal_names_its_runtime(text: str, runtime: str) -> None:
    (row,) = parse_text(Containers(), text)
    assert (row.kind, row.name, row.framework, row.severity) == ("launcher_event", "container_failed", runtime, "fatal")
    assert json.loads(row.detail)["what"] in text


@pytest.mark.parametrize(
    "text",
    [
        "FATAL:   Image file already exists: 'train.sif' - will not overwrite",
        'psql: FATAL:  role "trainer" does not exist',
        "FATAL:   loss went up in smoke",
        "docker: pulling from team/train",
    ],
)
def test_what_resembles_one_is_none(text: str) -> None:
    assert parse_text(Containers(), text) == []
