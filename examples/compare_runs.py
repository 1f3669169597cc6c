"""Two runs side by side: here the same experiment for two architectures."""

from rich import print

import gpuprof

sizes = {"COUNT": 4096}
before = gpuprof.run("saxpy", overrides=sizes, arch="sm_80", device="emulated")
after = gpuprof.run("saxpy", overrides=sizes, arch="sm_89", device="emulated")
comparison = gpuprof.compare(before, after)
print(comparison)

changed = [variant.variant for variant in comparison.variants if variant.code == "different"]
print(f"machine code differs: {', '.join(changed) or 'nowhere'}")
