"""Hardware facts, one data file per compute capability, and occupancy."""

from gpuprof.arch.facts import ArchFacts, Product, get, known

__all__ = ["ArchFacts", "Product", "get", "known"]
