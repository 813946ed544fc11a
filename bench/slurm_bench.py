"""What following a live Slurm costs with 10,000 jobs in its queue: requests per minute, processor time, memory.

The commands are stand-ins that print what squeue, scontrol, sacct and sdiag of a real cluster printed, made up to the number of
jobs; everything behind them is what runs on a cluster. Ten minutes are played: the clock is moved from one look to the next.
Each minute one job in a hundred starts and one in a hundred ends.

usage: python bench/slurm_bench.py [--jobs 10000] [--minutes 10] [--json]
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from collector.slurm.command_line import CommandLine  # noqa: E402
from collector.slurm.follow import follow  # noqa: E402
from collector.slurm.keep import keep  # noqa: E402
from store import Writer  # noqa: E402

CONTROLLER_LIMIT, DATABASE_LIMIT, SHARE_LIMIT = 11.0, 8.5, 0.20
"""Requests a minute to slurmctld and to slurmdbd; processor time over time played."""

REST: dict[str, object] = json.loads(
    '{"admin_comment": "", "array_job_id": 0, "array_task_id": null, "array_max_tasks": 0, '
    '"array_task_string": "", "batch_features": "", "batch_flag": true, "flags": ["JOB_ACCRUE_OVER", '
    '"JOB_WAS_RUNNING", "JOB_MEM_SET"], "burst_buffer": "", "burst_buffer_state": "", "cluster_features": '
    '"", "comment": "", "container": "", "contiguous": false, "core_spec": null, "thread_spec": null, '
    '"cores_per_socket": null, "billable_tres": 1.0, "cpus_per_task": null, "cpu_frequency_minimum": '
    'null, "cpu_frequency_maximum": null, "cpu_frequency_governor": null, "cpus_per_tres": "", '
    '"deadline": 0, "delay_boot": 0, "dependency": "", "derived_exit_code": 0, "excluded_nodes": "", '
    '"exit_code": 0, "features": "", "federation_origin": "", "federation_siblings_active": "", '
    '"federation_siblings_viable": "", "gres_detail": [], "licenses": "", "max_cpus": 0, "max_nodes": 0, '
    '"mcs_label": "", "memory_per_tres": "", "nice": null, "tasks_per_core": null, "tasks_per_node": 0, '
    '"tasks_per_socket": null, "tasks_per_board": 0, "cpus": 1, "node_count": 1, "tasks": 1, '
    '"het_job_id": 0, "het_job_id_set": "", "het_job_offset": 0, "partition": "batch", "prefer": "", '
    '"memory_per_node": 100, "memory_per_cpu": null, "minimum_cpus_per_node": 1, '
    '"minimum_tmp_disk_per_node": 0, "preempt_time": 0, "pre_sus_time": 0, "profile": null, "qos": '
    '"normal", "reboot": false, "required_nodes": "", "requeue": true, "resize_time": 0, "restart_cnt": '
    '0, "resv_name": "", "shared": null, "show_flags": ["SHOW_ALL", "SHOW_DETAIL", "SHOW_LOCAL"], '
    '"sockets_per_board": 0, "sockets_per_node": null, "state_description": "", "standard_input": '
    '"/dev/null", "suspend_time": 0, "system_comment": "", "time_limit": 120, "time_minimum": 0, '
    '"threads_per_core": null, "tres_bind": "", "tres_freq": "", "tres_per_job": "", "tres_per_node": "", '
    '"tres_per_socket": "", "tres_per_task": "", "wckey": ""} '
)
"""What squeue of 22.05 prints of each job besides what is set below."""


def job(number: int, waits: bool, priority: int, submit: int, begun: int, now: int) -> str:
    """A job as `squeue --json` prints it, with its line breaks."""
    own = {
        "job_id": number,
        "name": f"train-{number}",
        "user_name": "mira",
        "account": "research",
        "cluster": "big",
        "job_state": "PENDING" if waits else "RUNNING",
        "state_reason": "Priority" if waits else "None",
        "priority": priority,
        "submit_time": submit,
        "eligible_time": submit,
        "accrue_time": submit,
        "start_time": 0 if waits else begun,
        "end_time": 0,
        "last_sched_evaluation": now,
        "nodes": "" if waits else f"gpu{number % 400:03d}",
        "tres_req_str": "cpu=8,mem=100M,node=1,billing=8,gres/gpu=4",
        "tres_alloc_str": "" if waits else "cpu=8,mem=100M,node=1,billing=8,gres/gpu=4",
        "command": "/home/mira/train.sh",
        "current_working_directory": "/home/mira",
        "standard_output": f"/home/mira/slurm-{number}.out",
    }
    return json.dumps({**REST, **own}, indent=1)


SDIAG = """\
sdiag output at Sat Nov 21 00:14:48 2026 ({now})
Server thread count:  3
Agent queue size:     0
DBD Agent queue size: 0
Remote Procedure Call statistics by message type
\tREQUEST_JOB_INFO                        ( 2003) count:2      ave_time:346    total_time:692
"""
NODE = """\
NodeName=gpu{n:03d} Arch=x86_64 CoresPerSocket=1
   CPUAlloc=0 CPUEfctv=8 CPUTot=8 CPULoad=2.42
   Gres=gpu:4
   OS=Linux RealMemory=16000 AllocMem=0 FreeMem=22128 Sockets=8 Boards=1
   State=IDLE ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   CfgTRES=cpu=8,mem=16000M,billing=8,gres/gpu=4

"""
COMMANDS = {
    "scontrol": 'case "$*" in *--version*) echo slurm 22.05.8;; *config*) echo "ClusterName = big";; '
    '*) cat "{here}/nodes";; esac',
    "squeue": 'cat "{here}/jobs"',
    "sacct": 'case "$*" in *--helpformat*) echo JobID State End Submit Start Partition QOS; exit;; esac; '
    'for a in "$@"; do case "$a" in --delimiter=*) d="${{a#--delimiter=}}";; esac; done; sed "s/|/$d/g" "{here}/ended"',
    "sdiag": 'cat "{here}/stats"',
    "sacctmgr": 'echo "Cluster|NodeName|TimeStart|TimeEnd|State|User|Reason"',
}


class Moved:
    """A clock that is moved ahead between looks; a look takes the time that it takes."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def steady(self) -> float:
        """Seconds, those that were skipped included."""
        return time.monotonic() + self.ahead

    def now(self) -> datetime:
        """The time of day, moved likewise."""
        return datetime.now(UTC) + timedelta(seconds=self.ahead)


def write(here: Path, jobs: int, minute: int, base: datetime) -> None:
    """What the commands print in this minute after `base`: those that have ended, those that run, those that wait."""
    share = max(1, jobs // 100)
    ended, running = share * minute, share * (minute + 1)
    start = int(base.timestamp())
    with (here / "jobs.new").open("w") as out:
        out.write('{"jobs": [')
        for i in range(ended, jobs):
            one = job(100_000 + i, i >= running, 1000 + minute, start - 7200, start + 60 * minute, start + 60 * minute)
            out.write(("," if i > ended else "") + one)
        out.write("]}")
    (here / "jobs.new").replace(here / "jobs")
    with (here / "ended").open("w") as out:
        out.write("JobID|State|End|Submit|Start|Partition|QOS\n")
        for i in range(max(0, ended - 3 * share), ended):
            begun, over = (_stamp(base + timedelta(minutes=i // share + n)) for n in (0, 1))
            out.write(f"{100_000 + i}|COMPLETED|{over}|{_stamp(base - timedelta(hours=2))}|{begun}|batch|normal\n")
    now = base + timedelta(minutes=minute)
    (here / "stats").write_text(SDIAG.format(now=int(now.timestamp())))
    (here / "nodes").write_text("".join(NODE.format(n=n) for n in range(400)))


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S")


def main() -> int:
    """Play, print, and fail above the limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        for name, body in COMMANDS.items():
            (here / name).write_text("#!/bin/sh\n" + body.format(here=here) + "\n")
            (here / name).chmod(0o755)
        clock = Moved()
        access = CommandLine(prefix=("/usr/bin/env", f"PATH={here}:/usr/bin:/bin"))
        sources = follow(access, here / "lake" / "slurm", clock=clock).all
        writer = Writer(here / "lake", durable=False)
        base = clock.now()
        write(here, args.jobs, 0, base)
        for source in sources:  # the first look, which sees everything for the first time
            keep(writer, source)
        first = _spent()
        due = {source.name: clock.steady() + source.interval_s for source in sources}
        before, begun, minute = dict(access.calls.count), clock.steady(), 0
        while clock.steady() - begun < args.minutes * 60:
            source = min(sources, key=lambda s: due[s.name])
            clock.ahead += max(0.0, due[source.name] - clock.steady())
            if int((clock.steady() - begun) // 60) > minute:
                minute = int((clock.steady() - begun) // 60)
                write(here, args.jobs, minute, base)
            keep(writer, source)
            due[source.name] = clock.steady() + source.interval_s
        played = clock.steady() - begun
        per_minute = {
            daemon: sum(n - before.get(k, 0) for k, n in access.calls.count.items() if k[0] == daemon) / played * 60
            for daemon in ("slurmctld", "slurmdbd")
        }
        found = {
            "jobs": args.jobs,
            "controller_requests_per_minute": round(per_minute["slurmctld"] + _nodes_twice(access, before, played), 2),
            "database_requests_per_minute": round(per_minute["slurmdbd"], 2),
            "first_look_cpu_s": round(first, 2),
            "cpu_share": round((_spent() - first) / played, 4),
            "queue_interval_s": round(sources[0].interval_s, 1),
            "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
    print(json.dumps(found) if args.json else "\n".join(f"{k:34} {v}" for k, v in found.items()))
    within = (
        found["controller_requests_per_minute"] <= CONTROLLER_LIMIT
        and found["database_requests_per_minute"] <= DATABASE_LIMIT
        and found["cpu_share"] <= SHARE_LIMIT
    )
    return 0 if within else 1


def _nodes_twice(access: CommandLine, before: dict[tuple[str, str], int], played: float) -> float:
    """`scontrol show node` asks for the partitions as well."""
    key = ("slurmctld", "nodes")
    return (access.calls.count.get(key, 0) - before.get(key, 0)) / played * 60


def _spent() -> float:
    """Processor time of this process and of the commands that ended."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    sys.exit(main())
