#!/bin/sh
# Installs inquest on a host. Run it again to update; what is configured in /etc/inquest stays as it is.
#
#   deploy/install.sh --role watch     on Slurm's controller: the watcher, the epilog, the lake's upkeep
#   deploy/install.sh --role node      on a compute node: the collector, the prolog
#   deploy/install.sh --uninstall      takes away everything but /etc/inquest and the lake
#
#   --dry-run       say what would be done
#   --root DIR      install below DIR, for an image; no service is touched
#   --python FILE   the Python to use (default: python3)
#   --no-python     leave /opt/inquest alone: hooks, units and configuration only
#   --no-start      enable no service
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
role=all root='' dry='' start=1 python=python3 with_python=1 uninstall=''
while [ $# -gt 0 ]; do
    case $1 in
    --role) role=${2:?"--role is watch, node or all"}; shift ;;
    --root) root=${2:?"--root needs a folder"}; shift ;;
    --python) python=${2:?"--python needs a program"}; shift ;;
    --dry-run) dry=1 ;;
    --no-start) start='' ;;
    --no-python) with_python='' ;;
    --uninstall) uninstall=1 ;;
    -h | --help) sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0" | sed '$d'; exit 0 ;;
    *) echo "install.sh: $1 is not known; --help shows what is" >&2; exit 2 ;;
    esac
    shift
done
case $role in watch | node | all) ;; *) echo "install.sh: --role is watch, node or all" >&2; exit 2 ;; esac
if [ -z "$root" ] && [ -z "$dry" ] && [ "$(id -u)" != 0 ]; then
    echo "install.sh: run it as root, or give --root DIR or --dry-run" >&2
    exit 1
fi
root=${root%/}

run() {
    if [ -n "$dry" ]; then echo "would run: $*"; else "$@"; fi
}
put() { # put MODE SOURCE TARGET: only where it differs
    if [ -f "$root$3" ] && cmp -s "$2" "$root$3"; then return; fi
    run mkdir -p "$root$(dirname "$3")"
    run install -m "$1" "$2" "$root$3"
    [ -n "$dry" ] || echo "installed $3"
}
keep() { # keep MODE SOURCE TARGET: only where there is none
    [ -e "$root$3" ] || put "$1" "$2" "$3"
}
away() {
    for path in "$@"; do
        if [ -e "$root$path" ] || [ -h "$root$path" ]; then
            run rm -rf "$root$path"
            [ -n "$dry" ] || echo "removed $path"
        fi
    done
}
services() { # the services of this role
    case $role in
    watch) echo inquest-watch.service inquest-compact.timer ;;
    node) echo inquest-collect.service ;;
    all) echo inquest-watch.service inquest-compact.timer inquest-collect.service ;;
    esac
}
living() { # whether services can be touched here
    [ -z "$root" ] && [ -n "$start" ] && [ -d /run/systemd/system ]
}

units=/etc/systemd/system
if [ -n "$uninstall" ]; then
    if living; then
        for service in inquest-watch.service inquest-compact.timer inquest-collect.service; do
            if [ -e "$units/$service" ]; then run systemctl disable --now "$service" || :; fi
        done
    fi
    for unit in "$here"/systemd/*.service "$here"/systemd/*.timer; do away "$units/$(basename "$unit")"; done
    away /usr/libexec/inquest /etc/tmpfiles.d/inquest.conf /usr/local/bin/inquest /opt/inquest
    if living; then run systemctl daemon-reload; fi
    echo "what is configured in /etc/inquest and the lake are still there"
    exit 0
fi

if [ -n "$with_python" ]; then
    [ -x "$root/opt/inquest/bin/python" ] || run "$python" -m venv "$root/opt/inquest"
    run "$root/opt/inquest/bin/python" -m pip install -q --disable-pip-version-check -c "$here/../constraints.txt" "$here/.."
    run mkdir -p "$root/usr/local/bin"
    run ln -sfn /opt/inquest/bin/inquest "$root/usr/local/bin/inquest"
fi
put 644 "$here/systemd/inquest.tmpfiles" /etc/tmpfiles.d/inquest.conf
keep 640 "$here/inquest.env" /etc/inquest/inquest.env
if [ "$role" != node ]; then
    put 755 "$here/hooks/epilog.sh" /usr/libexec/inquest/epilog.sh
    keep 640 "$here/notify.toml" /etc/inquest/notify.toml
    for unit in inquest-watch.service inquest-compact.service inquest-compact.timer; do
        put 644 "$here/systemd/$unit" "$units/$unit"
    done
fi
if [ "$role" != watch ]; then
    put 755 "$here/hooks/prolog.sh" /usr/libexec/inquest/prolog.sh
    keep 644 "$here/preflight.conf" /etc/inquest/preflight.conf
    put 644 "$here/systemd/inquest-collect.service" "$units/inquest-collect.service"
fi
if living; then
    run systemd-tmpfiles --create /etc/tmpfiles.d/inquest.conf
    run systemctl daemon-reload
    for service in $(services); do run systemctl enable --now "$service"; done
fi
[ -n "$dry" ] || echo "done; the lines for slurm.conf are in deploy/slurm/slurm.conf.fragment"
