"""Scenarios on a real Slurm for the watcher: what is submitted, what happens to it, and which verdicts are right."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bench.watch_lab import TRACE
from evals.recorder.cluster import ENDED, Cluster
from evals.recorder.namespace import ClusterError

TRAINING = """
i=1; loss=40
while [ $i -le {steps} ]; do
  echo "$(date -u +'%Y-%m-%d %H:%M:%S') step $i/{steps} loss $((loss / 10)).$((loss % 10)) lr 0.001"
  i=$((i + 1)); [ $loss -gt 8 ] && loss=$((loss - 1)); sleep {pace}
done
"""


@dataclass(frozen=True)
class Live:
    """A job, what is done to it once it runs, and for each attempt the families (with a mode) that are right."""

    name: str
    body: str
    verdicts: tuple[frozenset[str], ...]
    options: tuple[str, ...] = ()
    drive: Callable[[Cluster, int], None] = field(default=lambda cluster, job: None)
    tasks: int = 0
    record: str = ""
    """Of an array whose tasks never begin: what stands behind its id in the one record that accounting has of them."""
    memory_cgroups: bool = False


def _cancel(user: str | None) -> Callable[[Cluster, int], None]:
    def drive(cluster: Cluster, job: int) -> None:
        time.sleep(2)
        cancel(cluster, job, user)

    return drive


def cancel(cluster: Cluster, job: int, user: str | None) -> None:
    cluster.cancel(job, user=user)


def _give_up(cluster: Cluster, job: int) -> None:
    cluster.cancel(job, user="mira")


def _take_away(cluster: Cluster, job: int) -> None:
    cluster.cancel(job)


def _cancel_step(cluster: Cluster, job: int) -> None:
    step, until = f"{job}.0", time.monotonic() + 60

    def shown() -> bool:
        return step in cluster.run("squeue", "-h", "-s", "-j", str(job), "-o", "%i", check=False).split()

    while not shown() and time.monotonic() < until:
        time.sleep(0.5)  # on a busy host srun makes its step late
    while True:
        try:
            cluster.run("scancel", step, user="mira")
            return
        except ClusterError:
            # One that is shown is not known to every call yet; and one that is killed may be gone at the answer.
            if not shown():
                return
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


def _requeue(cluster: Cluster, job: int) -> None:
    time.sleep(2)
    cluster.scontrol("requeue", str(job))


def _node_down(cluster: Cluster, job: int) -> None:
    cluster.node_down("gpu04", "power supply B failed")


def _preempt(cluster: Cluster, job: int) -> None:
    time.sleep(2)
    script = cluster.home / "wen" / "urgent.sbatch"
    script.write_text("#!/bin/bash\necho urgent\nsleep 3\n")
    options = ("--partition=priority", "--nodelist=gpu03", "--gres=gpu:4", "--mem=100")
    cluster.submit("/home/wen/urgent.sbatch", user="wen", options=options)


def _suspend(cluster: Cluster, job: int) -> None:
    cluster.scontrol("suspend", str(job))
    time.sleep(3)
    cluster.scontrol("resume", str(job))


def _signal(cluster: Cluster, job: int) -> None:
    time.sleep(2)
    cluster.run("scancel", "--batch", "--signal=USR1", str(job))


def _signal_by(user: str, signal: str) -> Callable[[Cluster, int], None]:
    def drive(cluster: Cluster, job: int) -> None:
        time.sleep(2)
        cluster.run("scancel", "--full", f"--signal={signal}", str(job), user=user)

    return drive


def _reboot(cluster: Cluster, job: int) -> None:
    """`scontrol reboot` drains the node at once and reboots it when its last job has ended.

    Whatever was sent there runs by then: a job that still waits would never begin on a drained node.
    """
    del job
    waiting = "while squeue -h -t PD -o %n | grep -q gpu05; do sleep 0.2; done"
    cluster.run("bash", "-c", waiting, timeout_s=120)
    cluster.run("scontrol", "reboot", "ASAP", "reason=new kernel", "gpu05", check=False)


def _crashed(cluster: Cluster, job: int) -> None:
    """The machine of gpu06 falls and comes back: nothing of its processes is left, and slurmd tells of a new boot."""
    time.sleep(2)
    cluster.stop_daemon("slurmd-gpu06", "KILL")
    line = f"kill -9 $(pgrep -f '^slurmstepd: .{job}[.]') $(pgrep -f gpu06/job0*{job}/)"
    cluster.run("bash", "-c", line, check=False)
    cluster.start_daemon("slurmd-gpu06", "-b")


def _families(*codes: str) -> frozenset[str]:
    return frozenset(codes)


NODES = tuple(f"gpu{n:02}" for n in range(1, 8))
BUSY = "gpu03,gpu04,gpu05,gpu06,gpu07"
"""Nodes to which something happens: no other job goes there."""
PROLOG = '#!/bin/sh\n[ "$SLURMD_NODENAME" != gpu07 ] || [ ! -e /mnt/data/refuse ]\n'
LONG = TRAINING.format(steps=6000, pace=0.2)
SHORT = TRAINING.format(steps=40, pace=0.05)
IN_VAIN = ("--dependency=afternotok:{done}", "--kill-on-invalid-dep=yes")
NO_GPU = "--gres=none"
ECHOED = "slurmstepd: error: Detected 1 oom_kill event in StepId=99.0. Some of the step tasks have been OOM Killed."
SAVES = "trap 'kill $!; echo received SIGUSR1, saving; echo saved checkpoint to ckpt/step_40.pt; exit 0' USR1"
STATUSES: tuple[Live, ...] = (
    Live("exit-137", "exit 137", (_families("A2"),), (NO_GPU,)),
    Live("exit-143", "exit 143", (_families("U0"),), (NO_GPU,)),
    Live("exit-9", "exit 9", (_families("U0"),), (NO_GPU,)),
    Live("exit-255", "exit 255", (_families("U0"),), (NO_GPU,)),
    Live("killed-child", "bash -c 'kill -9 $$'; exit $?", (_families("A2"),), (NO_GPU,)),
    Live("killed-step", "srun -n1 bash -c 'kill -9 $$'", (_families("A2"),), (NO_GPU,)),
    Live("echoed", f"echo '{ECHOED}'; exit 1", (_families("U0", "A1"),), (NO_GPU,)),
)
"""Exit statuses from 128 on and their look-alikes: sacct's text tells 137 and 9 alike."""
BESIDE: tuple[Live, ...] = (
    Live("given-up", "true", (_families("F4 user"),), ("--hold", NO_GPU), _give_up),
    Live("taken-away", "true", (_families("F4 operator"),), ("--hold", NO_GPU), _take_away),
    Live(
        "step-cancelled",
        "srun -n1 --mem=50 sleep 300\necho cleaning up",
        (_families("F4 user", "U0"),),
        (NO_GPU,),
        _cancel_step,
    ),
    Live(
        "step-timed-out", "srun -n1 --mem=50 --time=1 sleep 300\necho cleaning up", (_families("F3", "U0"),), (NO_GPU,)
    ),
    Live(
        "saves-ahead",
        f"{SAVES}\n({LONG})&\nwait $!",
        (_families("F3"),),
        ("--time=00:01:00", "--signal=B:USR1@30", NO_GPU),
    ),
    Live(
        "bad-exit",
        "srun -n2 --kill-on-bad-exit=1 sh -c '[ $SLURM_PROCID = 0 ] || exit 3; sleep 60'",
        (_families("U0"),),
        ("--ntasks=2", NO_GPU),
    ),
    Live("no-folder", "true", (_families("A4 launch"),), ("--chdir=/nowhere/run", NO_GPU)),
    Live(
        "one-task",
        "[ $SLURM_ARRAY_TASK_ID != 2 ] || exit 5",
        (_families("U0", "G1 healthy"),),
        ("--array=1-3", NO_GPU),
        tasks=3,
    ),
)
SCENARIOS: tuple[Live, ...] = (
    *STATUSES,
    *BESIDE,
    Live("limit", LONG, (_families("F3"),), ("--time=00:01:00",)),
    Live("requeued", f"if [ ${{SLURM_RESTART_COUNT:-0}} = 0 ]; then {LONG} else {SHORT} fi",
         (_families("F2 requeue"), _families("F2 requeue", "G1 healthy")), (), _requeue),
    Live("preempted", f"if [ ${{SLURM_RESTART_COUNT:-0}} = 0 ]; then {LONG} else {SHORT} fi",
         (_families("F2 preemption"), _families("F2 preemption", "G1 healthy")),
         ("--nodelist=gpu03", "--gres=gpu:4", "--requeue"), _preempt),
    Live("lost", LONG, (_families("F1"),), ("--nodelist=gpu04", "--no-requeue"), _node_down),
    Live("done", SHORT, (_families("G1 healthy"),)),
    Live("crash", TRAINING.format(steps=5, pace=0.05) + TRACE, (_families("A3 data", "A3", "A3 code"),)),
    Live("signal", TRAINING.format(steps=5, pace=0.05) + "kill -SEGV $$", (_families("A2"),)),
    Live("user-cancel", LONG, (_families("F4 user"),), (), _cancel("mira")),
    Live("root-cancel", LONG, (_families("F4 operator"),), (), _cancel(None)),
    Live("operator-cancel", LONG, (_families("F4 operator"),), (), _cancel("olga")),
    Live("step", f"{SHORT}\nsrun -n1 sh -c 'exit 3'\nexit 0", (_families("U0", "A3"),)),
    Live("suspended", TRAINING.format(steps=60, pace=0.1), (_families("G1 healthy"),), (), _suspend),
    Live("told-to-stop", f"trap 'echo told to stop; exit 7' USR1\n({LONG})&\nwait $!",
         (_families("F4 operator"),), (), _signal),
    Live("told-by-its-user", LONG, (_families("F4 user"),), (), _signal_by("mira", "TERM")),
    Live("told-by-an-operator", LONG, (_families("F4 operator"),), (), _signal_by("olga", "USR1")),
    Live("drained", TRAINING.format(steps=150, pace=0.5), (_families("G1 healthy"),), ("--nodelist=gpu05",), _reboot),
    Live("drained-fails", "sleep 72\nexit 1", (_families("U0"),), ("--nodelist=gpu05",)),
    Live("fallen", LONG, (_families("F1"),), ("--nodelist=gpu06", "--no-requeue"), _crashed),
    Live("copy", "echo x > p; sbcast p /nowhere/p || exit 2", (_families("A4 launch"),)),
    Live("output", SHORT, (_families("A4 launch"),), ("--output=/nowhere/%j.out",)),
    Live("never", LONG, (_families("F4 dependency"),), (*IN_VAIN,)),
    Live("never-array", LONG, (_families("F4 dependency"),), (*IN_VAIN, "--array=1,3-4"), record="_[1,3-4]"),
    Live("held-array", LONG, (_families("F4 user"),), ("--hold", "--array=1-199:2%4"), _give_up, record="_[1-199:2%4]"),
    Live("throttled", SHORT, (_families("G1 healthy"),), ("--array=1-3%1",), tasks=3),
    Live("tasks", TRACE, (_families("A1 data", "A1", "A1 code", "A3 data"),), ("--array=1-3",), tasks=3),
    Live("memory", "python3 -c 'x = bytearray(400 << 20); import time; time.sleep(20)'", (_families("A2"),),
         ("--mem=100",), memory_cgroups=True),
)  # fmt: skip


def submit(cluster: Cluster, live: Live, before: Mapping[str, int] | None = None) -> int:
    """Submit it as mira; the job's id. `before` are jobs that an option may name."""
    script = cluster.home / "mira" / f"{live.name}.sbatch"
    script.write_text(f"#!/bin/bash\n{live.body}\n")
    options = live.options if any(o.startswith("--mem") for o in live.options) else (*live.options, "--mem=100")
    options = options if any("gres" in o for o in options) else (*options, "--gres=gpu:1")
    options = options if any("nodelist" in o for o in options) else (*options, f"--exclude={BUSY}")
    options = tuple(o.format(**(before or {})) for o in options)
    return cluster.submit(f"/home/mira/{live.name}.sbatch", options=options)


def at_the_terminal(cluster: Cluster) -> dict[str, tuple[int, frozenset[str]]]:
    """Jobs without a script: srun by itself, and a step inside salloc, both of which fail; and which verdicts are right."""
    found: dict[str, tuple[int, frozenset[str]]] = {}
    common = ("--mem=100", f"--exclude={BUSY}")
    for name, words in (("by-srun", ("srun",)), ("by-salloc", ("salloc", "srun"))):
        first = (words[0], f"--job-name={name}", *common, *words[1:])
        cluster.run(*first, "sh", "-c", "exit 5", user="mira", cwd="/home/mira", check=False, timeout_s=120)
        text = cluster.run("squeue", "-h", "--states=all", f"--name={name}", "-o", "%i")
        found[name] = (int(text.split()[0]), _families("U0", "A1", "A3"))
    return found


def before_the_start(cluster: Cluster) -> dict[tuple[str, int], frozenset[str]]:
    """Jobs whose prolog fails: sent back and held, cancelled where they may not be, and a step at the terminal."""
    found: dict[tuple[str, int], frozenset[str]] = {}
    here = ("--mem=100", "--nodelist=gpu07")
    again = "until scontrol show node gpu07 | grep -q DRAIN; do sleep 0.3; done; "
    again += "until scontrol update nodename=gpu07 state=resume; do sleep 0.3; done"
    (cluster.data / "refuse").touch()
    for options in ((), ("--no-requeue",)):
        job = cluster.submit("/home/mira/crash.sbatch", options=(*here, *options))
        cluster.run("bash", "-c", again)
        found[str(job), 1] = _families("A4 launch")
        if not options:  # it is held, and given up
            _sent_back(cluster, job)
            cluster.cancel(job)
            found[str(job), 2] = _families("F4 operator")
    cluster.run("srun", "--job-name=by-prolog", *here, "true", user="mira", cwd="/home/mira", check=False)
    job = int(cluster.run("squeue", "-h", "--states=all", "--name=by-prolog", "-o", "%i").split()[0])
    (cluster.data / "refuse").unlink()
    return {**found, (str(job), 1): _families("A4 launch")}


def _sent_back(cluster: Cluster, job: int) -> None:
    """Wait until the job waits again: what is cancelled earlier has one attempt, which ended by the cancellation."""
    deadline = time.monotonic() + 60
    while (told := cluster.job(job))["Restarts"] == "0" or told["JobState"] != "PENDING":
        assert time.monotonic() < deadline, f"job {job} was not sent back: {told['JobState']} {told['Reason']}"
        time.sleep(0.3)


def heterogeneous(cluster: Cluster, script: str = "crash.sbatch") -> int:
    """Submit a job of two components whose script fails; its id."""
    words = ("sbatch", "--parsable", "--mem=100", f"--exclude={BUSY}", ":", "--mem=100", f"--exclude={BUSY}")
    return int(cluster.run(*words, script, user="mira", cwd="/home/mira").strip().split(";")[0])


def one_of_two(cluster: Cluster) -> int:
    """Submit a job of two components of which the second fails in the step that spans both; its id."""
    text = "#!/bin/bash\nsrun --het-group=0,1 sh -c '[ $SLURM_PROCID = 0 ] || exit 4; sleep 1'\n"
    (cluster.home / "mira/parts.sbatch").write_text(text)
    return heterogeneous(cluster, "parts.sbatch")


def bad_interpreter(cluster: Cluster) -> int:
    """Submit a script whose first line names a program that is not there; its id."""
    (cluster.home / "mira/interpreter.sbatch").write_text("#!/opt/nowhere/python3\nprint(1)\n")
    return cluster.submit("/home/mira/interpreter.sbatch", options=("--mem=100", f"--exclude={BUSY}"))


def drive(cluster: Cluster, live: Live, job: int) -> None:
    """Do to it what the scenario says, once it runs."""
    if live.tasks == 0 and not live.record and not any("dependency" in o or o == "--hold" for o in live.options):
        cluster.wait_for(job, {"RUNNING", *ENDED})
    live.drive(cluster, job)
