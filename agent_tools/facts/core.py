"""`Facts`: named queries about one job, asked when first needed, and what several families need to know from them.

Every figure that a family puts into a sentence is a cell of one of these queries; the judgements here (did training begin,
which exception came first) only choose which cells to speak of.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property, partial
from typing import Any

from agent_tools.evidence import MAX_ROWS, Asks, Ledger
from agent_tools.facts.asked import ALL_GPUS, BY_GPU, BY_NODE, NO_JOB, OF_THE_END, PER_GPU, WHOLE_JOB
from agent_tools.facts.earlier import echoed, of_earlier_try, passed_over, trained_past, went_on
from agent_tools.facts.ending import OUTSIDE, Ending, read_ending
from agent_tools.facts.evaluating import beside_training, counted_before
from agent_tools.facts.exceptions import Raised, read
from agent_tools.facts.fallen_part import fell
from agent_tools.facts.last_run import before_training, last_told
from agent_tools.facts.last_word import beneath
from agent_tools.facts.memory import HostOom, read_host_oom
from agent_tools.facts.own_gpus import beyond, told_gpus
from agent_tools.facts.progress import Progress, read_progress
from agent_tools.facts.setups import tells_of_end
from agent_tools.facts.undated import span_of
from agent_tools.facts.views import RowView, View
from agent_tools.facts.watching import silent_since
from agent_tools.facts.xids import APPLICATION_XIDS
from store import lazy

_OWN = ("illegal_address", "device_assert", "misaligned", "illegal_instruction")
"""CUDA errors of a kernel's own making."""
_OPEN = frozenset({"launch_failure", "library_failed", "unknown_error", "initialization", "other"})
"""CUDA errors that a kernel and a broken card give alike."""
_COLD = 0.02
"""Mean engine activity below which a GPU did nothing."""
_UNLAUNCHED = {"REQUEUED", "PENDING", "REQUEUE_HOLD", "SPECIAL_EXIT", "CANCELLED", "BOOT_FAIL", "LAUNCH_FAILED"}
"""States in which Slurm leaves an attempt that it could not launch."""
_SLURMS = lazy.compile(r"(srun|salloc|sbatch|slurmstepd|slurmd)\b|Error running slurm ")
_THREAD = lazy.compile(r"\bthreading\.py:\d+ in _bootstrap")
_ONE_LINER = lazy.compile(r"<string>(?::1)? in <module>")
_WENT_ON = 5
"""Lines or reports of a program's own by which it is known to have gone on after what looked like its end."""
_LOADING = frozenset({"ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError"})
"""What a program raises before it does anything, also one that a script starts after a training."""
_NO_MODEL = lazy.compile(
    r"(?i)token|vocab|bpe|sentencepiece|unigram|k-?means|codebook|\bindex|scaler|\bpca\b|language id|warm-?up|\btest\b"
)


class Facts:
    """What is known about one job's attempt (the last one unless `attempt` is given)."""

    def __init__(self, reader: Asks, ledger: Ledger, job_id: str, attempt: int | None = None) -> None:
        self._reader = reader
        self.ledger = ledger
        self.job_id = job_id
        self.attempt = attempt
        self._views: dict[tuple[str, tuple[tuple[str, object], ...]], View] = {}

    def table(self, query: str, **params: str | int | float | bool | None) -> View:
        """The answer to a named query about this job; each is asked once. Raises what the reader raises."""
        key = (query, tuple(sorted(params.items())))
        view = self._views.get(key)
        if view is None:
            asked: dict[str, Any] = {**params} if query in NO_JOB else {"job_id": self.job_id, **params}
            if query in BY_NODE:
                asked = {**self.scope, **asked}
                # By an exporter's label a neighbour's fault is known for what it is, and told as such.
                if (
                    query in BY_GPU
                    and self._told_gpus is not None
                    and not (query == "gpu_events" and self._told_gpus.text("told_by") == "exporter")
                ):
                    asked["gpus"] = self.own_gpus
            elif query not in WHOLE_JOB:
                only = self._last_told if self.attempt is None and query in OF_THE_END else self.attempt
                if only is not None:
                    asked.setdefault("attempt", only)
            most = ALL_GPUS if query in PER_GPU else MAX_ROWS
            view = self._views[key] = View(self.ledger.ask(self._reader, query, max_rows=most, **asked))
        return view

    @cached_property
    def scope(self) -> dict[str, Any]:
        """The job's nodes and time, for questions about rows that carry no job id."""
        nodes = [r.text("node") for r in self.table("job_nodes")] or [r.text("node") for r in self.lone_nodes]
        begin, end = None, None
        if self.overview is not None and self.overview.has("start_ts"):
            begin, end = self.overview.text("start_ts"), self.overview.text("end_ts") or None
        else:
            begin, end = span_of(self.table("log_extent"), lambda: self.table("lone_nodes"))
        return {"nodes": ",".join(nodes) if nodes else None, "from_ts": begin, "to_ts": end}

    @cached_property
    def log_runs(self) -> View | tuple[()]:
        """The runs that one log file holds; empty where every file holds one."""
        return self.table("log_runs") if any(r.number("runs") for r in self.table("log_attempts")) else ()

    @cached_property
    def _last_told(self) -> int | None:
        return last_told(self.overview, self.table("log_attempts"), self.log_runs)

    @property
    def _of_last(self) -> dict[str, int]:
        return {} if self.attempt is not None or self._last_told is None else {"attempt": self._last_told}

    @cached_property
    def lone_nodes(self) -> View | tuple[()]:
        """Nodes that are taken to be the job's because their telemetry lies beside it, and nothing says where it ran."""
        return () if self.table("job_nodes") else self.table("lone_nodes")

    @cached_property
    def _told_gpus(self) -> RowView | None:
        return told_gpus(self.table("job_gpus", **self.scope), self.table("job_nodes"))

    @cached_property
    def own_gpus(self) -> str | None:
        """UUIDs of the job's GPUs, comma-separated; None where nothing names as many as it held (see `told_gpus`).

        Without them everything on its nodes is taken for its own, also the GPUs of jobs beside it.
        """
        return self._told_gpus.text("all_uuids") if self._told_gpus is not None else None

    @cached_property
    def beside(self) -> RowView | None:
        """The first GPU where they cannot all be the job's: a node has more than it held there. None where all are its own."""
        told = () if self.own_gpus else (self.overview, self.table("job_gpus", **self.scope), self.table("job_nodes"))
        return beyond(self.table("gpu_summary"), *told) if told else None

    @property
    def times_known(self) -> bool:
        """Whether anything says when the job ran: only then can a node's events be placed before, in or after it."""
        return bool(self.scope["from_ts"])

    # -- what was looked at -------------------------------------------------------------------------------------------

    @cached_property
    def _coverage(self) -> dict[str, RowView]:
        return {r.text("table"): r for q in ("coverage", "coverage_nodes") for r in self.table(q)}

    def has(self, table: str) -> bool:
        """Whether somebody looked: the table has rows of this job, or a healthy source covered it there.

        Where this is false, an empty answer proves nothing.
        """
        row = self._coverage.get(table)
        return row is not None and (bool(row.get("present")) or bool(row.get("watched")))

    @cached_property
    def has_log(self) -> bool:
        """Whether anything that the job printed is there."""
        return self.has("log_line") or self.has("log_event")

    @cached_property
    def silent_gpus(self) -> RowView | None:
        """The GPU that was sampled last, where that was before most of the run was over; None where samples cover the run."""
        return silent_since(self.overview, self.table("gpu_summary"))

    @cached_property
    def cold(self) -> bool:
        """Whether every GPU that was sampled did nothing on average; False where none was."""
        means = [r.number("engine_mean") or 0.0 for r in self.table("gpu_summary") if r.has("engine_mean")]
        return bool(means) and max(means) < _COLD

    @cached_property
    def silent_launches(self) -> bool:
        """Whether launch counts are not there either, or end before most of the run was over."""
        return not (found := self.table("cuda_activity")) or silent_since(self.overview, found) is not None

    # -- scheduler ----------------------------------------------------------------------------------------------------

    @cached_property
    def overview(self) -> RowView | None:
        """Accounting's row of the attempt, None where there is none."""
        return self.table("job_overview").first

    def half(self, query: str, *, second: bool) -> RowView | None:
        """The first row of an answer about the first or second half of the attempt; None where its times are not known."""
        o = self.overview
        if o is None or not o.has("start_ts") or not o.has("end_ts"):
            return None
        start, end = (datetime.fromisoformat(o.text(c).replace("Z", "+00:00")) for c in ("start_ts", "end_ts"))
        middle = (start + (end - start) / 2).isoformat()
        begin, close = (middle, o.text("end_ts")) if second else (o.text("start_ts"), middle)
        return self.table(query, from_ts=begin, to_ts=close).first

    @cached_property
    def launch_failed(self) -> RowView | None:
        """What says that Slurm ended the attempt itself, because it could not launch it; None where nothing does."""
        if self.state not in _UNLAUNCHED:
            return None
        row = self.table("launch_failures").first
        # A node's reason names no job, and a program can print what it likes, so they count only where nothing of this job's was ever heard.
        alone = row is not None and row.text("told_by") != "queue"
        return None if alone and (self.progress.begun or self.raised or self._spoke) else row

    @property
    def _spoke(self) -> bool:
        """Whether a line of the log is the program's own, not one of Slurm's about it."""
        return any(not _SLURMS.match(r.text("text")) for r in self.table("log_tail") if r.text("text").strip())

    @property
    def state(self) -> str:
        """Slurm's base state in capitals, empty where it is unknown."""
        return self.overview.text("state").upper() if self.overview else ""

    @cached_property
    def ending(self) -> Ending:
        """How the job ended, from accounting, events and the words of slurmstepd and srun."""
        steps = partial(self.table, "job_steps")
        reports = partial(self.table, "train_summary")
        found = read_ending(self.overview, self.table("slurm_messages"), self.table("job_events"), steps, reports)
        return beneath(found, self)

    # -- what the program said ----------------------------------------------------------------------------------------

    @cached_property
    def progress(self) -> Progress:
        """Whether training was under way, how far it came, and whether it said that it finished."""
        return read_progress(
            self.table("train_summary").first,
            self.table("progress_hints").first,
            self.table("phases"),
            self.table("checkpoints", **self._of_last),
        )

    @cached_property
    def raised(self) -> list[Raised]:
        """Every exception, alike ones once, the first in time first."""
        return [read(r) for r in self.table("exceptions")]

    @cached_property
    def fatal(self) -> list[Raised]:
        """Exceptions that can have ended the run: not ignored ones, nor those after which training went on to its end."""
        if self.ending.succeeded:
            return []
        own = [r for r in self.raised if r.row.text("severity") != "warning"]
        own = [r for r in own if not self.survived(r.row) or fell(self, r.row)]
        own = [r for r in own if not self._probe(r) and not self.left_over(r)]
        return [r for r in own if not of_earlier_try(r, self.progress, own, lambda: self.table("log_tail"))]

    def left_over(self, raised: Raised) -> bool:
        """After the run said that it ended, a thread beside the main one raised it, or the program caught it and printed its text."""
        line, end = raised.row.number("line_no"), self.progress.finish
        beside = raised.untyped or _THREAD.search(raised.row.text("entry_frame"))
        if line is None or end is None or self.ending.failed or not beside:
            return False
        return end.text("file") == raised.row.text("file") and (self.progress.finish_line or line) < line

    def _probe(self, raised: Raised) -> bool:
        """A one-line check of the batch script (`python -c`) raised it, and the script went on with its real work.

        A whole program has frames of files; what `multiprocessing` starts with `-c` has frames of its library.
        """
        row = raised.row
        if not _ONE_LINER.fullmatch(raised.row.text("calls").split("\n> ")[0]) or self.ending.failed:
            return False
        after = self.table("log_tail").where(
            lambda r: r.text("file") == row.text("file") and (r.number("line_no") or 0) > (row.number("line_end") or 0)
        )
        return sum(not _SLURMS.match(r.text("text")) for r in after) >= _WENT_ON

    def survived(self, row: RowView) -> bool:
        """Whether the run went on after what this row (with steps_after and line_no) tells.

        Standard error runs ahead of a buffered standard output: reports that follow prove it only where the run finished,
        something later ended it, or no buffer holds so many. What was told of as caught has only to be followed by training.
        """
        after = row.number("steps_after") or 0
        line = row.number("line_no") or 0
        caught = row.text("severity") == "warning" and (after or self.progress.last_hint > line)
        if caught or went_on(row, self.progress):
            return True
        if row.text("severity") != "fatal" and self.progress.last_hint > line and self.ending.says(*OUTSIDE):
            return True
        if self.progress.finished and not self.ending.failed:
            return after > 0 or (line < (self.progress.finish_line or 0) and not echoed(row, self.progress))
        if after < 3:
            return False
        return any(
            (r.row.number("line_no") or 0) > line and (r.row.number("steps_after") or 0) < after and r.role != "wrapper"
            for r in self.raised
            if r.row.text("file") == row.text("file")
        )

    def trained_past(self, row: RowView) -> bool:
        """Whether the run trained on after this row of its log, and came to its end."""
        return not self.ending.failed and trained_past(row, self.progress)

    @cached_property
    def causes(self) -> list[Raised]:
        """Fatal exceptions of the application itself, the likeliest cause first.

        Wrappers, peers' echoes and interrupts are left out. Tracebacks that nobody caught stand before logged ones, and
        where the text gives no times of its own a specific message stands before a vague one.
        """
        own = [r for r in self.fatal if r.role == "application"]
        timed = all(r.row.has("own_ts") for r in own)
        return sorted(own, key=lambda r: (passed_over(r, own), not timed and r.fault.certainty < 0.8))

    @cached_property
    def cut_short(self) -> Raised | None:
        """The traceback of the program that its log ends inside of, where nothing else tells how the run ended."""
        cuts = self.of_role("cut")
        if not cuts or self.ending.succeeded or self.ending.says(*OUTSIDE, "host_oom") or self.host_oom:
            return None
        if any(r.role not in ("cut", "wrapper") for r in self.fatal) or self.device_error is not None:
            return None
        told = ("fatal_signals", "oom_events", "nccl_events", "rendezvous_events", "cuda_errors", "host_oom_words")
        if any(tells_of_end(r) for q in told for r in self.table(q)):
            return None
        last = cuts[-1].row
        went_on = (last.number("steps_after") or 0) >= _WENT_ON or (last.number("lines_after") or 0) > 0
        return None if went_on else cuts[-1]

    def after_steps(self, raised: Raised) -> bool:
        """Whether steps had been trained when this was raised, by progress lines, its frames, or the program's word before it."""
        told = self.said_done(raised.row, raised.name)
        begun = self.progress.begun and not (raised.built and self.progress.by_a_bar)
        if begun or raised.trained or told or self.evaluated(raised) is not None:
            return True
        starts, line = self.table("phases").one_of("name", "running_training"), raised.row.number("line_no") or 0
        same = [r for r in starts if r.text("file") == raised.row.text("file") and (r.number("line_no") or 0) < line]
        return bool(same) and beside_training(raised.row.text("calls"))

    def evaluated(self, raised: Raised) -> RowView | None:
        """How far an evaluation had come when this was raised: that of a program that does nothing else, or one in its middle."""
        return counted_before(self.table("evaluation_progress"), raised.row, raised.of_evaluator)

    def said_done(self, row: RowView, raised: str = "") -> bool:
        """Whether the program said before this that its training was complete; of a tokenizer's, and of a next program's imports, no."""
        line, file = row.number("line_no") or 0, row.text("file")
        return raised not in _LOADING and any(
            r.text("file") == file and 0 < (r.number("line_no") or 0) < line and not _NO_MODEL.search(r.text("message"))
            for r in self.table("phases").one_of("name", "completed", "early_stop")
        )

    @cached_property
    def wrapped_only(self) -> bool:
        """Exceptions were printed, and every one of them is a wrapper or a peer's echo."""
        return bool(self.raised) and all(r.role in ("wrapper", "peer") for r in self.raised)

    def of_role(self, *roles: str) -> list[Raised]:
        """Fatal exceptions of these roles."""
        return [r for r in self.fatal if r.role in roles]

    @cached_property
    def device_error(self) -> RowView | None:
        """A CUDA error of the program's own making that was reported without a Python traceback; None otherwise."""
        if self.ending.succeeded or self.causes or self.of_role("cuda_oom", "ecc"):
            return None
        errors = self.table("cuda_errors")
        rows = errors.where(lambda r: r.text("name") == "cuda_error" and r.text("code") in (*_OWN, "launch_failure"))
        if not rows and not self.progress.finished:  # the log is cut after the kernel's own words
            rows = errors.where(lambda r: r.text("name") == "device_assert")
        return rows[0] if rows else None

    @cached_property
    def hardware_word(self) -> RowView | None:
        """What the driver said through the runtime and no program can cause: an uncorrectable memory error, a lost GPU."""
        rows = self.table("cuda_errors").where(lambda r: r.text("code") in ("ecc_uncorrectable", "gpu_lost", "nvlink"))
        return next((r for r in rows if not before_training(self, r)), None)

    @cached_property
    def open_error(self) -> bool:
        """Whether a CUDA error that a kernel and a broken card give alike was reported, and no kernel's log is there to ask."""
        errors = {r.text("code") for r in self.table("cuda_errors") if r.text("name") == "cuda_error"}
        return bool(errors & _OPEN) and not errors & {*_OWN} and not self.has("gpu_event")

    @cached_property
    def copied_xid(self) -> RowView | None:
        """An XID line in the job's own output beside a CUDA error that could have any cause, and no kernel's log to ask.

        Anything can print such a line, so it proves nothing; but with that error it is not sure either that the program failed
        on its own account.
        """
        if not self.open_error:
            return None
        rows = self.table("other_events").where(
            lambda r: (
                r.text("kind") == "xid" and r.text("name") == "nvrm_line" and r.number("xid") not in APPLICATION_XIDS
            )
        )
        return rows[0] if rows else None

    @cached_property
    def host_oom(self) -> HostOom:
        """What says that host memory, or the job's memory limit, had a process killed."""
        return read_host_oom(self)

    @cached_property
    def failed_children(self) -> list[RowView]:
        """Children that a launcher reports as failed, its summary first."""
        rows = self.table("launcher_failures").where(
            lambda r: r.has("signal") or r.has("exit_code") or r.text("kind") == "launcher_summary"
        )
        return sorted(rows, key=lambda r: 0 if r.text("kind") == "launcher_summary" else 1)
