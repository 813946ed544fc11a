"""The health check's look at the kernel's log and the disks: what stands refuses, what is over does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inquest.__main__ import main
from inquest.preflight import check, gpus, kernel, room
from inquest.preflight.finding import fit, unknown

PCI = "PCI:0000:3b:00"
X79 = f"NVRM: Xid ({PCI}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
X31 = f"NVRM: Xid ({PCI}): 31, pid=4711, name=python, Ch 00000008, intr 10000000. MMU Fault: ENGINE GRAPHICS"
X119 = f"NVRM: Xid ({PCI}): 119, pid=4711, name=python, Timeout after 6s of waiting for RPC response from GPU0 GSP!"
LOADED = "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024"


def action(old: str, new: str) -> str:
    return f"NVRM: Xid ({PCI}): 154, pid='<unknown>', name=<unknown>, GPU recovery action changed from {old} to {new}"


WANTED = action("0x0 (None)", "0x1 (GPU Reset Required)")
OVER = action("0x1 (GPU Reset Required)", "0x0 (None)")


@pytest.mark.parametrize(
    ("messages", "faults"),
    [
        ([X79], ["XID 79"]),
        ([X119, X119], ["XID 119"]),
        ([X31], []),
        ([X79, LOADED], []),
        ([WANTED], ["GPU Reset Required"]),
        ([WANTED, OVER], []),
        (["some user's XID 79 text", "eth0: Link is Down"], []),
        ([], []),
    ],
)
def test_only_what_needs_a_reset_and_had_none_refuses(messages: list[str], faults: list[str]) -> None:
    found = [f for f in kernel.judged(messages) if f.status == "fault"]
    assert len(found) == len(faults)
    assert all(word in f.text and f.remedy for word, f in zip(faults, found, strict=True))


def _kmsg(path: Path, *records: tuple[int, float, str]) -> Path:
    """Records as /dev/kmsg gives them: priority and facility, sequence, microseconds, flags; message, then its details."""
    text = "".join(f"{p},{i},{int(at * 1e6)},-;{m}\n SUBSYSTEM=pci\n" for i, (p, at, m) in enumerate(records))
    path.write_text(text)
    return path


def test_what_a_program_wrote_into_the_kernels_log_is_hearsay(tmp_path: Path) -> None:
    """Facility 1 (user) is what write(2) to /dev/kmsg gives; the driver's own messages have facility 0."""
    path = _kmsg(tmp_path / "kmsg", (12, 1.0, X79))
    assert [f.status for f in kernel.look(0.0, path)] == ["fit"]
    path = _kmsg(tmp_path / "kmsg", (3, 1.0, X79))
    assert [f.status for f in kernel.look(0.0, path)] == ["fault"]
    assert [f.status for f in kernel.look(1.5, path)] == ["fit"], "forgotten after a reset"


def test_a_log_that_cannot_be_read_refuses_nothing(tmp_path: Path) -> None:
    assert [f.status for f in kernel.look(0.0, tmp_path / "absent")] == ["unknown"]


def test_a_full_disk_is_a_fault_and_each_disk_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [f.status for f in room.look([tmp_path, tmp_path / ".."])] == ["fit"]
    assert [f.status for f in room.look([tmp_path / "absent"])] == ["unknown"]
    monkeypatch.setattr(room, "LEAST", 1 << 62)
    found = room.look([tmp_path, tmp_path])
    assert [f.status for f in found] == ["fault"]
    assert "is full" in found[0].text


def test_a_look_that_hangs_or_breaks_holds_up_nobody() -> None:
    """The others' answers are there, and what did not come refuses nothing."""
    import threading

    def broken() -> list[object]:
        raise RuntimeError("oops")

    never = threading.Event()
    looks = {
        "hangs": lambda: [fit("hangs", str(never.wait(30)))],
        "good": lambda: [fit("good", "ok")],
        "breaks": broken,
    }
    found = {f.check: f for f in check.examine(looks, 0.3)}  # type: ignore[arg-type]
    never.set()
    assert [found[n].status for n in ("hangs", "good", "breaks")] == ["unknown", "fit", "unknown"]
    assert "no answer" in found["hangs"].text


def test_the_command_refuses_only_when_told_and_has_a_kill_switch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = _kmsg(tmp_path / "kmsg", (3, 1.0, X79))
    monkeypatch.delenv("INQUEST_PREFLIGHT", raising=False)
    # Another test may have left its driver, with a broken GPU, in this process.
    monkeypatch.setattr(gpus, "look", lambda expected: [unknown("gpus", f"{expected} were to be looked at")])
    argv = ["preflight", "--kmsg", str(log), "--gres-conf", str(tmp_path / "none"), "--disk", str(tmp_path)]
    assert main(argv) == 0
    said = capsys.readouterr().out
    assert "fault: kernel log: XID 79" in said
    assert "would be refused" in said
    assert main([*argv, "--enforce", "--json"]) == 10
    told = json.loads(capsys.readouterr().out)
    assert told["refused"] is True
    assert [f["check"] for f in told["findings"] if f["status"] == "fault"] == ["kernel log"]
    monkeypatch.setenv("INQUEST_PREFLIGHT", "off")
    assert main([*argv, "--enforce"]) == 0
