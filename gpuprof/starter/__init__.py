"""A first YAML for a kernel that somebody has already: its signature read, its buffers, block and grid guessed."""
