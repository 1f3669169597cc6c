// Instructions that look across the lanes of a warp, special registers, and directed rounding.
#include "runtime.hpp"
#include <fenv.h>
#include <math.h>
#include <string.h>

// semantics/warp.py: shuffle_source. ``mode``: 0 IDX, 1 UP, 2 DOWN, 3 BFLY; returns the lanes inside the segment.
extern "C" u32 gp_shuffle(u32* result, u32 wm, const u32* value, const u32* b, const u32* c, u32 mode) {
  alignas(64) u32 lane[32], fresh[32];
  u32 valid = 0;
  LANES {
    const i32 clamp = (i32)(c[l] & 31), segment = (i32)(c[l] >> 8 & 31), amount = (i32)(b[l] & 31), own = (i32)l;
    const i32 start = own & segment, last = start | (clamp & ~segment);
    const i32 from = mode == 0 ? start | (amount & ~segment) : mode == 1 ? own - amount : mode == 2 ? own + amount : own ^ amount;
    const bool inside = mode == 1 ? from >= last : from <= last;
    lane[l] = inside ? (u32)from & 31u : l;
    valid |= (u32)inside << l;
  }
  LANES { fresh[l] = value[lane[l]]; }
  if (wm == ~0u)
    memcpy(result, fresh, sizeof fresh);
  else
    LANES { result[l] = (wm >> l & 1u) ? fresh[l] : result[l]; }
  return valid;
}

// semantics/warp.py: match; returns ~0 where all active lanes agree
extern "C" u32 gp_match(Warp&, u32* result, u32 m, u32 wm, const u32* low, const u32* high, u32 all) {
  u32 equal[32], agreed = 0;
  for (u32 l = 0; l < 32; ++l) {
    equal[l] = 0;
    for (u32 other = 0; other < 32; ++other)
      equal[l] |= (u32)((m >> other & 1) && low[other] == low[l] && high[other] == high[l]) << other;
  }
  for (u32 l = 0; l < 32; ++l) agreed |= (u32)(equal[l] == m || !(m >> l & 1)) << l;
  const u32 whole = agreed == ~0u ? ~0u : 0;
  for (u32 l = 0; l < 32; ++l)
    if (wm >> l & 1) result[l] = all ? whole & m : equal[l];
  return whole;
}

// semantics/warp.py: redux. ``kind``: 0 SUM, 1 MIN, 2 MAX, 3 AND, 4 OR, 5 XOR; 8: signed
extern "C" u32 gp_reduce(const u32* value, u32 m, u32 kind) {
  const u32 operation = kind & 7;
  const bool is_signed = kind & 8;
  u32 total = operation == 1 ? (is_signed ? 0x7fffffffu : ~0u) : operation == 2 ? (is_signed ? 0x80000000u : 0) : operation == 3 ? ~0u : 0;
  for (u32 l = 0; l < 32; ++l) {
    if (!(m >> l & 1)) continue;
    const u32 v = value[l];
    if (operation == 0) total += v;
    if (operation == 1) total = is_signed ? (u32)minimum((i32)total, (i32)v) : minimum(total, v);
    if (operation == 2) total = is_signed ? (u32)maximum((i32)total, (i32)v) : maximum(total, v);
    if (operation == 3) total &= v;
    if (operation == 4) total |= v;
    if (operation == 5) total ^= v;
  }
  return total;
}

extern "C" void gp_transpose(u32* result, const u32* value, u32 wm) {
  u16 from[64], to[64];
  u32 fresh[32];
  memcpy(from, value, 128);
  for (u32 row = 0; row < 8; ++row)
    for (u32 column = 0; column < 8; ++column) to[column * 8 + row] = from[row * 8 + column];
  memcpy(fresh, to, 128);
  for (u32 l = 0; l < 32; ++l)
    if (wm >> l & 1) result[l] = fresh[l];
}

// state/special_values.py, by the numbers of compiled/instructions.py.
enum Special {
  TID_X, TID_Y, TID_Z, TID, LANEID, VIRTID, WARPID, EQMASK, LTMASK, LEMASK, GTMASK, GEMASK,
  CTAID_X, CTAID_Y, CTAID_Z, DYNAMIC_SHARED, CLOCK_LOW, CLOCK_HIGH
};
extern "C" u32 gp_special_word(Warp& w, u32 kind) {
  switch (kind) {
    case CTAID_X: case CTAID_Y: case CTAID_Z: return w.block->place[kind - CTAID_X];
    case DYNAMIC_SHARED: return (u32)w.worker->launch->dynamic_shared;
    case CLOCK_LOW: return (u32)gp_clock();
    case CLOCK_HIGH: return (u32)(gp_clock() >> 32);
  }
  return 0;
}
extern "C" void gp_special(Warp& w, u32* result, u32 wm, u32 kind) {
  const u32* values = w.worker->thread_values + 96 * w.number;
  for (u32 l = 0; l < 32; ++l) {
    if (!(wm >> l & 1)) continue;
    const u32 equal = 1u << l, below = equal - 1;
    switch (kind) {
      case TID_X: case TID_Y: case TID_Z: result[l] = values[32 * kind + l]; break;
      case TID: result[l] = values[l] | values[32 + l] << 16 | values[64 + l] << 26; break;
      case LANEID: result[l] = l; break;
      case VIRTID: result[l] = w.number << 8; break;
      case WARPID: result[l] = w.number; break;
      case EQMASK: result[l] = equal; break;
      case LTMASK: result[l] = below; break;
      case LEMASK: result[l] = below | equal; break;
      case GTMASK: result[l] = ~(below | equal); break;
      case GEMASK: result[l] = ~below; break;
      default: result[l] = gp_special_word(w, kind);
    }
  }
}

// ``operation``: 0 a + b, 1 a * b, 2 a * b + c; ``mode``: 1 down, 2 up, 3 towards zero
extern "C" double gp_directed(double a, double b, double c, int operation, int mode) {
  static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
  const int before = fegetround();
  fesetround(modes[mode]);
  volatile double x = a, y = b, z = c;
  volatile double result;
  if (operation == 0) result = x + y;
  else if (operation == 1) result = x * y;
  else result = fma(x, y, z);
  fesetround(before);
  return result;
}

extern "C" {
MufuTable gp_mufu[6];
}
extern "C" void gp_set_table(int number, const double* constant, const double* linear, const double* quadratic,
                             const u16* squares, i64 low_bits) {
  gp_mufu[number] = {constant, linear, quadratic, squares, low_bits};
}
