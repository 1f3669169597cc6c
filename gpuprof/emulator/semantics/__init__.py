"""What each instruction computes: one module per family of opcodes."""
