"""What following a live Slurm costs with 10,000 jobs in its queue: requests per minute, processor time, memory.

The commands are stand-ins that print what scontrol, sacct and sdiag of a real cluster printed, made up to the number of
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

JOB = """\
JobId={job} JobName=train-{job}
   UserId=mira(2001) GroupId=mira(2001) MCS_label=N/A
   Priority={priority} Nice=0 Account=research QOS=normal
   JobState={state} Reason={reason} Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   RunTime={run} TimeLimit=02:00:00 TimeMin=N/A
   SubmitTime={submit} EligibleTime={submit}
   AccrueTime={submit}
   StartTime={start} EndTime={end} Deadline=N/A
   PreemptEligibleTime={start} PreemptTime=None
   SuspendTime=None SecsPreSuspend=0 LastSchedEval={now} Scheduler=Main
   Partition=batch AllocNode:Sid=head:0
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList={nodes}
   BatchHost={nodes}
   NumNodes=1 NumCPUs=8 NumTasks=1 CPUs/Task=8 ReqB:S:C:T=0:0:*:*
   TRES=cpu=8,mem=100M,node=1,billing=8,gres/gpu=4
   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*
   MinCPUsNode=8 MinMemoryNode=100M MinTmpDiskNode=0
   Features=(null) DelayBoot=00:00:00
   OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)
   Command=/home/mira/train.sh
   WorkDir=/home/mira
   StdErr=/home/mira/slurm-{job}.out
   StdIn=/dev/null
   StdOut=/home/mira/slurm-{job}.out
   Power=
   TresPerNode=gres:gpu:4

"""
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
    '*node*) cat "{here}/nodes";; *) cat "{here}/jobs";; esac',
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


def write(here: Path, jobs: int, minute: int, now: datetime) -> None:
    """What the commands print in this minute: those that have ended, those that run, those that wait."""
    share = max(1, jobs // 100)
    ended, running = share * minute, share * (minute + 1)
    submit = (now - timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%S")
    begun = (now - timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%S")
    stamp = now.strftime("%Y-%m-%dT%H:%M:%S")
    known = {"job": "{job}", "priority": 1000 + minute, "now": stamp, "submit": submit, "end": "Unknown"}
    waiting = JOB.format(**known, state="PENDING", reason="Priority", start="Unknown", nodes="", run="00:00:00")
    runs = JOB.format(**known, state="RUNNING", reason="None", start=begun, nodes="gpu007", run="00:01:00")
    with (here / "jobs.new").open("w") as out:
        for job in range(ended, jobs):
            out.write(waiting.format(job=100_000 + job) if job >= running else runs.format(job=100_000 + job))
    (here / "jobs.new").replace(here / "jobs")
    with (here / "ended").open("w") as out:
        out.write("JobID|State|End|Submit|Start|Partition|QOS\n")
        for job in range(max(0, ended - 3 * share), ended):
            out.write(f"{100_000 + job}|COMPLETED|{stamp}|{submit}|{begun}|batch|normal\n")
    (here / "stats").write_text(SDIAG.format(now=int(now.timestamp())))
    (here / "nodes").write_text("".join(NODE.format(n=n) for n in range(400)))


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
        write(here, args.jobs, 0, clock.now())
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
                write(here, args.jobs, minute, clock.now())
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
