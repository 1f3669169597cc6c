"""Tests of gpuprof.search."""
