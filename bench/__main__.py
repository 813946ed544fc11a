"""`python -m bench`: every benchmark, one after the other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    """Run them all, also after one that fails; the status says whether one did."""
    failed = 0
    for path in sorted(HERE.glob("*_bench.py")):
        print(f"== {path.stem}", flush=True)
        done = subprocess.run([sys.executable, str(path), *sys.argv[1:]], check=False)
        failed = failed or done.returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
