"""What to do about a crash at the start: what its reason asks for, and else what its class does."""

from __future__ import annotations

from agent_tools.facts.faults import Fault
from agent_tools.families import adapter_names

BY_CLASS = {
    "data": "Mend or replace the data that the message names, and read them once on a login node before resubmitting.",
    "config": "Correct the setting that the message names and resubmit; a short dry run on a single GPU shows it at once.",
    "env": "Install or pin what the message asks for in the job's environment, and import it there before resubmitting.",
    "asset": "Check the path, the name and the access token of the model or checkpoint, load it once on a login node, then resubmit.",
    "code": "Correct the line that the traceback names; the same error comes back on any node.",
}
_PULL = "Fetch the real files (`git lfs pull`), look at their sizes, and resubmit."
_FETCH_AGAIN = "Delete that file and download it again, compare its size or checksum with the source's, and resubmit."
_ONE_BUILD = (
    "Compare what `nvidia-smi` says of the driver and the GPU with the CUDA version and the architectures that the program was built "
    "for, and install the build that fits both."
)
_FROM_A_NODE = "Try the address from a compute node: many have no way out. Download what is needed beforehand, or set the proxy that the site has."
_LOG_IN = (
    "Set the key or log in within the job's environment, or switch the tracking off (its offline mode), and resubmit."
)
_LESS_HOST_MEMORY = "Ask for more host memory (--mem), or load less at once: fewer workers and ranks a node, files mapped instead of read."
_BY_REASON = {
    adapter_names.REASON: adapter_names.REMEDY,
    "a file of the data is still the pointer that git-lfs leaves in its place": _PULL,
    "a file is still the pointer that git-lfs leaves in its place": _PULL,
    "the weights file is broken, or the pointer that git-lfs leaves in its place": _FETCH_AGAIN,
    "the weights file is broken": _FETCH_AGAIN,
    "a web page lies where the weights should: a download that was refused": _FETCH_AGAIN,
    "a file of the data is cut off or broken": _FETCH_AGAIN,
    "a limit of processes or threads is reached": (
        "Start fewer threads (OMP_NUM_THREADS, the loaders' workers) or have the limit raised (`ulimit -u`, the cgroup's pids.max)."
    ),
    "the limit of open files is reached": (
        "Raise the limit in the batch script (`ulimit -n`) or keep fewer files open: fewer loader workers, larger shards."
    ),
    "the ranks load different versions of NCCL": "Give every node the same container or environment, and print NCCL's version on each.",
    "the installed versions of CANN differ between the nodes": "Have the nodes brought to the same version, or ask for nodes that are alike.",
    "the installed library does not know this model architecture": (
        "Upgrade the library to a version that knows the model, or take a checkpoint that the installed one does."
    ),
    "the program or a library in it was not built for this kind of GPU": _ONE_BUILD,
    "the CUDA driver, the toolkit or the GPU's architecture does not fit the build": _ONE_BUILD,
    "the driver cannot be set up for the program": _ONE_BUILD,
    "the GPU is too old for what is asked": "Ask for newer GPUs (--constraint or --gres with a type), or switch that feature off.",
    "it found the stub of the driver's library, which is there for linking, in place of the driver's own": (
        "Take the toolkit's stubs folder out of LD_LIBRARY_PATH, so that the driver's own libcuda is found."
    ),
    "what may be set up once, and early, is set up again or too late": (
        "Call it once, at the top of the program's own main part (under `if __name__ == '__main__':`), before anything that uses it; "
        "or ask first whether it is set."
    ),
    "a cache is to be made in a place where the job may not write": (
        "Name a folder that the job may write to for it (HF_HOME, XDG_CACHE_HOME, TORCH_HOME and the like, as whole paths), and resubmit. "
        "Slurm runs a copy of the batch script out of its own spool: a path that is taken from where the script lies leads there."
    ),
    "a folder or file is to be made in a place where the job may not write": (
        "Set the output's path to a folder that the job may write to, and try it once on the node (`touch` a file there) before resubmitting."
    ),
    "a compiler or a build tool fails": (
        "Load the compiler and the CUDA toolkit that the extension needs, and build it once before the job, on a node of the same kind."
    ),
    "a tool that the program calls fails": "Run the command that the message names by hand in the job's environment, and read what it says.",
    "the cluster that it should join does not run": "Start the head first, wait until it answers, and give the ranks its address.",
    "no space is left, or a quota is used up": (
        "Free space or raise the quota where the message says that it was writing; caches and /tmp of the node count too."
    ),
    "a file is locked by another process, or lies where the file system cannot lock files": (
        "See that a single process opens that file for writing, end what an earlier run left behind, and open it read-only elsewhere; "
        "where the file system has no locks, move it or switch the library's locking off."
    ),
    "SQLite cannot open its file: the folder is not there, or may not be written to": (
        "Let the program make that folder before it opens the file, name it by its whole path, and see that the job may write there."
    ),
    "a port that it needs is taken on the node": (
        "Let the launcher choose a free port, or take it from the job's number; look for a process of an earlier run on that node."
    ),
    "the host has no memory left for what is asked of it": _LESS_HOST_MEMORY,
    "XLA had no memory left for what was asked of it: the host's, where it falls back to its CPU backend, or a GPU's": (
        "See from the log whether it found its GPU at all; then load less at once, or ask for more memory of the kind that ran out."
    ),
    "cuBLAS or cuDNN could not be set up on the GPU": (
        "See whether the GPU's memory was full by then, and whether the installed libraries fit the driver and each other."
    ),
    "no credentials for the object storage are there": "Give the job the storage's credentials or role, and list the bucket from a compute node.",
    "an API key or log-in of a tracking service is missing": _LOG_IN,
    "a tracking service cannot be reached": "Switch the tracking to its offline mode and send it later from a login node, or open the way out.",
    "a service on the network cannot be reached": _FROM_A_NODE,
    "a service on the network broke the connection off": _FROM_A_NODE,
    "a service on the network answers with an error of its own": "Try again later, ask it less often, or cache what it gives before the run.",
    "the hub cannot be reached": _FROM_A_NODE,
    "the hub that the dataset is read from cannot be reached": _FROM_A_NODE,
    "the hub cannot be reached, and the cache on disk does not hold it": (
        "Download it on a login node into the cache that the job reads (HF_HOME), then run offline (HF_HUB_OFFLINE)."
    ),
    "the hub refuses access": "Ask for access on the model's page, and give the job a token of an account that has it.",
    "the checkpoint does not fit the model": (
        "Build the model with the checkpoint's own configuration, or load the checkpoint of this model: compare the shapes in the message."
    ),
    "more GPUs are asked for than are there": (
        "Bring the number of processes and the GPUs that Slurm gives together (--gpus-per-node, --nproc-per-node, CUDA_VISIBLE_DEVICES)."
    ),
    "NCCL was used as it may not be, mostly by several processes on the same GPU": (
        "Give each local rank a GPU of its own (set the device from LOCAL_RANK), and ask Slurm for as many GPUs as ranks."
    ),
    "it asks Ray for more than the cluster has": "Ask Ray for no more than `ray status` lists, or give the job more nodes.",
    "a program that is needed is not there": "Install that program in the job's environment or load its module, and look at PATH in the batch script.",
    "an environment variable that the program reads is not set": "Set that variable in the batch script, and see that the launcher hands it to the ranks.",
    "a file or device may not be touched": "Look at who owns it and what the job's user may do there, on the node where it failed.",
}
"""By the words of a reason; a reason that is not here asks for what its class does."""
_SERVICE, _LIMIT, _LOGIN = (
    "a service that it asks over the network",
    "a limit that the node or the session sets",
    "what it logs in with",
)
_LIES_IN = {
    "a limit of processes or threads is reached": _LIMIT,
    "the limit of open files is reached": _LIMIT,
    "no space is left, or a quota is used up": "the place that it writes to",
    "a file is locked by another process, or lies where the file system cannot lock files": "a file that others use",
    "SQLite cannot open its file: the folder is not there, or may not be written to": "the place that it writes to",
    "a port that it needs is taken on the node": "a port of the node",
    "the host has no memory left for what is asked of it": "the memory that it may use",
    "no credentials for the object storage are there": _LOGIN,
    "an API key or log-in of a tracking service is missing": _LOGIN,
    "a service on the network cannot be reached": _SERVICE,
    "a service on the network answers with an error of its own": _SERVICE,
    "a service on the network broke the connection off": _SERVICE,
    "a tracking service cannot be reached": _SERVICE,
}
"""What of a job's surroundings a reason speaks of, where no package is to be installed."""


def remedy(fault: Fault) -> str:
    """What to do about a fault."""
    return _BY_REASON.get(fault.why, BY_CLASS[fault.mode])


def surroundings(fault: Fault) -> str:
    """What a fault of the environment lies in, where its reason says more than that; else nothing."""
    return _LIES_IN.get(fault.why, "")
