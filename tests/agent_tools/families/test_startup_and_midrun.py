"""a1_startup_crash and a3_midrun_crash: the same exception before and after training began, and its look-alikes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_tools import differential
from agent_tools.facts.exceptions import role_of
from agent_tools.facts.faults import classify
from agent_tools.families import a1_startup_crash as a1
from agent_tools.families import a3_midrun_crash as a3
from agent_tools.gate.citations import plain
from store.rows import LogEvent, LogLine, TrainStep
from tests.agent_tools.families.world import World, judge

LOSSES = [2.0, 1.9, 1.8, 1.7, 1.6]


def test_an_exception_before_any_step_is_a_startup_crash(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 1).say("exception", "ModuleNotFoundError", "No module named 'apex'")
    found = judge(world, a1.assess)
    assert (found.status, found.mode, found.attribution) == ("confirmed", "env", "job")
    assert "No module named 'apex'" in plain(found.headline, world.facts().ledger)
    assert judge(world, a3.assess).status == "ruled_out"


def test_the_same_exception_after_steps_is_a_crash_in_training(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").train(LOSSES).say("exception", "IndexError", "index 9 is out of range")
    found = judge(world, a3.assess)
    assert (found.status, found.mode) == ("confirmed", "code")
    assert judge(world, a1.assess).status == "ruled_out"


@pytest.mark.parametrize(
    ("name", "message", "mode", "blamed"),
    [
        ("OSError", "[Errno 28] No space left on device", "storage", "job"),
        ("OSError", "[Errno 5] Input/output error", "storage", "infrastructure"),
        ("TimeoutError", "[Errno 110] Connection timed out: '/nfs/data/shard_3.bin'", "storage", "infrastructure"),
        ("RuntimeError", "basic_ios::clear: iostream error", "storage", "job"),
        ("OSError", "[Errno 30] Read-only file system: '/scratch/run/step_30.pt'", "storage", "infrastructure"),
        ("requests.exceptions.ConnectionError", "HTTPSConnectionPool: Max retries exceeded", "network", "job"),
        ("json.decoder.JSONDecodeError", "Expecting value: line 1 column 1", "data", "job"),
    ],
)
def test_the_mode_of_a_crash_in_training_follows_from_its_text(
    name: str, message: str, mode: str, blamed: str, tmp_path: Path
) -> None:
    found = judge(World(tmp_path).job("FAILED").train(LOSSES).say("exception", name, message), a3.assess)
    assert (found.mode, found.attribution) == (mode, blamed)
    told_to_free = any("Free space" in c.text for c in found.actions)
    assert told_to_free is (mode == "storage" and blamed == "job"), (
        "room helps where there was none, and not where a mount is gone"
    )


@pytest.mark.parametrize(
    ("text", "code", "most"),
    [
        ("CUDA error: unspecified launch failure", "launch_failure", 0.45),
        ("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", "library_failed", 0.6),
    ],
)
def test_an_error_that_a_kernel_and_a_broken_gpu_give_alike_blames_neither(
    text: str, code: str, most: float, tmp_path: Path
) -> None:
    world = World(tmp_path).job("FAILED").train(LOSSES).say("exception", "RuntimeError", text)
    world.say("warning", "cuda_error", text, detail=f'{{"code": "{code}"}}')
    draft = differential.draft(world.facts())
    assert (draft.family, draft.attribution, draft.confidence) == ("A3", "undetermined", most)
    assert not any("not to blame" in c.text for c in draft.implies)


def test_an_exception_that_a_data_worker_carries_is_told_in_its_own_words(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").train(LOSSES)
    carried = {"cause_name": "KeyError", "cause_message": "'scan_02011'"}
    world.say("exception", "KeyError", "Caught KeyError in DataLoader worker process 0.", **carried)
    found = judge(world, a3.assess)
    assert found.mode == "data", "where it came up still says what kind it is"
    assert "cause_message" in found.headline


def test_wrappers_and_echoes_are_no_cause(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").train(LOSSES)
    world.say("exception", "torch.distributed.elastic.multiprocessing.errors.ChildFailedError", "train.py FAILED")
    world.say("exception", "torch.distributed.DistBackendError", "NCCL error: remote process exited")
    assert judge(world, a3.assess).status == "ruled_out"
    assert judge(world, a1.assess).status == "ruled_out"


def test_a_logged_exception_of_a_completed_job_is_no_crash(tmp_path: Path) -> None:
    world = World(tmp_path).job("COMPLETED").say("exception", "ValueError", "bad record skipped", severity="error")
    assert judge(world.train(LOSSES), a3.assess).status == "ruled_out"
    assert judge(world, a1.assess).status == "ruled_out"


def test_without_the_log_neither_can_be_decided(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").say("exception", "ValueError", "x").without(LogEvent, LogLine, TrainStep)
    assert judge(world, a1.assess).status == "undecidable"
    assert judge(world, a3.assess).status == "undecidable"
    assert differential.draft(world.facts()).family == "U0"


@pytest.mark.parametrize(
    ("name", "message", "mode"),
    [
        ("ValueError", "Target modules {'query_key_value'} not found in the base model.", "config"),
        ("torch.distributed.checkpoint.api.CheckpointException", "CheckpointException ranks:dict_keys([0])", "asset"),
        ("huggingface_hub.errors.GatedRepoError", "401 Client Error.", "asset"),
        ("ImportError", "libcudart.so.11.0: cannot open shared object file", "env"),
        ("datasets.exceptions.DatasetGenerationError", "An error occurred while generating the dataset", "data"),
        ("AttributeError", "module 'numpy' has no attribute 'bool'", "env"),
        ("AttributeError", "'Net' object has no attribute 'lm_heed'", "code"),
        ("RuntimeError", "Error(s) in loading state_dict for Net: size mismatch for fc.weight", "asset"),
        ("RuntimeError", "mat1 and mat2 shapes cannot be multiplied (8x10 and 12x4)", "code"),
    ],
)
def test_the_fault_class_follows_from_type_and_text(name: str, message: str, mode: str) -> None:
    assert classify(name, message, "").mode == mode


@pytest.mark.parametrize(
    ("name", "message", "why"),
    [
        ("huggingface_hub.errors.LocalEntryNotFoundError", "An error happened", "cannot be reached"),
        ("huggingface_hub.errors.RepositoryNotFoundError", "404 Client Error.", "does not have it"),
        (
            "requests.exceptions.ConnectionError",
            "('Connection aborted.', RemoteDisconnected('no answer'))",
            "broke the connection off",
        ),
        ("OSError", "[Errno 30] Read-only file system: '/out'", "read-only"),
        ("OSError", "[Errno 28] No space left on device: '/out'", "no space"),
        ("RuntimeError", "Triton Error [CUDA]: device kernel image is invalid", "does not fit the build"),
        ("BlockingIOError", "[Errno 11] Resource temporarily unavailable", "processes or threads"),
        (
            "torch.distributed.DistBackendError",
            "Mismatched NCCL version detected : rank 0 2.20.5 vs rank 8 2.18.1",
            "NCCL",
        ),
    ],
)
def test_the_reason_says_what_the_words_mean(name: str, message: str, why: str) -> None:
    assert why in classify(name, message, "").why


@pytest.mark.parametrize(
    ("name", "message", "role"),
    [
        ("ray.exceptions.RayTaskError(ValueError)", "ray::f()", "wrapper"),
        ("ConnectionResetError", "[Errno 104] Connection reset by peer", "peer"),
        (
            "urllib3.exceptions.ProtocolError",
            "('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))",
            "application",
        ),
        ("KeyboardInterrupt", "", "interrupt"),
        ("RuntimeError", "cudaMalloc failed: out of memory", "cuda_oom"),
        ("MemoryError", "Unable to allocate 3.1 GiB for an array", "application"),
        (
            "jaxlib.xla_extension.XlaRuntimeError",
            "DEADLINE_EXCEEDED: Barrier timed out. Id: PjRT_Client_Connect",
            "rendezvous",
        ),
        (
            "jaxlib.xla_extension.XlaRuntimeError",
            "INTERNAL: Getting local topologies failed: Error 1: GetKeyValue() timed out with key: cuda:local_topology/cuda/3 and duration: 2m",
            "rendezvous",
        ),
        ("ray.exceptions.OutOfMemoryError", "Task was killed due to the node running low on memory.", "worker_killed"),
        ("torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB", "cuda_oom"),
        ("RuntimeError", "CUDA error: uncorrectable ECC error encountered", "ecc"),
        ("OSError", "[Errno 98] Address already in use", "application"),
        ("Traceback", "", "cut"),
        ("CalledProcessError", "Command '['git', 'describe']' returned non-zero exit status 128.", "application"),
        ("CalledProcessError", "Command '['python', 'make.py']' returned non-zero exit status 1.", "wrapper"),
        ("ProcessLookupError", "[Errno 3] No such process", "wrapper"),
        (
            "torch.distributed.DistBackendError",
            "NCCL error, unhandled cuda error\nLast error:\nCuda failure 'CUDA driver version is insufficient for CUDA runtime version'",
            "application",
        ),
        (
            "torch.distributed.DistBackendError",
            "NCCL error, unhandled cuda error\nLast error:\nCuda failure 'unspecified launch failure'",
            "peer",
        ),
    ],
)
def test_what_an_exception_is(name: str, message: str, role: str) -> None:
    assert role_of(name, message, "/home/ada/serve.py:3 in <module>") == role


@pytest.mark.parametrize(
    ("announced", "advice"),
    [
        ({"name": "saved", "step": 40, "peer": "/ckpt/40"}, "Resume from the checkpoint of step 40, /ckpt/40"),
        ({"name": "saving", "peer": "/ckpt"}, "see that it is whole"),
        ({"name": "none_found"}, "announces no saved checkpoint"),
    ],
)
def test_what_to_resume_from_is_what_the_log_announces(announced: dict[str, Any], advice: str, tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").train(LOSSES).say("checkpoint", announced.pop("name"), "a word", **announced)
    facts = world.say("exception", "IndexError", "index 9 is out of range").facts()
    told = [plain(c.text, facts.ledger) for c in differential.draft(facts).actions]
    assert advice in told[-1]


def test_what_never_trained_has_nothing_to_resume(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 1).say("exception", "IndexError", "index 9 is out of range")
    assert not [c for c in differential.draft(world.facts()).actions if "heckpoint" in c.text]


@pytest.mark.parametrize(
    ("name", "message", "ram"),
    [
        ("RuntimeError", "[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.", True),
        ("numpy._core._exceptions._ArrayMemoryError", "Unable to allocate 9.00 GiB for an array with shape (9,)", True),
        ("OSError", "[Errno 12] Cannot allocate memory", True),
        ("RuntimeError", "The size of tensor a (4) must match the size of tensor b (5)", False),
    ],
)  # fmt: skip
def test_memory_of_the_host_that_ran_out_is_told_from_a_wrong_line(
    tmp_path: Path, name: str, message: str, ram: bool
) -> None:
    world = World(tmp_path).job("FAILED").train([3.0, 2.0, 1.0]).say("exception", name, message)
    a = judge(world, a3.assess)
    assert (a.status, a.mode) == ("confirmed", "code")
    assert any("host RAM" in c.text for c in a.implies) == ram
    assert any("--mem" in c.text for c in a.actions) == ram


@pytest.mark.parametrize(
    ("frame", "mode"),
    [("torch/serialization.py:471 in _open_zipfile_writer", "storage"), ("job/table.py:12 in read", "code")],
)
def test_a_checkpoint_that_cannot_be_opened_for_writing_is_storages(tmp_path: Path, frame: str, mode: str) -> None:
    world = World(tmp_path).job("FAILED").train(LOSSES)
    world.say("exception", "RuntimeError", "File runs/a/epoch_4.pt cannot be opened.", frame=frame)
    assert judge(world, a3.assess).mode == mode


def test_a_reduction_over_nothing_is_no_setting_of_the_run() -> None:
    said = "amax(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
    assert classify("RuntimeError", said, "~/job/model.py in forward").mode == "code"
