"""The ways in without a Slurm: commands that fail say what would mend them, and recordings replay."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collector.slurm.command_line import CommandLine
from collector.slurm.log_file import controllers_log
from collector.slurm.replay import Replay
from collector.sources.base import SourceUnavailable
from store.rows import SlurmJob, SlurmStep
from tests.collector.slurm.test_rest import ACCOUNTED, NODE, STATISTICS, WAITING

SAMPLES = Path(__file__).parents[1] / "importers/samples"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def commands(folder: Path, **scripts: str) -> CommandLine:
    """A command line whose commands are these shell scripts."""
    for name, body in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    return CommandLine(prefix=("env", f"PATH={folder}:/usr/bin:/bin"))


@pytest.mark.parametrize(
    ("printed", "remedy"),
    [
        ("sacct: error: Problem talking to the database: Connection refused", "systemctl restart slurmdbd"),
        (
            "sacct: error: the persistent connection init message to head:6819: Unable to connect to database",
            "systemctl restart mariadb",
        ),
        ("slurm_load_jobs error: Unable to contact slurm controller (connect failure)", "systemctl restart slurmctld"),
        ("error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host", "SLURM_CONF"),
        ("error: If munged is up, restart with --num-threads=10", "systemctl restart munge"),
        ("Slurm accounting storage is disabled", "AccountingStorageType=accounting_storage/slurmdbd"),
    ],
)
def test_a_command_that_fails_names_its_remedy(tmp_path: Path, printed: str, remedy: str):
    """The reason is Slurm's own word; the remedy is one command or change."""
    access = commands(tmp_path, scontrol=f"echo '{printed}' >&2; exit 1")
    with pytest.raises(SourceUnavailable) as told:
        access.probe()
    assert printed in told.value.reason
    assert told.value.remedy is not None and remedy in told.value.remedy


def test_a_command_that_is_not_there_is_unavailable():
    """No traceback about a missing file: the reason and what to install."""
    with pytest.raises(SourceUnavailable, match="scontrol is not installed here"):
        CommandLine(prefix=("/usr/bin/env", "PATH=/nonexistent")).probe()


def test_a_job_id_is_never_an_option():
    """What is not a job id does not reach a command line."""
    with pytest.raises(ValueError, match="not a job id"):
        list(CommandLine().accounting(NOW, job_ids=["--help"]))
    with pytest.raises(ValueError, match="not a job id"):
        CommandLine().set_comment("1 Priority=9", "x")


@pytest.mark.parametrize(
    ("config", "found"),
    [
        (
            "SlurmctldHost[0]        = head(10.20.0.1)\nSlurmctldLogFile        = /var/log/slurm/c.log",
            "/var/log/slurm/c.log",
        ),
        ("SlurmctldHost[0]        = other\nSlurmctldHost[1]        = head\nSlurmctldLogFile = /l", "/l"),
        ("SlurmctldHost[0]        = other(10.20.0.1)\nSlurmctldLogFile        = /var/log/slurm/c.log", None),
        ("SlurmctldHost[0]        = head\nSlurmctldLogFile        = (null)", None),
        ("", None),
    ],
    ids=["here", "backup", "elsewhere", "syslog", "silent"],
)
def test_the_controllers_log_is_that_of_this_host(tmp_path: Path, config: str, found: str | None):
    """A file of that name on another host is another controller's."""
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(f"#!/bin/sh\n[ -n '{config}' ] || exit 1\ncat <<'E'\n{config}\nE\n")
    scontrol.chmod(0o755)
    told = controllers_log(("env", f"PATH={tmp_path}:/usr/bin:/bin"), "head.example.org")
    assert told == (Path(found) if found else None)


ARRAYS = """
case "$*" in *--helpformat*) echo JobID State Submit Start End; exit;; *_\\[*) echo 'sacct: fatal: Bad job array element' >&2; exit 1;; esac
for a in "$@"; do case "$a" in --delimiter=*) d="${a#--delimiter=}";; esac; done
t=2026-03-01T10:00:00
printf "JobID${d}State${d}Submit${d}Start${d}End\n"
printf "48_1${d}FAILED${d}$t${d}$t${d}$t\n48_[2-3,7]${d}CANCELLED by 7${d}$t${d}None${d}$t\n"
echo "$*" > ASKED
"""


def test_tasks_that_never_began_are_asked_for_by_their_array(tmp_path: Path):
    """No daemon takes the name of their record back: sacct ends with a fatal error, and with it all of a question."""
    asked = tmp_path / "asked"
    access = commands(tmp_path, sacct=ARRAYS.replace("ASKED", str(asked)))
    jobs = [
        r for r in access.accounting(NOW, job_ids=["48_[2-3,7]", "48_[1,5,9,...]", "50"]) if isinstance(r, SlurmJob)
    ]
    assert [(j.job_id, j.array_job_id, j.array_task_id) for j in jobs] == [
        ("48_1", "48", "1"),
        ("48_[2-3,7]", "48", None),
    ]
    assert asked.read_text().strip().endswith("-j 48,50")


def test_a_record_cannot_be_forged_by_a_job_name(tmp_path: Path):
    """The delimiter is drawn anew for each question: bars and line breaks in a name stay in the name."""
    script = """
    case "$*" in *--helpformat*) echo JobID State JobName; exit;; esac
    for a in "$@"; do case "$a" in --delimiter=*) d="${a#--delimiter=}";; esac; done
    printf 'JobID%sState%sJobName\\n' "$d" "$d"
    printf '7%sFAILED%sx\\n8|COMPLETED|y\\n9%sCOMPLETED%sz\\n' "$d" "$d" "$d" "$d"
    """
    access = commands(tmp_path, sacct=script)
    for _ in range(20):
        jobs = [r for r in access.accounting(NOW) if isinstance(r, SlurmJob)]
        assert [(j.job_id, j.state) for j in jobs] == [("7", "FAILED"), ("9", "COMPLETED")]


FORGED = """\
JobId=1 JobName=honest
   UserId=dario(2002) GroupId=dario(2002) MCS_label=N/A
   JobState=RUNNING Reason=None Dependency=(null)
   SubmitTime=2026-03-01T10:00:00 EligibleTime=2026-03-01T10:00:00

JobId=2 JobName=x

JobId=1 JobName=evil
   UserId=dario(2002) GroupId=dario(2002) MCS_label=N/A
   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)
   SubmitTime=2026-03-01T09:00:00 EligibleTime=2026-03-01T09:00:00
   UserId=mira(2001) GroupId=mira(2001) MCS_label=N/A
   JobState=PENDING Reason=Priority Dependency=(null)
   SubmitTime=2026-03-01T10:00:00 EligibleTime=2026-03-01T10:00:00

JobId=3 JobName=other
   UserId=mira(2001) GroupId=mira(2001) MCS_label=N/A
   JobState=RUNNING Reason=None Dependency=(null)
   SubmitTime=2026-03-01T10:00:00 EligibleTime=2026-03-01T10:00:00
"""


def test_a_job_name_cannot_end_anothers_job_in_scontrols_text(tmp_path: Path):
    """Where only text is to be had, a job that stands there twice is left out and said so: which is true cannot be told."""
    (tmp_path / "jobs").write_text(FORGED)
    access = commands(tmp_path, scontrol=f"cat {tmp_path}/jobs")
    assert [r.job_id for r in access.queue() if isinstance(r, SlurmJob)] == ["3"]
    assert "3 records left out" in access.calls.problems[-1]


def test_a_squeue_without_json_is_asked_through_scontrol(tmp_path: Path):
    """A build without the serializer says so; anything else is a failure."""
    text = (
        "JobId=3 JobName=a\\n   UserId=mira(2001)\\n   JobState=RUNNING Reason=None\\n   SubmitTime=2026-03-01T10:00:00"
    )
    scontrol = f'case "$*" in *--version) echo slurm 22.05.8;; *config) echo "ClusterName = sky";; *) printf "{text}\\n";; esac'
    sacct = '[ "$1" = --helpformat ] && echo JobID || exit 0'
    access = commands(tmp_path, scontrol=scontrol, sacct=sacct, squeue="echo 'error: no serializer/json' >&2; exit 1")
    access.probe()
    assert [r.job_id for r in access.queue() if isinstance(r, SlurmJob)] == ["3"]
    broken = commands(tmp_path, squeue="echo 'Unable to contact slurm controller' >&2; exit 1")
    broken.probe()
    with pytest.raises(SourceUnavailable, match="contact slurm controller"):
        list(broken.queue())


def test_newer_releases_are_asked_for_json(tmp_path: Path):
    """From 23.11 on each command's JSON is read; before, its text, since 22.05 says SUCCESS of what failed."""
    accounted = json.dumps({"jobs": [ACCOUNTED]})
    waiting = json.dumps({"jobs": [WAITING]})
    nodes, statistics = json.dumps({"nodes": [NODE]}), json.dumps({"statistics": STATISTICS})
    for name, text in (("accounted", accounted), ("waiting", waiting), ("nodes", nodes), ("statistics", statistics)):
        (tmp_path / name).write_text(text)
    here = str(tmp_path)
    access = commands(
        tmp_path,
        scontrol=f'case "$*" in *--version) echo slurm 24.11.1;; *config) echo "ClusterName = sky";; '
        f'*"show node --json") cat {here}/nodes;; *) exit 9;; esac',
        sacct=f'case "$*" in *--json*) cat {here}/accounted;; *--helpformat*) echo JobID;; *) exit 0;; esac',
        squeue=f'case "$*" in *--json*) cat {here}/waiting;; *) exit 9;; esac',
        sdiag=f'case "$*" in *--json*) cat {here}/statistics;; *) exit 9;; esac',
    )
    access.probe()
    assert (access.release, access.cluster) == ((24, 11), "sky")
    (job,) = [r for r in access.accounting(NOW) if isinstance(r, SlurmJob)]
    assert (job.job_id, job.attempt, job.exit_code) == ("4812", 2, 3)
    (waits,) = access.queue()
    assert isinstance(waits, SlurmJob) and waits.state_reason == "QOSMaxJobsPerUserLimit"
    assert len(list(access.nodes())) == 2 and len(list(access.controller())) == 1


def test_an_answer_of_which_nothing_can_be_read_is_no_empty_answer(tmp_path: Path):
    """Rows that do not fit their header are "unavailable", never "no jobs"."""
    access = commands(
        tmp_path, sacct='[ "$1" = --helpformat ] && echo JobID State || printf "JobID|State\\n-- --|?\\n"'
    )
    with pytest.raises(SourceUnavailable, match="sacct"):
        list(access.accounting(NOW))


def test_the_commands_are_asked_in_utc_and_without_a_users_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """TZ of the caller and SACCT_FORMAT of the shell change nothing."""
    monkeypatch.setenv("TZ", "America/New_York")
    monkeypatch.setenv("SACCT_FORMAT", "jobid")
    script = (
        '[ "$1" = --helpformat ] && echo JobID State || { echo "JobID|State"; echo "7|$TZ"; echo "$SACCT_FORMAT$*" > '
    )
    access = commands(tmp_path, sacct=f"{script} {tmp_path}/said; }}")
    jobs = list(access.accounting(datetime(2026, 3, 1, 12, tzinfo=UTC), datetime(2026, 3, 1, 13, tzinfo=UTC)))
    assert [getattr(j, "state", None) for j in jobs] == ["UTC"]
    said = (tmp_path / "said").read_text()
    assert said.startswith("--duplicates") and "-S 2026-03-01T12:00:00 -E 2026-03-01T13:00:01" in said
    assert access.calls.count == {("slurmdbd", "jobs"): 1}


def test_a_recording_replays_in_order_and_counts():
    """The fake gives its answers one after the other, keeps the last, filters by job, and raises what it is told to."""
    down = SourceUnavailable("slurmdbd is down", "systemctl restart slurmdbd")
    replay = Replay({"accounting": [down, SAMPLES / "sacct.txt"]}, clock=NOW)
    with pytest.raises(SourceUnavailable, match="slurmdbd is down"):
        list(replay.accounting(NOW))
    every = list(replay.accounting(NOW))
    ids = sorted({r.job_id for r in every if isinstance(r, SlurmJob) and r.job_id})
    some = [r for r in replay.accounting(NOW, job_ids=[ids[0]]) if isinstance(r, SlurmJob | SlurmStep)]
    assert len(ids) > 1 and {r.job_id for r in some} == {ids[0]}
    assert replay.calls.total("slurmdbd") == 3 and list(replay.queue()) == []
