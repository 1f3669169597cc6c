// What a kernel's translated code and the runtime share: the state of a warp, and the runtime's functions.
#pragma once
#include "numbers.hpp"

#define LANES _Pragma("GCC ivdep") for (u32 l = 0; l < 32; ++l)

enum { WARP = 32, SLOTS = 18, WARPSYNC_SLOT = 16, GROUP_SLOT = 17, MAX_SIDES = 72 };

// Counters of an instruction, in the order of compiled/counts.py.
enum Counter {
  ISSUED, IDEAL_SECTORS, SECTORS, TAGS, WAVEFRONTS, IDEAL_WAVEFRONTS, L1_SECTORS, COPIED_SECTORS,
  OFF, UNTAKEN, COPIES, JOINED, JOINED_THREADS, DIVERGENT, SHARED, LOCAL, PARTED, COUNTERS = 24
};

// What a translated block returns instead of a program counter.
enum { PARKED = -1, STOPPED = -2 };
// Why a launch stopped.
enum Fault { NONE, REPEAT_IN_NUMPY, ENDLESS, DEADLOCK, UNKNOWN_PLACE, TRACE_FULL };

struct Side { i32 pc; u32 mask; i64 steps; bool alone, pooled; };
struct Waiting { u32 slot; i32 pc; u32 mask; i64 steps; };
template <class T, int N>
struct List {
  T item[N];
  i32 count;
  void add(const T& value) { item[count < N ? count++ : N - 1] = value; }
  void remove(i32 place) {
    for (i32 i = place + 1; i < count; ++i) item[i - 1] = item[i];
    --count;
  }
};

struct Block;
struct Worker;

struct alignas(64) Warp {
  u32* R;                    // registers, 32 lanes each
  u32 mask, wmask, live;     // active lanes; lanes that a write may reach; lanes that have not exited
  u32 P[8], UP[8];           // predicates: a bit per lane; uniform ones: 0 or 1
  i64* C;                    // counters, COUNTERS per instruction
  const u8* const* banks;    // constant banks of 64 KiB
  Worker* worker;
  Block* block;
  u32 number;                // of the warp in its block
  u32 U[260];
  u32 B[SLOTS][32];
  u32 restored[SLOTS];
  u32 barrier_result;
  u32 returns[32];           // where the lanes of a WARPSYNC.COLLECTIVE go on
  bool pooled;               // the running side came from the pool to a BSYNC
  i64 steps;                 // of the running side
  i64 turn, length;
  List<Side, MAX_SIDES> sides, pool;
  List<Side, 4> others;
  List<Waiting, MAX_SIDES> waits;
  u32* local;                // words, lane by lane
  bool local_used;
};

static inline u32 constant(const Warp& w, int bank, u32 offset) {
  u32 value;
  __builtin_memcpy(&value, w.banks[bank] + offset, 4);
  return value;
}
static inline u32 bits(u32 mask) { return (u32)__builtin_popcount(mask); }
static inline void count_off(Warp& w, u32 site, u32 on, u32 all) { w.C[site * COUNTERS + OFF] += bits(all & ~on); }

// A wide address: a register pair (or zeros), and what is the same for all lanes.
struct Wide { const u32* low; const u32* high; u64 add; };
// A narrow one: register * scale + add.
struct Narrow { const u32* base; u32 scale; u32 add; };

extern "C" {
extern const u32 gp_zeros[4 * 32];
// Memory. ``width`` in bytes; ``data`` are the registers from the first on; false: a fault.
bool gp_ldg4(Warp&, u32 site, u32 m, u32 wm, u32* data, const Wide&);
bool gp_load_global(Warp&, u32 site, u32 m, u32 wm, u32* data, const Wide&, u32 width, u32 sign);
bool gp_store_global(Warp&, u32 site, u32 m, const u32* data, const Wide&, u32 width);
bool gp_load_generic(Warp&, u32 site, u32 m, u32 wm, u32* data, const Wide&, u32 width, u32 sign);
bool gp_store_generic(Warp&, u32 site, u32 m, const u32* data, const Wide&, u32 width);
bool gp_load_shared(Warp&, u32 site, u32 m, u32 wm, u32* data, const Narrow&, u32 width, u32 sign);
bool gp_store_shared(Warp&, u32 site, u32 m, const u32* data, const Narrow&, u32 width);
bool gp_load_matrix(Warp&, u32 site, u32 m, u32 wm, u32* data, const Narrow&, u32 matrices, u32 transposed);
bool gp_load_local(Warp&, u32 site, u32 m, u32 wm, u32* data, const Narrow&, u32 width, u32 sign);
bool gp_store_local(Warp&, u32 site, u32 m, const u32* data, const Narrow&, u32 width);
bool gp_load_constant(Warp&, u32 wm, u32 m, u32* data, const u32* index, u32 bank, u32 offset, u32 width);
bool gp_copy_async(Warp&, u32 site, u32 m, u32 reads, const Narrow&, const Wide&, u32 width, u32 flags);
void gp_copy_misread(Warp&, u32 site, u32 m, u32 reads, const Narrow&, const Wide&, u32 width, u32 flags);
bool gp_atomic_global(Warp&, u32 site, u32 m, u32 wm, u32* old, const Wide&, const u32* a, const u32* b, u32 kind);
bool gp_atomic_generic(Warp&, u32 site, u32 m, u32 wm, u32* old, const Wide&, const u32* a, const u32* b, u32 kind);
bool gp_atomic_shared(Warp&, u32 site, u32 m, u32 wm, u32* old, const Narrow&, const u32* a, const u32* b, u32 kind);
bool gp_spin_shared(Warp&, u32 site, u32 m, u32 wm, u32* done, u32* predicate, const Narrow&, const u32* a,
                    const u32* b, u32 width);
bool gp_count_shared(Warp&, u32 site, u32 m, const Narrow&);
// Across lanes.
u32 gp_shuffle(u32* result, u32 wm, const u32* value, const u32* b, const u32* c, u32 mode);
u32 gp_match(Warp&, u32* result, u32 m, u32 wm, const u32* low, const u32* high, u32 all);
u32 gp_reduce(const u32* value, u32 m, u32 kind);
void gp_transpose(u32* result, const u32* value, u32 wm);
void gp_hmma(u32* d, const u32* a, const u32* b, const u32* c, u32 wm, u32 depth, u32 kind, u32 narrow, u32 block,
             u32 places);
void gp_imma(u32* d, const u32* a, const u32* b, const u32* c, u32 wm, u32 rows, u32 depth, u32 kinds, u32 saturate);
void gp_special(Warp&, u32* result, u32 wm, u32 kind);
u32 gp_special_word(Warp&, u32 kind);
// Control.
i32 gp_branch(Warp&, u32 site, u32 yes, i32 target, i32 next);
i32 gp_exit(Warp&, u32 site, u32 yes, i32 next);
i32 gp_arrive(Warp&, u32 slot, i32 next, u32 m);
i32 gp_arrive_group(Warp&, i32 next, u32 m);
void gp_set_return(Warp&, u32 place, u32 wm);
i32 gp_end_collective(Warp&, u32 m);
i32 gp_scatter(Warp&, u32 site, u32 m, const u32* low, const u32* high, u64 add, u64 size);
void gp_push(Warp&, i32 pc, u32 mask);
i32 gp_barrier(Warp&, i32 next, u32 m, u32 number, u32 threads, u32 kind, u32 value);
void gp_break(Warp&, u32 slot, u32 m);
void gp_set_barrier(Warp&, u32 slot, const u32* words, u32 word, u32 wm, u32 restored);
i32 gp_stop(Warp&, u32 fault, u32 site);
u64 gp_clock();
}
typedef i32 (*Segment)(Warp&);

// control/instructions.py: guarded. ``body`` runs for the lanes ``on`` and says where they go on.
template <class Body>
static inline i32 gp_split(Warp& w, i32 next, u32 on, Body body) {
  if (on == w.mask) return body(on, w.wmask);
  gp_push(w, next, w.mask & ~on);
  w.mask = w.wmask = on;
  const i32 pc = body(on, on);
  if (pc >= 0) gp_push(w, pc, on);
  return pc == STOPPED ? (i32)STOPPED : (i32)PARKED;
}
