"""What the driver's XID codes mean, and whose matter they usually are.

SOURCE: the vendor's public catalogue of XID errors, in our own words; the last word on one GPU is its counters.
"""

from __future__ import annotations

MEANINGS: dict[int, str] = {
    13: "exception in the graphics engine: usually the program (an illegal address or instruction); the same GPU again and again is hardware",
    31: "memory page fault: usually the program (an illegal address); the same GPU again and again is hardware",
    32: "corrupted push buffer: bus or driver, sometimes the program",
    38: "driver firmware error",
    43: "a channel was stopped after a fault of the program: a consequence",
    45: "clean-up of a channel after another error or a kill: a consequence",
    48: "uncorrectable memory error: hardware",
    61: "the GPU's microcontroller halted: driver or hardware",
    62: "the GPU's microcontroller halted: driver or hardware",
    63: "a memory row or page was recorded for remapping or retirement: hardware, repaired at the next reset",
    64: "a memory row or page could not be remapped or retired: hardware",
    69: "exception in the graphics engine's class: driver or program",
    74: "NVLink error: link, bridge or the GPU at its other end",
    79: "the GPU is no longer on the PCIe bus: power, board or slot",
    92: "many corrected memory errors: hardware, early",
    94: "contained memory error: the program that used the page was ended, others go on",
    95: "uncontained memory error: everything on the GPU is affected, it needs a reset",
    109: "time-out of a context switch: a hung kernel or the driver",
    119: "the GPU's system processor does not answer: driver or hardware, needs a reset",
    120: "error in the GPU's system processor: driver or hardware",
    121: "corrected error on the link between CPU and GPU",
    136: "link training failed: hardware",
    137: "a fault on the NVLink fabric was passed on to the program",
    140: "uncorrected memory error that was not recovered: hardware",
    143: "the GPU could not be initialised: hardware",
    144: "NVLink: error of the receive side",
    145: "NVLink: error of the receive side, usually a peer's or the switch's",
    149: "NVLink: the link went down",
    150: "NVLink: error of a port's logic",
    154: "the driver says which recovery the GPU needs (none, reset, node reboot, drain)",
}
"""Code to meaning."""

MEMORY_XIDS = frozenset({48, 63, 64, 92, 94, 95, 140})
"""Codes that the driver gives for errors of the card's own memory."""

APPLICATION_XIDS = frozenset({13, 31, 43, 45, 94, 137})
"""Codes that programs cause: they need more before they say anything of the hardware."""
