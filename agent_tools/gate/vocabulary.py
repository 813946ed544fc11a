"""The words that the gate takes as said: those that claim nothing by themselves, and those that say a column's name in another way."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


NEUTRAL = word_set(
    """a an the this that these those it its they them their there here who whom whose which what when where while whereas nevertheless nonetheless how and or also although
    though as at by for from in into of on onto to with within via per during then than so such if is are was were be been being has have
    had having do does did can could may might would will shall i we us our you your s about according against among before after between
    beside besides either however i.e. e.g. namely next now once over since still through together until upon very job jobs run runs ran
    attempt attempts rank ranks node nodes host hosts machine gpu gpus card cards device devices user users process processes task tasks
    step steps log logs logged line lines record records recorded recording entry entries event events sample samples row rows table cell
    value values figure figures number count counts counted total reading readings time times moment point date interval start starts
    started starting begin begins began begun end ends ended shows show shown showing says say said reports report reported names name
    named holds lists listed list stands stood states see seen saw found finds find called took takes came comes come went goes go got get
    gets had used uses using belong belongs belonging made reached reach reaches spent spend status state printed prints slurm slurm's
    log's accounting telemetry metric metrics measured measurement verdict verdicts family assessment differential evidence id ids number
    submitted announces announced announce logs spanned marked already rerun stopped part respectively note question asked below
    above respectively overview summary details knows known spite despite
    """
)
"""Words that claim nothing by themselves: grammar, what there is in every cluster, and that something was recorded. What need not be
there (an exception, a signal, a program) and small words that make a story of a verb (up, back, away) are not here: some cell says them."""

MEANS: dict[str, str] = {
    "COMPLETED": "completed finished succeeded success successful successfully done normally cleanly program",
    "FAILED": "badly failed failing failure failures fails",
    "CANCELLED": "cancelled canceled cancellation",
    "TIMEOUT": "badly timeout timed out limit hit",
    "OUT_OF_MEMORY": "badly out memory oom killed",
    "NODE_FAIL": "badly node failed failure lost",
    "PREEMPTED": "preempted preemption evicted eviction",
    "REQUEUED": "requeued requeue",
    "RUNNING": "running runs",
    "PENDING": "pending waiting waits queued queue",
    "DOWN": "down lost",
    "DRAIN": "drained draining",
}
"""What Slurm's states say in other words."""


def means(word: str, state: object) -> bool:
    """Whether a word, in any case, is a state of Slurm's by its own name or by what it says in other words."""
    return word.lower() in f"{state} {MEANS.get(str(state), '')}".lower().split()


ALSO_SAID: dict[str, str] = {
    "saved": "written wrote",
    "saving": "written wrote",
    "resumed": "resumption",
    "preempted": "preemption evicted eviction",
    "requeued": "requeue",
    "train_end": "finished done",
    "kernel-oom": "killer",
    "no_space": "disk full",
    "IDLE": "free",
    "cgroup_peaks": "cgroup peaks memory",
    "SIGTERM": "terminated",
    "SIGSEGV": "segmentation fault segfault",
}
"""What words of the product's own rows are told in besides."""

COLUMN_WORDS: dict[str, str] = {
    "temp": "temperature",
    "power": "power draw drew draws watts",
    "util": "utilisation utilization busy",
    "elapsed": "lasted lasting duration long passed",
    "asked": "told",
    "last_checkpoint_ts": "saved",
    "gpu_hours_after_bad": "wasted",
    "gpu_hours_after_checkpoint": "lost",
    "requested": "asked requested tried allocate",
    "mem": "memory",
    "bytes": "memory size",
    "lr": "learning rate",
    "ts": "at",
    "norm": "norm",
    "grad": "gradient gradients",
    "sender": "sent sender",
    "dbe": "uncorrectable",
    "sbe": "corrected",
    "restarts": "restarted restart",
    "attempt": "retry retried try",
    "list": "allocated held",
    "gpus": "allocated held holds asks asked requested",
    "ooms": "error errors",
    "present": "collected available recorded there",
    "watched": "collected sampled watched",
    "attribution": "attributed",
    "confidence": "confident sure",
    "reached": "reached",
    "step": "reached progress",
    "epoch": "reached covered",
    "submit": "submitted submission",
    "exit": "returned",
    "wait": "queue queued",
    "waited": "queue queued",
    "failed": "failure failures",
    "max": "peak peaked highest most",
    "highest": "peak peaked",
    "rss": "memory",
    "min": "lowest least",
    "user": "owner",
    "completed": "finished",
    "ranks": "held holds",
    "node": "allocated",
    "hours": "cost",
    "minutes": "lasted lasting",
    "lines": "long",
    "frame": "code script call",
    "late": "lately",
    "last_gib": "held",
    "held_job": "back",
    "all_gpus": "cluster",
    "all_free": "cluster",
    "end_message": "program",
    "save_text": "program",
    "done_text": "program",
    "cold": "idle",
    "idle": "idle sat stayed unused",
    "sm": "busy active",
    "engine": "busy active",
    "mean": "mean average averaged averages",
    "avg": "mean average averaged averages",
    "peak": "peaked held",
    "total": "total capacity",
    "launch": "kernel kernels",
    "launches": "kernel kernels",
    "sync": "synchronizing synchronising synchronization waiting",
    "behind": "fell",
    "peers": "busy active",
    "fallen": "fell dropped decreased",
    "bad": "turned became infinite nan",
    "signal": "terminated",
    "state_reason": "reason",
    "seq": "collective collectives",
    "free": "left",
    "after": "followed follows",
    "memory": "asks asked requested",
    "reason": "gives gave given noted stated entered",
}
"""What parts of columns' names say in other words."""

UNITS: dict[str, str] = {
    "s": "seconds second",
    "min": "minutes minute",
    "h": "hours hour",
    "d": "days day",
    "C": "degrees celsius",
    "W": "watts watt",
    "B": "bytes byte",
    "ratio": "percent share fraction",
    "%": "percent share",
}

GRAMMAR = word_set(
    """a an the of in on at to by for from with and or is was are were be as it its that this which what who where when how many much not no yes
    than then per one each all any another other others over up out s job run runs jobs had has"""
)
"""Words of columns' descriptions that name nothing."""
FAILED = "failed failure fails"
"""What a family that ends a job says besides."""
RAISED = "exception raised raises threw thrown error program"
"""What the name of an exception says besides."""
EARLIER = "earlier previous prior"
"""What a description that has "before the last" is said in."""
DENYING = word_set("no not never none nobody nothing neither nor without cannot hardly barely")
ALIKE, UNLIKE = (
    word_set("same identical equal equally too"),
    word_set("different differ differs differed another other"),
)
SEVERAL = word_set("both each")
COMPARING = word_set(
    """more greater larger bigger higher longer later hotter warmer exceeds exceed exceeded exceeding beyond rose rise rises rising risen grew
    grows growing grown increased increases increase increasing climbed jumped less fewer smaller lower shorter earlier cooler colder
    fell fall falls falling fallen dropped drop drops decreased decreases decrease decreasing declined sank shrank slower
    faster quicker worse down up"""
)


SUPERLATIVE = word_set(
    "most highest largest biggest greatest longest latest hottest least lowest smallest fewest shortest earliest coldest coolest slowest worst "
    "fastest quickest best furthest first last maximum minimum newest oldest final"
)
ORDERING = word_set("before after above below over under")
