// Atomics: the lanes of a warp one after another (emulator/memory/atomics.py, shared_atomics.py).
#include "rules.hpp"
#include <string.h>

// From memory.cpp.
bool gp_enter_global(Warp& w, u32 site, u32 m, const Wide& wide, u32 width, u32* offset);
bool gp_enter_shared(Warp& w, u32 site, u32 m, const Narrow& narrow, u32 width, u32 rule, u32* address);
bool gp_enter_window(Warp& w, u32 site, u32 m, const u32* address, u32 width);

enum Operation { ADD, MIN, MAX, AND, OR, XOR, INC, DEC, EXCH, CAS };
enum Type { WORD, SIGNED_WORD, LONG, SIGNED_LONG, SINGLE, DOUBLE, HALVES, BFLOATS };
static u32 width_of(u32 kind) {
  const u32 type = kind >> 4;
  return type == LONG || type == SIGNED_LONG || type == DOUBLE ? 8 : 4;
}

static u32 add_halves(u32 a, u32 b) {
  u32 result = 0;
  for (u32 shift = 0; shift < 32; shift += 16)
    result |= (u32)single_to_half(half_to_single((u16)(a >> shift)) + half_to_single((u16)(b >> shift))) << shift;
  return result;
}
static u32 add_bfloats(u32 a, u32 b) {
  u32 result = 0;
  for (u32 shift = 0; shift < 32; shift += 16) {
    const u32 sum = bits_as<u32>(bits_as<float>(a >> shift << 16) + bits_as<float>(b >> shift << 16));
    result |= (sum + 0x7fffu + (sum >> 16 & 1u)) >> 16 << shift;
  }
  return result;
}

template <class T>
static T combine(u32 operation, T old, T value, T other) {
  switch (operation) {
    case ADD: return (T)(old + value);
    case MIN: return minimum(old, value);
    case MAX: return maximum(old, value);
    case EXCH: return value;
    case CAS: return old == value ? other : old;
    case INC: return old >= value ? (T)0 : (T)(old + 1);
    case DEC: return old == 0 || old > value ? value : (T)(old - 1);
  }
  return old;
}
template <class T>
static T combine_bits(u32 operation, T old, T value, T other) {
  if (operation == AND) return old & value;
  if (operation == OR) return old | value;
  if (operation == XOR) return old ^ value;
  return combine<T>(operation, old, value, other);
}

static u64 update(u8* place, u32 kind, u64 first, u64 second) {
  const u32 operation = kind & 15;
  u32 word;
  u64 pair;
  if (width_of(kind) == 8) {
    memcpy(&pair, place, 8);
    u64 fresh = pair;
    switch (kind >> 4) {
      case LONG: fresh = combine_bits<u64>(operation, pair, first, second); break;
      case SIGNED_LONG: fresh = (u64)combine_bits<i64>(operation, (i64)pair, (i64)first, (i64)second); break;
      default:
        fresh = bits_as<u64>(combine<double>(operation, bits_as<double>(pair), bits_as<double>(first), bits_as<double>(second)));
    }
    memcpy(place, &fresh, 8);
    return pair;
  }
  memcpy(&word, place, 4);
  const u32 a = (u32)first, b = (u32)second;
  u32 fresh = word;
  switch (kind >> 4) {
    case WORD: fresh = combine_bits<u32>(operation, word, a, b); break;
    case SIGNED_WORD: fresh = (u32)combine_bits<i32>(operation, (i32)word, (i32)a, (i32)b); break;
    case SINGLE: fresh = bits_as<u32>(combine<float>(operation, bits_as<float>(word), bits_as<float>(a), bits_as<float>(b))); break;
    case HALVES: fresh = add_halves(word, a); break;
    case BFLOATS: fresh = add_bfloats(word, a); break;
  }
  memcpy(place, &fresh, 4);
  return word;
}

static void serve(u8* memory, const u32* place, u32 m, u32 wm, u32* old, const u32* a, const u32* b, u32 kind) {
  const bool wide = width_of(kind) == 8;
  u32 result[64] = {0};
  for (u32 l = 0; l < 32; ++l) {
    if (!(m >> l & 1)) continue;
    const u64 first = a[l] | (wide ? (u64)a[32 + l] << 32 : 0), second = b[l] | (wide ? (u64)b[32 + l] << 32 : 0);
    const u64 before = update(memory + place[l], kind, first, second);
    result[l] = (u32)before;
    result[32 + l] = (u32)(before >> 32);
  }
  if (!old) return;
  for (u32 l = 0; l < 32; ++l) {
    if (!(wm >> l & 1)) continue;
    old[l] = result[l];
    if (wide) old[32 + l] = result[32 + l];
  }
}

extern "C" bool gp_atomic_global(Warp& w, u32 site, u32 m, u32 wm, u32* old, const Wide& wide, const u32* a,
                                 const u32* b, u32 kind) {
  alignas(64) u32 offset[32];
  const u32 width = width_of(kind);
  if (!gp_enter_global(w, site, m, wide, width, offset)) return false;
  const Launch& launch = *w.worker->launch;
  for (u32 l = 0; l < 32; ++l)
    if (m >> l & 1) memset(launch.written + (offset[l] >> 2), 15, width / 4);
  serve(launch.arena, offset, m, wm, old, a, b, kind);
  return true;
}

extern "C" bool gp_atomic_shared(Warp& w, u32 site, u32 m, u32 wm, u32* old, const Narrow& narrow, const u32* a,
                                 const u32* b, u32 kind) {
  alignas(64) u32 address[32];
  if (!gp_enter_shared(w, site, m, narrow, width_of(kind), (kind & 15) == CAS ? 3 : 2, address)) return false;
  serve(w.block->shared, address, m, wm, old, a, b, kind);
  return true;
}

// memory/generic_access.py: atomic. Lanes of both memories in one warp are left to numpy.
extern "C" bool gp_atomic_generic(Warp& w, u32 site, u32 m, u32 wm, u32* old, const Wide& wide, const u32* a,
                                  const u32* b, u32 kind) {
  u32 shared = 0, local = 0;
  alignas(64) u32 address[32];
  for (u32 l = 0; l < 32; ++l) {
    const u64 place = ((u64)wide.high[l] << 32 | wide.low[l]) + wide.add;
    address[l] = (u32)place;
    shared |= (u32)((place >> 32) == SHARED_HIGH) << l;
    local |= (u32)((place >> 32) == LOCAL_HIGH) << l;
  }
  if (!((shared | local) & m)) return gp_atomic_global(w, site, m, wm, old, wide, a, b, kind);
  if ((shared & m) != m) return stop_here(w, REPEAT_IN_NUMPY, site);
  const u32 first = address[first_lane(m)];
  LANES { address[l] = (m >> l & 1u) ? address[l] : first; }
  if (!gp_enter_window(w, site, m, address, width_of(kind))) return false;
  serve(w.block->shared, address, m, wm, old, a, b, kind);
  return true;
}

// ATOMS.POPC.INC
extern "C" bool gp_count_shared(Warp& w, u32 site, u32 m, const Narrow& narrow) {
  alignas(64) u32 address[32];
  if (!gp_enter_shared(w, site, m, narrow, 4, 1, address)) return false;
  for (u32 l = 0; l < 32; ++l)
    if (m >> l & 1) ++*(u32*)(w.block->shared + address[l]);
  return true;
}

// ATOMS.CAST.SPIN: of the lanes on one bank the first tries.
extern "C" bool gp_spin_shared(Warp& w, u32 site, u32 m, u32 wm, u32* done, u32* predicate, const Narrow& narrow,
                               const u32* a, const u32* b, u32 width) {
  alignas(64) u32 address[32];
  if (!gp_enter_shared(w, site, m, narrow, width, 4, address)) return false;
  u32 swapped = 0, taken = 0;
  for (u32 l = 0; l < 32; ++l) {
    const u32 bank = address[l] / width % (128 / width);
    if (!(m >> l & 1) || taken >> bank & 1) continue;
    taken |= 1u << bank;
    u8* place = w.block->shared + address[l];
    u64 now = 0;
    memcpy(&now, place, width);
    const u64 compare = a[l] | (width == 8 ? (u64)a[32 + l] << 32 : 0);
    const u64 fresh = b[l] | (width == 8 ? (u64)b[32 + l] << 32 : 0);
    if (now != compare) continue;
    memcpy(place, &fresh, width);
    swapped |= 1u << l;
  }
  if (predicate) *predicate = (*predicate & ~wm) | (swapped & wm);
  if (done)
    for (u32 l = 0; l < 32; ++l) {
      if (!(wm >> l & 1)) continue;
      done[l] = swapped >> l & 1;
      if (width == 8) done[32 + l] = 0;
    }
  return true;
}
