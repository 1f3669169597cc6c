// The timeline of one SM: four schedulers, control codes, scoreboards, pipes, and the way to memory.
#include <cstring>
#include "memory_path.hpp"

namespace {
const int SUBPARTITIONS = 4, BARRIERS = 6, KEPT = 64;
const double NEVER = 1e300;

struct Warp {
  bool live = false, at_barrier = false, yields = false;
  i32 block = 0;
  i64 salt = 0;
  const Run *run = nullptr, *runs_end = nullptr;
  i32 number = 0;  // of the run, from the warp's first
  const Access *access = nullptr, *accesses_end = nullptr;
  i32 pc = 0;
  double issued = 0, ready = 0, fetched = 0, gate = NEVER;  // last issue; fixed latency over; code there; all waited for
  double barrier_since = 0, branch_until = 0;
  double barrier[BARRIERS];
  bool far[BARRIERS];  // whether memory beyond the L1's address stage sets it: Long Scoreboard
  std::vector<double> outstanding[BARRIERS];
  double copies = 0;

  bool advance() {
    if (++pc < run->last) return true;
    ++number;
    if (++run == runs_end) return false;
    pc = run->first;
    return true;
  }
};

// Entries of a queue in front of the LSU, and when each is free again, in turn.
struct Queue {
  std::vector<double> free;
  size_t next = 0;
  void resize(double entries) { free.assign((size_t)std::max(1.0, entries), 0); }
  double first() const { return free[next]; }
  void take(double until) {
    free[next] = until;
    next = (next + 1) % free.size();
  }
};

struct Subpartition {
  std::vector<i32> warps;
  double pipe[PIPES] = {}, half[2] = {}, bank[2] = {}, dispatch = 0;
  double held = 0;  // cycles for which register reads of the last instruction keep the next one back
  Queue shared, global;
  i32 last = -1;
};

class Timeline {
 public:
  Timeline(const Launch& launch, double* stalls, double* ends)
      : launch_(launch), m_(*launch.machine), stalls_(stalls), ends_(ends), memory_(launch) {
    warps_.resize((size_t)(launch.slots * launch.warps));
    live_.assign((size_t)launch.slots, 0);
    waiting_.assign((size_t)launch.slots, 0);
    running_.assign((size_t)launch.slots, -1);
    for (auto& each : sub_) {
      each.shared.resize(m_.mio_entries);
      each.global.resize(m_.lg_entries);
    }
    for (size_t i = 0; i < warps_.size(); ++i) sub_[i % SUBPARTITIONS].warps.push_back((i32)i);
    fetched_.assign((size_t)launch.instructions / 8 + 1, -1);
  }

  int run(Outcome& outcome) {
    for (i32 slot = 0; slot < launch_.slots; ++slot) start(slot, 0, false);
    double now = 0;
    while (done_ < launch_.queued) {
      double next = NEVER;
      bool progress = false;
      for (auto& sub : sub_) {
        const i32 chosen = choose(sub, now, next);
        if (chosen < 0) continue;
        issue(sub, chosen, now);
        progress = true;
      }
      if (!progress && next >= NEVER) return 2;
      now = progress ? now + 1 : std::ceil(next);
      if (now > m_.max_cycles) return 3;
    }
    outcome.cycles = std::max(std::max(end_, memory_.dram_free), memory_.write_free);
    outcome.issued = issued_;
    outcome.l1_hits = memory_.hits;
    outcome.l1_misses = memory_.misses;
    outcome.dram_bytes = memory_.dram_bytes;
    outcome.lsu_busy = memory_.busy;
    outcome.l2_busy = memory_.l2_busy;
    outcome.dram_busy = memory_.dram_bytes / m_.dram_bytes_per_cycle;
    outcome.write_busy = memory_.write_busy;
    return 0;
  }

 private:
  void start(i32 slot, double when, bool again) {
    if (next_ >= launch_.queued) return;
    const double begin = std::max(when, launch_free_);
    launch_free_ = begin + std::max(m_.block_interval, m_.warp_interval * (double)launch_.warps);
    const i64 row = launch_.queue[next_] % launch_.blocks, salt = (i64)(launch_.queue[next_] / launch_.blocks) << 40;
    running_[slot] = (i32)next_++;
    live_[slot] = waiting_[slot] = 0;
    for (i64 i = 0; i < launch_.warps; ++i) {
      Warp& warp = warps_[(size_t)(slot * launch_.warps + i)];
      const i64 of = row * launch_.warps + i;
      warp = Warp();
      warp.block = slot;
      warp.salt = salt;
      warp.run = launch_.runs + launch_.runs_of[of];
      warp.runs_end = launch_.runs + launch_.runs_of[of + 1];
      warp.access = launch_.accesses + launch_.accesses_of[of];
      warp.accesses_end = launch_.accesses + launch_.accesses_of[of + 1];
      std::memset(warp.barrier, 0, sizeof warp.barrier);
      std::memset(warp.far, 0, sizeof warp.far);
      warp.live = warp.run != warp.runs_end;
      if (!warp.live) continue;
      ++live_[slot];
      warp.pc = warp.run->first;
      warp.issued = warp.ready = begin + m_.block_start + (again ? m_.relaunch : 0);
      set_gate(warp);
    }
    if (!live_[slot]) finish(slot, begin);
  }

  // The first cycle in which everything that a warp's next instruction waits for is there.
  void set_gate(Warp& warp) {
    const Instruction& code = launch_.code[warp.pc];
    warp.fetched = fetch(warp.pc, warp.ready);
    double gate = std::max(warp.ready, warp.fetched);
    for (int k = 0, mask = code.wait_mask; mask; ++k, mask >>= 1)
      if (mask & 1) gate = std::max(gate, warp.barrier[k]);
    if (code.waits_for >= 0) gate = std::max(gate, drained(warp, code));
    warp.gate = gate;
  }

  static double drained(const Warp& warp, const Instruction& code) {
    std::vector<double> ends(warp.outstanding[code.waits_for]);
    if ((i32)ends.size() <= code.newest) return 0;
    std::sort(ends.begin(), ends.end());
    return ends[ends.size() - 1 - (size_t)code.newest];
  }

  // When a line of code is in the SM: the first warp to reach it fetches it.
  double fetch(i32 pc, double now) {
    double& there = fetched_[(size_t)pc / 8];
    if (there < 0) {
      code_free_ = std::max(code_free_, now) + m_.code_line_cycles;
      there = code_free_;
    }
    return std::max(there, now);
  }

  // Whether the next access of a warp goes to global or local memory.
  static bool goes_far(const Warp& warp, const Instruction& code) {
    return code.completion == MEMORY && warp.access != warp.accesses_end && warp.access->kind != SHARED_ACCESS;
  }
  static double free_at(const Subpartition& sub, const Warp& warp, const Instruction& code) {
    double free = code.pipe == FMA ? std::min(sub.half[0], sub.half[1])
                  : code.pipe == FMA_HEAVY ? sub.half[0] : sub.pipe[code.pipe];
    if (code.pipe == LSU) free = std::max(free, (goes_far(warp, code) ? sub.global : sub.shared).first());
    return std::max(free, sub.dispatch);
  }

  bool can_issue(const Subpartition& sub, const Warp& warp, double now, double& next) const {
    if (!warp.live || warp.at_barrier) return false;
    const double from = warp.gate > now ? warp.gate : std::max(warp.gate, free_at(sub, warp, launch_.code[warp.pc]));
    if (from <= now) return true;
    next = std::min(next, from);
    return false;
  }

  // Greedy, then the youngest: the last warp goes on unless it yields.
  i32 choose(Subpartition& sub, double now, double& next) const {
    bool last_can = sub.last >= 0 && can_issue(sub, warps_[(size_t)sub.last], now, next);
    if (last_can && !warps_[(size_t)sub.last].yields) return sub.last;
    for (size_t k = sub.warps.size(); k-- > 0;) {
      const i32 candidate = sub.warps[k];
      if (candidate != sub.last && can_issue(sub, warps_[(size_t)candidate], now, next)) return candidate;
    }
    return last_can ? sub.last : -1;
  }

  void occupy(Subpartition& sub, const Instruction& code, double now) {
    if (code.pipe == FMA) {
      const int half = sub.half[1] <= sub.half[0];
      sub.half[half] = now + code.interval;
    } else if (code.pipe == FMA_HEAVY) {
      sub.half[0] = now + code.interval;
    } else if (code.pipe == TENSOR) {
      sub.pipe[TENSOR] = std::max(sub.pipe[TENSOR], now - code.interval) + code.interval;
    } else {
      sub.pipe[code.pipe] = now + code.interval;
    }
    if (code.even_reads + code.odd_reads == 0) return;
    sub.bank[0] = std::max(sub.bank[0], now) + code.even_reads;
    sub.bank[1] = std::max(sub.bank[1], now) + code.odd_reads;
    sub.dispatch = std::max(sub.dispatch, std::max(sub.bank[0], sub.bank[1]) - m_.register_window + 1);
    sub.held = std::max(0.0, sub.dispatch - now - 1);
  }

  void account(const Subpartition& sub, const Warp& warp, double now) {
    if (!stalls_) return;
    const Instruction& code = launch_.code[warp.pc];
    double* to = stalls_ + (i64)warp.pc * REASONS;
    double at = warp.issued;
    const auto until = [&](double time, Reason reason) {
      time = std::min(time, now);
      if (time > at) to[reason] += time - at, at = time;
    };
    if (warp.barrier_since > 0) until(warp.ready, BARRIER_STALL);
    if (warp.branch_until > 0) until(warp.branch_until, BRANCH_RESOLVING);
    until(warp.ready, WAIT);
    for (int k = 0, mask = code.wait_mask; mask; ++k, mask >>= 1)
      if (mask & 1) until(warp.barrier[k], warp.far[k] ? LONG_SCOREBOARD : SHORT_SCOREBOARD);
    if (code.waits_for >= 0) until(warp.gate, LONG_SCOREBOARD);
    until(warp.fetched, NO_INSTRUCTION);
    if (code.pipe == LSU) {
      const bool far = goes_far(warp, code);
      until((far ? sub.global : sub.shared).first(), far ? LG_THROTTLE : MIO_THROTTLE);
    }
    // While others issue, a pipe that takes an instruction every n cycles is shut for n - 1 of them.
    const double interval = code.pipe == FMA ? 1 : code.interval, left = now - at;
    const double held = std::min(left, sub.held), shut = (left - held) * (1 - 1 / std::max(1.0, interval));
    to[DISPATCH] += held;
    to[MATH_PIPE_THROTTLE] += shut;
    to[NOT_SELECTED] += left - held - shut;
    to[SELECTED] += 1;
  }

  void issue(Subpartition& sub, i32 number, double now) {
    Warp& warp = warps_[(size_t)number];
    const i32 pc = warp.pc;
    const Instruction& code = launch_.code[pc];
    account(sub, warp, now);
    occupy(sub, code, now);
    issued_ += 1;
    sub.last = number;
    if (code.even_reads + code.odd_reads == 0) sub.held = 0;
    warp.yields = code.yields;
    warp.issued = now + 1;
    warp.barrier_since = warp.branch_until = 0;
    const double stall = std::max<int>(1, code.stall & 15);
    warp.ready = now + stall;
    const Served served = complete(sub, warp, code, now);
    if (code.write_barrier >= 0) set_barrier(warp, code.write_barrier, served.done, code.completion == MEMORY && far_);
    if (code.completion == COPY_FENCE && code.write_barrier < 0) keep(warp, 0, served.done);
    if (code.read_barrier >= 0) set_barrier(warp, code.read_barrier, served.read, far_);
    const bool more = warp.advance();
    if (more && warp.pc != pc + 1) {
      warp.ready = std::max(warp.ready, now + stall + m_.branch_latency);
      warp.branch_until = warp.ready;
    }
    const i32 slot = warp.block;
    if (!more) {
      warp.live = false;
      warp.gate = NEVER;
      --live_[slot];
      end_ = std::max(end_, now + 1);
    } else if (code.completion == BARRIER) {
      barrier_free_ = std::max(barrier_free_, now) + m_.barrier_interval;
      warp.at_barrier = true;
      ++waiting_[slot];
    } else {
      set_gate(warp);
    }
    if (waiting_[slot] > 0 && waiting_[slot] >= live_[slot]) open_barrier(slot, std::max(now, barrier_free_));
    if (!live_[slot]) finish(slot, now);
  }

  void set_barrier(Warp& warp, int barrier, double done, bool far) {
    if (done >= warp.barrier[barrier]) warp.far[barrier] = far;
    warp.barrier[barrier] = std::max(warp.barrier[barrier], done);
    keep(warp, barrier, done);
  }
  static void keep(Warp& warp, int barrier, double done) {
    auto& ends = warp.outstanding[barrier];
    ends.push_back(done);
    if (ends.size() > KEPT) ends.erase(ends.begin());
  }

  Served complete(Subpartition& sub, Warp& warp, const Instruction& code, double now) {
    Served fixed = {now + 8, now + 8, 0};
    far_ = false;
    switch (code.completion) {
      case MEMORY: return access(sub, warp, now);
      case SHUFFLE: {
        const Served served = memory_.pass(now, 1, m_.shuffle_latency);
        sub.shared.take(served.taken);
        return served;
      }
      case SPECIAL_REGISTER: fixed.done = now + m_.special_register_latency; break;
      case TRANSCENDENTAL: fixed.done = now + m_.transcendental_latency; break;
      case CONSTANT: fixed.done = now + m_.constant_latency; break;
      case DOUBLE: fixed.done = now + m_.double_latency; break;
      case MATRIX: fixed.done = now + m_.matrix_latency; break;
      case UNIFORM_RESULT: fixed.done = now + m_.uniform_latency; break;
      case COPY_FENCE: fixed.done = warp.copies; break;
      default: break;
    }
    return fixed;
  }

  Served access(Subpartition& sub, Warp& warp, double now) {
    Served all = {now + 12, now + 10, 0};
    while (warp.access != warp.accesses_end && warp.access->run == warp.number && warp.access->site == warp.pc) {
      const Access& each = *warp.access++;
      const Served served = memory_.serve(each, launch_.code[warp.pc].words, warp.salt, now);
      all.done = std::max(all.done, served.done);
      all.read = std::max(all.read, served.read);
      all.taken = std::max(all.taken, served.taken);
      far_ |= each.kind != SHARED_ACCESS;
      if (each.kind == COPY_LOAD || each.kind == COPY_STORE) warp.copies = std::max(warp.copies, served.done + 4);
    }
    if (all.taken > 0) (far_ ? sub.global : sub.shared).take(all.taken);
    return all;
  }

  void open_barrier(i32 slot, double now) {
    waiting_[slot] = 0;
    for (i64 i = 0; i < launch_.warps; ++i) {
      Warp& warp = warps_[(size_t)(slot * launch_.warps + i)];
      if (!warp.live || !warp.at_barrier) continue;
      warp.at_barrier = false;
      warp.barrier_since = warp.issued;
      warp.ready = std::max(warp.ready, now + m_.barrier_latency);
      set_gate(warp);
    }
  }

  void finish(i32 slot, double now) {
    ++done_;
    if (ends_) ends_[running_[slot]] = now;
    start(slot, now + 1, true);
  }

  const Launch& launch_;
  const Machine& m_;
  double* stalls_;
  double* ends_;
  MemoryPath memory_;
  std::vector<Warp> warps_;
  std::vector<i32> live_, waiting_, running_;
  std::vector<double> fetched_;  // per line of eight instructions: when it came; negative: not yet asked for
  Subpartition sub_[SUBPARTITIONS];
  double launch_free_ = 0, code_free_ = 0, barrier_free_ = 0, end_ = 0, issued_ = 0;
  i64 next_ = 0, done_ = 0;
  bool far_ = false;
};
}  // namespace

// ``stalls``: (instructions, REASONS) warp cycles, ``ends``: per queued block; both may be null. 0: it ended.
extern "C" int gp_timeline(const Launch* launch, Outcome* outcome, double* stalls, double* ends) {
  return Timeline(*launch, stalls, ends).run(*outcome);
}

// Per access: how many rounds of loads its warp had waited for before it.
extern "C" void gp_rounds(const Launch* launch, i64 warps, i32* rounds) {
  for (i64 warp = 0; warp < warps; ++warp) {
    i64 access = launch->accesses_of[warp];
    const i64 end = launch->accesses_of[warp + 1];
    i32 round = 0, number = 0;
    unsigned pending = 0;
    bool copies = false;
    for (i64 run = launch->runs_of[warp]; run < launch->runs_of[warp + 1]; ++run, ++number)
      for (i32 pc = launch->runs[run].first; pc < launch->runs[run].last; ++pc) {
        const Instruction& code = launch->code[pc];
        if ((code.wait_mask & pending) || (code.waits_for >= 0 && copies)) {
          ++round;
          pending = 0;
          copies = false;
        }
        for (; access < end && launch->accesses[access].run == number && launch->accesses[access].site == pc; ++access) {
          rounds[access] = round;
          const i32 kind = launch->accesses[access].kind;
          copies |= kind == COPY_LOAD;
          if (kind == LOAD && code.write_barrier >= 0) pending |= 1u << code.write_barrier;
        }
      }
  }
}

// Per sector from ``low`` on: the earliest round in which a block touches it, of blocks that have these sectors moved by
// ``shifts`` bytes.
extern "C" void gp_first_rounds(const i64* sectors, const i32* rounds, i64 count, const i64* shifts, i64 moves, i64 low,
                                i64 places, i32* first) {
  for (i64 move = 0; move < moves; ++move)
    for (i64 k = 0; k < count; ++k) {
      const i64 place = ((sectors[k] * 32 + shifts[move]) >> 5) - low;
      if (place >= 0 && place < places && rounds[k] < first[place]) first[place] = rounds[k];
    }
}
// And how many blocks touch it in that round; ``times``: blocks of each shift.
extern "C" void gp_touches(const i64* sectors, const i32* rounds, i64 count, const i64* shifts, const i64* times,
                           i64 moves, i64 low, i64 places, const i32* first, u32* touches) {
  for (i64 move = 0; move < moves; ++move)
    for (i64 k = 0; k < count; ++k) {
      const i64 place = ((sectors[k] * 32 + shifts[move]) >> 5) - low;
      if (place >= 0 && place < places && rounds[k] == first[place]) touches[place] += (u32)times[move];
    }
}
