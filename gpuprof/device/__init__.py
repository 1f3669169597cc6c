"""What executes a launch: GPUs through pycuda, the emulator, and the processes that supervise them."""
