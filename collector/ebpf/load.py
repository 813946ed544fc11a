"""The loader: compiles the probes with bcc, hands their programs and maps to whoever started it, and ends.

A process of its own, because bcc and its compiler take 140 MB: the descriptors travel over a socket, the memory does not.
What has to be mounted for it is mounted in a namespace of its own, so that nothing of the host changes.

    python -m collector.ebpf.load FD PROBE...    # FD: one end of a Unix socket pair
"""

from __future__ import annotations

import array
import ctypes
import importlib.util
import json
import os
import platform
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from collector.ebpf import btf
from collector.ebpf.kernel import MANY

HERE = Path(__file__).parent
UPROBES: dict[str, tuple[str, ...]] = {
    "cuda": (
        "launch", "graph", "call", "sync", "copy_h2d", "copy_d2h", "copy_d2d", "copy_peer", "leave", "attached",
    ),
    "nccl": (
        "all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "all_to_all", "gather", "scatter",
        "send", "recv", "init", "scalable", "split", "shrunk", "init_done", "closed", "recorded", "event_asked",
        "stream_asked", "finished",
    ),
}  # fmt: skip
"""Functions that are attached to libraries later; tracepoints attach as they are compiled."""

FILES = (
    ("task_struct", "files", "TASK_FILES"),
    ("files_struct", "fdt", "FILES_TABLE"),
    ("fdtable", "max_fds", "TABLE_ROOM"),
    ("fdtable", "fd", "TABLE_FILES"),
    ("file", "f_inode", "FILE_INODE"),
)
"""The way from a task to what its descriptors lead to: structure, field, and what output.bpf.c calls its place."""
PACKAGES = "apt-get install python3-bpfcc linux-headers-amd64 (or the distribution's bcc and kernel headers), as root"
_CLONE_NEWNS, _MS_REC, _MS_PRIVATE = 0x00020000, 16384, 1 << 18


class CannotLoad(Exception):
    """Why not, and what would mend it."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy


def main(fd: int, probes: Sequence[str]) -> int:
    """Send one message for each probe, or one that says why there is none."""
    with socket.socket(fileno=fd) as to:
        try:
            bcc = find_bcc()
            prepare()
        except CannotLoad as error:
            say(to, {"error": error.reason, "remedy": error.remedy}, [])
            return 1
        made: list[Any] = []  # a program lives as long as its object until its descriptor has been passed on
        for probe in probes:
            try:
                made.append(load(bcc, probe, to))
            except Exception as error:  # one probe that this kernel refuses takes no other with it
                say(to, {"probe": probe, "error": f"{type(error).__name__}: {str(error)[:300]}"}, [])
        say(to, {"done": True}, [])
    return 0


def load(bcc: Any, probe: str, to: socket.socket) -> Any:
    """Compile one probe and pass it on. Gives what keeps it alive."""
    made = bcc.BPF(text=(HERE / f"{probe}.bpf.c").read_text(), cflags=["-Wno-everything", *places(probe)])
    names: list[list[str]] = []
    fds: list[int] = []
    for name in UPROBES.get(probe, ()):
        names.append(["program", name])
        fds.append(program(bcc, made, name))
    for point, attached in made.tracepoint_fds.items():
        names.append(["point", point.decode()])
        fds.append(attached)
    for name in tables(probe):
        table = made[name]
        kind = "ring" if name in {"events", "texts"} else "map"
        fds.append(table.map_fd if hasattr(table, "map_fd") else table.get_fd())
        names.append([kind, name])
    say(to, {"probe": probe, "names": names}, fds)
    return made


def places(probe: str) -> list[str]:
    """Where the running kernel has the files of a task, as macros; none where it does not say: that probe does without."""
    if probe != "output":
        return []
    wanted = {
        structure: [field for of, field, _macro in FILES if of == structure] for structure, _field, _macro in FILES
    }
    found = btf.offsets(wanted)
    return [f"-D{macro}={found[structure, field]}" for structure, field, macro in FILES] if found else []


def program(bcc: Any, made: Any, name: str) -> int:
    """Load a function for many places at once; it can be hung on single ones too. What is too old for that gets it plainly."""
    try:
        return made.load_func(name.encode(), bcc.BPF.KPROBE, attach_type=MANY).fd
    except Exception:  # TypeError of an old bcc, or its bare Exception of what the kernel said: the plain way tells why
        return made.load_func(name.encode(), bcc.BPF.KPROBE).fd


def tables(probe: str) -> tuple[str, ...]:
    """The maps that user space reads or writes."""
    return {
        "process": ("watched", "strangers", "mapped", "untold", "events"),
        "output": ("flow", "texts"),
        "slow": ("slow", "bounds"),
        "cuda": ("calls", "epoch"),
        "nccl": ("comms", "kinds"),
    }[probe]


def say(to: socket.socket, message: dict[str, Any], fds: list[int]) -> None:
    """One message of a SOCK_SEQPACKET socket."""
    extra = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    to.sendmsg([json.dumps(message).encode()], extra)


def find_bcc() -> Any:
    """The distribution's bcc, and nothing else of its folder: its other packages are not ours. Raises CannotLoad."""
    if os.geteuid() != 0:
        raise CannotLoad("eBPF needs root (CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN)", "run inquest collect as root")
    places = [Path(p) for p in sys.path] + sorted(Path("/usr/lib").glob("python3*/dist-packages"))
    places += sorted(Path("/usr/lib").glob("python3*/site-packages"))
    folder = next((p / "bcc" for p in places if (p / "bcc/__init__.py").exists()), None)
    if folder is None:
        raise CannotLoad("bcc is not installed", PACKAGES)
    spec = importlib.util.spec_from_file_location(
        "bcc", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bcc"] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever a foreign package does: its library is missing, its Python is another
        raise CannotLoad(f"bcc cannot be loaded: {error}", PACKAGES) from None
    return module


def prepare() -> None:
    """Tracing file systems and kernel headers, as bcc wants to find them. Raises CannotLoad."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS) or libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None):
        raise CannotLoad(
            f"cannot make a mount namespace: {os.strerror(ctypes.get_errno())}", "run as root with CAP_SYS_ADMIN"
        )
    for kind, where, sign in (
        (b"tracefs", "/sys/kernel/tracing", "events"),
        (b"debugfs", "/sys/kernel/debug", "tracing"),
    ):
        if not Path(where, sign).exists():
            libc.mount(kind, where.encode(), kind, 0, None)
    if not Path("/sys/kernel/tracing/events").exists() and not Path("/sys/kernel/debug/tracing/events").exists():
        raise CannotLoad("no tracing file system", "mount -t tracefs tracefs /sys/kernel/tracing")
    if os.environ.get("BCC_KERNEL_SOURCE") or Path(f"/lib/modules/{platform.release()}/build").exists():
        return
    os.environ["BCC_KERNEL_SOURCE"] = headers(libc)


def headers(libc: Any) -> str:
    """Debian keeps headers in two folders, common and of the architecture: laid over each other they are one tree.

    Any release will do: the probes look at registers and at tracepoints, whose formats the running kernel gives.
    """
    ours = sorted(p for p in Path("/usr/src").glob("linux-headers-*") if (p / "include/generated").exists())
    for folder in reversed(ours):
        if (folder / "include/linux/kconfig.h").exists():
            return str(folder)
        common = next(iter(sorted(Path("/usr/src").glob(f"{folder.name.rsplit('-', 1)[0]}-common"))), None)
        if common is None:
            continue
        where = "/mnt"
        options = f"lowerdir={folder}:{common}".encode()
        if libc.mount(b"overlay", where.encode(), b"overlay", 1, options) == 0:
            return where
    raise CannotLoad("no kernel headers", PACKAGES)


if __name__ == "__main__":
    code = main(int(sys.argv[1]), sys.argv[2:])
    # bcc's own end would switch off what was passed on.
    os._exit(code)
