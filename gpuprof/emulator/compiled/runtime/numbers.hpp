// Arithmetic of one lane with the results of numpy's functions, written so that loops over lanes vectorise.
#pragma once
#include <stdint.h>

typedef uint8_t u8;
typedef int8_t i8;
typedef uint16_t u16;
typedef int16_t i16;
typedef uint32_t u32;
typedef int32_t i32;
typedef uint64_t u64;
typedef int64_t i64;

template <class To, class From>
static inline To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From), "bits_as changes no size");
  return __builtin_bit_cast(To, value);
}

template <class T>
static inline T shift_left(T value, T count) {
  return (u64)count < 8 * sizeof(T) ? (T)(value << count) : (T)0;
}
template <class T>
static inline T shift_right(T value, T count) {
  return (u64)count < 8 * sizeof(T) ? (T)(value >> count) : (T)(value < 0 ? -1 : 0);
}

static inline bool is_nan(float x) { return x != x; }
static inline bool is_nan(double x) { return x != x; }
static inline float absolute(float x) { return bits_as<float>(bits_as<u32>(x) & 0x7fffffffu); }
static inline double absolute(double x) { return bits_as<double>(bits_as<u64>(x) & 0x7fffffffffffffffull); }
template <class T>
static inline T absolute(T x) { return x < 0 ? (T)-x : x; }
static inline bool is_infinite(float x) { return absolute(x) == __builtin_inff(); }
static inline bool is_infinite(double x) { return absolute(x) == __builtin_inf(); }
static inline bool is_finite(float x) { return absolute(x) < __builtin_inff(); }
static inline bool is_finite(double x) { return absolute(x) < __builtin_inf(); }
static inline bool sign_bit(float x) { return bits_as<i32>(x) < 0; }
static inline bool sign_bit(double x) { return bits_as<i64>(x) < 0; }
static inline float copy_sign(float x, float s) {
  return bits_as<float>((bits_as<u32>(x) & 0x7fffffffu) | (bits_as<u32>(s) & 0x80000000u));
}
static inline double copy_sign(double x, double s) {
  return bits_as<double>((bits_as<u64>(x) & 0x7fffffffffffffffull) | (bits_as<u64>(s) & 0x8000000000000000ull));
}
template <class T>
static inline T sign_of(T x) { return x > 0 ? (T)1 : x < 0 ? (T)-1 : x == 0 ? (T)0 : x; }

template <class T>
static inline T minimum(T a, T b) { return a != a ? a : b != b ? b : a < b ? a : b; }
template <class T>
static inline T maximum(T a, T b) { return a != a ? a : b != b ? b : a > b ? a : b; }
template <class T>
static inline T number_minimum(T a, T b) { return a != a ? b : b != b ? a : a < b ? a : b; }
template <class T>
static inline T number_maximum(T a, T b) { return a != a ? b : b != b ? a : a > b ? a : b; }

static inline float round_even(float x) { return __builtin_rintf(x); }
static inline double round_even(double x) { return __builtin_rint(x); }
static inline float truncate(float x) { return __builtin_truncf(x); }
static inline double truncate(double x) { return __builtin_trunc(x); }
static inline float round_down(float x) { return __builtin_floorf(x); }
static inline double round_down(double x) { return __builtin_floor(x); }
static inline float round_up(float x) { return __builtin_ceilf(x); }
static inline double round_up(double x) { return __builtin_ceil(x); }

static inline float next_after(float x, float to) {
  const u32 bits = bits_as<u32>(x);
  const u32 moved = (to > x) == (x > 0) ? bits + 1 : bits - 1;
  const u32 least = 1u | (bits_as<u32>(to) & 0x80000000u);
  const float result = bits_as<float>(x == 0 ? least : moved);
  return x != x || to != to ? x + to : x == to ? to : result;
}
static inline double next_after(double x, double to) {
  const u64 bits = bits_as<u64>(x);
  const u64 moved = (to > x) == (x > 0) ? bits + 1 : bits - 1;
  const u64 least = 1u | (bits_as<u64>(to) & 0x8000000000000000ull);
  const double result = bits_as<double>(x == 0 ? least : moved);
  return x != x || to != to ? x + to : x == to ? to : result;
}

static inline double scale_by_power(double x, i32 power) { return __builtin_ldexp(x, power); }
static inline double fraction_of(double x) {
  int exponent;
  return __builtin_frexp(x, &exponent);
}
static inline i32 exponent_of(double x) {
  int exponent;
  (void)__builtin_frexp(x, &exponent);
  return x - x == 0 ? exponent : 0;
}

static inline float half_to_single(u16 half) {
  const u32 sign = (u32)(half & 0x8000u) << 16, exponent = half >> 10 & 31u, fraction = half & 0x3ffu;
  const u32 normal = ((exponent == 31 ? 255u : exponent + 112u) << 23) | fraction << 13;
  const u32 small = bits_as<u32>((float)(i32)fraction * 0x1p-24f);
  return bits_as<float>(sign | (exponent == 0 ? small : normal));
}
static inline u16 single_to_half(float value) {
  const u32 bits = bits_as<u32>(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  const u32 small = bits_as<u32>(bits_as<float>(magnitude) + 0.5f) - 0x3f000000u;
  const u32 normal = (magnitude + 0xc8000fffu + (magnitude >> 13 & 1u)) >> 13;
  const u32 finite = magnitude < 0x38800000u ? small : normal;
  const u32 large = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  return (u16)(sign | (magnitude >= 0x47800000u ? large : finite));
}
static inline u16 double_to_half(double value) {
  const float nearest = (float)value;
  const u32 bits = bits_as<u32>(nearest);
  const bool inexact = (double)nearest != value && is_finite(value) && (bits & 1u) == 0;
  const u32 odd = nearest == 0 ? (bits & 0x80000000u) | 1u
                               : (absolute((double)nearest) < absolute(value) ? bits + 1 : bits - 1);
  const u32 zero_sign = (u32)(bits_as<u64>(value) >> 32) & 0x80000000u;
  return single_to_half(bits_as<float>(inexact ? (nearest == 0 ? zero_sign | 1u : odd) : bits));
}

static inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

// Sums and products rounded down, up or towards zero; the runtime has them.
extern "C" double gp_directed(double a, double b, double c, int operation, int mode);
#define DIRECTED(MODE, NUMBER)                                                                                   \
  static inline double fused_##MODE(double a, double b, double c) { return gp_directed(a, b, c, 2, NUMBER); }    \
  static inline double sum_##MODE(double a, double b) { return gp_directed(a, b, 0, 0, NUMBER); }                \
  static inline double product_##MODE(double a, double b) { return gp_directed(a, b, 0, 1, NUMBER); }
DIRECTED(RM, 1)
DIRECTED(RP, 2)
DIRECTED(RZ, 3)

// The tables of MUFU (semantics/interpolation.py).
struct MufuTable {
  const double* constant;
  const double* linear;
  const double* quadratic;
  const u16* squares;
  i64 low_bits;
};
extern "C" MufuTable gp_mufu[6];
static inline double mufu_value(int number, i32 position) {
  const MufuTable& table = gp_mufu[number];
  const i32 segment = position >> (i32)table.low_bits, x = position & ((1 << table.low_bits) - 1);
  const double square = table.quadratic[segment] * table.squares[x];
  const double line = square + table.linear[segment] * x;
  return line + table.constant[segment];
}
