"""Control flow: branches, convergence barriers, block barriers, the scheduler of warps."""
