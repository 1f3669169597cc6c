"""Event counts while a kernel executes, and their names and sums in Nsight Compute."""
