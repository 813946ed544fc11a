#!/bin/sh
# Slurm's epilog: announces to `inquest watch` that a job has ended, so that its verdict need not wait for the next poll.
#
# EpilogSlurmctld=/usr/libexec/inquest/epilog.sh   (once for each job, on the controller; or Epilog=, on each node)
#
# It makes one empty file whose name says everything: no program is started, nothing is waited for, no network is used.
# It never fails, because an epilog that fails drains the node. Without the folder it does nothing: remove the folder to
# switch it off. INQUEST_SPOOL names another folder than the default.
spool=${INQUEST_SPOOL:-/run/inquest/ended}
job=${SLURM_JOB_ID:-}
again=${SLURM_RESTART_COUNT:-0}
case $job in '' | *[!0-9]*) exit 0 ;; esac
case $again in '' | *[!0-9]*) again=0 ;; esac
[ -d "$spool" ] && [ -w "$spool" ] || exit 0
{ : >"$spool/$job.$again.ended"; } 2>/dev/null || :
exit 0
