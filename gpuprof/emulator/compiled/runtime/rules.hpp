// Sectors and wavefronts of one warp's access: emulator/sectors.py and emulator/wavefronts.py for 32 addresses.
// Tests hold these equal to those over thousands of patterns.
#pragma once
#include "runtime.hpp"

// Different keys among the enabled lanes; those that are off repeat an enabled lane's.
static inline u32 count_distinct(const u32* keys) {
  u32 changes = 0, descents = 0;
  for (u32 l = 1; l < 32; ++l) {
    changes += keys[l] != keys[l - 1];
    descents += keys[l] < keys[l - 1];
  }
  if (!descents) return changes + 1;
  u32 sorted[32], count = 0;
  for (u32 l = 0; l < 32; ++l) {
    u32 low = 0, high = count;
    while (low < high) {
      const u32 middle = (low + high) / 2;
      if (sorted[middle] < keys[l]) low = middle + 1; else high = middle;
    }
    if (low < count && sorted[low] == keys[l]) continue;
    for (u32 i = count; i > low; --i) sorted[i] = sorted[i - 1];
    sorted[low] = keys[l];
    ++count;
  }
  return count;
}
static inline u32 count_shifted(const u32* places, u32 shift) {
  u32 keys[32];
  LANES { keys[l] = places[l] >> shift; }
  return count_distinct(keys);
}

// The most (different, if ``distinct``) words of one bank over lanes first to last - 1, each of ``words`` words.
static inline u32 most_per_bank(const u32* address, u32 mask, u32 first, u32 last, u32 words, bool distinct) {
  u32 found[32][32 * 4], count[32] = {0}, most = 0;
  for (u32 l = first; l < last; ++l) {
    if (!(mask >> l & 1)) continue;
    for (u32 step = 0; step < words; ++step) {
      const u32 word = (address[l] >> 2) + step, bank = word & 31;
      u32 i = 0;
      if (distinct)
        while (i < count[bank] && found[bank][i] != word) ++i;
      else
        i = count[bank];
      if (i == count[bank]) {
        found[bank][count[bank]++] = word;
        if (count[bank] > most) most = count[bank];
      }
    }
  }
  return most;
}

static inline u32 groups_of(u32 width) { return width == 8 ? 2 : width == 16 ? 4 : 1; }

static inline u32 by_groups(const u32* address, u32 mask, u32 width, u32 groups, u32 lanes) {
  u32 total = 0;
  const u32 words = width > 4 ? width / 4 : 1;
  for (u32 i = 0; i < groups; ++i)
    total += most_per_bank(address, mask, i * lanes / groups, (i + 1) * lanes / groups, words, true);
  return total;
}

static inline bool partners_equal(const u32* address, u32 mask, u32 distance) {
  for (u32 l = 0; l < 32; ++l) {
    const u32 other = l ^ distance;
    if (mask >> l & 1 && mask >> other & 1 && address[l] != address[other]) return false;
  }
  return true;
}

static inline u32 store_wavefronts(const u32* address, u32 mask, u32 width) {
  return by_groups(address, mask, width, groups_of(width), 32);
}
static inline u32 load_wavefronts(const u32* address, u32 mask, u32 width) {
  const u32 groups = groups_of(width);
  if (width >= 8 && (partners_equal(address, mask, 1) || partners_equal(address, mask, 2)))
    return by_groups(address, mask, width, groups / 2, 32);
  return by_groups(address, mask, width, groups, 32);
}
static inline u32 matrix_wavefronts(const u32* address, u32 mask, u32 matrices) {
  return by_groups(address, mask, 16, matrices, 8 * matrices);
}
static inline u32 atomic_wavefronts(const u32* address, u32 mask, u32 width) {
  return most_per_bank(address, mask, 0, 32, width > 4 ? width / 4 : 1, false);
}
static inline u32 ideal_wavefronts(u32 mask, u32 width) {
  const u32 groups = groups_of(width), lanes = 32 / groups;
  u32 total = 0;
  for (u32 i = 0; i < groups; ++i) total += (mask >> (i * lanes) & (lanes == 32 ? ~0u : (1u << lanes) - 1)) != 0;
  return total;
}

// emulator/memory/atomics.py: _serial_sectors
static inline u32 serial_sectors(const u32* offset, u32 mask) {
  u32 keys[32], count = 0;
  for (u32 l = 0; l < 32; ++l) {
    if (!(mask >> l & 1)) continue;
    u32 turn = 0;
    for (u32 other = 0; other < l; ++other) turn += (mask >> other & 1) && offset[other] == offset[l];
    const u32 key = (offset[l] >> 5) * 32 + turn;
    u32 i = 0;
    while (i < count && keys[i] != key) ++i;
    if (i == count) keys[count++] = key;
  }
  return count;
}

// emulator/wavefronts.py: copy_wavefronts
static inline u32 copy_wavefronts(const u32* shared, const u32* source, u32 mask, u32 reads, u32 width) {
  const u32 groups = groups_of(width), lanes = 32 / groups, words = width > 4 ? width / 4 : 1;
  u32 total = 0;
  for (u32 i = 0; i < groups; ++i) {
    u32 waiting = mask & (lanes == 32 ? ~0u : ((1u << lanes) - 1) << (i * lanes));
    while (waiting) {
      u32 taken = 0, passed = 0, per_bank[32] = {0}, most = 1;
      for (u32 l = 0; l < 32; ++l) {
        if (!(waiting >> l & 1)) continue;
        u32 banks = 0;
        for (u32 step = 0; step < words; ++step) banks |= 1u << (((shared[l] >> 2) + step) & 31);
        if (banks & taken) continue;
        taken |= banks;
        passed |= 1u << l;
        if (!(reads >> l & 1)) continue;
        for (u32 step = 0; step < words; ++step) {
          const u32 now = ++per_bank[((source[l] >> 2) + step) & 31];
          if (now > most) most = now;
        }
      }
      total += most;
      waiting &= ~passed;
    }
  }
  return total;
}

// emulator/counting/bypass_copies.py
struct Move { u32 target, source, distance, places; };  // places: bit 0 and 1 of the two halves that are written
static inline u32 find_moves(const u32* shared, const u32* source, u32 reads, Move* moves) {
  u32 count = 0;
  for (u32 l = 0; l < 32; ++l) {
    if (!(reads >> l & 1)) continue;
    const u32 target = shared[l] >> 5, from = source[l] >> 5, distance = shared[l] - source[l];
    u32 i = 0;
    while (i < count && !(moves[i].target == target && moves[i].source == from && moves[i].distance == distance)) ++i;
    if (i == count) moves[count++] = {target, from, distance, 0};
    moves[i].places |= 1u << ((shared[l] & 31) >> 4);
  }
  return count;
}
static inline u32 copied_sectors(const u32* shared, const u32* source, u32 reads) {
  Move moves[32];
  return find_moves(shared, source, reads, moves);
}
static inline u32 requested_sectors(const u32* shared, const u32* source, u32 reads) {
  u32 keys[32][2], count = 0;
  for (u32 l = 0; l < 32; ++l) {
    if (!(reads >> l & 1)) continue;
    bool last = true;
    for (u32 other = l + 1; other < 32; ++other)
      if (reads >> other & 1 && shared[other] == shared[l]) last = false;
    if (!last) continue;
    u32 i = 0;
    while (i < count && !(keys[i][0] == shared[l] >> 5 && keys[i][1] == source[l] >> 7)) ++i;
    if (i < count) continue;
    keys[count][0] = shared[l] >> 5;
    keys[count++][1] = source[l] >> 7;
  }
  return count;
}
static inline u32 bypass_passes(const u32* shared, const u32* source, u32 reads) {
  Move moves[32];
  const u32 count = find_moves(shared, source, reads, moves);
  u32 keys[64][4], found = 0;
  for (u32 i = 0; i < count; ++i) {
    const Move& move = moves[i];
    bool repeated = false;
    for (u32 half = 0; half < 2; ++half) {
      if (!(move.places >> half & 1)) continue;
      const u32 from = (move.target << 5) + 16 * half - move.distance;
      u32 readers = 0;
      for (u32 l = 0; l < 32; ++l)
        readers += (reads >> l & 1) && shared[l] >> 7 == move.target >> 2 && source[l] == from;
      repeated |= readers > 1;
    }
    for (u32 part = 1; part < 4; ++part) {
      if (repeated ? part == 3 || !(move.places & part) : part != move.places) continue;
      u32 k = 0;
      while (k < found && !(keys[k][0] == move.target >> 2 && keys[k][1] == move.source >> 2 &&
                            keys[k][2] == move.distance && keys[k][3] == part)) ++k;
      if (k < found) continue;
      keys[found][0] = move.target >> 2;
      keys[found][1] = move.source >> 2;
      keys[found][2] = move.distance;
      keys[found++][3] = part;
    }
  }
  return found;
}
