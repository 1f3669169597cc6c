"""Counters of a run through Nsight Compute."""
