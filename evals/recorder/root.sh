#!/usr/bin/env bash
# Makes a tree of another Debian or Ubuntu with its Slurm, for the recorder and the live tests (`ClusterSpec.root`).
#   root.sh trixie DIR               Slurm 24.11
#   root.sh sid DIR                  the newest that Debian has (26.05 in 2026)
#   root.sh resolute DIR SOURCES     Ubuntu 26.04 with Slurm 25.11; SOURCES is its line of sources.list
#   root.sh noble DIR SOURCES        Ubuntu 24.04 with Slurm 23.11
# With PYSLURM=RELEASE also that pyslurm, built for the tree's Slurm, and this checkout beside it (/usr/local/inquest).
# DIR must not lie in /tmp, which a cluster has for itself. Needs root and the package mmdebstrap. The host's own packages stay as they are.
set -euo pipefail
[ "$#" = 2 ] || [ "$#" = 3 ] || { sed -n '2,8s/^# //p' "$0" >&2; exit 2; }
build=()
[ -z "${PYSLURM:-}" ] || build=("--include=libslurm-dev,gcc,libc6-dev,python3-dev,python3-venv,ca-certificates")
mmdebstrap --mode=root --variant=apt --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Check-Valid-Until "false"' \
    --include=slurmctld,slurmd,slurmdbd,slurmrestd,slurm-client,slurm-wlm-basic-plugins,slurm-wlm-mysql-plugin \
    --include=slurm-wlm-jwt-plugin,mariadb-server,munge,iproute2,procps,mount,hostname,python3 "${build[@]}" "$@"

if [ -n "${PYSLURM:-}" ]; then
    tree=$2
    inside() { chroot "$tree" env -i PATH=/usr/bin:/bin HOME=/tmp "$@"; }
    # The host's word on which authorities may sign, and how names are looked up, also holds inside while it builds.
    cp /etc/resolv.conf "$tree/etc/resolv.conf"
    cp /etc/ssl/certs/ca-certificates.crt "$tree/etc/ssl/certs/ca-certificates.crt"
    git -C "$(dirname "$0")/../.." archive --prefix=inquest/ HEAD | tar -x -C "$tree/usr/local/src"
    inside python3 -m venv /usr/local/inquest
    libraries=$(inside sh -c 'dirname /usr/lib/*/libslurm.so')
    inside SLURM_LIB_DIR="$libraries" SLURM_INCLUDE_DIR=/usr/include /usr/local/inquest/bin/pip install -q "pyslurm==$PYSLURM"
    inside sh -c 'cd /usr/local/src/inquest && /usr/local/inquest/bin/pip install -q -c constraints.txt .'
fi
