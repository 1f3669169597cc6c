"""Hardware facts, one data file per compute capability, and occupancy."""

from gpuprof.arch.facts import ArchFacts, Product, get, known
from gpuprof.arch.spelling import DEFAULT_ARCH, parse_arch

__all__ = ["DEFAULT_ARCH", "ArchFacts", "Product", "get", "known", "parse_arch"]
