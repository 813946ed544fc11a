"""How Slurm, kernels and exporters spell things: shared by the importers of files and the live sources."""
