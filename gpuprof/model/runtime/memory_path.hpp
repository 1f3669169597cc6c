// The way of an access from the LSU to the L1, the TLB, the L2 and the DRAM. One SM's part of what all SMs share.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <unordered_map>
#include "machine.hpp"

static inline i64 line_of(i64 sector) { return sector >> 2; }

// Lines of 128 bytes with a time of arrival per sector; the least recently used of a set gives way.
class L1Cache {
 public:
  struct Line { i64 tag; double arrival[4]; u8 valid; double used; };

  explicit L1Cache(i64 lines) {
    ways_ = lines < WAYS ? std::max<i64>(1, lines) : WAYS;
    sets_ = std::max<i64>(1, lines / ways_);
    lines_.assign((size_t)(sets_ * ways_), Line{-1, {0, 0, 0, 0}, 0, -1});
  }
  Line& at(i64 tag, double now) {
    uint64_t hash = (uint64_t)tag;
    hash ^= hash >> 7;
    hash ^= hash >> 13;
    Line* set = &lines_[(size_t)((i64)(hash % (uint64_t)sets_) * ways_)];
    Line* oldest = set;
    for (i64 way = 0; way < ways_; ++way) {
      if (set[way].tag == tag) {
        set[way].used = now;
        return set[way];
      }
      if (set[way].used < oldest->used) oldest = set + way;
    }
    *oldest = Line{tag, {0, 0, 0, 0}, 0, now};
    return *oldest;
  }

 private:
  static constexpr i64 WAYS = 32;
  i64 ways_, sets_;
  std::vector<Line> lines_;
};

// Pages whose translation is known, and from when; first in, first out.
class Translation {
 public:
  Translation(const Machine& machine) : machine_(machine) {}
  double known(i64 sector, double now) {
    if (machine_.tlb_latency <= 0) return now;
    const i64 page = sector >> (int)machine_.page_sectors_log2;
    const auto found = pages_.find(page);
    if (found != pages_.end()) return std::max(now, found->second);
    pages_[page] = now + machine_.tlb_latency;
    order_.push_back(page);
    if ((double)pages_.size() > machine_.tlb_entries) pages_.erase(order_[oldest_++]);
    return now + machine_.tlb_latency;
  }

 private:
  const Machine& machine_;
  std::unordered_map<i64, double> pages_;
  std::vector<i64> order_;
  size_t oldest_ = 0;
};

// When an access has read its registers, when its data are there, and when the LSU has taken it.
struct Served { double done, read, taken; };

class MemoryPath {
 public:
  MemoryPath(const Launch& launch) : launch_(launch), m_(*launch.machine), l1_((i64)m_.l1_lines), tlb_(m_) {}

  double lsu_free = 0, l2_free = 0, dram_free = 0, write_free = 0;
  double hits = 0, misses = 0, dram_bytes = 0, busy = 0, l2_busy = 0, write_busy = 0;

  Served pass(double now, double cycles, double latency) {
    const double start = std::max(now + TO_LSU, lsu_free);
    lsu_free = start + cycles;
    busy += cycles;
    return {start + cycles - 1 + latency - TO_LSU, start + cycles + READ, start + cycles};
  }
  // ``salt`` sets apart the addresses of a block that stands for another one.
  Served serve(const Access& access, int words, i64 salt, double now) {
    if (access.kind == SHARED_ACCESS || access.kind == COPY_STORE)
      return pass(now, std::max(1, access.passes), m_.shared_latency);
    const i64* sectors = launch_.sectors + access.first_sector;
    int lines = 0;
    for (i32 k = 0; k < access.sectors; ++k) lines += !k || line_of(sectors[k]) != line_of(sectors[k - 1]);
    switch (access.kind) {
      case STORE: case LOCAL_STORE: case ATOMIC: return store(access, sectors, lines, salt, now);
      default: return load(access, sectors, lines, words, salt, now);
    }
  }

 private:
  enum { TO_LSU = 4, READ = 4, LOCAL = LOCAL_LOAD };

  Served store(const Access& access, const i64* sectors, int lines, i64 salt, double now) {
    const double backlog = std::max(write_free - m_.write_backlog_bytes / m_.write_bytes_per_cycle,
                                    dram_free - m_.dram_backlog_bytes / m_.dram_bytes_per_cycle);
    const double start = std::max(std::max(now + TO_LSU, lsu_free), backlog);
    lsu_free = start + std::max(1, lines);
    busy += std::max(1, lines);
    const bool local = access.kind == LOCAL_STORE;
    if (!local) tlb_.known(sectors[0] + (salt >> 14), start);
    const double extra = access.kind == ATOMIC ? access.passes * m_.atomic_cycles : 0;
    const double cycles = access.sectors * 32.0 / m_.write_bytes_per_cycle + lines * m_.write_line_cycles + extra;
    write_free = std::max(write_free, start) + cycles;
    write_busy += cycles;
    double bytes = 0;
    for (i32 k = 0; k < access.sectors; ++k) bytes += launch_.dram_bytes[access.first_sector + k];
    load_dram(bytes, start);
    if (local)
      for (i32 k = 0; k < access.sectors; ++k) {
        L1Cache::Line& line = l1_.at(line_of(sectors[k]) + salt, start);
        line.valid |= 1 << (sectors[k] & 3);
        line.arrival[sectors[k] & 3] = start;
      }
    const double done = access.kind == ATOMIC ? std::max(start, write_free) + m_.l2_latency : start + 20;
    return {done, start + lines + READ, lsu_free};
  }

  // A line takes a cycle, and so does a word of all lanes on its way to the registers.
  Served load(const Access& access, const i64* sectors, int lines, int words, i64 salt, double now) {
    const double scattered = (lines - (access.sectors + 3) / 4) * m_.scattered_line_cycles;
    const double cycles = std::max(words, lines) + scattered;
    Served served = pass(now, cycles, m_.l1_latency);
    const double start = served.taken - cycles;
    const u8* cold = launch_.cold + access.first_sector;
    const float* bytes = launch_.dram_bytes + access.first_sector;
    for (i32 k = 0; k < access.sectors;) {
      i32 end = k;
      bool own = access.kind == LOCAL_LOAD;  // whether another block would have other addresses
      while (end < access.sectors && line_of(sectors[end]) == line_of(sectors[k])) own |= cold[end++] != 0;
      L1Cache::Line& line = l1_.at(line_of(sectors[k]) + (own ? salt : 0), start);
      int missing = 0;
      double cost = 0, share = 0, asks = 0;  // asks: this SM's part of the line's request to the DRAM
      for (i32 j = k; j < end; ++j) {
        const int place = (int)(sectors[j] & 3);
        if (line.valid >> place & 1) {
          served.done = std::max(served.done, line.arrival[place] + m_.l1_fill_latency);
          hits += 1;
          continue;
        }
        missing += 1;
        cost += bytes[j];
        asks = std::max(asks, std::min(1.0, bytes[j] / 32.0));
        if (cold[j]) share = std::max(share, std::pow(std::min(1.0, bytes[j] / 32.0), m_.share_power));
      }
      if (missing) {
        misses += missing;
        const double asked =
            access.kind == LOCAL_LOAD ? start : tlb_.known(sectors[k] + (own ? salt >> 14 : 0), start);
        const double arrival = fetch(asked, missing, cost, share, asks);
        for (i32 j = k; j < end; ++j) {
          const int place = (int)(sectors[j] & 3);
          if (line.valid >> place & 1) continue;
          line.valid |= 1 << place;
          line.arrival[place] = arrival;
        }
        served.done = std::max(served.done, arrival + m_.l1_fill_latency);
      }
      k = end;
    }
    return served;
  }

  // When ``sectors`` of a line are there that were asked for; ``share``: how much of the way to the DRAM is waited for.
  double fetch(double asked, int sectors, double cost, double share, double share_of_request) {
    const double cycles = (sectors * 32 + m_.l2_request_bytes) / m_.l2_bytes_per_cycle;
    l2_free = std::max(l2_free, asked) + cycles;
    l2_busy += cycles;
    double arrival = std::max(asked, l2_free) + m_.l2_latency;
    const double beyond = (m_.dram_latency - m_.l2_latency) * share;
    if (cost > 0) {
      load_dram(cost + m_.dram_request_bytes * share_of_request, asked);
      arrival = std::max(arrival, dram_free + m_.l2_latency + beyond);
    }
    if (share > 0) {
      arrival = std::max(arrival, asked + m_.l2_latency + beyond);
      const double load = std::min(1.0, recent_ / (WINDOW * m_.dram_bytes_per_cycle));
      arrival -= m_.dram_queue_latency * share * load * load * std::log(1 - 0.999 * random());
    }
    return arrival;
  }

  void load_dram(double bytes, double now) {
    dram_free = std::max(dram_free, now) + bytes / m_.dram_bytes_per_cycle;
    dram_bytes += bytes;
    if (now > recent_at_) {
      recent_ *= std::exp((recent_at_ - now) / WINDOW);
      recent_at_ = now;
    }
    recent_ += bytes;
  }

  double random() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return (double)(state_ >> 11) * (1.0 / 9007199254740992.0);
  }

  static constexpr double WINDOW = 1000.0;  // cycles over which the DRAM's load is averaged
  const Launch& launch_;
  const Machine& m_;
  L1Cache l1_;
  Translation tlb_;
  double recent_ = 0, recent_at_ = 0;
  uint64_t state_ = 88172645463325252ull;
};
