"""What nvidia-smi and dcgmi show to people, line by line: a GPU's values as columns of `gpu_sample` and `gpu_device`.

nvidia-smi            the table: two lines a GPU, the time above it, `ERR!` where the driver has no answer
nvidia-smi -q [-x]    a tree of `Key : Value` or of XML elements, a GPU below each `GPU 00000000:1B:00.0` or `<gpu id=...>`
nvidia-smi dmon       a row a GPU and round below `# gpu  pwr gtemp ...`; times only with `-o DT`
dcgmi dmon            a row a GPU and round below `#Entity  GPUTL  SMACT ...`; no times

Of a GPU in MIG mode only the physical GPU is read: its instances repeat its counters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from store import lazy

MIB = 1 << 20
_CTIME = lazy.compile(r"(?:[A-Z][a-z]{2} ){2}[ \d]\d \d\d:\d\d:\d\d \d{4}\Z")
_DRIVER = lazy.compile(r"NVIDIA-SMI \S+ .*?Driver Version: (\S+)")
_FIRST = lazy.compile(
    r"\|\s+(?P<gpu>\d{1,3})\s+(?P<model>\S.*?)\s+(?:On|Off|N/A|WDDM|TCC|MCDM)\s*\|"
    r"\s*(?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s+\S+\s*\|\s*(?P<ecc>\S+)\s*\|"
)
_SECOND = lazy.compile(
    r"\|\s*(?:\d+%|N/A|ERR!)\s+(?P<temp>\S+)\s+(?P<pstate>\S+)\s+(?P<power>\S+)\s*/\s*(?P<limit>\S+)\s*\|"
    r"\s*(?P<used>\d+)MiB\s*/\s*(?P<total>\d+)MiB\s*\|\s*(?P<util>\S+)\s"
)
_GPU = lazy.compile(r"GPU (?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s*\Z")
_KEY = lazy.compile(r"(?P<indent>\s*)(?P<key>\S.*?)\s*: (?P<value>.*)\Z")
_XML = lazy.compile(
    r"\s*<(?P<end>/?)(?P<tag>[a-z_0-9]+)(?: id=\"(?P<id>[^\"]*)\")?>(?:(?P<value>[^<]*)</(?P=tag)>)?\s*\Z"
)
_NUMBER = lazy.compile(r"(-?\d+(?:\.\d+)?)(?:\s*(?:%|MiB|W|MHz|C))?\Z")

BITS = {
    "idle": 0x1, "applications_clocks_setting": 0x2, "sw_power_cap": 0x4, "hw_slowdown": 0x8, "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20, "hw_thermal_slowdown": 0x40, "hw_power_brake_slowdown": 0x80,
    "display_clock_setting": 0x100, "display_clocks_setting": 0x100,
}  # fmt: skip
"""Clock event reasons as NVML numbers them."""
_DMON: dict[str, tuple[str, float]] = {
    "pwr": ("power_w", 1), "gtemp": ("temp_c", 1), "mtemp": ("memory_temp_c", 1), "sm": ("engine_active", 0.01),
    "mem": ("dram_active", 0.01), "mclk": ("memory_clock_mhz", 1), "pclk": ("sm_clock_mhz", 1), "fb": ("fb_used_bytes", MIB),
    "sbecc": ("ecc_sbe_total", 1), "dbecc": ("ecc_dbe_total", 1), "pci": ("pcie_replays", 1),
}  # fmt: skip
_DCGMI: dict[str, tuple[str, float]] = {
    "POWER": ("power_w", 1), "TMPTR": ("temp_c", 1), "MMTMP": ("memory_temp_c", 1), "GPUTL": ("engine_active", 0.01),
    "GRACT": ("engine_active", 1), "SMACT": ("sm_active", 1), "TENSO": ("tensor_active", 1), "MCUTL": ("dram_active", 0.01),
    "DRAMA": ("dram_active", 1), "SMCLK": ("sm_clock_mhz", 1), "MMCLK": ("memory_clock_mhz", 1),
    "FBUSD": ("fb_used_bytes", MIB), "FBTTL": ("fb_total_bytes", MIB), "ESVTL": ("ecc_sbe_total", 1),
    "EDVTL": ("ecc_dbe_total", 1), "XIDER": ("last_xid", 1),
}  # fmt: skip
_WHOLE = frozenset({
    "fb_used_bytes", "fb_total_bytes", "ecc_sbe_total", "ecc_dbe_total", "pcie_replays", "last_xid",
    "remapped_correctable", "remapped_uncorrectable", "performance_state", "gpu",
})  # fmt: skip


@dataclass(slots=True)
class Shown:
    """One GPU at one time: `sample` and `device` are columns, `time` the time as printed (None where none was)."""

    sample: dict[str, Any]
    device: dict[str, Any] = field(default_factory=dict[str, Any])
    time: str | None = None


class Displays:
    """Feed it the lines of one file in order. `odd` gets what a display says and no column holds."""

    def __init__(self, odd: Callable[[str], None]) -> None:
        self._odd = odd
        self._time: str | None = None
        self._driver: str | None = None
        self._row: re.Match[str] | None = None
        self._columns: list[str] = []
        self._tree: dict[str, str] | None = None
        self._path: list[tuple[int, str]] = []
        self._listed = self._attached = 0
        self._xml = False

    def feed(self, line: str) -> Iterator[Shown]:
        """What is complete with this line."""
        text = line.rstrip()
        if text.startswith("|"):
            yield from self._table(text)
        elif text.startswith("#"):
            yield from self.close()
            self._columns = self._columns if _is_units(text) else _header(text)
        elif "=NVSMI LOG=" in text or "<nvidia_smi_log>" in text:
            yield from self.close()
            self._time, self._listed, self._attached, self._xml = None, 0, 0, "<nvidia_smi_log>" in text
            self._path = [(-1, "")]
        elif self._path:
            yield from self._element(text) if self._xml else self._entry(text)
        elif _CTIME.match(text):
            self._time, self._columns = text, []
        elif self._columns:
            yield from self._round(text)

    def close(self) -> Iterator[Shown]:
        """What is still open at the end, or before a display of another kind."""
        tree, self._tree = self._tree, None
        self._path, self._row = [], None
        if tree is not None:
            yield self._of(tree)

    # the table

    def _table(self, text: str) -> Iterator[Shown]:
        named = _DRIVER.search(text)
        if named:
            yield from self.close()
            self._driver, self._columns = named.group(1), []
        first = _FIRST.match(text)
        if first:
            self._row = first
            return
        row, self._row = self._row, None
        second = _SECOND.match(text) if row is not None else None
        if row is None or second is None:
            return
        if "ERR!" in text or row.group("ecc") == "ERR!":
            self._odd(f"nvidia-smi shows ERR! for GPU {row.group('gpu')} ({row.group('pci')})")
        sample: dict[str, Any] = {"gpu": int(row.group("gpu")), "pci_bus_id": _pci(row.group("pci"))}
        cells = {
            "temp_c": second["temp"].removesuffix("C"), "power_w": second["power"].removesuffix("W"),
            "power_limit_w": second["limit"].removesuffix("W"), "performance_state": second["pstate"].removeprefix("P"),
            "ecc_dbe_total": row["ecc"],
        }  # fmt: skip
        for name, cell in cells.items():
            _put(sample, name, cell, 1)
        _put(sample, "fb_used_bytes", second["used"], MIB)
        _put(sample, "fb_total_bytes", second["total"], MIB)
        _put(sample, "engine_active", second["util"].removesuffix("%"), 0.01)
        if "engine_active" in sample:
            sample["activity_source"] = "smi"
        device = {"model": row["model"].removesuffix("..."), "driver_version": self._driver}
        yield Shown(sample, device, self._time)

    # the tree

    def _entry(self, text: str) -> Iterator[Shown]:
        if not text:
            return
        gpu = _GPU.match(text)
        if gpu:
            yield from self._begin(gpu["pci"])
            return
        entry = _KEY.match(text)
        indent = len(text) - len(text.lstrip())
        if entry is None and indent == 0:
            yield from self.close()
            return
        while self._path[-1][0] >= indent:
            self._path.pop()
        name = _name(entry["key"] if entry else text)
        if entry:
            self._value(name, entry["value"].strip())
        self._path.append((indent, name))

    def _element(self, text: str) -> Iterator[Shown]:
        element = _XML.match(text)
        if element is None:
            return
        if element["tag"] == "gpu" and element["id"]:
            yield from self._begin(element["id"])
        elif element["end"]:
            if element["tag"] == "nvidia_smi_log":
                yield from self.close()
            elif len(self._path) > 1:
                self._path.pop()
        elif element["value"] is not None:
            self._value(element["tag"], element["value"].strip())
        else:
            self._path.append((len(self._path), element["tag"]))

    def _begin(self, pci: str) -> Iterator[Shown]:
        tree, self._tree = self._tree, {"pci": pci, "at": str(self._listed)}
        self._listed += 1
        self._path = [(-1, "")]
        if tree is not None:
            yield self._of(tree)

    def _value(self, name: str, value: str) -> None:
        if name in {"timestamp", "driver_version", "attached_gpus"} and self._tree is None:
            if name == "timestamp":
                self._time = value
            elif name == "driver_version":
                self._driver = value.partition(" ")[0]
            elif value.isdigit():
                self._attached = int(value)
            return
        if self._tree is None or any("mig_device" in part for _, part in self._path):
            return
        self._tree.setdefault("/".join([part for _, part in self._path[1:]] + [name]), value)

    def _of(self, tree: dict[str, str]) -> Shown:
        def get(*names: str) -> str | None:
            return next((v for n in names if (v := tree.get(n)) not in (None, "N/A", "")), None)

        sample: dict[str, Any] = {"pci_bus_id": _pci(tree["pci"]), "gpu_uuid": get("gpu_uuid", "uuid")}
        if self._listed == self._attached:  # all of the node's GPUs in their order, so that the place is the number
            sample["gpu"] = int(tree["at"])
        for column, scale, names in _TREE:
            text = get(*names)
            if text is not None:
                _put(sample, column, text.removeprefix("P") if column == "performance_state" else text, scale)
        for column, name in (("remap_pending", "pending"), ("remap_failure", "failure")):
            said = get(
                f"remapped_rows/{name}",
                f"remapped_rows/remapped_row_{name}",
                "remapped_rows/remapping_failure_occurred" if name == "failure" else "",
            )
            if said in {"Yes", "No"}:
                sample[column] = said == "Yes"
        for column, words in (
            ("ecc_sbe_total", ("correctable", "single_bit")),
            ("ecc_dbe_total", ("uncorrectable", "double_bit")),
        ):
            counts = [int(v) for k, v in tree.items() if v.isdigit() and _ecc(k, words)]
            if counts:
                sample[column] = sum(counts)
        retired = [get(f"retired_pages/{a}", f"retired_pages/{b}/retired_count") for a, b in _RETIRED]
        if any(r is not None and r.isdigit() for r in retired):
            sample["retired_pages"] = sum(int(r) for r in retired if r is not None and r.isdigit())
        bits = [
            (BITS.get(_reason(k), 0), v) for k, v in tree.items() if v in {"Active", "Not Active"} and "_reasons" in k
        ]
        if any(bit for bit, _ in bits):
            sample["throttle_reasons"] = sum({bit for bit, v in bits if v == "Active"})
        if "engine_active" in sample:
            sample["activity_source"] = "smi"
        clock = _NUMBER.match(get("max_clocks/sm", "max_clocks/sm_clock") or "")
        device = {
            "model": get("product_name"), "serial": get("serial_number", "serial"), "driver_version": self._driver,
            "sm_clock_max_mhz": float(clock.group(1)) if clock else None,
        }  # fmt: skip
        return Shown(sample, device, self._time)

    # rounds

    def _round(self, text: str) -> Iterator[Shown]:
        cells = text.split()
        if self._columns[0] == "entity":
            if len(cells) < 2 or cells[0] not in {"GPU", "GPU-I"} or cells[0] == "GPU-I":
                return
            cells, names, source = cells[1:], ["gpu", *self._columns[1:]], "dcgm"
            known = _DCGMI
        else:
            names, source, known = self._columns, "smi", _DMON
        if not cells or len(cells) != len(names) or not all(c == "-" or c[0] in "-0123456789N" for c in cells):
            if cells and cells[0].isdigit():
                self._odd(f"a row of {len(cells)} cells below {len(names)} names")
            return
        record = dict(zip(names, cells, strict=True))
        if not record.get("gpu", "").isdigit():
            return
        sample: dict[str, Any] = {"gpu": int(record["gpu"])}
        for name, cell in record.items():
            if name in known and known[name][0] not in sample:
                _put(sample, *known[name][:1], cell, known[name][1])
        if "engine_active" in sample or "sm_active" in sample:
            sample["activity_source"] = source
        day, clock = record.get("date"), record.get("time")
        yield Shown(sample, {}, f"{day[:4]}-{day[4:6]}-{day[6:8]} {clock}" if day and clock else None)


_TREE: tuple[tuple[str, float, tuple[str, ...]], ...] = (
    ("fb_used_bytes", MIB, ("fb_memory_usage/used",)),
    ("fb_total_bytes", MIB, ("fb_memory_usage/total",)),
    ("engine_active", 0.01, ("utilization/gpu", "utilization/gpu_util")),
    ("dram_active", 0.01, ("utilization/memory", "utilization/memory_util")),
    ("temp_c", 1, ("temperature/gpu_current_temp", "temperature/gpu_temp")),
    ("memory_temp_c", 1, ("temperature/memory_current_temp", "temperature/memory_temp")),
    ("power_w", 1, tuple(f"{s}/{k}" for s in ("power_readings", "gpu_power_readings") for k in ("power_draw", "average_power_draw", "instantaneous_power_draw", "instant_power_draw"))),
    ("power_limit_w", 1, tuple(f"{s}/{k}" for s in ("power_readings", "gpu_power_readings", "gpu_power_readings/gpu_ceiling_power_limit") for k in ("enforced_power_limit", "current_power_limit", "power_limit"))),
    ("sm_clock_mhz", 1, ("clocks/sm", "clocks/sm_clock")),
    ("memory_clock_mhz", 1, ("clocks/memory", "clocks/mem_clock")),
    ("performance_state", 1, ("performance_state",)),
    ("remapped_correctable", 1, ("remapped_rows/correctable_error", "remapped_rows/remapped_row_corr")),
    ("remapped_uncorrectable", 1, ("remapped_rows/uncorrectable_error", "remapped_rows/remapped_row_unc")),
    ("pcie_replays", 1, ("pci/replays_since_reset", "pci/replay_counter")),
)  # fmt: skip
_RETIRED = (("single_bit_ecc", "multiple_single_bit_retirement"), ("double_bit_ecc", "double_bit_retirement"))


def _header(text: str) -> list[str]:
    """The columns that a `#` line of dmon names; none for its second line of units and for other lines."""
    names = text.lstrip("# ").split()
    if names[:1] == ["Entity"]:
        return ["entity", *names[1:]]
    low = [n.lower() for n in names]
    return low if "gpu" in low[:3] and ("pwr" in low or "sm" in low or "fb" in low) and "pid" not in low else []


def _is_units(text: str) -> bool:
    """Whether this is the line of units below dmon's names."""
    return text.lstrip("# ").split()[:1] in (["Idx"], ["YYYYMMDD"], ["HH:MM:SS"])


def _put(sample: dict[str, Any], column: str, cell: str, scale: float) -> None:
    found = _NUMBER.match(cell)
    if found:
        value = float(found.group(1)) * scale
        sample[column] = round(value) if column in _WHOLE else round(value, 6)


def _name(key: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", key.strip().lower()).strip("_")


def _reason(path: str) -> str:
    last = path.rpartition("/")[2]
    for prefix in ("clocks_throttle_reason_", "clocks_event_reason_"):
        last = last.removeprefix(prefix)
    return "idle" if last == "gpu_idle" else last


def _ecc(path: str, words: tuple[str, ...]) -> bool:
    """A count since the driver was loaded: `SRAM Correctable`, `DRAM Uncorrectable`; before Turing `Single Bit / Total`."""
    parts = path.split("/")
    if parts[:2] != ["ecc_errors", "volatile"]:
        return False
    if len(parts) > 3:
        return parts[2] == words[1] and parts[3] == "total"
    return len(parts) == 3 and words[0] in re.split(r"_", parts[2]) and not parts[2].endswith("exceeded")


def _pci(text: str) -> str:
    return ":".join([text.upper().split(":")[0].zfill(8), *text.upper().split(":")[1:]])
