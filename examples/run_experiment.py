"""Run a bundled experiment at a small size, print its table, and read one row."""

from rich import print

import gpuprof

run = gpuprof.run("gemm_1024", overrides={"M": 128, "N": 128, "K": 128})
print(run)

naive = run["naive"]
assert naive.verification is not None
print(f"naive: {naive.status.value}, {naive.verification.checked:,} of {naive.verification.total:,} elements checked")
