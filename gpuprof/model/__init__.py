"""The time of a kernel on a GPU that is not there: traces of the emulator, and a timeline of one SM."""
