"""Container runtimes that gave up before the program ran."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.container import NAMES, Container


def parse(text):
    return parse_text(Container(), text)


@pytest.mark.parametrize(
    ("text", "runtime"),
    [
        ("FATAL:   could not open image /images/a.sif: failed to retrieve path for /images/a.sif", "apptainer"),
        ("FATAL:   Unable to handle docker://nvcr.io/x uri: while building SIF from layers", "apptainer"),
        (
            "FATAL:   while loading overlay images: failed to open overlay image /data/over.img: no such file",
            "apptainer",
        ),
        ('FATAL:   "python3.11": executable file not found in $PATH', "apptainer"),
        ("3: FATAL:   container creation failed: mount /data->/data error: no such file or directory", "apptainer"),
        ("The error I get is `FATAL:   could not open image /images/a.sif: no such file`, any idea?", "apptainer"),
        ('docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].', "docker"),
        ("docker: invalid reference format: repository name must be lowercase.", "docker"),
        ("Error response from daemon: No such container: train", "docker"),
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", "docker"),
        ('OCI runtime create failed: runc create failed: exec: "train": executable file not found in $PATH', "oci"),
        ("Error: initializing source docker://reg.local/a:1: reading manifest 1", "podman"),
        ("ch-run[3117]: error: can't find image: /scratch/img", "charliecloud"),
        ("enroot-mount: failed to mount: /data at /raid/x/data: No such file or directory", "enroot"),
    ],
)
def test_a_runtime_that_gave_up_is_named(text, runtime):
    (row,) = parse(text)
    assert (row.kind, row.name, row.severity, row.framework) == ("launcher_event", "container_failed", "fatal", runtime)
    assert row.message and row.message in text


def test_an_old_singularity_gives_up_in_a_second_line():
    (row,) = parse(
        "WARNING: Skipping user bind, non existent bind point: '/d'\n"
        "ERROR  : Failed to create session directory /tmp/x: No space left on device\nABORT  : Retval = 255\n"
    )
    assert (row.name, row.framework) == ("container_failed", "singularity")
    assert row.message.startswith("Failed to create session directory")


def test_the_same_line_of_every_task_is_one_row():
    assert len(parse('FATAL:   "fit": executable file not found in $PATH\n' * 8)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "FATAL:  password authentication failed for user",
        'psql: FATAL:  role "trainer" does not exist',
        "FATAL:   Image file already exists: 'train.sif' - will not overwrite",
        "FATAL:   loss went up in smoke",
        "+ echo 'FATAL:   could not open image /images/a.sif: no such file'",
        "docker: pulling from team/train",
        "[FATAL] loss is not finite",
        "WARNING: underlay of /etc/localtime required more than 50 (74) bind mounts",
        "INFO:    Converting SIF file to temporary sandbox...",
        "Error: no config given",
        "ERROR  : Unknown image format/type: train.img",
        "ABORT  : user pressed the button",
    ],
)
def test_what_resembles_a_runtime_gives_nothing(text):
    assert parse(text) == []


@given(st.lists(st.text(max_size=80).map(lambda t: "FATAL:   " + t), max_size=4))
def test_no_text_can_crash_it(lines):
    assert all(r.name in NAMES for r in parse("\n".join(lines)))
