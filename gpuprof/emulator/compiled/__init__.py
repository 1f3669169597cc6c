"""The compiled engine: a kernel's SASS as C++ over the 32 lanes of a warp; numpy stays the definition."""
