// One small kernel per question about an instruction: out[i] = op(in[i]...), one instruction of interest each.
// record.py builds this for the GPU at hand, feeds special and random values, and stores what came back.
#include <cstdint>

typedef uint32_t u32;
typedef uint64_t u64;

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

#define UNARY(name, To, Ti, text, co, ci)                                                    \
    extern "C" __global__ void name(To *out, const Ti *a, int n) {                           \
        int i = INDEX;                                                                       \
        if (i >= n) return;                                                                  \
        To r;                                                                                \
        asm volatile(text : co(r) : ci(a[i]));                                               \
        out[i] = r;                                                                          \
    }
#define BINARY(name, To, Ti, text, co, ci)                                                   \
    extern "C" __global__ void name(To *out, const Ti *a, const Ti *b, int n) {              \
        int i = INDEX;                                                                       \
        if (i >= n) return;                                                                  \
        To r;                                                                                \
        asm volatile(text : co(r) : ci(a[i]), ci(b[i]));                                     \
        out[i] = r;                                                                          \
    }
#define TERNARY(name, To, Ti, text, co, ci)                                                  \
    extern "C" __global__ void name(To *out, const Ti *a, const Ti *b, const Ti *c, int n) { \
        int i = INDEX;                                                                       \
        if (i >= n) return;                                                                  \
        To r;                                                                                \
        asm volatile(text : co(r) : ci(a[i]), ci(b[i]), ci(c[i]));                           \
        out[i] = r;                                                                          \
    }

// MUFU: the .ftz forms are the bare instruction (SIN and COS behind FMUL.RZ by 1 / 2 pi).
UNARY(mufu_rcp, float, float, "rcp.approx.ftz.f32 %0, %1;", "=f", "f")
UNARY(mufu_rsq, float, float, "rsqrt.approx.ftz.f32 %0, %1;", "=f", "f")
UNARY(mufu_sqrt, float, float, "sqrt.approx.ftz.f32 %0, %1;", "=f", "f")
UNARY(mufu_ex2, float, float, "ex2.approx.ftz.f32 %0, %1;", "=f", "f")
UNARY(mufu_lg2, float, float, "lg2.approx.ftz.f32 %0, %1;", "=f", "f")
UNARY(mufu_sin, float, float, "sin.approx.ftz.f32 %0, %1;", "=f", "f")
UNARY(mufu_cos, float, float, "cos.approx.ftz.f32 %0, %1;", "=f", "f")
UNARY(mufu_tanh, float, float, "tanh.approx.f32 %0, %1;", "=f", "f")
UNARY(mufu_rcp64h, u64, u64,
      "{ .reg .f64 x, y; mov.b64 x, %1; rcp.approx.ftz.f64 y, x; mov.b64 %0, y; }", "=l", "l")
UNARY(mufu_rsq64h, u64, u64,
      "{ .reg .f64 x, y; mov.b64 x, %1; rsqrt.approx.ftz.f64 y, x; mov.b64 %0, y; }", "=l", "l")
UNARY(mufu_ex2_f16, u32, u32,
      "{ .reg .b16 l, h; mov.b32 {l, h}, %1; ex2.approx.f16 l, l; mov.b32 %0, {l, h}; }", "=r", "r")
UNARY(mufu_tanh_f16, u32, u32,
      "{ .reg .b16 l, h; mov.b32 {l, h}, %1; tanh.approx.f16 l, l; mov.b32 %0, {l, h}; }", "=r", "r")

// FP32 with every rounding, with and without flush; what a NaN operand becomes.
#define FLOAT2(name, op) \
    BINARY(name, u32, u32, \
           "{ .reg .f32 x, y, z; mov.b32 x, %1; mov.b32 y, %2; " op " z, x, y; mov.b32 %0, z; }", "=r", "r")
#define FLOAT3(name, op) \
    TERNARY(name, u32, u32, \
            "{ .reg .f32 x, y, w, z; mov.b32 x, %1; mov.b32 y, %2; mov.b32 w, %3; " op " z, x, y, w; mov.b32 %0, z; }", \
            "=r", "r")
FLOAT2(fadd_rn, "add.rn.f32")
FLOAT2(fadd_rz, "add.rz.f32")
FLOAT2(fadd_rm, "add.rm.f32")
FLOAT2(fadd_rp, "add.rp.f32")
FLOAT2(fadd_ftz, "add.rn.ftz.f32")
FLOAT2(fadd_sat, "add.rn.sat.f32")
FLOAT2(fmul_rn, "mul.rn.f32")
FLOAT2(fmul_rz, "mul.rz.f32")
FLOAT2(fmul_rm, "mul.rm.f32")
FLOAT2(fmul_rp, "mul.rp.f32")
FLOAT2(fmul_ftz, "mul.rn.ftz.f32")
FLOAT2(fmul_sat, "mul.rn.sat.f32")
FLOAT3(ffma_rn, "fma.rn.f32")
FLOAT3(ffma_rz, "fma.rz.f32")
FLOAT3(ffma_rm, "fma.rm.f32")
FLOAT3(ffma_rp, "fma.rp.f32")
FLOAT3(ffma_ftz, "fma.rn.ftz.f32")
FLOAT3(ffma_sat, "fma.rn.sat.f32")
FLOAT2(fmin_plain, "min.f32")
FLOAT2(fmax_plain, "max.f32")
FLOAT2(fmin_ftz, "min.ftz.f32")
FLOAT2(fmin_nan, "min.NaN.f32")
FLOAT2(fmax_nan, "max.NaN.f32")
FLOAT2(fmin_xorsign, "min.xorsign.abs.f32")
FLOAT2(fmax_nan_xorsign, "max.NaN.xorsign.abs.f32")
FLOAT2(fset_gt, "set.gt.f32.f32")
FLOAT2(fset_neu, "set.neu.f32.f32")

// FP64.
#define DOUBLE2(name, op) \
    BINARY(name, u64, u64, \
           "{ .reg .f64 x, y, z; mov.b64 x, %1; mov.b64 y, %2; " op " z, x, y; mov.b64 %0, z; }", "=l", "l")
#define DOUBLE3(name, op) \
    TERNARY(name, u64, u64, \
            "{ .reg .f64 x, y, w, z; mov.b64 x, %1; mov.b64 y, %2; mov.b64 w, %3; " op " z, x, y, w; mov.b64 %0, z; }", \
            "=l", "l")
DOUBLE2(dadd_rn, "add.rn.f64")
DOUBLE2(dadd_rz, "add.rz.f64")
DOUBLE2(dadd_rm, "add.rm.f64")
DOUBLE2(dadd_rp, "add.rp.f64")
DOUBLE2(dmul_rn, "mul.rn.f64")
DOUBLE2(dmul_rz, "mul.rz.f64")
DOUBLE2(dmul_rm, "mul.rm.f64")
DOUBLE2(dmul_rp, "mul.rp.f64")
DOUBLE3(dfma_rn, "fma.rn.f64")
DOUBLE3(dfma_rz, "fma.rz.f64")
DOUBLE3(dfma_rm, "fma.rm.f64")
DOUBLE3(dfma_rp, "fma.rp.f64")
DOUBLE2(dmin_plain, "min.f64")
DOUBLE2(dmax_plain, "max.f64")

// Halves.
BINARY(hadd2, u32, u32, "add.rn.f16x2 %0, %1, %2;", "=r", "r")
BINARY(hadd2_sat, u32, u32, "add.rn.sat.f16x2 %0, %1, %2;", "=r", "r")
BINARY(hadd2_ftz, u32, u32, "add.rn.ftz.f16x2 %0, %1, %2;", "=r", "r")
BINARY(hmul2, u32, u32, "mul.rn.f16x2 %0, %1, %2;", "=r", "r")
BINARY(hmul2_ftz, u32, u32, "mul.rn.ftz.f16x2 %0, %1, %2;", "=r", "r")
TERNARY(hfma2, u32, u32, "fma.rn.f16x2 %0, %1, %2, %3;", "=r", "r")
TERNARY(hfma2_sat, u32, u32, "fma.rn.sat.f16x2 %0, %1, %2, %3;", "=r", "r")
TERNARY(hfma2_ftz, u32, u32, "fma.rn.ftz.f16x2 %0, %1, %2, %3;", "=r", "r")
TERNARY(hfma2_relu, u32, u32, "fma.rn.relu.f16x2 %0, %1, %2, %3;", "=r", "r")
TERNARY(hfma2_bf16, u32, u32, "fma.rn.bf16x2 %0, %1, %2, %3;", "=r", "r")
TERNARY(hfma2_bf16_relu, u32, u32, "fma.rn.relu.bf16x2 %0, %1, %2, %3;", "=r", "r")
#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
BINARY(hadd2_bf16, u32, u32, "add.rn.bf16x2 %0, %1, %2;", "=r", "r")
BINARY(hmul2_bf16, u32, u32, "mul.rn.bf16x2 %0, %1, %2;", "=r", "r")
#endif
BINARY(hmin2, u32, u32, "min.f16x2 %0, %1, %2;", "=r", "r")
BINARY(hmax2_nan, u32, u32, "max.NaN.f16x2 %0, %1, %2;", "=r", "r")
BINARY(hmin2_bf16, u32, u32, "min.bf16x2 %0, %1, %2;", "=r", "r")
BINARY(hmin2_xorsign, u32, u32, "min.xorsign.abs.f16x2 %0, %1, %2;", "=r", "r")
BINARY(hset2_gt, u32, u32, "set.gt.f16x2.f16x2 %0, %1, %2;", "=r", "r")
BINARY(hsetp2_gt, u32, u32,
       "{ .reg .pred p, q; setp.gt.f16x2 p|q, %1, %2; selp.b32 %0, 1, 0, p; @q or.b32 %0, %0, 2; }", "=r", "r")
BINARY(hsetp2_neu_bf16, u32, u32,
       "{ .reg .pred p, q; setp.neu.bf16x2 p|q, %1, %2; selp.b32 %0, 1, 0, p; @q or.b32 %0, %0, 2; }", "=r", "r")
UNARY(half_to_float, u32, u32,
      "{ .reg .b16 l, h; .reg .f32 z; mov.b32 {l, h}, %1; cvt.f32.f16 z, h; mov.b32 %0, z; }", "=r", "r")
UNARY(half_to_double, u64, u32,
      "{ .reg .b16 l, h; .reg .f64 z; mov.b32 {l, h}, %1; cvt.f64.f16 z, l; mov.b64 %0, z; }", "=l", "r")

// Conversions from float: NaN, infinities, overflow, each direction.
#define F2I(name, to, Co, To) \
    UNARY(name, To, u32, "{ .reg .f32 x; mov.b32 x, %1; cvt." to " %0, x; }", Co, "r")
F2I(f2i_s32_rz, "rzi.s32.f32", "=r", u32)
F2I(f2i_s32_rn, "rni.s32.f32", "=r", u32)
F2I(f2i_s32_rm, "rmi.s32.f32", "=r", u32)
F2I(f2i_s32_rp, "rpi.s32.f32", "=r", u32)
F2I(f2i_s32_ftz, "rpi.ftz.s32.f32", "=r", u32)
F2I(f2i_u32_rz, "rzi.u32.f32", "=r", u32)
F2I(f2i_u32_rn, "rni.u32.f32", "=r", u32)
F2I(f2i_s64_rz, "rzi.s64.f32", "=l", u64)
F2I(f2i_u64_rz, "rzi.u64.f32", "=l", u64)
F2I(f2i_u64_rn, "rni.u64.f32", "=l", u64)
#define F2SMALL(name, to) \
    UNARY(name, u32, u32, "{ .reg .f32 x; .reg .b32 y; mov.b32 x, %1; cvt." to " y, x; mov.b32 %0, y; }", "=r", "r")
F2SMALL(f2i_s8_rz, "rzi.s8.f32")
F2SMALL(f2i_u8_rz, "rzi.u8.f32")
F2SMALL(f2i_s16_rz, "rzi.s16.f32")
F2SMALL(f2i_u16_rz, "rzi.u16.f32")
#define D2I(name, to, Co, To) \
    UNARY(name, To, u64, "{ .reg .f64 x; mov.b64 x, %1; cvt." to " %0, x; }", Co, "l")
D2I(d2i_s32_rz, "rzi.s32.f64", "=r", u32)
D2I(d2i_u32_rz, "rzi.u32.f64", "=r", u32)
D2I(d2i_s32_rn, "rni.s32.f64", "=r", u32)
D2I(d2i_s64_rz, "rzi.s64.f64", "=l", u64)
D2I(d2i_u64_rz, "rzi.u64.f64", "=l", u64)
D2I(d2i_u64_rp, "rpi.u64.f64", "=l", u64)
#define H2I(name, to, Co, To) \
    UNARY(name, To, u32, "{ .reg .b16 l, h; mov.b32 {l, h}, %1; cvt." to " %0, l; }", Co, "r")
H2I(h2i_s32_rz, "rzi.s32.f16", "=r", u32)
H2I(h2i_u32_rn, "rni.u32.f16", "=r", u32)
H2I(h2i_s64_rz, "rzi.s64.f16", "=l", u64)
#define D2F(name, op) \
    UNARY(name, u32, u64, "{ .reg .f64 x; .reg .f32 y; mov.b64 x, %1; " op " y, x; mov.b32 %0, y; }", "=r", "l")
D2F(d2f_rn, "cvt.rn.f32.f64")
D2F(d2f_rz, "cvt.rz.f32.f64")
D2F(d2f_rm, "cvt.rm.f32.f64")
D2F(d2f_rp, "cvt.rp.f32.f64")
D2F(d2f_ftz, "cvt.rn.ftz.f32.f64")
UNARY(f2d, u64, u32, "{ .reg .f32 x; .reg .f64 y; mov.b32 x, %1; cvt.f64.f32 y, x; mov.b64 %0, y; }", "=l", "r")
UNARY(d2h_rn, u32, u64,
      "{ .reg .f64 x; .reg .b16 y, z; mov.b64 x, %1; cvt.rn.f16.f64 y, x; mov.b16 z, 0; mov.b32 %0, {y, z}; }", "=r", "l")
#define F2H(name, op) \
    UNARY(name, u32, u32, \
          "{ .reg .f32 x; .reg .b16 y, z; mov.b32 x, %1; " op " y, x; mov.b16 z, 0; mov.b32 %0, {y, z}; }", "=r", "r")
F2H(f2h_rn, "cvt.rn.f16.f32")
F2H(f2h_rz, "cvt.rz.f16.f32")
F2H(f2h_rm, "cvt.rm.f16.f32")
F2H(f2h_rp, "cvt.rp.f16.f32")
F2H(f2h_sat, "cvt.rn.sat.f16.f32")
F2H(f2h_relu, "cvt.rn.relu.f16.f32")
F2H(f2bf_rn, "cvt.rn.bf16.f32")
F2H(f2bf_rz, "cvt.rz.bf16.f32")
F2H(f2bf_relu, "cvt.rn.relu.bf16.f32")
#define PAIR(name, op) \
    BINARY(name, u32, u32, "{ .reg .f32 x, y; mov.b32 x, %1; mov.b32 y, %2; " op " %0, x, y; }", "=r", "r")
PAIR(pack_f16, "cvt.rn.f16x2.f32")
PAIR(pack_f16_rz, "cvt.rz.f16x2.f32")
PAIR(pack_f16_relu, "cvt.rn.relu.f16x2.f32")
PAIR(pack_bf16, "cvt.rn.bf16x2.f32")
PAIR(pack_bf16_relu, "cvt.rz.relu.bf16x2.f32")
#define PAIR8(name, op) \
    BINARY(name, u32, u32, \
           "{ .reg .f32 x, y; .reg .b16 p, q; mov.b32 x, %1; mov.b32 y, %2; " op " p, x, y; mov.b16 q, 0; mov.b32 %0, {p, q}; }", \
           "=r", "r")
#define UNPACK8(name, op) \
    UNARY(name, u32, u32, "{ .reg .b16 l, h; mov.b32 {l, h}, %1; " op " %0, l; }", "=r", "r")
#if __CUDA_ARCH__ >= 890 || !defined(__CUDA_ARCH__)
PAIR8(pack_e4m3, "cvt.rn.satfinite.e4m3x2.f32")
PAIR8(pack_e5m2, "cvt.rn.satfinite.e5m2x2.f32")
PAIR8(pack_e4m3_relu, "cvt.rn.satfinite.relu.e4m3x2.f32")
UNPACK8(unpack_e4m3, "cvt.rn.f16x2.e4m3x2")
UNPACK8(unpack_e5m2, "cvt.rn.f16x2.e5m2x2")
#endif
UNARY(f2tf32_rna, u32, u32, "{ .reg .f32 x; mov.b32 x, %1; cvt.rna.tf32.f32 %0, x; }", "=r", "r")
#define FRND(name, op) \
    UNARY(name, u32, u32, "{ .reg .f32 x, y; mov.b32 x, %1; " op " y, x; mov.b32 %0, y; }", "=r", "r")
FRND(frnd_rn, "cvt.rni.f32.f32")
FRND(frnd_rm, "cvt.rmi.f32.f32")
FRND(frnd_rp, "cvt.rpi.f32.f32")
FRND(frnd_rz, "cvt.rzi.f32.f32")
FRND(frnd_ftz, "cvt.rpi.ftz.f32.f32")
UNARY(frnd_f64, u64, u64, "{ .reg .f64 x, y; mov.b64 x, %1; cvt.rni.f64.f64 y, x; mov.b64 %0, y; }", "=l", "l")
UNARY(frnd_f16, u32, u32,
      "{ .reg .b16 l, h; mov.b32 {l, h}, %1; cvt.rmi.f16.f16 l, l; mov.b32 %0, {l, h}; }", "=r", "r")

// Integers to floats.
#define I2F(name, op, Ci, Ti) \
    UNARY(name, u32, Ti, "{ .reg .f32 y; " op " y, %1; mov.b32 %0, y; }", "=r", Ci)
I2F(i2f_s32_rn, "cvt.rn.f32.s32", "r", u32)
I2F(i2f_s32_rz, "cvt.rz.f32.s32", "r", u32)
I2F(i2f_u32_rp, "cvt.rp.f32.u32", "r", u32)
I2F(i2f_s64_rn, "cvt.rn.f32.s64", "l", u64)
I2F(i2f_u64_rm, "cvt.rm.f32.u64", "l", u64)
UNARY(i2d_s64_rz, u64, u64, "{ .reg .f64 y; cvt.rz.f64.s64 y, %1; mov.b64 %0, y; }", "=l", "l")
UNARY(i2h_s32, u32, u32, "{ .reg .b16 y, z; cvt.rn.f16.s32 y, %1; mov.b16 z, 0; mov.b32 %0, {y, z}; }", "=r", "r")
UNARY(i2bf_s32, u32, u32, "{ .reg .b16 y, z; cvt.rn.bf16.s32 y, %1; mov.b16 z, 0; mov.b32 %0, {y, z}; }", "=r", "r")

// Integers.
UNARY(flo_shift_u32, u32, u32, "bfind.shiftamt.u32 %0, %1;", "=r", "r")
UNARY(flo_shift_s32, u32, u32, "bfind.shiftamt.s32 %0, %1;", "=r", "r")
UNARY(flo_s32, u32, u32, "bfind.s32 %0, %1;", "=r", "r")
TERNARY(prmt_index, u32, u32, "prmt.b32 %0, %1, %2, %3;", "=r", "r")
TERNARY(prmt_f4e, u32, u32, "prmt.b32.f4e %0, %1, %2, %3;", "=r", "r")
TERNARY(prmt_b4e, u32, u32, "prmt.b32.b4e %0, %1, %2, %3;", "=r", "r")
TERNARY(prmt_rc8, u32, u32, "prmt.b32.rc8 %0, %1, %2, %3;", "=r", "r")
TERNARY(prmt_ecl, u32, u32, "prmt.b32.ecl %0, %1, %2, %3;", "=r", "r")
TERNARY(prmt_ecr, u32, u32, "prmt.b32.ecr %0, %1, %2, %3;", "=r", "r")
TERNARY(prmt_rc16, u32, u32, "prmt.b32.rc16 %0, %1, %2, %3;", "=r", "r")
BINARY(bmsk_clamp, u32, u32, "bmsk.clamp.b32 %0, %1, %2;", "=r", "r")
BINARY(bmsk_wrap, u32, u32, "bmsk.wrap.b32 %0, %1, %2;", "=r", "r")
BINARY(sgxt_clamp_s32, u32, u32, "szext.clamp.s32 %0, %1, %2;", "=r", "r")
BINARY(sgxt_wrap_s32, u32, u32, "szext.wrap.s32 %0, %1, %2;", "=r", "r")
BINARY(sgxt_clamp_u32, u32, u32, "szext.clamp.u32 %0, %1, %2;", "=r", "r")
TERNARY(shf_l_clamp, u32, u32, "shf.l.clamp.b32 %0, %1, %2, %3;", "=r", "r")
TERNARY(shf_r_clamp, u32, u32, "shf.r.clamp.b32 %0, %1, %2, %3;", "=r", "r")
TERNARY(shf_r_wrap, u32, u32, "shf.r.wrap.b32 %0, %1, %2, %3;", "=r", "r")
TERNARY(dp4a_s8_u8, u32, u32, "dp4a.s32.u32 %0, %1, %2, %3;", "=r", "r")
TERNARY(dp2a_lo, u32, u32, "dp2a.lo.s32.s32 %0, %1, %2, %3;", "=r", "r")
TERNARY(dp2a_hi_u, u32, u32, "dp2a.hi.u32.s32 %0, %1, %2, %3;", "=r", "r")
TERNARY(vabsdiff4_acc, u32, u32, "vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;", "=r", "r")
TERNARY(vabsdiff4_signed, u32, u32, "vabsdiff4.u32.s32.s32 %0, %1, %2, %3;", "=r", "r")
TERNARY(sad_s32, u32, u32, "sad.s32 %0, %1, %2, %3;", "=r", "r")
TERNARY(pack_sat_s8, u32, u32, "cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;", "=r", "r")
BINARY(pack_sat_u16, u32, u32, "cvt.pack.sat.u16.s32 %0, %1, %2;", "=r", "r")
extern "C" __global__ void viaddmin(u32 *out, const u32 *a, const u32 *b, const u32 *c, int n) {
    int i = INDEX;
    if (i < n) out[i] = (u32)__viaddmin_s32((int)a[i], (int)b[i], (int)c[i]);
}
extern "C" __global__ void viaddmax_u32(u32 *out, const u32 *a, const u32 *b, const u32 *c, int n) {
    int i = INDEX;
    if (i < n) out[i] = __viaddmax_u32(a[i], b[i], c[i]);
}
extern "C" __global__ void viaddmax_relu(u32 *out, const u32 *a, const u32 *b, const u32 *c, int n) {
    int i = INDEX;
    if (i < n) out[i] = (u32)__viaddmax_s32_relu((int)a[i], (int)b[i], (int)c[i]);
}
extern "C" __global__ void vimin3(u32 *out, const u32 *a, const u32 *b, const u32 *c, int n) {
    int i = INDEX;
    if (i < n) out[i] = (u32)__vimin3_s32((int)a[i], (int)b[i], (int)c[i]);
}
extern "C" __global__ void viaddmax_s16x2(u32 *out, const u32 *a, const u32 *b, const u32 *c, int n) {
    int i = INDEX;
    if (i < n) out[i] = __viaddmax_s16x2(a[i], b[i], c[i]);
}
extern "C" __global__ void vimin_relu_s16x2(u32 *out, const u32 *a, const u32 *b, int n) {
    int i = INDEX;
    if (i < n) out[i] = __vimin_s16x2_relu(a[i], b[i]);
}

// FCHK: record.py replaces the FSETP of this kernel by FCHK with the same operands.
extern "C" __global__ void fchk(u32 *out, const float *a, const float *b, int n) {
    int i = INDEX;
    if (i < n) out[i] = a[i] > b[i] ? 1 : 0;
}
extern "C" __global__ void divide(float *out, const float *a, const float *b, int n) {
    int i = INDEX;
    if (i < n) out[i] = a[i] / b[i];
}

// SHFL from lanes that do not execute it (undefined in CUDA).
extern "C" __global__ void shfl_inactive(u32 *out, const u32 *a, int n) {
    u32 lane = threadIdx.x & 31, value = a[threadIdx.x], r = 0xdead0000u + lane;
    if (lane < 20) asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xfffff;" : "=r"(r) : "r"(value), "r"((lane + 7) & 31));
    out[threadIdx.x] = r;
}

// Tensor cores: one warp per product, matrices as the fragments' registers (lane-major).
#define MMA(name, shape, na, nb, nc, text, ...)                                              \
    extern "C" __global__ void name(u32 *d, const u32 *a, const u32 *b, const u32 *c, int n) {\
        int lane = threadIdx.x & 31, w = INDEX >> 5;                                         \
        if (w >= n) return;                                                                  \
        const u32 *pa = a + (w * 32 + lane) * na, *pb = b + (w * 32 + lane) * nb;            \
        const u32 *pc = c + (w * 32 + lane) * nc;                                            \
        u32 *pd = d + (w * 32 + lane) * nc;                                                  \
        text;                                                                                \
    }
#define D4 "=r"(pd[0]), "=r"(pd[1]), "=r"(pd[2]), "=r"(pd[3])
#define C4 "r"(pc[0]), "r"(pc[1]), "r"(pc[2]), "r"(pc[3])
#define A4 "r"(pa[0]), "r"(pa[1]), "r"(pa[2]), "r"(pa[3])
#define A2 "r"(pa[0]), "r"(pa[1])
#define B2 "r"(pb[0]), "r"(pb[1])
#define T4422 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
#define T4212 "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
MMA(mma_f16_f32, m16n8k16, 4, 2, 4,
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " T4422 : D4 : A4, B2, C4))
MMA(mma_bf16_f32, m16n8k16, 4, 2, 4,
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " T4422 : D4 : A4, B2, C4))
MMA(mma_f16_f16, m16n8k16, 4, 2, 2,
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9};"
                 : "=r"(pd[0]), "=r"(pd[1]) : A4, B2, "r"(pc[0]), "r"(pc[1])))
MMA(mma_f16_f32_k8, m16n8k8, 2, 1, 4,
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " T4212 : D4 : A2, "r"(pb[0]), C4))
MMA(mma_tf32_k8, m16n8k8, 4, 2, 4,
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 " T4422 : D4 : A4, B2, C4))
MMA(mma_tf32_k4, m16n8k4, 2, 1, 4,
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 " T4212 : D4 : A2, "r"(pb[0]), C4))
MMA(mma_s8, m16n8k32, 4, 2, 4,
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 " T4422 : D4 : A4, B2, C4))
MMA(mma_s8_sat, m16n8k32, 4, 2, 4,
    asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 " T4422 : D4 : A4, B2, C4))
extern "C" __global__ void mma_f64(double *d, const double *a, const double *b, const double *c, int n) {
    int lane = threadIdx.x & 31, w = INDEX >> 5;
    if (w >= n) return;
    int i = w * 32 + lane;
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%4,%5};"
                 : "=d"(d[2 * i]), "=d"(d[2 * i + 1])
                 : "d"(a[i]), "d"(b[i]), "d"(c[2 * i]), "d"(c[2 * i + 1]));
}
