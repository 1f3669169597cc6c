"""A run: build, read, execute, verify, time, and hand back plain results."""
