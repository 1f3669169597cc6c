// What a traced launch executed: runs of straight code by warp, and their accesses to memory (compiled/tracing.py).
#include "rules.hpp"
#include <stdlib.h>
#include <string.h>

template <class T>
static inline T* grown(Growing<T>& list, i64 more) {
  if (list.count + more > list.room) {
    const i64 room = 2 * list.room + more + 1024;
    T* items = (T*)realloc((void*)list.items, (size_t)room * sizeof(T));
    if (!items) return nullptr;
    list.items = items;
    list.room = room;
  }
  T* first = list.items + list.count;
  list.count += more;
  return first;
}

static inline u32 warp_of(const Warp& w) { return w.block->row * w.block->count + w.number; }

bool trace_run(Warp& w, u32 segment) {
  Trace& trace = *w.worker->trace;
  if (trace.runs.count >= trace.limit || trace.accesses.count >= trace.limit) return false;
  TracedRun* run = grown(trace.runs, 1);
  if (run) *run = {warp_of(w), segment, bits(w.mask)};
  return run != nullptr;
}

static TracedAccess* new_access(Warp& w, u32 site, u32 space, u32 m) {
  Trace& trace = *w.worker->trace;
  TracedAccess* access = grown(trace.accesses, 1);
  if (!access) return nullptr;
  *access = {warp_of(w), (u32)(trace.runs.count - 1), site, space, bits(m), 0, 0, 0, 0, (u32)trace.sectors.count};
  return access;
}

// Different keys >> 5 of the enabled lanes, ascending, to the list of sectors; their number.
static u32 add_sectors(Trace& trace, const u32* offset, u32 m) {
  u32 sorted[32], count = 0;
  for (u32 l = 0; l < 32; ++l) {
    if (!(m >> l & 1)) continue;
    const u32 key = offset[l] >> 5;
    u32 place = count;
    while (place && sorted[place - 1] > key) --place;
    if (place && sorted[place - 1] == key) continue;
    for (u32 i = count; i > place; --i) sorted[i] = sorted[i - 1];
    sorted[place] = key;
    ++count;
  }
  u32* sectors = grown(trace.sectors, count);
  if (!sectors) return 0;
  memcpy(sectors, sorted, count * sizeof *sectors);
  return count;
}

void trace_global(Warp& w, u32 site, u32 m, const u32* offset, u32 passes) {
  TracedAccess* access = new_access(w, site, TRACED_GLOBAL, m);
  if (!access) return;
  const u32 first = offset[first_lane(m)];
  access->passes = passes;
  access->base = first;
  for (u32 l = 0; l < 32; ++l)
    if (m >> l & 1) access->shape = access->shape * 0x9E3779B1u + (offset[l] - first) * 64 + l + 1;
  access->sectors = add_sectors(*w.worker->trace, offset, m);
}
void trace_shared(Warp& w, u32 site, u32 m, u32 passes) {
  TracedAccess* access = new_access(w, site, TRACED_SHARED, m);
  if (access) access->passes = passes;
}
void trace_local(Warp& w, u32 site, u32 m, const u32* places, u32 words) {
  TracedAccess* access = new_access(w, site, TRACED_LOCAL, m);
  if (!access) return;
  access->passes = words;
  access->base = places[first_lane(m)];
  for (u32 word = 0; word < words; ++word) {
    u32 row[32];
    LANES { row[l] = places[l] + word * 128; }
    access->sectors += add_sectors(*w.worker->trace, row, m);
  }
}
void trace_copy(Warp& w, u32 site, u32 m, u32 reads, const u32* offset, u32 passes) {
  if (reads) trace_global(w, site, reads, offset, 0);
  TracedAccess* access = new_access(w, site, TRACED_COPY, m);
  if (access) access->passes = passes;
}

extern "C" Trace* gp_trace_new(i64 limit) {
  Trace* trace = (Trace*)calloc(1, sizeof(Trace));
  if (trace) trace->limit = limit;
  return trace;
}
extern "C" void gp_trace_counts(const Trace* trace, i64* counts) {
  counts[0] = trace->runs.count;
  counts[1] = trace->accesses.count;
  counts[2] = trace->sectors.count;
}
extern "C" void gp_trace_copy(const Trace* trace, void* runs, void* accesses, void* sectors) {
  memcpy(runs, trace->runs.items, (size_t)trace->runs.count * sizeof(TracedRun));
  memcpy(accesses, trace->accesses.items, (size_t)trace->accesses.count * sizeof(TracedAccess));
  memcpy(sectors, trace->sectors.items, (size_t)trace->sectors.count * sizeof(u32));
}
extern "C" void gp_trace_free(Trace* trace) {
  if (!trace) return;
  free(trace->runs.items);
  free(trace->accesses.items);
  free(trace->sectors.items);
  free(trace);
}
