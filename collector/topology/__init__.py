"""Container → pod → job → step → rank → GPU, from what the kernel, the environment and the driver say of a process."""
