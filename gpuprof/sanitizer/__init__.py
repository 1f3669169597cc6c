"""Races, uninitialised memory, barriers and bounds of a launch, judged by happens-before on the emulator.

The room knows the emulator's contract and nothing of experiments: ``launch.sanitize_launch`` takes a kernel image and
hands back findings with addresses. A launch runs a few times: once plain with one poison, once observed with another,
in which every access is logged and judged at each barrier (``conflicts``). Only where two threads touched a word and
nothing coarse ordered them, a further run judges those words exactly, with vector clocks (``clocks``); only where a
load gave poison, further runs show whether its value reaches anything (``initialisation``).
"""
