"""GPUs through NVML: what one device, its MIG instances, its links and its events say."""
