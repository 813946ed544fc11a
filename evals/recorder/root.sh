#!/usr/bin/env bash
# Makes a tree of another Debian with its Slurm, for the recorder and the live tests (`ClusterSpec.root`).
#   root.sh trixie DIR    Slurm 24.11
#   root.sh sid DIR       the newest that Debian has (26.05 in 2026)
# Needs root and the package mmdebstrap. The host's own packages stay as they are.
set -euo pipefail
[ "$#" = 2 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
mmdebstrap --mode=root --variant=apt --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Check-Valid-Until "false"' \
    --include=slurmctld,slurmd,slurmdbd,slurmrestd,slurm-client,slurm-wlm-basic-plugins,slurm-wlm-mysql-plugin \
    --include=slurm-wlm-jwt-plugin,mariadb-server,munge,iproute2,procps,mount,hostname,python3 "$1" "$2"
