"""Made-up jobs that look like real ones: a healthy job from a seed, faults as changes of it, and its telemetry as rows."""

from evals.scenarios.plan import Gpu, Plan, healthy

__all__ = ["Gpu", "Plan", "healthy"]
