"""What names on a command line mean: a kernel, a source, an experiment's variant, a cubin, an executable."""
