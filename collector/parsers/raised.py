"""What a printed exception consists of: the shapes of its type, its text, its frames, and the row that it becomes.

ROWS    detail.calls holds the frames of the innermost exception, the outermost first, and the line that raised it;
        detail.cause_calls those of the root of its chain: installed files from their package on, the program's own with `~/` before their last two parts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from collector.parsers.base import Line, ParsedRow
from collector.parsers.frames import Frame, is_installed
from collector.parsers.shapes import SAID, detail
from store import lazy

_TYPE = r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:\([\w., ]*\))?"
_LAST = "Error|Exception|Interrupt|Violation|Exceeded|Expired|NotFound|Unavailable"
_WHOLE = (
    "SystemExit|ArrowInvalid|ArrowNotImplemented|TrialPruned|Misconfiguration|BrokenProcessPool|BrokenBarrier|ExceptionGroup"
    "|StopIteration|BadZipFile|BadGzipFile|DimensionMismatch|BrokenExecutor|TerminatedWorker|FailFast|EnforceNotMet"
    "|OfflineModeIsEnabled"
)
_LOWER = r"(?:cv2|struct|zlib|binascii|socket|select)\.(?:error|timeout)"
_ENDING = rf"(?:(?:[A-Za-z_]\w*\.)+Error|{_LOWER}|(?:[A-Za-z_]\w*\.)+(?:exceptions|errors)\.[A-Z]\w*|(?:[A-Za-z_]\w*\.)*(?:_?[A-Z]\w*(?:{_LAST})|{_WHOLE}))(?:\([\w., ]+\))?"
UNUSUAL_ANCHORS = (
    ".error: ",
    ".exceptions.",
    ".errors.",
    "ipFile",
    "DimensionMismatch",
    "EnforceNotMet",
    "OfflineModeIsEnabled",
    "SystemExit",
)
RAISED = lazy.compile(rf"(?P<name>{_TYPE})(?::(?: (?P<text>.*))?)?\s*$")
LONE = lazy.compile(rf"\s*(?P<name>{_ENDING})(?:: (?P<text>\S.*)|:?)\s*$")
LOGGED = lazy.compile(
    rf"^(?P<prefix>.{{1,160}}?(?:[\]\s:|-]|:\d\d(?:[.,]\d{{1,9}})?Z?) )(?P<name>{_ENDING}): (?P<text>\S.*)$"
)
# A bar, or the line of code that a copy has put on one line with what it raised, or a type as a program prints what it caught.
_JOINED = r"^\s*(?:return |await )?(?:[\w.]+ = )?[\w.]+\(.{0,200}\)\s{1,8}"
_PRINTED = r"^(?!.{0,120}\b(?:WARN|INFO|DEBUG)).{0,120}?<class '"
GLUED = lazy.compile(
    rf"(?:it/s|s/it|[\w?]\]|\)|^|{_JOINED}|{_PRINTED})(?P<name>{_ENDING}|Exception)(?:: |'>(?:\s*[:,-])?\s+)(?P<text>\S.*)$"
)
QUOTED = lazy.compile(rf"{SAID}(?P<name>{_ENDING}): (?P<text>\S.*)$")
# Types whose text is a single line: what stands below it is of something else.
ONE_LINE = lazy.compile(r"KeyboardInterrupt|(?:Syntax|Indentation|Tab)Error$")
# An exception whose text is the traceback of another, told whole.
CARRIES = lazy.compile(rf"(?P<name>{_ENDING}): Traceback \(most recent call last\):\s*$")
ASIDE = lazy.compile(
    r"Exception (?:ignored [iwoa]|in thread)|Logging error -|Error in (?:sys\.exc|atexit|\w+customize;)|FULL_ERROR=1"
    r"|Error processing line \d+ of .{1,300}\.pth:"
)
"""What Python, a logger or hydra says above a traceback of which the program does not end.

CPython's site goes on with the next .pth file after a line of one that fails, and without sitecustomize where that does.
"""
SITE = lazy.compile(r"Error processing line \d+ of ")  # with a blank line below it
IGNORED = lazy.compile(r"Exception ignored |\w+customize; set ")
"""Of these, what stands above an exception that is printed without its traceback."""
# A library or a program that caught what follows says so in the line before: what failed, and what it does instead. The word
# that it tries again does not count: the last of the tries ends in what follows.
CAUGHT = lazy.compile(
    r"Could not load [\w-]+ native library|"
    r"Retry attempt failed:$|"  # of wandb's uploads, which it repeats for days beside the training
    r"(?=.*\b(?:error|fail(?:s|ed|ure)?|could not|cannot|can't|unable|exception)\b)"
    r".*\b(?:falling back|fallback|ignor(?:e|ed|ing)|skip(?:ped|ping)?|continuing|proceeding without)\b",
    re.IGNORECASE,
)
CAUGHT_ANCHORS = (
    "native library",
    "alling back",
    "fallback",
    "gnor",
    "kipp",
    "ontinuing",
    "roceeding without",
    "Retry attempt failed",
)
# torch_npu prints the runtime's codes as further lines of its message, the first with a prefix like a logger's.
GOES_ON = lazy.compile(r"\s*(?:\[ERROR\] \d{4}-\d\d-\d\d-[\d:]+ \(PID:|E[A-Z][\dA-Z]\d{3,4}: )")
# Types whose text has more than one paragraph: only for them does a blank line not end the message.
PARAGRAPHS = lazy.compile(
    r"huggingface_hub|datasets\.|RepoError|RepositoryNotFound|EntryNotFound|HTTPError|DatasetGeneration|OSError"
    r"|ValidationError|_dynamo|BackendCompilerFailed|tensorflow\.|Graph execution|ConfigComposition|RayTaskError|jaxlib"
)
# The report of Paddle's signal handler, laid out as that of an exception: the line below it that names the signal says it all.
_SIGNAL_REPORT = lazy.compile(r"(?:^`.{1,80}`|\(.{1,80}\)) is detected by the operating system\.")
MAX_TEXT = 2000
_TYPICAL = lazy.compile(_ENDING)
_FAILED = lazy.compile(rf"(?i:error|fail|could not|cannot|can't|unable|exception|traceback)|{_LAST}|{_WHOLE}|\", line ")
_RAISE = lazy.compile(r"raise (?P<name>[\w.]{1,200})\((?:[frb]{0,2}[\"'](?P<text>[^\"']{1,300}))?")
_MOST_FRAMES = 16
_PASSES_ON = lazy.compile(
    r"torch/(?:nn/modules/module\.py in _?(?:wrapped_)?call_impl|nn/modules/module\.py in __call__|utils/_contextlib\.py in )"
    r"|torch/autograd/grad_mode\.py in decorate|accelerate/utils/operations\.py in |contextlib\.py in inner"
    r"|torch/nn/modules/container\.py in forward|torch/_dynamo/(?:eval_frame|external_utils)\.py in "
)
_CARRIES = lazy.compile(r"RayTaskError\((?P<name>[\w.]{1,200})\)$")


@dataclass(slots=True)
class Raised:
    """One exception of a chain: type, text and frames.

    `bare`: the type alone, without a colon, and so no text to come. `stated`: the next of its chain was raised from it in so many
    words, and not only while it was handled.
    """

    name: str
    text: list[str] = field(default_factory=list[str])
    frames: list[Frame] = field(default_factory=list[Frame])
    source: str | None = None
    bare: bool = False
    stated: bool = False

    def message(self) -> str:
        """The text, cut at `MAX_TEXT` characters."""
        return "\n".join(self.text).strip()[:MAX_TEXT]

    def reports_signal(self) -> bool:
        """Whether it is no exception but what a handler of signals says."""
        return self.name == "FatalError" and _SIGNAL_REPORT.search(self.message()) is not None


def names_exception(name: str, text: str | None, headed: bool) -> bool:
    """Tell a type from code whose indentation was lost: `self.run(args)`, `else: x`, `socket.timeout: timed out`.

    After frames without a header only a type that looks like one counts: they may be no traceback at all.
    """
    if not headed and "." not in name and not _TYPICAL.fullmatch(name):
        return name == "Exception" and bool(text)
    last = name.partition("(")[0].rpartition(".")[2].lstrip("_")
    if last[:1].isupper():
        return "(" not in name or "Ray" in name or text is not None
    return text is not None and "." in name and "(" not in name and not name.startswith(("self.", "cls."))


def says_no_failure(text: str) -> bool:
    """A line that names no exception, prints no frame, and says of nothing that it failed."""
    return _FAILED.search(text) is None


def half_said(source: str | None, announced: str | None, carrier: Raised | None, frames: list[Frame]) -> Raised | None:
    """What a traceback that was cut before its last line still tells of its exception; None where it tells nothing.

    That is the `raise` that its last line of code is, the type that a notebook prints above the frames (`announced`), or
    the one that Ray's wrapper (`carrier`) has in its brackets.
    """
    if source and (found := _RAISE.match(source)) and _TYPICAL.fullmatch(found["name"]):
        return Raised(found["name"], [found["text"] or ""], frames, source)
    if announced and _TYPICAL.fullmatch(announced):
        return Raised(announced, [""], frames, source)
    if carrier and (found := _CARRIES.search(carrier.name)) and "Ray" not in found["name"]:
        return Raised(found["name"], [""], frames or carrier.frames)
    return None


def exception_row(
    start: Line,
    last: int,
    severity: str,
    raised: Raised,
    *,
    chain: Sequence[Raised],
    wrappers: Sequence[Raised],
    parser: str,
    extra: Mapping[str, object],
) -> ParsedRow:
    """The `exception` row of one traceback: named by its outermost type, with the root of its chain beside it."""
    outer = wrappers[0] if wrappers else raised
    first = _root(chain) if chain else None
    root = first or (raised if wrappers else None)
    frames = raised.frames or outer.frames
    # Caught and raised anew: the first place is the one to look at.
    looked = first.frames if first is not None and first.name == raised.name else frames
    user = next((f for f in reversed(looked) if not is_installed(f.file)), None)
    user = user or next((f for f in reversed(frames) if not is_installed(f.file)), None)
    if user is None and chain:
        user = next((f for c in chain for f in reversed(c.frames) if not is_installed(f.file)), None)
    return start.event(
        "exception",
        outer.name,
        outer.message(),
        line_end=max(last, start.line_no),
        severity=severity,
        parser=parser,
        frame=str(frames[-1]) if frames else None,
        user_frame=str(user) if user else None,
        entry_frame=str(frames[0]) if frames else None,
        cause_name=root.name if root else None,
        cause_message=root.message() if root else None,
        detail=detail(
            **extra,
            chain=[c.name for c in [*chain, raised]] if chain else None,
            calls=_calls(frames, raised.source),
            cause_calls=_calls(first.frames, first.source) if first else None,
        ),
    )


def _root(chain: Sequence[Raised]) -> Raised:
    """The first of those that the last was raised from in so many words; where there is none, the first of all.

    What was tried and failed while another was handled (a second reader of a file) stands before it in the chain.
    """
    first = len(chain)
    while first and chain[first - 1].stated:
        first -= 1
    return chain[first % len(chain)]


def _calls(frames: Sequence[Frame], source: str | None) -> str | None:
    """The innermost sixteen frames, one a line, the outermost first, and `> ` with the line that raised; None without any.

    Of a longer stack those are left out through which torch and decorators merely pass a call on: who asked matters more.
    """
    if len(frames) > _MOST_FRAMES:
        frames = [*(f for f in frames[:-1] if not _PASSES_ON.search(f"{f.file} in {f.where}")), frames[-1]]
    lines = [f"{_short(f.file)} in {f.where or '<module>'}" for f in frames[-_MOST_FRAMES:]]
    if lines and source:
        lines.append(f"> {source}")
    return "\n".join(lines)[:2000] or None


def _short(file: str) -> str:
    parts = re.split(r"[\\/]", file)
    for folder in ("site-packages", "dist-packages"):
        if folder in parts:
            return "/".join(parts[parts.index(folder) + 1 :])[-120:]
    if is_installed(file) or file.startswith("<") or file.endswith((".pyx", ".pxi")):
        return "/".join(parts[-3:])[-120:]
    # A folder near the root is where a disk is mounted: /data/train.py says nothing about data.
    return "~/" + "/".join(parts[-2:] if len(parts) > 3 else parts[-1:])[-120:]
