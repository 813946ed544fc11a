"""How each query of a job is asked: by its nodes or by itself, of one attempt, of the last run, or of all."""

from __future__ import annotations

BY_NODE = frozenset(
    {
        "coverage_nodes",
        "cpu_shares",
        "disk_space",
        "gpu_cold_nodes",
        "gpu_counter_rises",
        "gpu_duty",
        "gpu_events",
        "gpu_low_clocks",
        "gpu_spin",
        "gpu_spread",
        "gpu_summary",
        "gpu_throttle_reasons",
        "gpu_throttled",
        "gpu_unused",
        "host_events",
        "host_load",
        "host_memory",
        "link_events",
        "link_health",
        "node_states",
        "oom_holders",
        "storage_stalls",
    }
)
"""Queries about nodes, which are told the nodes and the time of a job."""
PER_GPU = frozenset({"gpu_counter_rises", "gpu_duty", "gpu_summary"})
"""Queries that answer with a row for each GPU."""
ALL_GPUS = 20_000
"""Rows that are taken of an answer with a row for each GPU: the one that is ill may stand anywhere in it."""
BY_GPU = PER_GPU | {
    "gpu_cold_nodes",
    "gpu_events",
    "gpu_low_clocks",
    "gpu_spin",
    "gpu_spread",
    "gpu_throttle_reasons",
    "gpu_throttled",
    "gpu_unused",
}
"""Queries that can be limited to the GPUs of a job."""
NO_JOB = frozenset({"node_states", "nodes_in_trouble"})
"""Queries that know no job."""
WHOLE_JOB = frozenset({"coverage", "job_attempts", "log_attempts", "log_runs", "lone_nodes", "nodes_in_trouble"})
"""Queries about all attempts of a job, whichever is looked at."""
OF_THE_END = frozenset(
    {
        "closing_words",
        "command_failures",
        "cuda_errors",
        "end_words",
        "evaluation_progress",
        "exceptions",
        "fatal_signals",
        "host_oom_words",
        "launcher_failures",
        "log_events",
        "log_tail",
        "nccl_events",
        "oom_events",
        "other_events",
        "phases",
        "plain_errors",
        "progress_hints",
        "rendezvous_events",
        "run_ending",
        "short_run",
        "signals",
        "slurm_messages",
        "train_summary",
    }
)
"""Queries about how a run ended. What spans runs (requeues, checkpoints, the loss over a resumption) is asked of all."""
