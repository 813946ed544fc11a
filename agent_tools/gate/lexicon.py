"""The words of an advice that only looks, and of a question that takes nothing for granted: the vocabulary of `looking`.

A word that is not here is refused, so a gap costs a sentence and lets no lie through. What belongs here names what every job has or
may have, without saying that anything went wrong, was changed or was done by somebody.
"""

from __future__ import annotations

from agent_tools.gate.vocabulary import word_set
from agent_tools.gate.words import stems

LOOKS = (
    "check", "look (?:at|into|for|in|up|through|over)", "inspect", "read", "compare", "verify", "confirm", "see", "query", "grep", "search",
    "find(?: out)?", "review", "examine", "investigate", "profile", "measure", "monitor", "watch", "record", "log", "collect", "capture",
    "trace", "plot", "list", "open (?=(?:the |its )?(?:job|log|verdict|file|trace)s?)", "re-?import", "import",
)  # fmt: skip
"""Verbs that change nothing of a job, of a node or of what was kept."""
LOOKS_TOO = word_set(
    """check look inspect read compare verify confirm see query grep search find review examine investigate profile measure monitor watch record
    log collect capture trace plot list open import run ask then at into"""
)
"""The same within an advice: `look at the log, then compare it`."""
GLUE = word_set(
    """a an of in on at to for from with within by before after around about during between among near under over via per against across
    and or than as each every any all some other others another more less fewer first next too there itself themselves
    here how then whether while alone together beyond it them"""
)
"""Grammar. There is no word here for a reason, a purpose, or for which one is meant: no because, since, so, which, that, who."""
DEFINITE = word_set("the this that these those its their his her your our both")
"""What takes a thing to be there."""
DOES = word_set(
    """is are was were be been being has have had do does did can could may might must should will would need needs needed use used uses
    using hold holds held keep keeps kept get gets got take takes took taken run runs ran start starts started begin begins began end ends
    ended read reads write writes wrote written save saves saved load loads loaded copy copied copies share shared shares grow grew grown
    rise rose risen fall fell filled fills stay stays stayed follow follows reach reached reaches ask asked asks send sent come came match
    matches exist exists differ differs differed change changed happen happened cause caused causes reason not explain explains play played belong
    apply applies fit fits many much few work works worked move moves it they anything something anyone somebody anybody ever more less also only
    enough no nothing either still able worth made make out up set allocated requested bound limited went go goes gone test tests tested"""
) - {"still"}
"""Verbs of a question, which is not answered by them; none that says that something was so before, or goes on."""
HAS = word_set(
    "is are was were have has had do does did use uses used hold holds held need needs needed get gets take takes fit fits read reads load loads start starts it they"
)
"""Verbs of `how much`, which takes what it asks of for granted."""
ALWAYS = word_set(
    "h100 a100 held-out memory.current slurm slurm's nccl cuda numa nvlink pcie ecc sm hbm dram cpu ram gpu infiniband ib rdma cgroup python pytorch torch torchrun sacct squeue scontrol sacctmgr sdiag slurmctld slurmd slurmstepd slurmdbd dmesg journalctl nvidia-smi dcgmi dcgm py-spy nsys nsight systems inquest lustre nfs mfu maxrss rss shm /dev/shm sql diag"
)
THINGS = word_set(
    """job run attempt rank node host machine gpu card device user process task step log line record entry event sample row table cell value
    figure number count total average reading time moment point date interval start end name list state status accounting telemetry metric
    measurement verdict assessment differential evidence family playbook summary overview detail note question answer part side
    memory vram loss gradient norm learning rate batch size scale script code config configuration command argument option flag setting
    checkpoint data dataset input output loader dataloader worker prefetch model optimizer training trainer program application file path folder directory
    queue partition account owner administrator admin operator team colleague support vendor limit walltime deadline plan quota priority
    network fabric driver container image environment variable version library package firmware runtime traffic temperature power clock
    kernel collective communicator launch utilization utilisation throughput bandwidth latency speed pace duration hour minute day week month second
    disk storage filesystem mount cluster scheduler controller rack switch link port counter message stack trace sequence length precision
    shard parallelism tensor pipeline stage epoch iteration evaluation validation test split sm engine activity usage use load swap pressure placement
    width generation topology affinity core thread socket system hardware component serial history growth distribution balance share shares difference
    comparison curve profile profiler flight watchdog daemon service session request submission
    exit code sender order place position address field column spread range maximum minimum peak median
    mean recent earlier previous prior later last latest newest current next same different own main
    resident local remote available whole full actual relevant named planned expected single individual real physical
    shared free per-rank held used usual typical normal held-out quality result metric reader tokenizer space content contents
    transport transfer interconnect cable fan cooling budget cost energy consumption work workload amount demand requirement intention
    lines around again ahead half only also further exact cache buffer allocation allocator tracker dashboard panel graph report answerer
    person people someone whoever group lab project reservation allocation cpu-hours gpu-hours
    wait save resume resuming rerun rerunning resubmitting submit deeper closely carefully separately directly manually locally beforehand steadily gradually suddenly
    kind type form way scope level degree"""
) - word_set("again half same full")  # fmt: skip
"""What every job has or may have, and what is asked about it."""
BEFORE, SEVERAL = (
    word_set("previous prior earlier same"),
    word_set(
        "run attempt job step epoch checkpoint save log line entry message sample value hour day week node host gpu rank user script partition"
    ),
)
"""Of what there are several, one came before another or is the same; of an image, a driver or a reason there need not be another."""
VERBS_TOO = word_set(
    "limit end start run use load process copy share step scale queue order time place cost save set rerun submit resume cap free list input power switch mount host rank note plan change"
)
"""Names that are also what one does: at the head of a part of an advice they would be done."""
TROUBLES = word_set(
    """leak crash hang deadlock throttling error failure fault xid exception traceback warning kill oom spike divergence drop retransmit flap
    stall straggler slowness congestion contention bottleneck exhaustion shortage overflow corruption damage defect mismatch preemption requeue
    restart reboot reset interrupt timeout abort panic segfault nan imbalance skew fragmentation swapping problem issue anomaly outage sign dump backtrace recorder snapshot cause reason origin"""
)
"""What may be looked for, and may not be taken to be there."""
FATES = stems(
    """hung leak crash deadlock overheat spike flap throttle throttled failed fail killed diverged dropped stalled slow starved contended exhausted full corrupt mismatched incompatible
    preempted requeued evicted cancelled rebooted down drained draining unreachable aborted infinite lagged lag swapped oversubscribed
    completed finished idle busy waited waiting spinning lost missing died stopped early late big small good bad healthy faulty broken intact complete
    valid truncated generalise generalize better worse faster slower higher lower high low large long short similar affected launched behind blocked limited finite resumed appeared"""
)
"""What may be asked of something, and may not be taken to be so."""
