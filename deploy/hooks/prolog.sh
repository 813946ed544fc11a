#!/bin/sh
# Slurm's prolog: refuses the node to a GPU job while it has a serious fault (`inquest preflight`).
#
# Prolog=/usr/libexec/inquest/prolog.sh
#
# It refuses only with INQUEST_ENFORCE=1 in /etc/inquest/preflight.conf; without it what it would do goes to slurmd's log.
# Switch it off: touch /etc/inquest/preflight.off. Whatever goes wrong with the check itself lets the job start.
# A prolog that fails drains the node and puts the job back into the queue.
conf=${INQUEST_PREFLIGHT_CONF:-/etc/inquest/preflight.conf}
[ ! -e "${INQUEST_PREFLIGHT_OFF:-/etc/inquest/preflight.off}" ] || exit 0
case ${INQUEST_PREFLIGHT:-} in off | 0 | no) exit 0 ;; esac
# A job without GPUs has nothing to fear from them.
[ -n "${SLURM_JOB_GPUS:-}" ] || exit 0
# shellcheck source=/dev/null
[ ! -r "$conf" ] || . "$conf" || exit 0

run=${INQUEST_RUN:-/run/inquest}
# A node that was fit a minute ago still is: jobs that start in a row are looked at once.
if [ -e "$run/preflight.fit" ] && [ -n "$(find "$run/preflight.fit" -mmin -1 2>/dev/null)" ]; then exit 0; fi

mkdir -p "$run" 2>/dev/null
out=$(mktemp "$run/preflight.XXXXXX" 2>/dev/null) || exit 0
limit=${INQUEST_LIMIT:-5}
set -- preflight --limit "$limit"
[ "${INQUEST_ENFORCE:-0}" != 1 ] || set -- "$@" --enforce

# In the background, because a process that hangs in the driver cannot be ended, and must not be waited for.
# It keeps none of our own streams: whoever reads them would wait for it.
( "${INQUEST:-inquest}" "$@" >"$out" 2>&1; echo "status $?" >>"$out" ) </dev/null >/dev/null 2>&1 &
waited=0
while [ "$waited" -lt $((limit * 5 + 10)) ]; do
    case $(tail -n 1 "$out" 2>/dev/null) in status*) break ;; esac
    sleep 0.2
    waited=$((waited + 1))
done

status=$(tail -n 1 "$out" 2>/dev/null)
fault=$(grep -c '^fault' "$out" 2>/dev/null)
sed '$d' "$out" 2>/dev/null
rm -f "$out"
case $status in
'status 0') [ "$fault" != 0 ] || : >"$run/preflight.fit" ;;
'status 10') [ "${INQUEST_ENFORCE:-0}" != 1 ] || exit 1 ;;
esac 2>/dev/null
exit 0
