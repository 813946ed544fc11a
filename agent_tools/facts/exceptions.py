"""What an exception in a log is: a cause, a wrapper around one, a peer's echo, an interrupt, an out-of-memory.

A launcher's wrapper explains nothing, and a surviving rank's network error is the echo of another rank's end: neither may
be named as the cause while anything else can be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from agent_tools.facts.evaluating import came_after_steps, evaluates, evaluator
from agent_tools.facts.faults import Fault, classify
from agent_tools.facts.layers import Origin, origin_of
from agent_tools.facts.targets import missed_target
from agent_tools.facts.views import RowView
from store import lazy
from store.gpu_memory_words import refused

Role = Literal[
    "application", "wrapper", "cut", "peer", "interrupt", "cuda_oom", "rendezvous", "collective", "ecc", "worker_killed"
]

_WRAPPERS = lazy.compile(
    r"^(ChildFailedError|CalledProcessError|RayTaskError|RayActorError|ActorDiedError|ActorUnavailableError|"
    r"WorkerCrashedError|LocalRayletDiedError|OwnerDiedError|NodeDiedError|ProcessRaisedException|ProcessExitedException|SystemExit|TrainingFailedError|"
    r"TuneError|EngineDeadError|EngineGenerateError|BrokenProcessPool|CancelledError|RemoteTraceback|_RemoteTraceback|WorkerGroupError|"
    r"ControllerError|JobSubmissionError|SimpleElasticError|ElasticChildFailedError|HorovodInternalError|"
    r"Empty|UncompletedJobError|MultiprocessingException|ProcessLookupError|AsyncEngineDeadError|Exit|click\.exceptions\.Exit)(\(.*\))?$"
)
_WRAPPER_TEXT = lazy.compile(
    r"\b(?:sbatch|salloc): (?:error|fatal): |Batch job submission failed|Engine core initialization failed|See root cause above|WorkerProc initialization failed|returned non-zero exit status|"
    r"^process \d+ terminated with (exit code|signal)|A worker died or was killed|Engine process failed to start|"
    r"EngineCore encountered an issue|worker process .{0,40}died unexpectedly|Training failed\. See|"
    r"one or more processes (?:has )?exited with non-zero status|mpirun failed with exit status|Horovod job .{0,40}failed|"
    r"Background loop (is|has) (stopped|errored)|Failed to start all workers|executing method '?\w+'?\. This might cause deadlock",
    re.IGNORECASE,
)
# What a program calls for a purpose of its own, and in which no training runs.
_TOOL = lazy.compile(
    r"CalledProcessError: Command '?\[?['\"]?[\w./+-]*\b(gcc|g\+\+|cc|c\+\+|nvcc|hipcc|ninja|cmake|ldconfig|make|git|nvidia-smi|rocm-smi|"
    r"which|tar|unzip|wget|curl|rsync|aws|gsutil|azcopy|ffmpeg|ffprobe|scontrol|sinfo|lscpu)\b(?!\.py)"
)
_REFUSED = lazy.compile(
    r"failed to allocate|\bOOM\b|out of memory", re.IGNORECASE
)  # TensorFlow's word for a full disk too
_ON_HOST = lazy.compile(r"device:CPU:\d|by allocator \w*cpu")
_ECC = lazy.compile(
    # The runtime's own answer; a copy of a kernel's line is hearsay, and elliptic curves and tables have such errors too.
    r"^(?!.*\bXid\b)(?:.*uncorrectable (?:ECC|NVLink)|.*cudaErrorECCUncorrectable|"
    r".*\b(?:CUDA|GPU|HBM)\b.{0,80}(?:ECC error|row.?remap))",
    re.IGNORECASE | re.MULTILINE,
)
_KILLED_WORKER = lazy.compile(
    r"DataLoader (?:worker|process) \(pid\(?s?\)? *[\d, ]+\) (?:exited )?(is killed by signal|exited unexpectedly)|subprocesses has abruptly died|"
    r"background workers? (?:are|is) no longer alive|"
    r"process pool was terminated abruptly|worker.{0,40}killed by signal|killed due to memory pressure|"
    r"killed due to the node running low on memory|TerminatedWorkerError",
    re.IGNORECASE,
)
_RENDEZVOUS = lazy.compile(
    r"client socket has (timed out|failed to connect)|Failed to connect to GCS\b|server socket has failed|waiting for clients|clients joined|"
    r"Timed out waiting for (?:tasks|processes|hosts|workers) to (?:start|register|connect)|"
    r"Stop_waiting response is expected|EI00(?:06|09|15|19|20)\)?: |EJ000[1-4]\)?: |Getting socket times out|"
    r"connectFullMesh failed|nccl(?:Comm)?InitRank\w* failed|retrieving ncclUniqueId|store->get\('\d+'\)|Timed out initializing process group|"
    r"TCP ?[Ss]tore.{0,30} time(?:d ?)?out|store.based.barrier|Rendezvous\w*(Error|Timeout)|RendezvousClosedError|the connection to the C10d store has failed|"
    r"Connection to the (C10d|etcd) store|wait timeout after \d+ms, keys|jax\.distributed|coordination service|PjRT_Client_Connect|GetKeyValue\(\) timed out|Barrier timed out|tasks? out of \d+ have not joined|"
    r"rendezvous (timed out|failed|timeout)|Unable to (connect|resolve).{0,60}(master|rendezvous|coordinator)|"
    r"connect\(\) .{0,40}timed out.{0,60}tcp_store|MASTER_ADDR.{0,60}(resolve|unreachable)|"
    r"Gloo.{0,60}(connect|rendezvous).{0,60}(fail|time)|timed out.{0,60}rendezvous|Failed to get ncclUniqueId",
    re.IGNORECASE,
)
_RENDEZVOUS_NAMES = lazy.compile(r"^(Rendezvous\w*Error|DistNetworkError|DistStoreError)$")
_RENDEZVOUS_FRAMES = lazy.compile(
    r"rendezvous|tcp_?store|init_process_group|_create_c10d_store|init_distributed|jax/_src/distributed|"
    r"_new_process_group_helper|in new_group|_set_sequence_number_for_group",
    re.I,
)
# The first collective of a process group: DDP compares the parameters of all ranks while it is being built.
_FIRST_COLLECTIVE = lazy.compile(
    r"_verify_param|_sync_(?:module_states|params_and_buffers)|nn/parallel/distributed\.py:\d+ in __init__"
)
_NCCL = lazy.compile(r"NCCL error|ncclUnhandledCudaError|ncclSystemError|ncclRemoteError|ncclInternalError")
_CARRIED = lazy.compile(r"Caught \S+ in (?:DataLoader worker process|pin memory thread|replica)")
_SAVE = lazy.compile(
    r"torch/serialization\.py(?::\d+)? in (?:_?(?:legacy_)?(?:save|write)\w*|_open_zipfile_writer)"
    r"|\bin _?save_(?:checkpoint|zero_checkpoint|model|state|pretrained|weights)\b|\bin write_record\b"
    # The call that saves is what failed, before anything of it ran: the line of the program that Python quotes.
    r"|\n> (?:[^\n]{0,80}[\s.=(])?_?save_(?:checkpoint|model|state|weights)\w{0,30}\("
)
# safetensors' words for a file that it could not write; for one that it could not read it says "deserializing".
# Torch7 counts what it could write of its file.
_WRITING = lazy.compile(r"^Error while serializing|\bwrite error: wrote \d+ \w+ instead of \d+")
_SOCKET = lazy.compile(
    r"timed? ?out|refused|address already in use|EADDRINUSE|Name or service not known|name resolution|"
    r"No route to host|unreachable|reset by peer|nodename nor servname|errno: (98|111|110|113|101|-2|-3)",
    re.IGNORECASE,
)
_COLLECTIVE = lazy.compile(
    r"EI0002\)?: |\bhccl \w+ task timeout|Termination timeout for .{0,200} exceeded|Notify register times out|collective operation timeout|Watchdog caught|NCCL operations have failed or timed out|"
    r"(Timed out|timeout) waiting .{0,30}(send|recv|operation|collective)|monitoredBarrier|"
    r"failed to pass monitoredBarrier|process group watchdog thread terminated|heartbeat monitor|watchdog.{0,20}(stuck|hang)",
    re.IGNORECASE,
)
# The store was asked for what another rank had to put there, and the limit passed: nobody closed a connection.
_STORE_WAIT = lazy.compile(r"(?:socket|wait) timeout\.?", re.IGNORECASE)
_DISTRIBUTED = lazy.compile(
    r"torch/distributed/(?:distributed_c10d|c10d_logger)|\bin (?:all_|reduce|broadcast|barrier|gather|scatter)"
)
_PEER = lazy.compile(
    r"Connection (reset|closed) by (remote )?peer|communicator was aborted|Broken pipe|remote process exited|"
    r"ncclRemoteError|NCCL Error \d|NCCL error|recvValue failed|failed to recv, got 0 bytes|Socket Timeout|"
    r"NCCL communicator|Process group .{0,60}(aborted|terminated)|sendBytes failed|peer closed|got aborted|"
    r"ncclCommAbort|Collective ops is aborted by|Horovod has been shut down|Software caused connection abort|unhandled (system|cuda) error.{0,200}NCCL",
    re.IGNORECASE,
)
# NCCL passes on what CUDA said to this rank of its own set-up: no other rank has to do with it.
_OWN_SETUP = lazy.compile(
    r"Cuda failure (?:\d+ )?'(?:CUDA driver version is insufficient|no kernel image|unsupported display driver|system (?:not yet|has unsupported)|"
    r"all CUDA-capable devices are busy|invalid device ordinal|no CUDA-capable device|forward compatibility)"
)
# The call itself was wrong, by the words of ncclGetErrorString. SOURCE: torch has the result's name before them, Paddle and vLLM
# have them alone: `NCCL error(5), invalid usage`, `NCCL error: invalid usage (run with NCCL_DEBUG=WARN for details)`.
_MISUSED = lazy.compile(
    r"ncclInvalidUsage|Duplicate GPU|Mismatched NCCL version|NCCL error[^\n]{0,20}\binvalid usage\b", re.I
)
_PEER_NAMES = lazy.compile(
    r"^(DistBackendError|DistError|ConnectionResetError|BrokenPipeError|ConnectionAbortedError)$"
)
_OF_THE_WEB = lazy.compile(r"(?:requests|urllib3|httpx|httpcore|aiohttp|botocore|openai)\.")
"""Clients of web services: what they lose is no rank."""
_LAUNCHER_FRAMES = lazy.compile(
    r"torch/distributed/(elastic|launcher|run)|accelerate/commands|deepspeed/launcher|bin/torchrun"
)
_LOOP = lazy.compile(
    r"\bin (forward|backward|training_step|train_step|train_epoch|train_one_epoch|train_batch|compute_loss|step|fit|"
    r"_?inner_training_loop|run_training_batch|optimizer_step|update_\w+|training_loop|_train\w*|calculate_loss|loss_fn?)\b"
)
# TensorFlow names the function of the graph that failed: Keras runs each batch of a fit in this one.
_TRAIN_OP = lazy.compile(
    r"\[Op:__(?:inference|forward)_(?:train|multi_step_on_iterator|one_step_on_iterator)\w*?(?:function)?_\d+\]"
)
_INTERRUPTS = lazy.compile(
    r"^(KeyboardInterrupt|SignalException|_SignalInterruption|SIGTERMException|Terminated|GracefulExit)$"
)
# A module of C++ that Python interrupted hands the interrupt on in a type of its own (pybind11).
_INTERRUPTED = lazy.compile(r"KeyboardInterrupt(?:: |:?\s*$)")


def is_wrapper(name: str, message: str) -> bool:
    """Whether an exception merely reports that something else failed."""
    return _WRAPPERS.match(name.rsplit(".", 1)[-1]) is not None or _WRAPPER_TEXT.search(message) is not None


_FORMING = lazy.compile(r"\binit_process_group\b|_store_based_barrier|\binit_distributed\b")


_BESIDE_WORKERS = lazy.compile(r"\bin num_nodes_waiting$", re.MULTILINE)


def beside_workers(calls: str) -> bool:
    """Whether torchrun's agent was watching its workers: it asks that of the store only once they have met and run."""
    return _BESIDE_WORKERS.search(calls) is not None


def _allocator_said(name: str, short: str, message: str) -> bool:
    """TensorFlow's allocator gave nothing, which it tells under several names; on the CPU it is the host's."""
    own = short == "ResourceExhaustedError" or (
        name.startswith("tensorflow.") and short in ("InternalError", "UnknownError")
    )
    return own and _REFUSED.search(message) is not None and _ON_HOST.search(message) is None


def role_of(name: str, message: str, frames: str) -> Role:
    """What this exception is."""
    short = name.rsplit(".", 1)[-1]
    text = f"{short}: {message}"
    if name == "Traceback":
        return "wrapper" if _LAUNCHER_FRAMES.search(frames) else "cut"
    if _INTERRUPTS.match(short) or _INTERRUPTED.match(message):
        return "interrupt"
    if _KILLED_WORKER.search(text) or (
        short == "RuntimeError"
        and message.startswith("DataLoader worker")
        and "data/_utils/signal_handling.py" in frames
    ):
        return "worker_killed"
    if (refused(text) or _allocator_said(name, short, message)) and not name.startswith(
        ("RayTaskError", "ray.exceptions.RayTaskError", "java.")
    ):
        return "cuda_oom"
    if is_wrapper(name, message) and not _TOOL.search(text):
        return "wrapper"
    if _ECC.search(text):
        return "ecc"
    if _OWN_SETUP.search(message):
        return "application"
    if (
        (short == "RuntimeError" and message.strip() == "Address already in use")
        or _RENDEZVOUS.search(message)
        or _RENDEZVOUS_NAMES.match(short)
        or (_RENDEZVOUS_FRAMES.search(frames) and _SOCKET.search(text))
        or (_FIRST_COLLECTIVE.search(frames) and _NCCL.search(message))
    ):
        return "rendezvous"
    if _COLLECTIVE.search(message) or (_STORE_WAIT.fullmatch(message.strip()) and _DISTRIBUTED.search(frames)):
        return "collective"
    if _MISUSED.search(message):
        return "application"
    if _PEER_NAMES.match(short) or (_PEER.search(message) and not _OF_THE_WEB.match(name)):
        return "peer"
    return "application"


_WORDY = frozenset(
    {"Exception", "RuntimeError", "ValueError", "TypeError", "KeyError", "AttributeError", "OSError", "ImportError"}
)


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception of the log. `name` and `message` are those of the root of its chain where the outer one wraps it."""

    row: RowView
    role: Role
    name: str
    message: str
    from_cause: bool
    fault: Fault

    @property
    def textless(self) -> bool:
        """Its text is not in the log, though a class like this is hardly raised without one."""
        return not self.message.strip() and self.name.rpartition(".")[2] in _WORDY

    @property
    def untyped(self) -> bool:
        """Only its text was printed, as the last of the log: by a program that caught it, and may have ended of it or not."""
        return self.row.text("parser") == "untyped"

    @property
    def calls(self) -> str:
        """Its frames, one a line, the outermost first: those of the root where that is meant."""
        return (self.row.text("cause_calls") if self.from_cause else "") or self.row.text("calls")

    @property
    def origin(self) -> Origin:
        """Which layer of the software it came out of."""
        return origin_of(self.calls)

    @property
    def in_loop(self) -> bool:
        """A frame stands in a training step: a forward or backward pass, an optimizer's step, a fit."""
        frames = f"{self.row.text('frame')}\n{self.row.text('user_frame')}\n{self.row.text('entry_frame')}"
        return _LOOP.search(frames) is not None or _TRAIN_OP.search(self.message) is not None

    @property
    def built(self) -> bool:
        """Hydra could not build an object that the configuration names, which is done before the work begins."""
        return self.name.rpartition(".")[2] == "InstantiationException"

    @property
    def saving(self) -> bool:
        """It was raised while a checkpoint was being written: something had been trained."""
        frames = f"{self.row.text('frame')}\n{self.row.text('user_frame')}\n{self.calls}"
        return _SAVE.search(frames) is not None or _WRITING.search(self.message) is not None

    @property
    def trained(self) -> bool:
        """Its frames show that something had been trained: a checkpoint was being written, or a step or an epoch was done."""
        stacks = (self.row.text("calls"), self.row.text("cause_calls"), self.row.text("frame"))
        return self.saving or any(came_after_steps(s) for s in stacks)

    @property
    def evaluating(self) -> bool:
        """It came out of an evaluation, before which nothing says that anything was trained."""
        return evaluates(self.row.text("calls"), self.row.text("entry_frame").partition(":")[0])

    @property
    def of_evaluator(self) -> bool:
        """Whether the program that raised it goes by the name of an evaluation, a test or an inference."""
        return evaluator(self.row.text("entry_frame").partition(":")[0])

    @property
    def missed(self) -> bool:
        """A bound that the run checks itself was not met: a benchmark's, of its speed or its quality."""
        return missed_target(self.name, self.message)

    @property
    def headless(self) -> bool:
        """The log begins inside this traceback, or with its last line: what came before is not known."""
        entry = self.row.text("entry_frame")
        if self.name in _UNPARSED and entry and " in " not in entry:
            return False  # of the script that it is given Python prints the place alone: nothing of it has run
        return (self.row.number("line_no") or 0) <= 2 and "<module>" not in entry

    @property
    def cut_in(self) -> str:
        """Where a log ends that is cut: "inside its traceback, in FRAME", with a reference where a frame is there."""
        frame = next((c for c in ("user_frame", "frame") if self.row.has(c)), None)
        if frame:
            return f"inside its traceback, in {self.row[frame]}"
        return "before its traceback" if self.row.text("parser") == "heralded" else "at the head of its traceback"

    @property
    def forming(self) -> bool:
        """Whether it came out of the call by which the ranks form their group."""
        return _FORMING.search(self.calls) is not None

    @property
    def name_ref(self) -> str:
        """Reference to the type."""
        return self.row["cause_name" if self.from_cause else "name"].ref

    @property
    def message_ref(self) -> str:
        """Reference to the text."""
        return self.row["cause_message" if self.from_cause else "message"].ref

    @property
    def where_ref(self) -> str:
        """References to the file and line."""
        return f"{self.row['file'].ref} line {self.row['line_no'].ref}"


_UNPARSED = frozenset({"SyntaxError", "IndentationError", "TabError"})


def read(row: RowView) -> Raised:
    """Judge one row of `exceptions`: the outer exception, or the root of its chain where the outer one tells less."""
    frames = "\n".join(filter(None, (row.text("frame"), row.text("user_frame"), row.text("entry_frame"))))
    name, message = row.text("name"), row.text("message")
    role = role_of(name, message, frames)
    if role == "peer" and origin_of(row.text("calls")).layer == "tracker":
        role = "application"  # its pipe leads to the tracking service, not to another rank
    if role == "rendezvous" and beside_workers(row.text("calls")):
        role = "peer"  # the node that keeps the store has ended; why, its own output tells
    cause_name, cause_message = row.text("cause_name"), row.text("cause_message")
    calls = row.text("calls") or frames
    again = cause_name == name and cause_message in message  # raised anew with more words: the first place tells more
    fault = classify(name, cause_message if again else message, (again and row.text("cause_calls")) or calls)
    if cause_name and (cause_name, cause_message) != (name, message):
        cause_role = role_of(cause_name, cause_message, frames)
        cause_fault = classify(cause_name, cause_message, row.text("cause_calls") or calls)
        tells_more = role == "wrapper" or (role == "peer" and cause_role not in ("wrapper", "peer"))
        if role == "application" and cause_role == "application" and cause_fault.certainty > fault.certainty + 0.05:
            tells_more = True
        if role == "application" and cause_role in ("cuda_oom", "ecc"):
            tells_more = True
        if _CARRIED.match(message) and role == cause_role == "application":
            # The line that carries an exception from a worker tells where it came up, and the exception itself what.
            return Raised(
                row, role, cause_name, cause_message, True, max(fault, cause_fault, key=lambda f: f.certainty)
            )
        if role == "application" and name == "Exception" and not message.strip():
            # torch.multiprocessing's spawn, before it had an exception of its own.
            tells_more = True
        if tells_more:
            return Raised(row, cause_role, cause_name, cause_message, True, cause_fault)
    return Raised(row, role, name, message, False, fault)
