"""What an exception at the start says of the node: of its GPU driver, and of a file system that takes no writing.

A build that does not fit the driver is the job's environment (fault_rules.py). These words tell of a node whose driver is not
ready, or of a process that sees no GPU, which a request without GPUs, a container and a broken node all look like.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_tools.verdict import Attribution
from store import lazy


@dataclass(frozen=True, slots=True)
class NodeWord:
    """The words, what they say, whose it is, what would tell, and what to do. `unseen`: that the process saw no GPU at all."""

    says: re.Pattern[str]
    why: str
    whose: Attribution
    signal: str
    advice: str
    unseen: bool = False


def _words(*alternatives: str) -> re.Pattern[str]:
    return lazy.compile("|".join(alternatives), re.IGNORECASE)


_NODE = "Submit again on other nodes, and have the operators look at that node: "
_SEES_NONE = (
    "the request (--gres, --gpus) in sacct, CUDA_VISIBLE_DEVICES and nvidia-smi inside the job, the node's kernel log"
)
NODE_WORDS: tuple[NodeWord, ...] = (
    NodeWord(
        _words(r"system not yet initiali[sz]ed", r"cudaErrorSystemNotReady", r"CUDA_ERROR_SYSTEM_NOT_READY", r"\bcuInit failed with error:? *802\b"),
        "the node's driver was not ready; with NVSwitch that is a Fabric Manager which does not run or does not fit the driver",
        "infrastructure",
        "systemctl status nvidia-fabricmanager and nvidia-smi -q (Fabric) on the node",
        _NODE + "systemctl status nvidia-fabricmanager, its version against the driver's, nvidia-smi -q.",
    ),
    NodeWord(
        _words(r"Driver/library version mismatch"),
        "the driver's kernel module and its libraries are of different versions, as after an update without a reload",
        "infrastructure",
        "/proc/driver/nvidia/version against the version of libcuda on the node and in the container",
        _NODE + "the driver has to be reloaded, or the node rebooted. In a container look for a libcuda of the image's own.",
    ),
    NodeWord(
        _words(r"system has unsupported display driver", r"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", r"\bcuInit failed with error:? *803\b"),
        "the driver and the libcuda that was loaded are of different versions: the node's own, or one that the job brought",
        "undetermined",
        "which libcuda.so was loaded (LD_LIBRARY_PATH, cuda-compat of the image), /proc/driver/nvidia/version on the node",
        "Look which libcuda the program loads: one of the image or of a cuda-compat package belongs to the job; where it is the node's "
        "own, tell the operators.",
    ),
    NodeWord(
        _words(r"CUDA-capable device(?:s|\(s\))? (?:is|are|is/are) (?:all )?busy", r"CUDA_ERROR_DEVICE_UNAVAILABLE"),
        "the GPU lets no further process in: another one holds it, or it waits for a reset",
        "undetermined",
        "the processes on that GPU (nvidia-smi), its compute mode, the node's kernel log",
        "Look at who holds the GPU (nvidia-smi: processes, compute mode) and whether another rank was given the same one; where it is "
        "nobody of this job, tell the operators.",
    ),
    NodeWord(
        _words(r"MPS (?:client|server|control daemon)"),
        "the MPS daemon, which GPUs are shared through, does not answer",
        "undetermined",
        "whether nvidia-cuda-mps-control runs on the node, and CUDA_MPS_PIPE_DIRECTORY in the job",
        "Look whether the MPS control daemon runs on that node for this user, and where CUDA_MPS_PIPE_DIRECTORY points.",
    ),
    NodeWord(
        _words(r"CUDA unknown error - this may be due to an incorrectly set ?up environment"),
        "the driver did not come up for this process",
        "undetermined",
        "nvidia-smi inside the job, the modules nvidia and nvidia_uvm on the node, its kernel log",
        "Run nvidia-smi and a short test of CUDA in a job on that node: where both fail tell the operators, else look at what the "
        "program sets in its environment before its first CUDA call.",
    ),
    NodeWord(
        _words(r"Found no NVIDIA driver", r"couldn't communicate with the NVIDIA driver"),
        "no NVIDIA driver answers where the program runs",
        "undetermined",
        _SEES_NONE,
        "Look whether the job asked for GPUs (--gres, --gpus), whether its container is given them (--nv, --gpus), and whether "
        "nvidia-smi works on that node.",
        unseen=True,
    ),
    NodeWord(
        _words(r"Command '?\[?['\"]?[\w./-]*\bnvidia-smi\b.{0,400} returned non-zero"),
        "nvidia-smi fails where the program runs",
        "undetermined",
        _SEES_NONE,
        "Run nvidia-smi in a job on that node: what it prints there tells a driver that does not answer from a job without GPUs.",
    ),
    NodeWord(
        _words(
            r"\bNo CUDA GPUs are available",
            r"no CUDA-capable device is detected",
            r"you might not have a CUDA gpu",
            r"CUDA_ERROR_NO_DEVICE",
            r"\bcuInit failed with error:? *100\b",
            r"\bNo (?:CUDA |NVIDIA )?GPUs? (?:were |was |are |is )?(?:found|detected|available[.!]?\s*$)",
            r"\bNo visible (?:GPU|CUDA) devices",
            # What libraries and programs say themselves that asked PyTorch for a GPU and were told of none.
            r"cannot find any torch accelerator",
            r"mixed precision requires a GPU",
            r"CUDAAccelerator`? can ?not run on your system",
            r"\bNo supported gpu backend found",
            r"^Megatron requires CUDA",
            r"^Failed to infer device type",
            r"^\W{0,4}(?:ERROR\W{1,3})?(?:CUDA|GPUs?) (?:is |are )?not (?:available|found|detected)\W*$",
            r"^(?:CUDA|(?:A )?GPU)s? (?:is|are) (?:not available|unavailable|required|needed)\b",
        ),
        "the process sees no GPU",
        "undetermined",
        _SEES_NONE,
        "Look whether the job asked for GPUs (--gres, --gpus), what CUDA_VISIBLE_DEVICES is in it, and what nvidia-smi shows there.",
        unseen=True,
    ),
    NodeWord(
        _words(r"(?:Permission denied|Operation not permitted): ['\"]/dev/(?:nvidia|infiniband|kfd|dri\b|gdrdrv)"),
        "it may not open a device of the node",
        "undetermined",
        "the request (--gres) in sacct, the device's owner and mode on the node, the devices of the job's cgroup and container",
        "Look whether the job was given that device (--gres), whether its container passes it on, and who may open it on the node "
        "(ls -l).",
    ),
    NodeWord(
        _words(r"No space left on device: ['\"]/(?:tmp|var|run|dev/shm|local|localscratch|nvme)\b"),
        "a disk of the node's own, or its shared memory, is full",
        "undetermined",
        "df and du on the node, and what earlier jobs left there",
        "Look what fills that folder on the node (df, du): where it is not this job tell the operators, else let it write elsewhere "
        "(TMPDIR) or less.",
    ),
    NodeWord(
        _words(r"^(?:\(sqlite3\.OperationalError\) )?disk I/O error"),
        "SQLite could not read or write its file: the file system fails, is full, or cannot lock files, as Lustre and NFS often cannot",
        "undetermined",
        "df and the quota of that folder, how it is mounted on the node (findmnt -T PATH: flock), the node's kernel log",
        "Put that database on a disk of the node's own (TMPDIR), or on a file system that locks files; where it fails there too, "
        "tell the operators.",
    ),
    NodeWord(
        _words(r"Read-only file system", r"\bErrno 30\b", r"\bEROFS\b"),
        "the file system that it was to write to is read-only there",
        "undetermined",
        "findmnt -T PATH on the node and inside the container, the node's kernel log",
        "Look whether the path lies in a container's image, and bind a folder there that can be written; else whether the node has "
        "mounted that file system anew after an error (findmnt, dmesg), and tell the operators.",
    ),
)  # fmt: skip


def node_word(message: str) -> NodeWord | None:
    """What the words of an exception tell of the node, if they do."""
    return next((w for w in NODE_WORDS if w.says.search(message)), None)
