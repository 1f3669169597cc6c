// Tensor instructions on the registers of a warp (semantics/tensor.py, semantics/accumulate.py).
#include "runtime.hpp"
#include <string.h>

enum { LOWEST = -1000 };

static float factor_of(u32 word, u32 half, u32 kind) {  // 0 FP16, 1 BF16, 2 TF32
  if (kind == 2) return bits_as<float>(word & 0xffffe000u);
  const u16 part = (u16)(word >> 16 * half);
  return kind == 1 ? bits_as<float>((u32)part << 16) : half_to_single(part);
}
static i32 exponent_field(float value, i32 smallest) {
  const i32 exponent = (i32)(bits_as<u32>(value) >> 23 & 255) - 127;
  return value == 0 ? (i32)LOWEST : exponent < smallest ? smallest : exponent;
}
static double cut_to_single(double value) {
  if (absolute(value) >= 0x1p128) return copy_sign(__builtin_inf(), value);
  float nearest = (float)value;
  if (absolute((double)nearest) > absolute(value)) nearest = bits_as<float>(bits_as<u32>(nearest) - 1);
  return nearest;
}
static double power_of_two(i32 exponent) { return bits_as<double>((u64)(exponent + 1023) << 52); }

struct Matrices { alignas(64) float left[16][16], right[8][16]; i32 left_top[16][16], right_top[8][16]; };

// One block of ``count`` products from ``first`` on, and the total before: the aligned sum, not yet rounded.
static double add_block(const Matrices& x, u32 row, u32 column, u32 first, u32 count, double total, i32 places) {
  const float* left = x.left[row] + first;
  const float* right = x.right[column] + first;
  i32 top = total == 0 ? 2 * (i32)LOWEST : (i32)(bits_as<u64>(total) >> 52 & 2047) - 1023;
  if (total != 0 && top < -126) top = -126;
  bool finite = is_finite(total);
  for (u32 k = 0; k < count; ++k) {
    const i32 exponent = x.left_top[row][first + k] + x.right_top[column][first + k];
    top = exponent > top ? exponent : top;
    finite &= is_finite(left[k]) && is_finite(right[k]);
  }
  if (!finite) {
    double plain = total;
    for (u32 k = 0; k < count; ++k) plain = plain + (double)left[k] * (double)right[k];
    return plain;
  }
  if (top < -500) top = 0;  // no term at all
  const double scale = power_of_two(places - top), back = power_of_two(top - places);
  i64 sum = (i64)(total * scale);
  for (u32 k = 0; k < count; ++k) sum += (i64)((double)left[k] * (double)right[k] * scale);
  return (double)sum * back;
}

extern "C" void gp_hmma(u32* d, const u32* a, const u32* b, const u32* c, u32 wm, u32 depth, u32 kind, u32 narrow,
                        u32 block, u32 places) {
  Matrices x;
  const u32 each = kind == 2 ? 1 : 2, per_group = 4 * each;
  const i32 smallest = kind ? -126 : -14;
  for (u32 l = 0; l < 32; ++l) {
    const u32 g = l / 4, t = l % 4;
    for (u32 q = 0; q < 16 * depth / 32 / each; ++q)
      for (u32 e = 0; e < each; ++e) {
        const u32 row = g + 8 * (q % 2), k = per_group * (q / 2) + each * t + e;
        x.left[row][k] = factor_of(a[32 * q + l], e, kind);
        x.left_top[row][k] = exponent_field(x.left[row][k], smallest);
      }
    for (u32 q = 0; q < 8 * depth / 32 / each; ++q)
      for (u32 e = 0; e < each; ++e) {
        const u32 k = per_group * q + each * t + e;
        x.right[g][k] = factor_of(b[32 * q + l], e, kind);
        x.right_top[g][k] = exponent_field(x.right[g][k], smallest);
      }
  }
  u32 result[4][32];
  for (u32 l = 0; l < 32; ++l)
    for (u32 q = 0; q < 4; ++q) {
      const u32 row = l / 4 + 8 * (q / 2), column = 2 * (l % 4) + q % 2;
      double total = narrow ? (double)half_to_single((u16)(c[32 * (q / 2) + l] >> 16 * (q % 2)))
                            : (double)bits_as<float>(c[32 * q + l]);
      for (u32 first = 0; first < depth; first += block) {
        const u32 count = depth - first < block ? depth - first : block;
        total = add_block(x, row, column, first, count, total, (i32)places);
        if (narrow) {
          const u16 half = is_nan(total) ? 0x7fff : double_to_half(total);
          total = (double)half_to_single(half) + 0.0;
        } else {
          total = cut_to_single(total) + 0.0;
        }
      }
      result[q][l] = narrow ? (is_nan(total) ? 0x7fffu : double_to_half(total)) : is_nan(total) ? 0x7fffffffu : bits_as<u32>((float)total);
    }
  for (u32 l = 0; l < 32; ++l) {
    if (!(wm >> l & 1)) continue;
    if (narrow) {
      for (u32 q = 0; q < 2; ++q) d[32 * q + l] = result[2 * q][l] | result[2 * q + 1][l] << 16;
    } else {
      for (u32 q = 0; q < 4; ++q) d[32 * q + l] = result[q][l];
    }
  }
}

static i32 integer_part(u32 word, u32 place, u32 width, bool is_signed) {
  const u32 value = word >> (place * width) & ((1u << width) - 1);
  return is_signed && value >> (width - 1) ? (i32)value - (1 << width) : (i32)value;
}

// ``kinds``: 1 a signed, 2 b signed, 4: 4 bits each instead of 8
extern "C" void gp_imma(u32* d, const u32* a, const u32* b, const u32* c, u32 wm, u32 rows, u32 depth, u32 kinds,
                        u32 saturate) {
  i32 left[16][64], right[8][64];
  const u32 width = kinds & 4 ? 4 : 8, each = 32 / width, halves = rows / 8;
  for (u32 l = 0; l < 32; ++l) {
    const u32 g = l / 4, t = l % 4;
    for (u32 q = 0; q < rows * depth * width / 1024; ++q)
      for (u32 e = 0; e < each; ++e)
        left[g + 8 * (q % halves)][4 * each * (q / halves) + each * t + e] = integer_part(a[32 * q + l], e, width, kinds & 1);
    for (u32 q = 0; q < 8 * depth * width / 1024; ++q)
      for (u32 e = 0; e < each; ++e)
        right[g][4 * each * q + each * t + e] = integer_part(b[32 * q + l], e, width, kinds & 2);
  }
  u32 result[4][32];
  for (u32 l = 0; l < 32; ++l)
    for (u32 q = 0; q < rows / 4; ++q) {
      i64 total = (i32)c[32 * q + l];
      for (u32 k = 0; k < depth; ++k) total += left[l / 4 + 8 * (q / 2)][k] * right[2 * (l % 4) + q % 2][k];
      if (saturate) total = total < -(1ll << 31) ? -(1ll << 31) : total > (1ll << 31) - 1 ? (1ll << 31) - 1 : total;
      result[q][l] = (u32)total;
    }
  for (u32 q = 0; q < rows / 4; ++q)
    for (u32 l = 0; l < 32; ++l)
      if (wm >> l & 1) d[32 * q + l] = result[q][l];
}
