"""What the operating system is asked for: regular files, limited child processes, and removal after a kill.

Imports nothing of gpuprof but ``errors``; every other room may use it.
"""
