"""Records real Slurm jobs, on a real Slurm of several nodes on one host, as the example bundles that ship."""
