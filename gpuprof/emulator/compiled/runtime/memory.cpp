// Loads, stores, copies and atomics of a warp, with their checks and counts (emulator/memory).
#include "rules.hpp"
#include <string.h>
#include <stdlib.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

extern "C" {
alignas(64) const u32 gp_zeros[4 * 32] = {0};
}

static inline Launch const& launch_of(Warp& w) { return *w.worker->launch; }

// Whether the offsets from ``line`` on are not those of a record.
static inline bool differs(const u32* offset, u32 line, const u32* known) {
#if defined(__AVX512F__)
  const __m512i base = _mm512_set1_epi32((int)line);
  const __m512i low = _mm512_sub_epi32(_mm512_load_si512(offset), base);
  const __m512i high = _mm512_sub_epi32(_mm512_load_si512(offset + 16), base);
  return _mm512_cmpneq_epi32_mask(low, _mm512_load_si512(known)) |
         _mm512_cmpneq_epi32_mask(high, _mm512_load_si512(known + 16));
#elif defined(__AVX2__)
  const __m256i base = _mm256_set1_epi32((int)line);
  __m256i all = _mm256_setzero_si256();
  for (u32 l = 0; l < 32; l += 8) {
    const __m256i here = _mm256_sub_epi32(_mm256_load_si256((const __m256i*)(offset + l)), base);
    all = _mm256_or_si256(all, _mm256_xor_si256(here, _mm256_load_si256((const __m256i*)(known + l))));
  }
  return !_mm256_testz_si256(all, all);
#else
  u32 all = 0;
  LANES { all |= known[l] ^ (offset[l] - line); }
  return all != 0;
#endif
}

#define EIGHT(X) X, X, X, X, X, X, X, X
alignas(64) static const u32 HIGH_WORDS[32] = {EIGHT(GLOBAL_HIGH), EIGHT(GLOBAL_HIGH), EIGHT(GLOBAL_HIGH), EIGHT(GLOBAL_HIGH)};

// Offsets of the enabled lanes; the others repeat the first of them. False: an address outside the 4 GiB of an arena.
static inline bool offsets_of(u32 m, const Wide& wide, u32* offset) {
  const u32 first = first_lane(m);
  u32 bad = 0;
  if (wide.add + (1u << 23) < (1u << 24)) {  // what wraps around stands in a guard zone
    const u32 add = (u32)wide.add;
    if (__builtin_expect(m == ~0u, 1)) {
      LANES { offset[l] = wide.low[l] + add; }
      return !differs(wide.high, 0, HIGH_WORDS);
    } else {
      const u32 base = wide.low[first] + add;
      LANES {
        const bool on = m >> l & 1u;
        offset[l] = on ? wide.low[l] + add : base;
        bad |= on ? wide.high[l] ^ GLOBAL_HIGH : 0;
      }
    }
    return !bad;
  }
  const u64 add = wide.add - GLOBAL_BASE;
  const u32 base = (u32)(((u64)wide.high[first] << 32 | wide.low[first]) + add);
  LANES {
    const bool on = m >> l & 1u;
    const u64 address = ((u64)wide.high[l] << 32 | wide.low[l]) + add;
    offset[l] = on ? (u32)address : base;
    bad |= on ? (u32)(address >> 32) : 0;
  }
  return !bad;
}

static inline void addresses_of(u32 m, const Narrow& narrow, u32* address) {
  const u32 first = first_lane(m), base = narrow.base[first] * narrow.scale + narrow.add;
  if (m == ~0u) {
    LANES { address[l] = narrow.base[l] * narrow.scale + narrow.add; }
  } else {
    LANES { address[l] = (m >> l & 1u) ? narrow.base[l] * narrow.scale + narrow.add : base; }
  }
}

// The record of this pattern, or a fresh one to be filled in (``add[ISSUED]`` 0).
static __attribute__((noinline)) Record* find_older(Record* records, u32 m, const u32* offset, u32 line) {
  for (u32 way = 1; way < RECORDS; ++way) {
    if (records[way].mask != m || !records[way].valid || differs(offset, line, records[way].offset)) continue;
    const Record found = records[way];
    records[way] = records[way - 1];
    records[way - 1] = found;
    return records + way - 1;
  }
  for (u32 way = RECORDS - 1; way > 0; --way) records[way] = records[way - 1];
  Record& record = records[0];
  record.valid = 0;
  record.mask = m;
  memset(record.add, 0, sizeof record.add);
  LANES { record.offset[l] = offset[l] - line; }
  return &record;
}
static inline Record* find_record(Warp& w, u32 site, u32 m, const u32* offset) {
  Record* records = w.worker->records + (i64)site * RECORDS;
  const u32 line = offset[0] & ~127u;
  if (__builtin_expect(records->mask == m && records->valid && !differs(offset, line, records->offset), 1)) return records;
  return find_older(records, m, offset, line);
}

// Fills in where the pattern reaches and its shape. False: an enabled lane is misaligned.
static __attribute__((noinline)) bool learn_shape(Record& record, u32 m, const u32* offset, u32 width) {
  const u32 line = offset[0] & ~127u;
  u32 misaligned = 0, low = ~0u, high = 0, steps = 0, moves = 0;
  for (u32 l = 0; l < 32; ++l) {
    misaligned |= offset[l] & (width - 1);
    if (offset[l] < low) low = offset[l];
    if (offset[l] > high) high = offset[l];
    steps |= offset[l] ^ (offset[0] + l * width);
    moves |= offset[l] ^ offset[0];
  }
  if (misaligned) return false;
  record.least = (i32)(low - line);
  record.most = (i32)(high - line);
  record.shape = !moves ? SAME : !steps && m == ~0u ? CONTIGUOUS : GROUPED;
  for (u32 group = 0; group < 4; ++group) {
    u32 apart = 0, moving = 0;
    for (u32 l = 8 * group; l < 8 * group + 8; ++l) {
      apart |= offset[l] ^ (offset[8 * group] + (l - 8 * group) * width);
      moving |= offset[l] ^ offset[8 * group];
    }
    record.groups[group] = !moving ? SAME : !apart ? CONTIGUOUS : ANY_SHAPE;
    if (moving && apart && record.shape == GROUPED) record.shape = ANY_SHAPE;
  }
  record.valid = (i64)low - (i64)line == record.least && (i64)high - (i64)line == record.most;
  return true;
}

static __attribute__((noinline)) bool owned_by_lanes(const Launch& launch, const u32* offset, u32 width) {
  for (u32 l = 0; l < 32; ++l) {
    i64 low = 0, high = launch.regions;
    while (low < high) {
      const i64 middle = (low + high) / 2;
      if (launch.starts[middle] <= (i64)offset[l]) low = middle + 1; else high = middle;
    }
    if (!low || (i64)offset[l] + width > launch.ends[low - 1]) return false;
  }
  return true;
}

static __attribute__((noinline)) bool find_owner(Warp& w, u32 site, i64 low, i64 high, const u32* offset, u32 width) {
  Owned& last = w.worker->owned[site];
  const Launch& launch = launch_of(w);
  for (i64 i = 0; i < launch.regions; ++i)
    if (low >= launch.starts[i] && high + width <= launch.ends[i]) {
      last = {launch.starts[i], launch.ends[i]};
      return true;
    }
  return owned_by_lanes(launch, offset, width);
}

static inline bool owned(Warp& w, u32 site, i64 low, i64 high, const u32* offset, u32 width) {
  const Owned& last = w.worker->owned[site];
  if (__builtin_expect(low >= last.start && high + width <= last.end, 1)) return true;
  return find_owner(w, site, low, high, offset, width);
}

static inline void add_counts(Warp& w, u32 site, const Record& record) {
  i64* counters = counters_of(w, site);
  for (u32 i = 0; i < 8; ++i) counters[i] += record.add[i];
}

static __attribute__((noinline)) bool learn_global(Warp& w, u32 site, u32 m, u32 width, const u32* offset, bool atomic,
                                                   Record* record) {
  if (!learn_shape(*record, m, offset, width)) return stop_here(w, REPEAT_IN_NUMPY, site);
  record->add[ISSUED] = 1;
  record->add[IDEAL_SECTORS] = (bits(m) * width + 31) / 32;
  record->add[SECTORS] = count_shifted(offset, 5);
  record->add[TAGS] = count_shifted(offset, 7);
  if (atomic) record->add[L1_SECTORS] = serial_sectors(offset, m);
  return true;
}

// memory/addresses.py GlobalPlace and global_access.py GlobalCount: offsets, checked and counted; null: a fault.
static inline __attribute__((always_inline)) const Record* enter_global(Warp& w, u32 site, u32 m, const Wide& wide,
                                                                        u32 width, u32* offset, bool atomic) {
  if (__builtin_expect(!offsets_of(m, wide, offset), 0)) return stop_here(w, REPEAT_IN_NUMPY, site), nullptr;
  Record* record = find_record(w, site, m, offset);
  if (__builtin_expect(!record->add[ISSUED], 0))
    if (!learn_global(w, site, m, width, offset, atomic, record)) return nullptr;
  const i64 line = offset[0] & ~127u;
  if (__builtin_expect(record->valid, 1)) {
    if (__builtin_expect(!owned(w, site, line + record->least, line + record->most, offset, width), 0))
      return stop_here(w, REPEAT_IN_NUMPY, site), nullptr;
  } else if (!owned_by_lanes(launch_of(w), offset, width)) {
    return stop_here(w, REPEAT_IN_NUMPY, site), nullptr;
  }
  add_counts(w, site, *record);
  if (traced(w)) trace_global(w, site, m, offset, (u32)record->add[L1_SECTORS]);
  return record;
}

// What lanes that have ended would read: the numpy engine writes them too where all live lanes are written.
static void read_ended(Warp& w, u32 m, u32* data, const Wide& wide, u32 width, u32 sign) {
  const Launch& launch = launch_of(w);
  for (u32 l = 0; l < 32; ++l) {
    if (m >> l & 1) continue;
    i64 offset = (i64)(((u64)wide.high[l] << 32 | wide.low[l]) + wide.add - GLOBAL_BASE);
    const u32 step = width == 16 ? 8 : width;
    for (u32 part = 0; part < width; part += step) {
      i64 place = (offset & ~(i64)(step - 1)) + part;
      if (place < 0) place = 0;
      if (place > launch.arena_bytes - step) place = launch.arena_bytes - step;
      u64 value = 0;
      memcpy(&value, launch.arena + place, step);
      if (sign) value = width == 1 ? (u32)(i32)(i8)value : (u32)(i32)(i16)value;
      data[(part / 4) * 32 + l] = (u32)value;
      if (step == 8) data[(part / 4 + 1) * 32 + l] = (u32)(value >> 32);
    }
  }
}

template <class T>
static inline void gather(u32* data, const u8* memory, const u32* offset, u32 wm) {
  const T* cells = (const T*)memory;
  const u32 shift = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : 2;
  if (wm == ~0u) {
    LANES { data[l] = (u32)(i32)cells[offset[l] >> shift]; }
  } else {
    LANES { data[l] = (wm >> l & 1u) ? (u32)(i32)cells[offset[l] >> shift] : data[l]; }
  }
}
static inline void gather_words(u32* data, const u8* memory, const u32* offset, u32 wm, u32 words) {
  const u32* cells = (const u32*)memory;
  for (u32 step = 0; step < words; ++step) {
    u32* part = data + 32 * step;
#ifdef __AVX512F__
    if (wm == ~0u) {
      for (u32 l = 0; l < 32; l += 16) {
        const __m512i place = _mm512_srli_epi32(_mm512_load_si512(offset + l), 2);
        _mm512_store_si512(part + l, _mm512_i32gather_epi32(place, cells + step, 4));
      }
      continue;
    }
#endif
    if (wm == ~0u) {
      LANES { part[l] = cells[(offset[l] >> 2) + step]; }
    } else {
      LANES { part[l] = (wm >> l & 1u) ? cells[(offset[l] >> 2) + step] : part[l]; }
    }
  }
}
// All lanes of words whose pattern is known: broadcast or copied by eight lanes where it allows that.
static inline void load_pattern(u32* data, const u8* memory, const u32* offset, const Record& record, u32 words) {
  if (record.shape == CONTIGUOUS && words == 1) {
    memcpy(data, memory + offset[0], 128);
  } else if (record.shape == SAME) {
    for (u32 step = 0; step < words; ++step) {
      u32 value;
      u32* part = data + 32 * step;
      memcpy(&value, memory + offset[0] + 4 * step, 4);
      LANES { part[l] = value; }
    }
  } else if (record.shape == GROUPED || record.shape == CONTIGUOUS) {
    for (u32 group = 0; group < 4; ++group) {
      const u32* from = (const u32*)(memory + offset[8 * group]);
      u32* to = data + 8 * group;
      if (record.groups[group] == SAME) {
        for (u32 step = 0; step < words; ++step) {
          const u32 value = from[step];
          for (u32 l = 0; l < 8; ++l) to[32 * step + l] = value;
        }
      } else if (words == 1) {
        memcpy(to, from, 32);
      } else if (words == 2) {
        u32 pair[16];
        memcpy(pair, from, 64);
        for (u32 l = 0; l < 8; ++l) to[l] = pair[2 * l];
        for (u32 l = 0; l < 8; ++l) to[32 + l] = pair[2 * l + 1];
      } else {
        u32 four[32];
        memcpy(four, from, 128);
        for (u32 step = 0; step < 4; ++step)
          for (u32 l = 0; l < 8; ++l) to[32 * step + l] = four[4 * l + step];
      }
    }
  } else {
    gather_words(data, memory, offset, ~0u, words);
  }
}
static inline void load_any(u32* data, const u8* memory, const u32* offset, u32 wm, u32 width, u32 sign) {
  if (width == 4) gather_words(data, memory, offset, wm, 1);
  else if (width == 8) gather_words(data, memory, offset, wm, 2);
  else if (width == 16) gather_words(data, memory, offset, wm, 4);
  else if (width == 1) sign ? gather<i8>(data, memory, offset, wm) : gather<u8>(data, memory, offset, wm);
  else sign ? gather<i16>(data, memory, offset, wm) : gather<u16>(data, memory, offset, wm);
}
static inline void store_any(u8* memory, const u32* offset, const u32* data, u32 m, u32 width) {
  for (u32 l = 0; l < 32; ++l) {
    if (!(m >> l & 1)) continue;
    if (width < 4) {
      memcpy(memory + offset[l], data + l, width);
    } else {
      for (u32 step = 0; step < width / 4; ++step) memcpy(memory + offset[l] + 4 * step, data + 32 * step + l, 4);
    }
  }
}
static inline void mark_written(const Launch& launch, const u32* offset, u32 m, u32 width) {
  for (u32 l = 0; l < 32; ++l) {
    if (!(m >> l & 1)) continue;
    if (width < 4)
      launch.written[offset[l] >> 2] |= (u8)(((1u << width) - 1) << (offset[l] & 3));
    else
      memset(launch.written + (offset[l] >> 2), 15, width / 4);
  }
}

extern "C" bool gp_ldg4(Warp& w, u32 site, u32 m, u32 wm, u32* data, const Wide& wide) {
  alignas(64) u32 offset[32];
  const Record* record = enter_global(w, site, m, wide, 4, offset, false);
  if (!record) return false;
  const u8* memory = launch_of(w).arena;
  if (__builtin_expect(wm == ~0u && m == ~0u, 1)) {
    load_pattern(data, memory, offset, *record, 1);
    return true;
  }
  if (wm & ~m) {
    u32 ended[32];
    read_ended(w, m, ended, wide, 4, 0);
    LANES { data[l] = ((wm & ~m) >> l & 1u) ? ended[l] : data[l]; }
  }
  gather_words(data, memory, offset, wm & m, 1);
  return true;
}

extern "C" bool gp_load_global(Warp& w, u32 site, u32 m, u32 wm, u32* data, const Wide& wide, u32 width, u32 sign) {
  alignas(64) u32 offset[32];
  const Record* record = enter_global(w, site, m, wide, width, offset, false);
  if (!record) return false;
  if (wm == ~0u && m == ~0u && width > 4) {
    load_pattern(data, launch_of(w).arena, offset, *record, width / 4);
    return true;
  }
  if (wm & ~m) {  // the registers of the address may be among those that are written
    u32 ended[4 * 32];
    read_ended(w, m, ended, wide, width, sign);
    const u32 words = width > 4 ? width / 4 : 1;
    for (u32 step = 0; step < words; ++step)
      for (u32 l = 0; l < 32; ++l)
        if ((wm & ~m) >> l & 1) data[32 * step + l] = ended[32 * step + l];
  }
  load_any(data, launch_of(w).arena, offset, wm & m, width, sign);
  return true;
}

extern "C" bool gp_store_global(Warp& w, u32 site, u32 m, const u32* data, const Wide& wide, u32 width) {
  alignas(64) u32 offset[32];
  const Record* record = enter_global(w, site, m, wide, width, offset, false);
  if (!record) return false;
  const Launch& launch = launch_of(w);
  if (width == 4 && record->shape == CONTIGUOUS) {
    memcpy(launch.arena + offset[0], data, 128);
    memset(launch.written + (offset[0] >> 2), 15, 32);
    return true;
  }
  store_any(launch.arena, offset, data, m, width);
  mark_written(launch, offset, m, width);
  return true;
}

static inline bool in_shared(Warp& w, u32 address, u32 width) {
  return (i64)address + width <= w.block->shared_bytes && address >= w.block->shared_start;
}

// memory/shared_access.py: SharedPlaces. ``rule``: 0 load, 1 store, 2 atomic, 3 compare and swap, 4 spin, 5.. matrices
static __attribute__((noinline)) bool learn_shared(Warp& w, u32 site, u32 m, const u32* address, u32 width, u32 rule,
                                                   Record* record) {
  {
    if (!learn_shape(*record, m, address, width)) return stop_here(w, REPEAT_IN_NUMPY, site);
    u32 passes = 0, ideal = ideal_wavefronts(m, width);
    if (rule == 0) passes = load_wavefronts(address, m, width);
    if (rule == 1) passes = store_wavefronts(address, m, width);
    if (rule == 2) passes = atomic_wavefronts(address, m, width);
    if (rule == 3) passes = 2 * atomic_wavefronts(address, m, width);
    if (rule == 4) passes = 2;
    if (rule > 4) {
      passes = matrix_wavefronts(address, m, rule - 4);
      ideal = rule - 4;
    }
    record->add[ISSUED] = 1;
    record->add[WAVEFRONTS] = passes;
    record->add[IDEAL_WAVEFRONTS] = ideal;
  }
  return true;
}
static inline __attribute__((always_inline)) const Record* enter_shared(Warp& w, u32 site, u32 m, const u32* address,
                                                                        u32 width, u32 rule) {
  Record* record = find_record(w, site, m, address);
  if (__builtin_expect(!record->add[ISSUED], 0))
    if (!learn_shared(w, site, m, address, width, rule, record)) return nullptr;
  const i64 limit = w.block->shared_bytes, line = address[0] & ~127u;
  bool inside = true;
  if (record->valid)
    inside = line + record->most + width <= limit && line + record->least >= w.block->shared_start;
  else
    for (u32 l = 0; l < 32; ++l) inside &= in_shared(w, address[l], width);
  if (__builtin_expect(!inside, 0)) return stop_here(w, REPEAT_IN_NUMPY, site), nullptr;
  if (traced(w)) trace_shared(w, site, m, (u32)record->add[WAVEFRONTS]);
  return record;
}

extern "C" bool gp_load_shared(Warp& w, u32 site, u32 m, u32 wm, u32* data, const Narrow& narrow, u32 width,
                               u32 sign) {
  alignas(64) u32 address[32];
  addresses_of(m, narrow, address);
  const Record* record = enter_shared(w, site, m, address, width, 0);
  if (!record) return false;
  add_counts(w, site, *record);
  const u8* memory = w.block->shared;
  if (__builtin_expect(wm == ~0u && width >= 4, 1)) {
    load_pattern(data, memory, address, *record, width / 4);
    return true;
  }
  load_any(data, memory, address, wm, width, sign);
  return true;
}

extern "C" bool gp_store_shared(Warp& w, u32 site, u32 m, const u32* data, const Narrow& narrow, u32 width) {
  alignas(64) u32 address[32];
  addresses_of(m, narrow, address);
  const Record* record = enter_shared(w, site, m, address, width, 1);
  if (!record) return false;
  add_counts(w, site, *record);
  if (width == 4 && record->shape == CONTIGUOUS)
    memcpy(w.block->shared + address[0], data, 128);
  else
    store_any(w.block->shared, address, data, m, width);
  return true;
}

// memory/shared_access.py: load_matrix
extern "C" bool gp_load_matrix(Warp& w, u32 site, u32 m, u32 wm, u32* data, const Narrow& narrow, u32 matrices,
                               u32 transposed) {
  alignas(64) u32 address[32];
  addresses_of(m, narrow, address);
  const Record* record = enter_shared(w, site, m, address, 16, 4 + matrices);
  if (!record) return false;
  add_counts(w, site, *record);
  const u8* memory = w.block->shared;
  for (u32 matrix = 0; matrix < matrices; ++matrix) {
    const u32* rows = address + 8 * matrix;
    u32 value[32];
    for (u32 l = 0; l < 32; ++l) {
      if (!transposed) {
        memcpy(value + l, memory + rows[l / 4] + 4 * (l % 4), 4);
      } else {
        u16 low, high;
        memcpy(&low, memory + rows[2 * (l % 4)] + 2 * (l / 4), 2);
        memcpy(&high, memory + rows[2 * (l % 4) + 1] + 2 * (l / 4), 2);
        value[l] = low | (u32)high << 16;
      }
    }
    u32* part = data + 32 * matrix;
    LANES { part[l] = (wm >> l & 1u) ? value[l] : part[l]; }
  }
  return true;
}

// memory/local_access.py. Word w of lane l stands at (w * 32 + l) * 4.
static bool enter_local(Warp& w, u32 site, u32 m, const u32* address, u32 width, i64 issued) {
  const i64 limit = launch_of(w).local_bytes;
  u32 bad = 0, places[32], stack = ~0u;  // R1 is the stack pointer: below it nothing is the thread's
  for (u32 l = 0; l < 32; ++l) stack = minimum(stack, w.R[32 + l]);
  if ((i64)stack > limit) stack = 0;
  for (u32 l = 0; l < 32; ++l) {
    bad |= (address[l] & (width - 1)) || (i64)address[l] + width > limit || address[l] < stack;
    places[l] = ((address[l] >> 2) * 32 + (m >> l & 1 ? l : first_lane(m))) * 4;
  }
  if (bad) return stop_here(w, REPEAT_IN_NUMPY, site);
  if (!w.local) {
    Block& block = *w.block;
    const i64 words = launch_of(w).local_bytes * 8;
    if (!block.locals) {
      block.locals = (u32*)malloc((size_t)words * block.count * 4);
      fill_words(block.locals, words * block.count * 4, (u32)launch_of(w).poison);
      for (u32 i = 0; i < block.count; ++i) block.warps[i].local = block.locals + words * i;
    }
  }
  w.local_used = true;
  i64* counters = counters_of(w, site);
  const u32 words = width > 4 ? width / 4 : 1;
  counters[issued] += 1;
  counters[SECTORS] += count_shifted(places, 5) * words;
  counters[TAGS] += count_shifted(places, 7) * words;
  if (traced(w)) trace_local(w, site, m, places, words);
  return true;
}
static void load_local(Warp& w, const u32* address, u32 wm, u32* data, u32 width, u32 sign) {
  const u32 words = width > 4 ? width / 4 : 1;
  for (u32 step = 0; step < words; ++step)
    for (u32 l = 0; l < 32; ++l) {
      if (!(wm >> l & 1)) continue;
      u32 value = w.local[((address[l] >> 2) + step) * 32 + l];
      if (width < 4) {
        value >>= (address[l] & 3) * 8;
        if (width == 1) value = sign ? (u32)(i32)(i8)value : (u8)value;
        if (width == 2) value = sign ? (u32)(i32)(i16)value : (u16)value;
      }
      data[32 * step + l] = value;
    }
}
static void store_local(Warp& w, const u32* address, u32 m, const u32* data, u32 width) {
  for (u32 l = 0; l < 32; ++l) {
    if (!(m >> l & 1)) continue;
    u32* word = w.local + (address[l] >> 2) * 32 + l;
    if (width < 4) {
      const u32 shift = (address[l] & 3) * 8, field = ((1u << 8 * width) - 1) << shift;
      *word = (*word & ~field) | (data[l] << shift & field);
    } else {
      for (u32 step = 0; step < width / 4; ++step) word[32 * step] = data[32 * step + l];
    }
  }
}
extern "C" bool gp_load_local(Warp& w, u32 site, u32 m, u32 wm, u32* data, const Narrow& narrow, u32 width, u32 sign) {
  u32 address[32];
  addresses_of(m, narrow, address);
  if (!enter_local(w, site, m, address, width, ISSUED)) return false;
  load_local(w, address, wm, data, width, sign);
  return true;
}
extern "C" bool gp_store_local(Warp& w, u32 site, u32 m, const u32* data, const Narrow& narrow, u32 width) {
  u32 address[32];
  addresses_of(m, narrow, address);
  if (!enter_local(w, site, m, address, width, ISSUED)) return false;
  store_local(w, address, m, data, width);
  return true;
}

// memory/generic_access.py: the lanes of each window, as (mask, narrow addresses of shared and local memory).
struct Windows { u32 global, shared, local, low[32]; };
static Windows windows_of(u32 m, const Wide& wide) {
  Windows windows = {0, 0, 0, {0}};
  for (u32 l = 0; l < 32; ++l) {
    const u64 address = ((u64)wide.high[l] << 32 | wide.low[l]) + wide.add;
    const u32 high = (u32)(address >> 32);
    windows.low[l] = (u32)address;
    if (!(m >> l & 1)) continue;
    (high == SHARED_HIGH ? windows.shared : high == LOCAL_HIGH ? windows.local : windows.global) |= 1u << l;
  }
  return windows;
}
static void repeat_first(u32* address, u32 m) {
  const u32 first = address[first_lane(m)];
  LANES { address[l] = (m >> l & 1u) ? address[l] : first; }
}
static bool enter_shared_generic(Warp& w, u32 site, u32 m, const u32* address, u32 width, u32 rule) {
  // Not remembered: the same instruction keeps records of its global side.
  u32 bad = 0;
  for (u32 l = 0; l < 32; ++l) bad |= (address[l] & (width - 1)) || !in_shared(w, address[l], width);
  if (bad) return stop_here(w, REPEAT_IN_NUMPY, site);
  i64* counters = counters_of(w, site);
  counters[SHARED] += 1;
  const u32 passes = rule == 0 ? load_wavefronts(address, m, width)
                     : rule == 1 ? store_wavefronts(address, m, width)
                                 : atomic_wavefronts(address, m, width);
  counters[WAVEFRONTS] += passes;
  if (traced(w)) trace_shared(w, site, m, passes);
  counters[IDEAL_WAVEFRONTS] += ideal_wavefronts(m, width);
  return true;
}
extern "C" bool gp_load_generic(Warp& w, u32 site, u32 m, u32 wm, u32* data, const Wide& wide, u32 width, u32 sign) {
  const Windows windows = windows_of(m, wide);
  if (windows.global == m) return gp_load_global(w, site, m, wm, data, wide, width, sign);
  const bool whole = windows.shared == m || windows.local == m;
  alignas(64) u32 address[32], result[4 * 32];
  if (windows.global && !gp_load_global(w, site, windows.global, windows.global, result, wide, width, sign)) return false;
  if (windows.shared) {
    memcpy(address, windows.low, sizeof address);
    repeat_first(address, windows.shared);
    if (!enter_shared_generic(w, site, windows.shared, address, width, 0)) return false;
    load_any(result, w.block->shared, address, whole ? wm : windows.shared, width, sign);
  }
  if (windows.local) {
    memcpy(address, windows.low, sizeof address);
    repeat_first(address, windows.local);
    if (!enter_local(w, site, windows.local, address, width, LOCAL)) return false;
    load_local(w, address, windows.local, result, width, sign);
  }
  for (u32 step = 0; step < (width > 4 ? width / 4 : 1); ++step)
    for (u32 l = 0; l < 32; ++l)
      if ((whole && windows.shared ? wm : m) >> l & 1) data[32 * step + l] = result[32 * step + l];
  return true;
}
extern "C" bool gp_store_generic(Warp& w, u32 site, u32 m, const u32* data, const Wide& wide, u32 width) {
  const Windows windows = windows_of(m, wide);
  if (windows.global && !gp_store_global(w, site, windows.global, data, wide, width)) return false;
  alignas(64) u32 address[32];
  if (windows.shared) {
    memcpy(address, windows.low, sizeof address);
    repeat_first(address, windows.shared);
    if (!enter_shared_generic(w, site, windows.shared, address, width, 1)) return false;
    store_any(w.block->shared, address, data, windows.shared, width);
  }
  if (windows.local) {
    memcpy(address, windows.low, sizeof address);
    repeat_first(address, windows.local);
    if (!enter_local(w, site, windows.local, address, width, LOCAL)) return false;
    store_local(w, address, windows.local, data, width);
  }
  return true;
}

extern "C" bool gp_load_constant(Warp& w, u32 wm, u32 m, u32* data, const u32* index, u32 bank, u32 offset, u32 width) {
  for (u32 l = 0; l < 32; ++l) {
    if (!(wm >> l & 1)) continue;
    const u32 place = index[l] + offset;
    if ((u64)place + width > 65536) {
      if (m >> l & 1) return false;
      continue;
    }
    u32 value = 0;
    memcpy(&value, w.banks[bank] + place, width);
    data[l] = value;
  }
  return true;
}

// memory/async_copy.py. ``flags``: 1 BYPASS, 2 ZFILL, 4 the guard is misread by the counters.
static void count_copy(Warp& w, u32 site, u32 m, u32 reads, const u32* shared, const u32* source, u32 width,
                       u32 flags, bool misread) {
  i64* counters = counters_of(w, site);
  u32 passes, copied = 0, requested = 0;
  if (flags & 1) {
    const u32 filled = ideal_wavefronts(m & ~reads, width);
    passes = bypass_passes(shared, source, reads) * (flags & 2 ? 2 : 1) + filled;
    requested = requested_sectors(shared, source, reads);
    copied = copied_sectors(shared, source, reads);
  } else {
    passes = copy_wavefronts(shared, source, m, reads, width);
  }
  if (traced(w) && !misread) trace_copy(w, site, m, reads, source, passes);
  if (misread) {
    counters[WAVEFRONTS] += passes;
    counters[COPIED_SECTORS] += copied;
    return;
  }
  counters[COPIES] += 1;
  counters[IDEAL_WAVEFRONTS] += ideal_wavefronts(m, width);
  counters[L1_SECTORS] += requested;
  if (!(flags & 4)) {
    counters[WAVEFRONTS] += passes;
    counters[COPIED_SECTORS] += copied;
  }
}
extern "C" bool gp_copy_async(Warp& w, u32 site, u32 m, u32 reads, const Narrow& narrow, const Wide& wide, u32 width,
                              u32 flags) {
  alignas(64) u32 address[32], offset[32] = {0}, kept[32];
  addresses_of(m, narrow, address);
  u32 bad = 0;
  for (u32 l = 0; l < 32; ++l) bad |= (address[l] & (width - 1)) || !in_shared(w, address[l], width);
  if (bad) return stop_here(w, REPEAT_IN_NUMPY, site);
  const Launch& launch = launch_of(w);
  i64* counters = counters_of(w, site);
  if (reads) {
    if (!offsets_of(reads, wide, offset)) return stop_here(w, REPEAT_IN_NUMPY, site);
    for (u32 l = 0; l < 32; ++l) {
      kept[l] = flags & 2 ? width - (offset[l] & (width - 1)) : width;
      if (flags & 2) offset[l] &= ~(width - 1);
      bad |= offset[l] & (width - 1);
    }
    if (bad || !owned_by_lanes(launch, offset, width)) return stop_here(w, REPEAT_IN_NUMPY, site);
    const u32 sectors = count_shifted(offset, 5);
    counters[ISSUED] += 1;
    counters[IDEAL_SECTORS] += (bits(reads) * width + 31) / 32;
    counters[SECTORS] += sectors;
    counters[TAGS] += count_shifted(offset, 7);
    if (!(flags & 1)) {
      counters[L1_SECTORS] += sectors;
      counters[COPIED_SECTORS] += sectors;
    }
  }
  count_copy(w, site, m, reads, address, offset, width, flags, false);
  for (u32 l = 0; l < 32; ++l) {
    if (!(m >> l & 1)) continue;
    u8 data[16] = {0};
    if (reads >> l & 1) memcpy(data, launch.arena + offset[l], kept[l]);
    memcpy(w.block->shared + address[l], data, width);
  }
  return true;
}
extern "C" void gp_copy_misread(Warp& w, u32 site, u32 m, u32 reads, const Narrow& narrow, const Wide& wide, u32 width,
                                u32 flags) {
  u32 address[32], source[32];
  for (u32 l = 0; l < 32; ++l) {
    address[l] = narrow.base[l] * narrow.scale + narrow.add;
    source[l] = (u32)(wide.low[l] + wide.add);
  }
  count_copy(w, site, m, reads, address, source, width, flags, true);
}

// For atomics.cpp.
bool gp_enter_global(Warp& w, u32 site, u32 m, const Wide& wide, u32 width, u32* offset) {
  return enter_global(w, site, m, wide, width, offset, true) != nullptr;
}
bool gp_enter_shared(Warp& w, u32 site, u32 m, const Narrow& narrow, u32 width, u32 rule, u32* address) {
  addresses_of(m, narrow, address);
  const Record* record = enter_shared(w, site, m, address, width, rule);
  if (record) add_counts(w, site, *record);
  return record != nullptr;
}
bool gp_enter_window(Warp& w, u32 site, u32 m, const u32* address, u32 width) {
  return enter_shared_generic(w, site, m, address, width, 2);
}

// The counting rules by number, for tests that hold them equal to isa/memory_access.py and counting/bypass_copies.py.
extern "C" u32 gp_rule(u32 rule, const u32* address, const u32* source, u32 mask, u32 reads, u32 width) {
  switch (rule) {
    case 0: return count_shifted(address, 5);
    case 1: return count_shifted(address, 7);
    case 2: return load_wavefronts(address, mask, width);
    case 3: return store_wavefronts(address, mask, width);
    case 4: return matrix_wavefronts(address, mask, width);
    case 5: return atomic_wavefronts(address, mask, width);
    case 6: return ideal_wavefronts(mask, width);
    case 7: return copy_wavefronts(address, source, mask, reads, width);
    case 8: return requested_sectors(address, source, reads);
    case 9: return copied_sectors(address, source, reads);
    case 10: return bypass_passes(address, source, reads);
    case 11: return serial_sectors(address, mask);
  }
  return ~0u;
}
