"""pynvml under a type that the checker accepts: it declares none of its own."""

from __future__ import annotations

import importlib
from typing import Any

nvml: Any = importlib.import_module("pynvml")
UNSUPPORTED: frozenset[int] = frozenset(
    {nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_NO_PERMISSION, nvml.NVML_ERROR_FUNCTION_NOT_FOUND}
)
"""A call that ends so is not made again."""
LOST: frozenset[int] = frozenset({nvml.NVML_ERROR_GPU_IS_LOST, nvml.NVML_ERROR_RESET_REQUIRED})
DRIVER: frozenset[int] = frozenset(
    {
        nvml.NVML_ERROR_UNINITIALIZED,
        nvml.NVML_ERROR_DRIVER_NOT_LOADED,
        nvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
        nvml.NVML_ERROR_LIBRARY_NOT_FOUND,
        nvml.NVML_ERROR_NO_PERMISSION,
    }
)
"""What concerns the driver; any other error is that of the GPU which was asked, and the others are looked at on."""
