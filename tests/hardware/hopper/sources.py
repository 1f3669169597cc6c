"""CUDA text of the probes: one warpgroup product, or one tensor copy, over any descriptors.

A product's kernel takes an image of shared memory, two descriptors whose addresses count from the image, and the
accumulator's registers; it writes the registers. So a launch shows where the descriptors point, and how sums round.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Bytes of the image of shared memory.
IMAGE_BYTES = 65536
HEAD = """
#include <cstdint>
struct alignas(64) Map { uint64_t words[16]; };
__device__ inline uint32_t shared_address(const void* pointer) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}
__device__ inline void fill(unsigned char* memory, const uint4* image, int count) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) reinterpret_cast<uint4*>(memory)[i] = image[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
}
"""


@dataclass(frozen=True)
class Product:
    """A kernel with one wgmma: its name, types, sizes, and immediate operands."""

    name: str
    kind: str  #: PTX's types: ``f32.f16.f16``
    columns: int
    depth: int
    registers: int  #: of the accumulator
    held: str = ""  #: ``A`` where its fragment comes from registers
    tail: str = ""  #: immediates after the predicate

    def text(self) -> str:
        numbers = [f"%{i}" for i in range(self.registers)]
        first = self.registers
        constraint = "f" if self.kind.startswith("f32") else "r"
        value = "float" if constraint == "f" else "uint32_t"
        left = f"{{%{first}, %{first + 1}, %{first + 2}, %{first + 3}}}" if self.held else f"%{first}"
        after = first + (4 if self.held else 1)
        inputs = '"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])' if self.held else '"l"(left)'
        names = ", ".join(f'"+{constraint}"(d[{i}])' for i in range(self.registers))
        return f"""
extern "C" __global__ void {self.name}(const uint4* image, uint64_t left, uint64_t right, int scale,
                                       const uint32_t* registers, const {value}* sums, {value}* result) {{
    extern __shared__ __align__(1024) unsigned char memory[];
    fill(memory, image, {IMAGE_BYTES} / 16);
    const uint64_t base = shared_address(memory) >> 4;
    left += base;
    right += base;
    uint32_t a[4];
    for (int i = 0; i < 4; ++i) a[i] = registers[threadIdx.x * 4 + i];
    {value} d[{self.registers}];
    for (int i = 0; i < {self.registers}; ++i) d[i] = sums[threadIdx.x * {self.registers} + i];
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{after + 1}, 0;\\n"
        "wgmma.mma_async.sync.aligned.m64n{self.columns}k{self.depth}.{self.kind} {{{", ".join(numbers)}}}, "
        "{left}, %{after}, p{self.tail};\\n}}"
        : {names} : {inputs}, "l"(right), "r"(scale));
    asm volatile("wgmma.commit_group.sync.aligned;\\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < {self.registers}; ++i) result[threadIdx.x * {self.registers} + i] = d[i];
}}
"""


PRODUCTS = (
    Product("half_8", "f32.f16.f16", 8, 16, 4, tail=", 1, 1, 0, 0"),
    Product("half_64", "f32.f16.f16", 64, 16, 32, tail=", 1, 1, 0, 0"),
    Product("half_256", "f32.f16.f16", 256, 16, 128, tail=", 1, 1, 0, 0"),
    Product("half_64_rows", "f32.f16.f16", 64, 16, 32, tail=", 1, 1, 0, 1"),
    Product("half_128_rows", "f32.f16.f16", 128, 16, 64, tail=", 1, 1, 0, 1"),
    Product("half_64_columns", "f32.f16.f16", 64, 16, 32, tail=", 1, 1, 1, 0"),
    Product("half_64_both", "f32.f16.f16", 64, 16, 32, tail=", 1, 1, 1, 1"),
    Product("half_negative", "f32.f16.f16", 16, 16, 8, tail=", -1, 1, 0, 0"),
    Product("half_held", "f32.f16.f16", 64, 16, 32, held="A", tail=", 1, 1, 0"),
    Product("half_to_half", "f16.f16.f16", 64, 16, 16, tail=", 1, 1, 0, 0"),
    Product("bfloat_64", "f32.bf16.bf16", 64, 16, 32, tail=", 1, 1, 0, 0"),
    Product("bfloat_held", "f32.bf16.bf16", 32, 16, 16, held="A", tail=", 1, -1, 1"),
    Product("tf32_64", "f32.tf32.tf32", 64, 8, 32, tail=", 1, 1"),
    Product("e4m3_64", "f32.e4m3.e4m3", 64, 32, 32, tail=", 1, 1"),
    Product("e5m2_e4m3_16", "f32.e5m2.e4m3", 16, 32, 8, tail=", 1, 1"),
    Product("e4m3_to_half", "f16.e4m3.e4m3", 32, 32, 8, tail=", 1, 1"),
    Product("s8_64", "s32.s8.s8", 64, 32, 32),
    Product("u8_s8_16", "s32.u8.s8", 16, 32, 8),
)

#: Tensor copies by the number of dimensions.
RANKS = (1, 2, 3, 4, 5)


def copy_text(rank: int) -> str:
    """A kernel that copies one box to shared memory and writes all of the image; and one that stores a box."""
    places = ", ".join(f"%{3 + axis}" for axis in range(rank))
    back = ", ".join(f"%{2 + axis}" for axis in range(rank))
    values = ", ".join(f'"r"(c{axis})' for axis in range(rank))
    parameters = ", ".join(f"int c{axis}" for axis in range(rank))
    return f"""
extern "C" __global__ void load_{rank}d(const __grid_constant__ Map map, {parameters}, int bytes, int offset,
                                        int count, uint4* result) {{
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ uint64_t barrier;
    for (int i = threadIdx.x; i < count; i += blockDim.x) reinterpret_cast<uint4*>(memory)[i] = make_uint4(1, 2, 3, 4);
    if (threadIdx.x == 0) {{
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(shared_address(&barrier)));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }}
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {{
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
            :: "r"(shared_address(&barrier)), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes "
            "[%0], [%1, {{{places}}}], [%2];"
            :: "r"(shared_address(memory) + offset), "l"(&map), "r"(shared_address(&barrier)), {values} : "memory");
    }}
    asm volatile("{{\\n.reg .pred done;\\nagain:\\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\\n@!done bra again;\\n}}"
        :: "r"(shared_address(&barrier)) : "memory");
    for (int i = threadIdx.x; i < count; i += blockDim.x) result[i] = reinterpret_cast<uint4*>(memory)[i];
}}
extern "C" __global__ void store_{rank}d(const __grid_constant__ Map map, {parameters}, int count,
                                         const uint4* image) {{
    extern __shared__ __align__(1024) unsigned char memory[];
    fill(memory, image, count);
    if (threadIdx.x == 0) {{
        asm volatile("cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group [%1, {{{back}}}], [%0];"
            :: "r"(shared_address(memory)), "l"(&map), {values} : "memory");
        asm volatile("cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;" ::: "memory");
    }}
}}
"""


def text() -> str:
    """The whole source."""
    return "\n".join((HEAD, *(product.text() for product in PRODUCTS), *(copy_text(rank) for rank in RANKS)))


if __name__ == "__main__":
    print(text())
