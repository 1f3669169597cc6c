"""The device runtime's system calls: printf, malloc and free, assertions."""
