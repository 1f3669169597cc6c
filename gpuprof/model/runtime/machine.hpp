// What the timeline gets: a GPU's constants, the code, the trace. Filled in by model/timeline.py, field by field.
#pragma once
#include <cstdint>
#include <vector>

typedef int64_t i64;
typedef int32_t i32;
typedef uint32_t u32;
typedef uint8_t u8;
typedef int8_t i8;

// Order of isa/pipes.py: Pipe.
enum Pipe { FMA, FMA_HEAVY, ALU, XU, FP64, TENSOR, LSU, UNIFORM, CONTROL, ADDRESS, PIPES };
// Order of isa/pipes.py: Completion. How long until a scoreboard that an instruction sets is free.
enum Completion {
  FIXED, SPECIAL_REGISTER, SHUFFLE, TRANSCENDENTAL, CONSTANT, MEMORY, DOUBLE, MATRIX, BARRIER, EXIT, COPY_FENCE, DRAIN_TO,
  UNIFORM_RESULT
};
// Order of model/launch_trace.py: AccessKind.
enum AccessKind { LOAD, STORE, ATOMIC, LOCAL_LOAD, LOCAL_STORE, SHARED_ACCESS, COPY_LOAD, COPY_STORE };
// Nsight Compute's reasons, order of model/stalls.py: StallReason.
enum Reason {
  SELECTED, WAIT, LONG_SCOREBOARD, SHORT_SCOREBOARD, MATH_PIPE_THROTTLE, MIO_THROTTLE, LG_THROTTLE, NOT_SELECTED,
  BARRIER_STALL, BRANCH_RESOLVING, NO_INSTRUCTION, DISPATCH, REASONS
};

// Cycles of the SM, bytes per cycle and SM. The order is that of model/timeline.py: CONSTANTS.
struct Machine {
  double shared_latency, l1_latency, l2_latency, dram_latency, l2_bytes_per_cycle, dram_bytes_per_cycle,
      write_bytes_per_cycle, block_start, block_interval, warp_interval, mio_entries, lg_entries, write_backlog_bytes,
      dram_backlog_bytes, special_register_latency, shuffle_latency, transcendental_latency, constant_latency,
      double_latency, matrix_latency, barrier_latency, barrier_interval, uniform_latency, branch_latency, l1_lines, l1_fill_latency,
      dram_queue_latency, tlb_latency, tlb_entries, page_sectors_log2, write_line_cycles, scattered_line_cycles, relaunch, share_power,
      code_line_cycles, l2_request_bytes, dram_request_bytes, register_window, atomic_cycles, max_cycles;
};
// As model/code_table.py: CODE.
struct Instruction {
  double interval;
  i32 newest;  // of DEPBAR.LE: completions that may be outstanding
  u8 pipe, completion, stall, yields, wait_mask, even_reads, odd_reads;
  i8 write_barrier, read_barrier, waits_for;  // waits_for: the scoreboard of a DEPBAR; -1: none
  u8 words;  // of 32 bits per lane that a load brings
  u8 pad;
};
struct Run { i32 first, last; };
// As model/launch_trace.py: TIMED_ACCESS.
struct Access { i32 run, site, kind, passes, sectors, pad; i64 first_sector; };

struct Launch {
  const Machine* machine;
  const Instruction* code;
  i64 instructions;
  i64 blocks, warps, slots;   // traced blocks; warps of a block; blocks that are resident together
  const Run* runs;
  const i64* runs_of;         // per warp of the traced blocks, and the end
  const Access* accesses;     // ``run`` counts from the warp's first
  const i64* accesses_of;
  const i64* sectors;         // number of a 32-byte sector
  const float* dram_bytes;    // this SM's part of what a sector costs the DRAM
  const u8* cold;             // whether it comes from the DRAM
  const i32* queue;           // blocks in the order in which the SM runs them, by row
  i64 queued;
};
struct Outcome {
  double cycles, issued, l1_hits, l1_misses, dram_bytes, lsu_busy, l2_busy, dram_busy, write_busy;
};
