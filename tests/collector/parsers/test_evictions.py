"""Pods and machines that were taken away or not given, and sentences that only speak of it."""

import pytest

from collector.parsers.base import parse_text
from collector.parsers.evictions import NAMES, Evictions


def parse(text):
    return parse_text(Evictions(), text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("UserError: nodes of this job got pre-empted while it ran", "preempted"),
        ("I 03-11 controller.py:99] The cluster is preempted.", "preempted"),
        ("\tthe actor's node was preempted: maintenance", "preempted"),
        ("Spot instance i-07 was reclaimed at 12:00", "preempted"),
        ("    message: 2/16 workers are evicted", "preempted"),
        ("Reason:  Evicted", "preempted"),
        ("fit-worker-3    0/1   Evicted   0   4h", "preempted"),
        ("Message:  Pod was terminated in response to imminent node shutdown.", "preempted"),
        ("  Warning  Failed  9s (x2 over 40s)  kubelet  Error: ErrImagePull", "container_failed"),
        ('  Warning  Failed  9s  kubelet  Failed to pull image "reg.example/fit:3": not found', "container_failed"),
        ("fit-worker-3    0/1   ImagePullBackOff   0   4m", "container_failed"),
        ("Reason:  DeadlineExceeded", "time_limit"),
        ('  "SecondaryStatus": "MaxRuntimeExceeded",', "time_limit"),
        ("Reason:  NodeLost", "node_failure"),
        ("  Warning  FailedScheduling  3m  default-scheduler  0/5 nodes are available: 5 Insufficient nvidia.com/gpu.", "unschedulable"),
    ],
)  # fmt: skip
def test_sentences_by_name(text, name):
    (row,) = parse(text)
    assert (row.kind, row.name, row.framework) == ("slurm", name, "platform") and name in NAMES


def test_an_eviction_for_memory_is_told_by_its_message():
    (row,) = parse("Status:  Failed\nReason:  Evicted\nMessage: The node was low on resource: memory. Container fit\n")
    assert (row.kind, row.name) == ("host_oom", "evicted")


@pytest.mark.parametrize(
    "text",
    [
        "This indicates that the remote task has failed, got preempted, or crashed unexpectedly.",
        "If a node is preempted, the run resumes from its last checkpoint",
        "checkpoints are written because the instance may be preempted",
        "Waiting until the pod is reclaimed",
        "memory was reclaimed by the cache",
        "preempted: False",
        "Message: The node was low on resource: ephemeral-storage.",
    ],
)
def test_what_only_speaks_of_it_gives_nothing(text):
    assert parse(text) == []


def test_an_image_that_came_at_last_held_nobody_up():
    late = "  Warning  Failed  9s  kubelet  Error: ErrImagePull\n"
    assert [e.name for e in parse(late)] == ["container_failed"]
    for word in (
        'Pulled  3s  kubelet  Successfully pulled image "reg.example/fit:3"',
        "Started  2s  kubelet  Started container fit",
    ):
        assert parse(late + f"  Normal  {word}\n") == []
    assert parse("imagePullPolicy: Always\nwe saw an ImagePullBackOff once\n") == []
