#!/usr/bin/env bash
# Fetches the programs that the benches measure against, from Debian's packages, into a folder; installs and starts nothing.
#   peers.sh DIR          DIR/usr/bin/rg, DIR/usr/bin/prometheus-node-exporter
# What is installed already is left alone. Needs apt and its lists, but not root.
set -euo pipefail
folder=${1:?usage: peers.sh DIR}

command -v apt-get >/dev/null || { echo "peers.sh: no apt-get here; put rg and prometheus-node-exporter on PATH by hand" >&2; exit 1; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$folder"
for pair in rg=ripgrep prometheus-node-exporter=prometheus-node-exporter; do
    program=${pair%%=*} package=${pair#*=}
    if command -v "$program" >/dev/null || [ -x "$folder/usr/bin/$program" ]; then continue; fi
    if apt-get download -qq "$package" 2>/dev/null; then
        dpkg-deb --extract "$package"_*.deb "$folder"
        rm -f "$package"_*.deb
    else
        echo "peers.sh: $package could not be had: apt-get update, or put $program on PATH" >&2
    fi
done
