"""emulator/semantics"""
