"""`python -m evals.recorder`."""

import sys

from evals.recorder.record import main

sys.exit(main())
