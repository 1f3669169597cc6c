"""An emulator of SASS on numpy: loads a cubin, executes its instructions for many lanes at once, and counts."""
