// Tensor instructions on fragments that come from memory as they are: thread t has words t, t + 32, ... of each operand.
#define LOAD(words, from, count) unsigned int words[count]; for (int k = 0; k < count; ++k) words[k] = from[(warp * count + k) * 32 + lane];
#define MMA(name, na, nb, nc, text, ...) \
    extern "C" __global__ void name(unsigned int* d, const unsigned int* a, const unsigned int* b, const unsigned int* c) { \
        const int warp = blockIdx.x, lane = threadIdx.x; \
        LOAD(pa, a, na) LOAD(pb, b, nb) LOAD(pc, c, nc) unsigned int r[nc]; \
        asm volatile("mma.sync.aligned." text __VA_ARGS__); \
        for (int k = 0; k < nc; ++k) d[(warp * nc + k) * 32 + lane] = r[k]; \
    }
#define D4 "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
#define D2 "=r"(r[0]), "=r"(r[1])
#define A4 "r"(pa[0]), "r"(pa[1]), "r"(pa[2]), "r"(pa[3])
#define A2 "r"(pa[0]), "r"(pa[1])
#define B2 "r"(pb[0]), "r"(pb[1])
#define C4 "r"(pc[0]), "r"(pc[1]), "r"(pc[2]), "r"(pc[3])
#define C2 "r"(pc[0]), "r"(pc[1])
#define T4424 " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
#define T4214 " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
#define T2422 " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9};"
#define T2212 " {%0,%1}, {%2,%3}, {%4}, {%5,%6};"
MMA(f16_f32_k16, 4, 2, 4, "m16n8k16.row.col.f32.f16.f16.f32" T4424, : D4 : A4, B2, C4)
MMA(bf16_f32_k16, 4, 2, 4, "m16n8k16.row.col.f32.bf16.bf16.f32" T4424, : D4 : A4, B2, C4)
MMA(f16_f16_k16, 4, 2, 2, "m16n8k16.row.col.f16.f16.f16.f16" T2422, : D2 : A4, B2, C2)
MMA(f16_f32_k8, 2, 1, 4, "m16n8k8.row.col.f32.f16.f16.f32" T4214, : D4 : A2, "r"(pb[0]), C4)
MMA(bf16_f32_k8, 2, 1, 4, "m16n8k8.row.col.f32.bf16.bf16.f32" T4214, : D4 : A2, "r"(pb[0]), C4)
MMA(f16_f16_k8, 2, 1, 2, "m16n8k8.row.col.f16.f16.f16.f16" T2212, : D2 : A2, "r"(pb[0]), C2)
MMA(tf32_f32_k8, 4, 2, 4, "m16n8k8.row.col.f32.tf32.tf32.f32" T4424, : D4 : A4, B2, C4)
MMA(tf32_f32_k4, 2, 1, 4, "m16n8k4.row.col.f32.tf32.tf32.f32" T4214, : D4 : A2, "r"(pb[0]), C4)
MMA(s8_k32, 4, 2, 4, "m16n8k32.row.col.s32.s8.s8.s32" T4424, : D4 : A4, B2, C4)
MMA(u8_k32, 4, 2, 4, "m16n8k32.row.col.s32.u8.u8.s32" T4424, : D4 : A4, B2, C4)
MMA(s8u8_k16, 2, 1, 4, "m16n8k16.row.col.s32.s8.u8.s32" T4214, : D4 : A2, "r"(pb[0]), C4)
MMA(s8_sat_k32, 4, 2, 4, "m16n8k32.row.col.satfinite.s32.s8.s8.s32" T4424, : D4 : A4, B2, C4)
MMA(u8s8_sat_k16, 2, 1, 4, "m16n8k16.row.col.satfinite.s32.u8.s8.s32" T4214, : D4 : A2, "r"(pb[0]), C4)
MMA(s4_k64, 4, 2, 4, "m16n8k64.row.col.s32.s4.s4.s32" T4424, : D4 : A4, B2, C4)
MMA(e4m3_f32_k32, 4, 2, 4, "m16n8k32.row.col.f32.e4m3.e4m3.f32" T4424, : D4 : A4, B2, C4)
MMA(e5m2_f32_k32, 4, 2, 4, "m16n8k32.row.col.f32.e5m2.e5m2.f32" T4424, : D4 : A4, B2, C4)
MMA(e4m3e5m2_f32_k32, 4, 2, 4, "m16n8k32.row.col.f32.e4m3.e5m2.f32" T4424, : D4 : A4, B2, C4)
// Sparse: metadata in one more word, selector 0.
#define SPARSE(name, nb, text, ...) \
    extern "C" __global__ void name(unsigned int* d, const unsigned int* a, const unsigned int* b, const unsigned int* c) { \
        const int warp = blockIdx.x, lane = threadIdx.x; \
        LOAD(pa, a, 4) LOAD(pb, b, nb) LOAD(pc, c, 4) unsigned int r[4]; \
        unsigned int e = 0; for (int k = 0; k < 8; ++k) { const int pair = (warp * 5 + lane / 2 + k * 3) % 6; e |= (unsigned int)(pair == 0 ? 0x4 : pair == 1 ? 0x8 : pair == 2 ? 0xc : pair == 3 ? 0x9 : pair == 4 ? 0xd : 0xe) << (k * 4); } \
        asm volatile("mma.sp::ordered_metadata.sync.aligned." text __VA_ARGS__); \
        for (int k = 0; k < 4; ++k) d[(warp * 4 + k) * 32 + lane] = r[k]; \
    }
#define S4444 " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%12,%13,%14,%15}, %16, 0x0;"
#define B4 "r"(pb[0]), "r"(pb[1]), "r"(pb[2]), "r"(pb[3])
SPARSE(sparse_f16_k32, 4, "m16n8k32.row.col.f32.f16.f16.f32" S4444, : D4 : A4, B4, C4, "r"(e))
SPARSE(sparse_bf16_k32, 4, "m16n8k32.row.col.f32.bf16.bf16.f32" S4444, : D4 : A4, B4, C4, "r"(e))
