// Control flow of a warp and of a block: divergence, convergence barriers, block barriers, the order of sides.
// The rules are those of emulator/control; each function names the one that it follows.
#include "runtime.hpp"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURN = 256, SHORTEST_TURN = 16, PARKED_TURNS = 16 };
static const i32 NEVER = 0x7fffffff;
static const i64 WARP_SLICE = 1 << 14, BLOCK_SLICE = 1 << 17;
enum { MAX_BLOCKS = 64 };

bool stop_here(Warp& w, u32 fault, u32 site) {
  Stop& stop = *w.worker->stop;
  if (stop.fault == NONE) {
    stop.fault = fault;
    stop.site = site;
    stop.block = w.block->number;
    stop.warp = w.number;
    stop.lane = w.mask ? first_lane(w.mask) : 0;
  }
  return false;
}

extern "C" i32 gp_stop(Warp& w, u32 fault, u32 site) {
  stop_here(w, fault, site);
  return STOPPED;
}

void push(Warp& w, i32 pc, u32 mask, i64 steps, bool alone) {
  if (mask) w.sides.add({pc, mask, steps, alone, false});
}

extern "C" void gp_push(Warp& w, i32 pc, u32 mask) { push(w, pc, mask, w.steps); }

// control/barriers.py: _count_joined
static void count_joined(Warp& w, u32 slot, i32 pc, u32 going, u32 whole, bool freed) {
  const u32 again = slot == WARPSYNC_SLOT ? going & ~whole : freed || (going & w.restored[slot]) ? going : 0;
  if (again) {
    i64* counters = counters_of(w, (u32)pc - 1);
    counters[JOINED] += 1;
    counters[JOINED_THREADS] += bits(again);
  }
}

static u32 lanes_without_missing(const u32* words, u32 among, u32 live, u32 here) {
  u32 result = 0;
  LANES { result |= (u32)((words[l] & live & ~here) == 0) << l; }
  return result & among;
}

// control/barriers.py: release_groups, _count_groups
static void release_groups(Warp& w) {
  const u32* words = w.B[GROUP_SLOT];
  u32 waiting = 0, sizes[32], groups = 0, left = 0, total = 0;
  i32 places[32], last = 0;
  i64 steps = 0;
  for (i32 i = 0; i < w.waits.count; ++i) {
    const Waiting& wait = w.waits.item[i];
    if (wait.slot != GROUP_SLOT) continue;
    waiting |= wait.mask;
    last = wait.pc;
    if (wait.steps > steps) steps = wait.steps;
    for (u32 l = 0; l < 32; ++l)
      if (wait.mask >> l & 1) places[l] = wait.pc;
  }
  for (u32 l = 0; l < 32; ++l) {
    u32 mates = 0;
    for (u32 other = 0; other < 32; ++other)
      mates |= (u32)((waiting >> other & 1) && words[other] == words[l]) << other;
    if (waiting >> l & 1 && !(words[l] & w.live & ~mates)) left |= 1u << l;
  }
  const u32 gone = left;
  while (left) {
    const u32 lowest = first_lane(left);
    u32 group = 0;
    for (u32 l = 0; l < 32; ++l) group |= (u32)(words[l] == words[lowest]) << l;
    group &= left;
    push(w, places[lowest], group, steps, true);
    sizes[groups] = bits(group);
    for (u32 i = groups++; i > 0 && sizes[i] < sizes[i - 1]; --i) {
      const u32 swap = sizes[i];
      sizes[i] = sizes[i - 1];
      sizes[i - 1] = swap;
    }
    total += bits(group);
    left &= ~group;
  }
  i64* counters = groups ? counters_of(w, (u32)last - 1) : nullptr;
  for (u32 i = 0; i + 1 < groups; ++i) {
    total -= sizes[i];
    counters[JOINED] += 1;
    counters[JOINED_THREADS] += total;
    counters[DIVERGENT] += 1;
  }
  if (groups > 1) counters[PARTED] += 1;
  for (i32 i = w.waits.count - 1; i >= 0; --i) {
    if (w.waits.item[i].slot == GROUP_SLOT) w.waits.item[i].mask &= ~gone;
    if (!w.waits.item[i].mask) w.waits.remove(i);
  }
}

extern "C" i32 gp_arrive_group(Warp& w, i32 next, u32 m) {
  w.waits.add({GROUP_SLOT, next, m, w.steps});
  release_groups(w);
  return PARKED;
}

extern "C" void gp_set_return(Warp& w, u32 place, u32 wm) {
  for (u32 l = 0; l < 32; ++l)
    if (wm >> l & 1) w.returns[l] = place;
}

// control/instructions.py: end_collective
extern "C" i32 gp_end_collective(Warp& w, u32 m) {
  const u32 first = w.returns[first_lane(m)];
  u32 left = m;
  for (u32 l = 0; l < 32; ++l)
    if (m >> l & 1 && w.returns[l] == first) left &= ~(1u << l);
  if (!left) return (i32)first;
  left = m;
  while (left) {
    u32 place = ~0u, part = 0;
    for (u32 l = 0; l < 32; ++l)
      if (left >> l & 1 && w.returns[l] < place) place = w.returns[l];
    for (u32 l = 0; l < 32; ++l) part |= (u32)(w.returns[l] == place) << l;
    part &= left;
    push(w, (i32)place, part, w.steps);
    left &= ~part;
  }
  return PARKED;
}

static void park(Warp& w, const Side& side);
enum Freed { BY_ARRIVAL, BY_EXIT, BY_BREAK };

// control/barriers.py: release, _of_one_group
static void release(Warp& w, u32 slot, u32 whole, Freed freed, bool pooled) {
  if (slot == GROUP_SLOT) return release_groups(w);
  u32 waiting = 0;
  for (i32 i = 0; i < w.waits.count; ++i)
    if (w.waits.item[i].slot == slot) waiting |= w.waits.item[i].mask;
  if (!waiting) return;
  const u32* words = w.B[slot];
  u32 ready = lanes_without_missing(words, waiting, w.live, waiting);
  if (slot != WARPSYNC_SLOT && ready) {
    u32 lowest = ~0u;
    for (u32 l = 0; l < 32; ++l)
      if (waiting >> l & 1 && words[l] < lowest) lowest = words[l];
    bool mixed = false;
    for (u32 l = 0; l < 32; ++l) mixed |= (waiting >> l & 1) && words[l] != lowest;
    if (mixed)
      for (u32 l = 0; l < 32; ++l) {
        u32 mates = 0;
        for (u32 other = 0; other < 32; ++other)
          mates |= (u32)((waiting >> other & 1) && words[other] == words[l]) << other;
        if (words[l] & w.live & ~mates) ready &= ~(1u << l);
      }
  }
  if (!ready) return;
  for (i32 i = 0; i < w.waits.count; ++i) {
    Waiting& wait = w.waits.item[i];
    if (wait.slot != slot) continue;
    const u32 going = wait.mask & ready;
    if (!pooled && going) count_joined(w, slot, wait.pc, going, whole, freed != BY_ARRIVAL);
    if (freed == BY_BREAK) {
      if (going) park(w, {wait.pc, going, wait.steps, false, false});
    } else {
      push(w, wait.pc, going, wait.steps);
    }
    wait.mask &= ~ready;
  }
  for (i32 i = w.waits.count - 1; i >= 0; --i)
    if (!w.waits.item[i].mask) w.waits.remove(i);
}

// control/barriers.py: arrive
extern "C" i32 gp_arrive(Warp& w, u32 slot, i32 next, u32 m) {
  const u32 whole = lanes_without_missing(w.B[slot], m, w.live, m);
  if (whole == m) {
    count_joined(w, slot, next, m, ~0u, false);
    return next;
  }
  i32 place = 0;
  while (place < w.waits.count && !(w.waits.item[place].slot == slot && w.waits.item[place].pc == next)) ++place;
  if (place == w.waits.count) {
    w.waits.add({slot, next, m, w.steps});
  } else {
    w.waits.item[place].mask |= m;
    if (w.steps > w.waits.item[place].steps) w.waits.item[place].steps = w.steps;
  }
  release(w, slot, whole, BY_ARRIVAL, w.pooled);
  return PARKED;
}

extern "C" void gp_set_barrier(Warp& w, u32 slot, const u32* words, u32 word, u32 wm, u32 restored) {
  for (u32 l = 0; l < 32; ++l)
    if (wm >> l & 1) w.B[slot][l] = words ? words[l] : word;
  if (restored < 2) w.restored[slot] = restored ? w.restored[slot] | wm : w.restored[slot] & ~wm;
}

// control/barrier_rules.py: where a rule may be broken the numpy engine decides and words the error.
static bool keeps_rules(Block& block, const BlockBarrier& barrier, const bool* done) {
  const Launch& launch = *block.worker->launch;
  i32 place = -1;
  for (i32 i = 0; i < barrier.waiting; ++i) {
    const BlockWait& wait = barrier.waits[i];
    if (!done[wait.warp]) continue;
    if (place >= 0 && place != wait.pc) return false;
    place = wait.pc;
    for (i32 e = 0; e < block.exit_count; ++e)
      for (i64 pair = 0; pair < launch.rounds; ++pair)
        if (launch.round[2 * pair] == wait.pc - 1 && launch.round[2 * pair + 1] == block.exits[e]) return false;
  }
  return true;
}

// control/barriers.py: check_block, _warps_done, _reduce
static void check_block(Block& block, u32 number) {
  BlockBarrier& barrier = block.barriers[number];
  while (barrier.used) {
    bool done[MAX_WARPS], everyone = true;
    u32 arrived = 0;
    for (u32 i = 0; i < block.count; ++i) {
      const u32 live = block.warps[i].live, came = barrier.arrived[i];
      done[i] = came && !(live & ~came);
      arrived += done[i];
      everyone &= done[i] || !live;
    }
    if (!arrived) return;
    if (barrier.threads == ~0u) {
      if (!everyone) return;
      if (!keeps_rules(block, barrier, done)) {
        stop_here(block.warps[0], REPEAT_IN_NUMPY, 0);
        return;
      }
    } else {
      const u32 wanted = barrier.threads ? (barrier.threads - 1) / 32 + 1 : 1;
      if (arrived < wanted) return;
      u32 order = 0;
      for (u32 i = 0; i < block.count; ++i) done[i] = done[i] && order++ < wanted;
    }
    if (barrier.kind) {
      u32 yes = 0, all = 0;
      for (u32 i = 0; i < block.count; ++i) {
        if (!done[i]) continue;
        yes += bits(barrier.arrived[i] & barrier.values[i]);
        all += bits(barrier.arrived[i]);
      }
      const u32 result = barrier.kind == 1 ? yes : barrier.kind == 2 ? yes == all : yes > 0;
      for (u32 i = 0; i < block.count; ++i) block.warps[i].barrier_result = result;
    }
    i32 left = 0;
    for (i32 i = 0; i < barrier.waiting; ++i) {
      const BlockWait wait = barrier.waits[i];
      if (done[wait.warp])
        push(block.warps[wait.warp], wait.pc, wait.mask, wait.steps);
      else
        barrier.waits[left++] = wait;
    }
    barrier.waiting = left;
    bool some = left > 0;
    for (u32 i = 0; i < block.count; ++i) {
      if (done[i]) barrier.arrived[i] = 0;
      some |= barrier.arrived[i] != 0;
    }
    if (!some) {
      barrier.used = false;
      barrier.kind = 0;
      memset(barrier.values, 0, sizeof barrier.values);
    } else if (barrier.threads == ~0u) {
      return;
    }
  }
}

static void recheck(Warp& w, Freed freed) {
  u32 slots = 0;
  for (i32 i = 0; i < w.waits.count; ++i) slots |= 1u << w.waits.item[i].slot;
  for (u32 slot = 0; slot < SLOTS; ++slot)
    if (slots >> slot & 1) release(w, slot, 0, freed, false);
  for (u32 number = 0; number < BLOCK_BARRIERS; ++number)
    if (w.block->barriers[number].used) check_block(*w.block, number);
}

// control/barriers.py: arrive_block, reduce_block
extern "C" i32 gp_barrier(Warp& w, i32 next, u32 m, u32 number, u32 threads, u32 kind, u32 value) {
  Block& block = *w.block;
  if (number >= BLOCK_BARRIERS) return gp_stop(w, REPEAT_IN_NUMPY, (u32)next - 1);
  const bool waits = kind != 4;
  BlockBarrier& barrier = block.barriers[number];
  barrier.used = true;
  if (kind >= 1 && kind <= 3) {
    barrier.kind = kind;
    barrier.values[w.number] = (barrier.values[w.number] & ~m) | (value & m);
  }
  barrier.arrived[w.number] |= m;
  barrier.threads = threads;
  if (waits) {
    if (barrier.waiting >= (i32)(32 * block.count)) return gp_stop(w, REPEAT_IN_NUMPY, (u32)next - 1);
    barrier.waits[barrier.waiting++] = {w.number, next, m, w.steps};
  }
  check_block(block, number);
  return waits ? (i32)PARKED : next;
}

// control/barriers.py: break_out, _without
extern "C" void gp_break(Warp& w, u32 slot, u32 m) {
  u32 held[32], left = m;
  memcpy(held, w.B[slot], sizeof held);
  while (left) {
    const u32 value = held[first_lane(left)];
    u32 leaving = 0;
    for (u32 l = 0; l < 32; ++l) leaving |= (u32)(held[l] == value) << l;
    leaving &= left;
    for (u32 l = 0; l < 32; ++l)
      if (held[l] == value) w.B[slot][l] &= ~leaving;
    left &= ~leaving;
  }
  recheck(w, BY_BREAK);
}

// control/instructions.py: _go
extern "C" i32 gp_branch(Warp& w, u32 site, u32 yes, i32 target, i32 next) {
  if (yes == w.mask) return target;
  if (!yes) return next;
  counters_of(w, site)[DIVERGENT] += 1;
  push(w, target, yes, w.steps);
  push(w, next, w.mask & ~yes, w.steps);
  return PARKED;
}

extern "C" i32 gp_exit(Warp& w, u32 site, u32 yes, i32 next) {
  if (!yes) return next;
  push(w, next, w.mask & ~yes, w.steps);
  Block& block = *w.block;
  i32 known = 0;
  while (known < block.exit_count && block.exits[known] != (i32)site) ++known;
  if (known == block.exit_count && known < MAX_EXITS) block.exits[block.exit_count++] = (i32)site;
  w.live &= ~yes;
  recheck(w, BY_EXIT);
  return PARKED;
}

// control/instructions.py: _scatter, _count_repeats; ``size`` is the code's in bytes
extern "C" i32 gp_scatter(Warp& w, u32 site, u32 m, const u32* low, const u32* high, u64 add, u64 size) {
  i64 targets[32], places[32];
  u32 count = 0, lanes[32];
  for (u32 l = 0; l < 32; ++l) {
    if (!(m >> l & 1)) continue;
    const i64 target = (i64)(((u64)high[l] << 32 | low[l]) + add);
    if (target < 0 || (u64)target >= size || target % 16) return gp_stop(w, REPEAT_IN_NUMPY, site);
    targets[l] = target;
    u32 place = 0;
    while (place < count && places[place] < target) ++place;
    if (place == count || places[place] != target) {
      for (u32 i = count; i > place; --i) places[i] = places[i - 1];
      places[place] = target;
      ++count;
    }
  }
  if (count == 1 && m == w.mask) return (i32)(places[0] / 16);
  i64* counters = counters_of(w, site);
  u32 parts[32], lowest = 0;
  for (u32 i = 0; i < count; ++i) {
    parts[i] = 0;
    for (u32 l = 0; l < 32; ++l)
      if (m >> l & 1 && targets[l] == places[i]) parts[i] |= 1u << l;
    lanes[i] = bits(parts[i]);
    for (u32 j = i; j > 0 && lanes[j] < lanes[j - 1]; --j) {
      const u32 swap = lanes[j];
      lanes[j] = lanes[j - 1];
      lanes[j - 1] = swap;
    }
  }
  lowest = parts[0];
  u32 left = bits(m);
  for (u32 i = 0; i < count; ++i) {
    left -= lanes[i];
    if (left) {
      counters[JOINED] += 1;
      counters[JOINED_THREADS] += left;
    }
  }
  if (w.mask & ~lowest) counters[DIVERGENT] += 1;
  for (u32 i = 0; i < count; ++i) push(w, (i32)(places[i] / 16), parts[i], w.steps);
  return PARKED;
}

// control/divergence.py: set_aside, _park
static void park(Warp& w, const Side& side) {
  for (i32 i = 0; i < w.others.count; ++i) w.pool.add(w.others.item[i]);
  w.others.count = 0;
  w.others.add(side);
}

static void set_aside(Warp& w, i32 before) {
  Side going = w.sides.item[before];
  for (i32 i = before + 1; i < w.sides.count; ++i) {
    const Side& side = w.sides.item[i];
    if (bits(side.mask) > bits(going.mask)) {
      park(w, side);
    } else {
      park(w, going);
      going = side;
    }
  }
  w.sides.count = before;
  w.sides.add(going);
}

// control/divergence.py: wake
static void wake(Warp& w, const Worker& worker) {
  if (w.sides.count) return;
  if (w.others.count) {
    w.sides.add(w.others.item[0]);
    w.others.remove(0);
    return;
  }
  if (!w.pool.count) return;
  i32 pc = NEVER;
  for (i32 i = 0; i < w.pool.count; ++i)
    if (!w.pool.item[i].alone && w.pool.item[i].pc < pc) pc = w.pool.item[i].pc;
  if (pc == NEVER) {  // only groups that nobody may join
    w.sides.add(w.pool.item[0]);
    w.pool.remove(0);
    return;
  }
  const bool joins = worker.launch->entries[pc].joins;  // a BSYNC stands there: who waits in it issues it again
  Side together = {pc, 0, 0, false, joins};
  for (i32 i = w.pool.count - 1; i >= 0; --i) {
    const Side side = w.pool.item[i];
    if (side.alone || side.pc != pc) continue;
    together.mask |= side.mask;
    if (side.steps > together.steps) together.steps = side.steps;
    w.pool.remove(i);
  }
  w.sides.add(together);
  if (joins)
    for (i32 i = 0; i < w.waits.count; ++i)
      if (w.waits.item[i].pc == pc + 1) counters_of(w, (u32)pc)[JOINED_THREADS] += bits(w.waits.item[i].mask);
}

static void wake_all(Warp& w) {
  for (i32 i = 0; i < w.others.count; ++i) w.sides.add(w.others.item[i]);
  for (i32 i = 0; i < w.pool.count; ++i) w.sides.add(w.pool.item[i]);
  w.others.count = w.pool.count = 0;
}

// control/scheduler.py: run_fragments, _choose, _run_fragment. Returns the runs taken.
static i64 run_warp(Warp& w, Worker& worker, i64 slice) {
  const Launch& launch = *worker.launch;
  i64 taken = 0;
  while (w.sides.count && taken < slice && worker.stop->fault == NONE) {
    const bool parked = w.others.count || w.pool.count;
    const bool fair = w.turn >= (parked ? w.length * PARKED_TURNS : w.length);
    if (fair && parked) wake_all(w);
    i32 chosen = 0, bound = NEVER;
    if (!fair)
      for (i32 i = 1; i < w.sides.count; ++i)
        if (w.sides.item[i].pc < w.sides.item[chosen].pc) chosen = i;
    const Side side = w.sides.item[chosen];
    w.sides.remove(chosen);
    if (!fair)
      for (i32 i = 0; i < w.sides.count; ++i)
        if (w.sides.item[i].pc < bound) bound = w.sides.item[i].pc;
    if (fair) {
      w.turn = 0;
      w.length = w.length / 2 < SHORTEST_TURN ? (i64)SHORTEST_TURN : w.length / 2;
    }
    const i32 before = w.sides.count;
    const i64 most = fair ? (i64)SHORTEST_TURN : w.length;
    const bool quiet = side.mask == w.live && !w.sides.count && !w.waits.count && !w.others.count && !w.pool.count;
    w.mask = side.mask;
    w.wmask = quiet ? ~0u : side.mask;
    w.steps = side.steps;
    w.pooled = side.pooled;
    const u32 lanes = bits(side.mask);
    i32 pc = side.pc;
    i64 count = 0;
    for (;;) {
      const Entry& entry = launch.entries[pc];
      if (!entry.code) {
        stop_here(w, UNKNOWN_PLACE, (u32)pc);
        return taken;
      }
      worker.executed[2 * entry.number] += 1;
      worker.executed[2 * entry.number + 1] += lanes;
      if (traced(w) && !trace_run(w, (u32)entry.number)) {
        stop_here(w, TRACE_FULL, (u32)pc);
        return taken;
      }
      w.steps += entry.length;
      if (w.steps > launch.limit) {
        stop_here(w, ENDLESS, (u32)pc);
        return taken;
      }
      const i32 ends = entry.ends;
      pc = entry.code(w);
      if (!ends && pc >= 0) continue;
      ++count;
      if (pc < 0) break;
      if (pc >= bound || count >= most) {
        w.sides.add({pc, w.mask, w.steps, false, false});
        break;
      }
    }
    if (pc == STOPPED) return taken;
    w.turn += count;
    taken += count;
    if (w.sides.count > before + 1) set_aside(w, before);
    wake(w, worker);
  }
  return taken;
}

// A block: true when it has ended.
static bool run_block(Block& block, Worker& worker, i64 slice) {
  while (slice > 0) {
    i64 taken = 0;
    for (u32 i = 0; i < block.count; ++i) {
      Warp& w = block.warps[worker.launch->reversed ? block.count - 1 - i : i];
      if (!w.sides.count) wake(w, worker);
      if (!w.sides.count) continue;
      taken += run_warp(w, worker, WARP_SLICE) + 1;
      if (worker.stop->fault != NONE) return true;
    }
    if (!taken) {
      for (u32 i = 0; i < block.count; ++i)
        if (block.warps[i].waits.count) return !stop_here(block.warps[i], DEADLOCK, 0);
      for (u32 i = 0; i < BLOCK_BARRIERS; ++i)
        if (block.barriers[i].used) return !stop_here(block.warps[0], DEADLOCK, 0);
      return true;
    }
    slice -= taken;
  }
  return false;
}

void fill_words(void* memory, i64 bytes, u32 word) {
  u32* words = (u32*)memory;
  for (i64 i = 0; i < bytes / 4; ++i) words[i] = word;
}

static void* aligned(i64 bytes) {
  void* memory = 0;
  return posix_memalign(&memory, 64, (size_t)(bytes + 64)) ? 0 : memory;
}

static Block* make_block(Worker& worker) {
  const Launch& launch = *worker.launch;
  Block* block = (Block*)aligned(sizeof(Block));
  memset(block, 0, sizeof *block);
  block->worker = &worker;
  block->count = (u32)launch.warps;
  block->warps = (Warp*)aligned((i64)sizeof(Warp) * launch.warps);
  block->registers = (u32*)aligned((launch.registers + 4) * 128 * launch.warps);
  block->shared_bytes = (u32)launch.shared_bytes;
  block->shared_start = (u32)launch.reserved_bytes;
  block->shared = (u8*)aligned(launch.shared_bytes + 128);
  for (u32 i = 0; i < BLOCK_BARRIERS; ++i)
    block->barriers[i].waits = (BlockWait*)aligned((i64)sizeof(BlockWait) * 32 * launch.warps);
  block->locals = 0;
  memset(block->warps, 0, sizeof(Warp) * (size_t)launch.warps);
  return block;
}

static void free_block(Block* block) {
  for (u32 i = 0; i < BLOCK_BARRIERS; ++i) free(block->barriers[i].waits);
  free(block->warps);
  free(block->registers);
  free(block->shared);
  free(block->locals);
  free(block);
}

static void start_block(Block& block, Worker& worker, i64 number, u32 row) {
  const Launch& launch = *worker.launch;
  block.number = number;
  block.row = row;
  block.exit_count = 0;
  block.place[0] = (u32)(number % launch.grid[0]);
  block.place[1] = (u32)(number / launch.grid[0] % launch.grid[1]);
  block.place[2] = (u32)(number / (launch.grid[0] * launch.grid[1]));
  fill_words(block.shared, (launch.shared_bytes + 67) / 4 * 4, (u32)launch.poison);
  fill_words(block.registers, (launch.registers + 4) * 128 * launch.warps, (u32)launch.poison);
  for (u32 i = 0; i < BLOCK_BARRIERS; ++i) {
    BlockBarrier& barrier = block.barriers[i];
    barrier.used = false;
    barrier.waiting = 0;
    barrier.kind = 0;
    memset(barrier.arrived, 0, sizeof barrier.arrived);
    memset(barrier.values, 0, sizeof barrier.values);
  }
  for (u32 i = 0; i < block.count; ++i) {
    Warp& w = block.warps[i];
    const bool had_local = w.local_used;
    memset((void*)&w, 0, sizeof w);
    w.R = block.registers + (i64)(launch.registers + 4) * 32 * i;
    const i64 left = launch.threads - 32 * (i64)i;
    w.live = left >= 32 ? ~0u : (1u << left) - 1;
    w.P[7] = ~0u;
    w.UP[7] = 1;
    w.C = worker.counters;
    w.banks = launch.banks;
    w.worker = &worker;
    w.block = &block;
    w.number = i;
    w.length = TURN;
    w.local = block.locals ? block.locals + launch.local_bytes * 8 * i : 0;
    fill_words(w.U, sizeof w.U, (u32)launch.poison);
    if (had_local) fill_words(w.local, launch.local_bytes * 32, (u32)launch.poison);
    push(w, 0, w.live, 0);
  }
}

// Runs the blocks in order; those that run long take turns. Returns the reason to stop, 0: none.
// ``trace`` (null: none) keeps what they execute.
extern "C" i64 gp_run_traced(const Launch* launch, const i64* blocks, i64 count, i64* counters, i64* executed,
                             Stop* stop, Trace* trace) {
  Worker worker = {launch, counters, executed, stop, trace, 0, 0, 0};
  worker.records = (Record*)aligned((i64)sizeof(Record) * RECORDS * launch->places);
  memset((void*)worker.records, 0, sizeof(Record) * RECORDS * (size_t)launch->places);
  worker.owned = (Owned*)aligned((i64)sizeof(Owned) * launch->places);
  for (i64 i = 0; i < launch->places; ++i) worker.owned[i] = {1, 0};
  worker.thread_values = (u32*)aligned(3 * 128 * launch->warps);
  for (i64 t = 0; t < 32 * launch->warps; ++t) {
    const i64 warp = t / 32, lane = t % 32, x = launch->block[0], y = launch->block[1], z = launch->block[2];
    worker.thread_values[(3 * warp + 0) * 32 + lane] = (u32)(t % x);
    worker.thread_values[(3 * warp + 1) * 32 + lane] = (u32)(t / x % y);
    worker.thread_values[(3 * warp + 2) * 32 + lane] = (u32)(t / (x * y) % z);
  }
  Block* running[MAX_BLOCKS];
  Block* spare = 0;
  i32 live = 0;
  i64 next = 0;
  while ((next < count || live) && stop->fault == NONE) {
    if (next < count && live < MAX_BLOCKS) {
      Block* block = spare ? spare : make_block(worker);
      spare = 0;
      start_block(*block, worker, blocks[next], (u32)next);
      ++next;
      if (run_block(*block, worker, BLOCK_SLICE))
        spare = block;
      else
        running[live++] = block;
    }
    for (i32 i = 0; i < live && stop->fault == NONE; ++i) {
      if (!run_block(*running[i], worker, BLOCK_SLICE)) continue;
      if (spare) free_block(spare);
      spare = running[i];
      for (i32 j = i + 1; j < live; ++j) running[j - 1] = running[j];
      --live;
      --i;
    }
  }
  if (spare) free_block(spare);
  for (i32 i = 0; i < live; ++i) free_block(running[i]);
  free(worker.records);
  free(worker.owned);
  free(worker.thread_values);
  return stop->fault;
}

extern "C" i64 gp_run(const Launch* launch, const i64* blocks, i64 count, i64* counters, i64* executed, Stop* stop) {
  return gp_run_traced(launch, blocks, count, counters, executed, stop, nullptr);
}

extern "C" u64 gp_clock() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
}
