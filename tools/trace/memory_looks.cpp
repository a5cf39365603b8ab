// tools/trace/memory_looks.cpp. Layer: trace.
#include "tools/trace/memory_looks.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "tools/files/process_status.hpp"
#include "tools/trace/memory_map.hpp"

namespace ashlar::trace {
memory_look look_of(const memory_map& map, std::uint64_t time, std::uint64_t peak) {
  memory_look look{time, map.resident(), peak};
  // What is small is added up, of each kind: names take room. What has a place needs it more.
  const std::uint64_t small = map.resident() / 256;
  constexpr std::uint64_t small_with_place = 64u << 10;
  const auto rest_of = [&](memory_kind kind) -> mapped_memory& {
    for (mapped_memory& each : look.mappings)
      if (each.kind == kind && each.end == 0 && each.name.empty()) return each;
    return look.mappings.emplace_back(mapped_memory{kind});
  };
  for (const map_entry& each : map) {
    if (each.resident < (each.end == 0 ? small : std::min(small, small_with_place)))
      rest_of(each.kind).resident += each.resident;
    else
      look.mappings.push_back(
          {each.kind, each.begin, each.end, each.resident, std::string(each.name_view())});
  }
  return look;
}

// Growth by a quarter is always worth a look: a process that grows to a gigabyte has some thirty.
// Growth by a sixteenth is, and any where it has come to rest, while looks take a twentieth of a
// processor at most; less is while they take a hundredth.
bool costly_looks::is_due(std::uint64_t resident) {
  constexpr std::uint64_t little = 64u << 10;
  if (begun_ == clock::time_point{}) begun_ = clock::now();
  const std::uint64_t before = std::exchange(before_, resident);
  if (seen_ == 0 || resident > seen_ + seen_ / 4 + little) return true;
  if (resident <= seen_ + little) return false;
  const bool is_much = resident > seen_ + seen_ / 16 || resident == before;
  return took_less_than(is_much ? 20 : 100);
}

std::chrono::nanoseconds costly_looks::processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void tree_looks::look(const std::vector<std::uint32_t>& pids, std::uint64_t resident,
                      std::uint64_t time) {
  const bool is_more = looks_.is_due(resident);
  const std::uint64_t differs = std::max(resident, last_) - std::min(resident, last_);
  if (!is_more && (differs <= last_ / 4 || !looks_.took_less_than(20))) return;
  last_ = resident;
  looks_.take(resident, [&] {
    memory_together now{time, 0, 0, {}};
    for (const std::uint32_t pid : pids) {
      const std::string text = files::process_file(static_cast<pid_t>(pid), "smaps_rollup");
      if (text.empty()) continue;  // it may just have ended
      now.of[pid] = kib_behind(text, "\nPss:") << 10;
      now.resident += kib_behind(text, "\nRss:") << 10;
      now.proportional += now.of[pid];
    }
    if (now.proportional != 0) over_time_.emplace_back(time, now.proportional);
    if (now.resident > most_.resident && now.proportional != 0) most_ = std::move(now);
    return is_more;
  });
}

void memory_looks::add_sample(std::uint64_t time, std::uint64_t resident, std::uint64_t peak) {
  constexpr std::uint64_t least = 64u << 10;
  const std::uint64_t differs = std::max(resident, last_sample_) - std::min(resident, last_sample_);
  if (peak == 0 && differs < std::max(last_sample_ / 64, least)) return;
  last_sample_ = resident;
  samples_.push_back({time, resident, peak});
}

bool memory_looks::look_at_mappings(std::uint32_t pid, const clock& now) {
  const auto map = std::make_unique<memory_map>();
  files::read_process_file(static_cast<pid_t>(pid), "smaps",
                           [&](const char* bytes, std::size_t count) { map->add(bytes, count); });
  // Without the recorder's memory, it is another process: the number is one of another namespace.
  if (!map->has_spool()) return false;
  // The time behind the look: meanwhile the process may have allocated what was seen.
  add(look_of(*map, now(),
              kib_behind(files::process_file(static_cast<pid_t>(pid), "status"), "VmHWM:") << 10));
  return true;
}

std::uint64_t memory_looks::look(std::uint32_t pid, const clock& now,
                                 std::atomic<std::uint64_t>& seen) {
  if (tries_ == tries_max) return 0;
  const std::string text = files::process_file(static_cast<pid_t>(pid), "statm");
  const std::uint64_t resident =
      number_at(std::string_view(text).substr(std::min(text.find(' '), text.size()))) *
      static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (resident == 0) return 0;  // it has ended
  if (with_mappings_.is_due(resident)) {
    with_mappings_.take(resident, [&] {
      const bool is_seen = look_at_mappings(pid, now);
      is_known_ = is_known_ || is_seen;
      if (is_seen)
        seen.store(resident, std::memory_order_relaxed);
      else
        tries_ += is_known_ ? 0 : 1;
      return is_seen;
    });
  }
  if (!is_known_) return 0;
  add_sample(now(), resident, 0);
  return resident;
}

void memory_looks::add(memory_look look) {
  if (look.mappings.empty()) return add_sample(look.time, look.resident, look.peak);
  // Of looks that saw as much, the first is of the time when it was needed.
  const std::uint64_t most = std::max(written_most_, most_ ? most_->resident : 0);
  if (look.resident <= most + most / 64)
    add_sample(look.time, look.resident, look.peak);
  else
    most_ = std::move(look);
}

std::vector<memory_look> memory_looks::take(bool is_end) {
  std::vector<memory_look> all = std::exchange(samples_, {});
  if (most_ && (is_end || most_->resident > written_most_ + written_most_ / 4)) {
    written_most_ = most_->resident;
    all.push_back(*std::exchange(most_, std::nullopt));
  }
  return all;
}

}  // namespace ashlar::trace
