"""pynvml under a type that the checker accepts: it declares none of its own."""

from __future__ import annotations

import importlib
from typing import Any

nvml: Any = importlib.import_module("pynvml")
UNSUPPORTED: frozenset[int] = frozenset(
    {nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_NO_PERMISSION, nvml.NVML_ERROR_FUNCTION_NOT_FOUND}
)
"""A call that ends so is not made again."""
