"""A sweep of tile sizes as a pandas table."""

import gpuprof

run = gpuprof.run("gemm_1024", overrides={"M": 128, "N": 128, "K": 128, "TILE": "8,16,32"}, variants=["tiled"])
table = run.to_dataframe()
print(table[["variant", "status", "registers", "shared_bytes", "warp_instructions"]].to_string(index=False))
