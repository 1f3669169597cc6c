// The runtime's own structures: a launch, a worker that runs blocks of it, and a block.
#pragma once
#include "lanes.hpp"

enum { RECORDS = 2, MAX_WARPS = 32, BLOCK_BARRIERS = 16, MAX_EXITS = 256 };
static const u32 GLOBAL_HIGH = 0x7f00, SHARED_HIGH = 0x7e00, LOCAL_HIGH = 0x7e80;
static const u64 GLOBAL_BASE = (u64)GLOBAL_HIGH << 32;

// A place where translated code begins. ``ends``: with it ends a run of the numpy engine; ``joins``: it is a BSYNC.
struct Entry { Segment code; i32 number, length, ends, joins; };

// One launch; filled in by compiled/library.py, which has the same fields in the same order.
struct Launch {
  const Entry* entries;
  i64 places, segments, registers, warps, threads, shared_bytes, local_bytes, limit, dynamic_shared;
  i64 grid[3], block[3];
  const u8* banks[5];
  u8* arena;
  u8* written;
  i64 arena_bytes;
  const i64* starts;
  const i64* ends;
  i64 regions, reserved_bytes, poison, reversed;
  const i64* round;  // pairs of a BAR and an EXIT that lies behind it alone
  i64 rounds;
};

struct Stop { i64 fault, site, block, warp, lane; };

// What an access counted the last times, by the pattern of its addresses within a line.
struct alignas(64) Record {
  u32 offset[32];
  i64 add[8];
  u32 mask, valid;
  i32 least, most;
  u32 shape;
  u8 groups[4];  // the shape of each eight lanes
  u32 pad[10];
};
enum Shape { ANY_SHAPE, CONTIGUOUS, SAME, GROUPED };

struct Owned { i64 start, end; };

// A list that grows; ``count`` of its ``room`` places are taken.
template <class T>
struct Growing { T* items; i64 count, room; };
// A run of straight code by a warp (of all traced ones), and how many lanes were active.
struct TracedRun { u32 warp, segment, lanes; };
enum TracedSpace { TRACED_GLOBAL, TRACED_SHARED, TRACED_LOCAL, TRACED_COPY };
// An access in the run before it. ``base``: byte offset of the first lane; ``shape``: hash of the others' distances.
struct TracedAccess { u32 warp, run, site, space, lanes, passes, base, shape, sectors, first_sector; };
struct Trace {
  Growing<TracedRun> runs;
  Growing<TracedAccess> accesses;
  Growing<u32> sectors;
  i64 limit;  // of runs, and of accesses
};

struct Worker {
  const Launch* launch;
  i64* counters;
  i64* executed;
  Stop* stop;
  Trace* trace;      // null: nobody asks
  Record* records;   // RECORDS per instruction
  Owned* owned;      // per instruction the buffer that was used last
  u32* thread_values;  // x, y, z per warp
};

struct BlockWait { u32 warp; i32 pc; u32 mask; i64 steps; };
struct BlockBarrier {
  bool used;
  u32 arrived[MAX_WARPS], values[MAX_WARPS];
  u32 threads;       // ~0u: everyone
  u32 kind;          // 0: no reduction, 1 POPC, 2 AND, 3 OR
  i32 waiting;
  BlockWait* waits;  // up to 32 per warp
};

struct Block {
  Worker* worker;
  Warp* warps;
  u32 count;
  i64 number;
  u32 row;           // of the blocks of this call, in their order
  u32 place[3];
  u8* shared;
  u32 shared_bytes, shared_start;
  i32 exits[MAX_EXITS], exit_count;
  BlockBarrier barriers[BLOCK_BARRIERS];
  u32* registers;
  u32* locals;
};

void push(Warp& w, i32 pc, u32 mask, i64 steps, bool alone = false);
static inline i64* counters_of(Warp& w, u32 site) { return w.C + (i64)site * COUNTERS; }
static inline u32 first_lane(u32 mask) { return (u32)__builtin_ctz(mask); }
void fill_words(void* memory, i64 bytes, u32 word);
bool stop_here(Warp& w, u32 fault, u32 site);

// trace.cpp. Only for a worker with a trace; false: it is full.
bool trace_run(Warp& w, u32 segment);
void trace_global(Warp& w, u32 site, u32 m, const u32* offset, u32 passes);
void trace_shared(Warp& w, u32 site, u32 m, u32 passes);
void trace_local(Warp& w, u32 site, u32 m, const u32* places, u32 words);
void trace_copy(Warp& w, u32 site, u32 m, u32 reads, const u32* offset, u32 passes);
static inline bool traced(const Warp& w) { return __builtin_expect(w.worker->trace != nullptr, 0); }
