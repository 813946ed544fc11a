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
