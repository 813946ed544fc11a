"""node_words, lone_node: a start that failed at the node's driver or files is the node's, the job's, or not to be told, by the words."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.facts.node_words import NODE_WORDS, node_word
from agent_tools.families import a1_startup_crash as a1
from agent_tools.families.node_words import tell_node
from store.rows import GpuEvent, HostEvent, Row
from tests.agent_tools.families.world import T, World, judge

NOT_READY = "Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized"
NONE_SEEN = "No CUDA GPUs are available"
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch"


def crashed(folder: Path, text: str, *before: tuple[str, str], **job: object) -> World:
    world = World(folder).job("FAILED", 2, **job)
    for code, line in before:
        world.say("warning", "cuda_setup", line, detail=f'{{"code": "{code}"}}')
    return world.say("exception", "RuntimeError", text)


@pytest.mark.parametrize(
    ("text", "of"),
    [
        (NOT_READY, "infrastructure"),
        ("Driver/library version mismatch", "infrastructure"),
        ("cuInit failed with error:  802 /build/offload.c 57", "infrastructure"),
        ("cuInit failed with error: 100", "undetermined"),
        ("cuInit failed with error: 803", "undetermined"),
        ("CUDA error: system has unsupported display driver / cuda driver combination", "undetermined"),
        ("CUDA error: all CUDA-capable devices are busy or unavailable", "undetermined"),
        ("CUDA error: CUDA-capable device(s) is/are busy or unavailable", "undetermined"),
        ("CUDA error: MPS client failed to connect to the MPS control daemon or the MPS server", "undetermined"),
        ("CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable", "undetermined"),
        ("Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU", "undetermined"),
        (NONE_SEEN, "undetermined"),
        ("The tool cannot find any torch accelerator? You need a GPU.", "undetermined"),
        ("fp16 mixed precision requires a GPU (not 'cpu').", "undetermined"),
        ("`CUDAAccelerator` can not run on your system since the accelerator is not available.", "undetermined"),
        ("No supported gpu backend found!", "undetermined"),
        ("No NVIDIA GPU found", "undetermined"),
        ("Megatron requires CUDA.", "undetermined"),
        ("Failed to infer device type, please set the environment variable", "undetermined"),
        ("CUDA is not available on this machine", "undetermined"),
        ("disk I/O error", "undetermined"),
        ("[Errno 30] Read-only file system: '/scratch/mira/run1'", "undetermined"),
        ("[Errno 13] Permission denied: '/dev/nvidia3'", "undetermined"),
        ("[Errno 28] No space left on device: '/tmp/tmpab12/model.safetensors'", "undetermined"),
        ("[Errno 28] No space left on device: '/scratch/mira/out'", "job"),
        ("CUDA driver initialization failed, you might not have a CUDA gpu.", "undetermined"),
        ("can't start new thread", "job"),
        # What does not fit the driver came with the job.
        ("The NVIDIA driver on your system is too old (found version 11040).", "job"),
        ("CUDA error: no kernel image is available for execution on the device", "job"),
        ("Error 804: forward compatibility was attempted on non supported HW", "job"),
    ],
)  # fmt: skip
def test_whose_it_is_follows_from_what_the_driver_says(text: str, of: str, tmp_path: Path) -> None:
    found = judge(crashed(tmp_path, text), a1.assess)
    assert (found.status, found.mode, found.attribution) == ("confirmed", "env", of)
    blameless = any("nodes and GPUs are not to blame" in c.text for c in found.implies)
    assert blameless is (of == "job"), "of a node whose driver is not ready that is not said"
    assert any("to blame" in m.text for m in found.missing) is (of == "undetermined")


def test_a_failed_nvidia_smi_leaves_open_whose_it_is(tmp_path: Path) -> None:
    said = "Command '['nvidia-smi', '-L']' returned non-zero exit status 9."
    found = judge(World(tmp_path).job("FAILED", 2).say("exception", "subprocess.CalledProcessError", said), a1.assess)
    assert (found.status, found.mode, found.attribution) == ("confirmed", "env", "undetermined")


@pytest.mark.parametrize(
    ("before", "gpus", "of"),
    [
        ([], 0, "job"),
        ([], 16, "undetermined"),
        ([("driver_mismatch", MISMATCH)], 16, "infrastructure"),
        ([("nvml_failed", "NVIDIA-SMI has failed because it couldn't communicate")], 16, "infrastructure"),
        ([("nvml_failed", "NVIDIA-SMI has failed because it couldn't communicate")], None, "undetermined"),
        ([("no_kernel_image", "sm_120 is not compatible with the current PyTorch")], 16, "undetermined"),
    ],
)
def test_why_no_gpu_is_seen_is_asked_of_the_request_and_of_the_drivers_tools(
    before: list[tuple[str, str]], gpus: int | None, of: str, tmp_path: Path
) -> None:
    found = judge(crashed(tmp_path, NONE_SEEN, *before, gpus=gpus), a1.assess)
    assert found.attribution == of
    assert any("Ask for GPUs" in c.text for c in found.actions) is (of == "job")


def test_why_cuda_did_not_come_up_is_quoted_beside_it_and_blames_nobody(tmp_path: Path) -> None:
    said = "UserWarning: CUDA initialization: CUDA unknown error. Setting the available devices to be zero."
    found = judge(crashed(tmp_path, NONE_SEEN, ("unknown_error", said), gpus=4), a1.assess)
    assert found.attribution == "undetermined"
    assert any(c.text.startswith("The log says too: ") for c in found.speaks_for)


def test_other_words_are_not_the_drivers(tmp_path: Path) -> None:
    assert node_word("the serial devices are busy") is None
    assert node_word("MPS backend out of memory") is None
    assert len({w.why for w in NODE_WORDS}) == len(NODE_WORDS)
    facts = crashed(tmp_path, "KeyError: 'gpu'").facts()
    assert not tell_node(facts, facts.causes[0], a1.assess(facts))


def absent(folder: Path, first: int, many: int, *rows: Row) -> World:
    """Four nodes with two ranks each, of which `many` ranks from `first` on do not find a file."""
    world = World(folder).job("FAILED", 1.0, node_list="n1,n2,n3,n4", gpus=8)
    for rank in range(first, first + many):
        world.say("exception", "FileNotFoundError", "[Errno 2] No such file or directory: '/lfs/tok.model'", rank=rank)
    world.say("launcher_summary", "child_failed", "exit 1", rank=first, host=f"n{1 + first // 2}", exit_code=1)
    return world.add(*rows)


def test_a_file_that_is_missing_for_all_ranks_of_one_node_alone_is_not_surely_the_jobs(tmp_path: Path) -> None:
    found = judge(absent(tmp_path, 4, 2), a1.assess)
    assert found.attribution == "undetermined" and found.confidence <= 0.75
    assert not any("nodes and GPUs are not to blame" in c.text for c in found.implies)
    assert any("ranks of [[E" in c.text for c in found.speaks_for)
    mount = HostEvent(node="n3", event="storage", ts=T - timedelta(minutes=9), message="LustreError: Unable to mount")
    assert judge(absent(tmp_path, 4, 2, mount), a1.assess).attribution == "infrastructure"
    elsewhere = HostEvent(
        node="n1", event="storage", ts=T - timedelta(minutes=9), message="LustreError: Unable to mount"
    )
    assert judge(absent(tmp_path, 4, 2, elsewhere), a1.assess).attribution == "undetermined"


@pytest.mark.parametrize(("first", "many"), [(0, 8), (4, 1), (3, 2)], ids=["all", "one rank", "across nodes"])
def test_a_file_that_others_miss_too_is_the_jobs(tmp_path: Path, first: int, many: int) -> None:
    assert judge(absent(tmp_path, first, many), a1.assess).attribution == "job"


@pytest.mark.parametrize(("nodes", "named"), [("n1", True), ("n1,n2", False)])
def test_the_only_node_of_the_job_is_the_one_to_look_at(nodes: str, named: bool, tmp_path: Path) -> None:
    found = judge(crashed(tmp_path, NOT_READY, node_list=nodes), a1.assess)
    assert any("single node" in c.text for c in found.speaks_for) == named


@pytest.mark.parametrize(
    ("minute", "event", "of"),
    [(1, "init_failed", "infrastructure"), (1, "xid", "undetermined"), (-300, "init_failed", "undetermined")],
)
def test_a_card_that_the_driver_could_not_bring_up_is_the_nodes(
    minute: int, event: str, of: str, tmp_path: Path
) -> None:
    text = "NVRM: GPU 0000:9d:00.0: RmInitAdapter failed! (0x62:0x40:2393)"
    at = T + timedelta(minutes=minute)
    card = GpuEvent(node="n1", ts=at, event=event, xid=31 if event == "xid" else None, message=text)
    found = judge(crashed(tmp_path, NONE_SEEN).add(card), a1.assess)
    assert found.attribution == of
