"""A live Slurm: three ways in (REST, command line, pyslurm), one set of rows."""
