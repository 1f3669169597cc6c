"""State of a launch: lanes and their registers, operand readers, special registers, faults."""
