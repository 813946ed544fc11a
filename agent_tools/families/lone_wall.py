"""A log in which, beside Slurm's word of the time limit, nothing is the program's own."""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.say import count
from store import lazy

MOST_LINES = 40
"""Lines of a log that are looked at; a longer one of nothing but such lines is not known."""
# SOURCE: torch/distributed/run.py and launch.py, torchelastic's dump of its configuration, Lmod's en.lua, conda's activate.
_AROUND = lazy.compile(
    r"\s*(?:srun|salloc|sbatch|slurmstepd|slurmd)\b|.{0,40}\berror: \*\*\* (?:JOB|STEP) \d"
    r"|.{0,120}\*{20,}\s*$|.{0,120}Setting OMP_NUM_THREADS environment variable for each process|.{0,60}torch[./]distributed[./]run(?:\.py:\d{1,5}\])?\W{0,3}(?:\[?WARNING\]?)?\W*$"
    r"|.{0,160}The module torch\.distributed\.launch is deprecated|\s*(?:and will be removed in future\. Use torchrun|Note that --use[-_]env is set by default"
    r"|If your script expects `--local[-_]rank`|change it to read from `os\.environ|https://pytorch\.org/docs/stable/distributed\.html|further instructions\s*$|warnings\.warn\($)"
    r"|.{0,120}Starting elastic_operator with launch configs|\s*(?:entrypoint|(?:min|max)_nodes|nproc_per_node|run_id|rdzv_\w+|max_restarts|monitor_interval|log_\w+|metrics_cfg|event_log_handler) +:"
    r"|\s*(?:Due to MODULEPATH changes|The following (?:have|modules were) |Lmod is automatically replacing|Loading \S{1,60}/\S{1,60}\s*$|\d{1,3}\) \S+(?: => \S+)?(?:\s+\d{1,3}\) \S+(?: => \S+)?)*\s*$)"
    r"|\s*(?:CommandNotFoundError: Your shell has not been|To initialize your shell, run|\$ conda init|Currently supported shells are|- (?:bash|fish|tcsh|xonsh|zsh|powershell|cmd\.exe)\s*$"
    r"|See 'conda init --help'|IMPORTANT: You may need to close and restart)"
)
"""What Slurm, a launcher before its workers begin, Lmod and conda print around the program."""


def lone_wall(facts: Facts) -> bool:
    """Whether no line of the log is of the program itself; a log of Slurm's word alone is one, too."""
    return few_lines(facts) and all(_AROUND.match(r.text("text")) for r in facts.table("log_tail"))


def few_lines(facts: Facts) -> bool:
    """Whether the log says so little that a program which was never under way would leave no less."""
    return sum(count(r, "lines") for r in facts.table("log_extent")) <= MOST_LINES
