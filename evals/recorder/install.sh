#!/usr/bin/env bash
# Installs what the recorder needs on Debian 12 or Ubuntu: a Slurm, its accounting, and a Python for the jobs.
#   install.sh            Slurm, MariaDB, munge (enough for the live tests)
#   install.sh --train    also /opt/train/venv with PyTorch for the CPU and the training frameworks
# Needs root. Starts no service: the recorder starts its own, in namespaces of its own.
set -euo pipefail
[ "$(id -u)" = 0 ] || { echo "install.sh: run it as root" >&2; exit 1; }

apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    slurm-wlm slurm-wlm-jwt-plugin slurmdbd slurmrestd mariadb-server munge iproute2 util-linux python3-venv

if [ "${1:-}" = --train ]; then
    # Debian's own Python, so that the tracebacks of a recording show a path that any machine could have.
    /usr/bin/python3 -m venv /opt/train/venv
    # torch first and pinned: a later resolution that picks another build brings gigabytes of CUDA libraries.
    /opt/train/venv/bin/pip install --quiet torch==2.13.0
    /opt/train/venv/bin/pip install --quiet --constraint <(echo torch==2.13.0) \
        transformers peft accelerate lightning datasets numpy
fi
