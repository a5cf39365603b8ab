// tools/report/call_counter.cpp. Layer: report.
#include "tools/report/call_counter.hpp"

namespace ashlar::report {

call_counts& call_counts::operator+=(const call_counts& more) {
  births += more.births;
  bytes += more.bytes;
  blocks_at_peak += more.blocks_at_peak;
  bytes_at_peak += more.bytes_at_peak;
  blocks_at_end += more.blocks_at_end;
  bytes_at_end += more.bytes_at_end;
  temporaries += more.temporaries;
  return *this;
}

bool call_counts::is_below(std::uint64_t part, const call_counts& all) const {
  const auto is_less = [&](std::uint64_t call_counts::* figure) {
    return this->*figure == 0 || this->*figure < all.*figure / part;
  };
  return is_less(&call_counts::births) && is_less(&call_counts::bytes) &&
         is_less(&call_counts::blocks_at_peak) && is_less(&call_counts::bytes_at_peak) &&
         is_less(&call_counts::blocks_at_end) && is_less(&call_counts::bytes_at_end) &&
         is_less(&call_counts::temporaries);
}

void call_counter::count(const trace::step& s) {
  const bool ends_temporary = temporaries_.ends_one(s);
  if (s.happened == trace::step::what::birth) {
    const std::size_t i = index_of(s.stack, s.thread);
    ++entries_[i].counts.births;
    entries_[i].counts.bytes += s.size;
    change(i, s.size, 1);
  } else if (s.happened == trace::step::what::death) {
    const std::size_t i = index_of(s.stack, s.born_by);
    entries_[i].counts.temporaries += ends_temporary ? 1 : 0;
    change(i, s.size, -1);
  }
}

void call_counter::mark() {
  live_blocks_.mark();
  live_bytes_.mark();
}

std::vector<call_counter::entry> call_counter::counts() const {
  std::vector<entry> all = entries_;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].counts.blocks_at_peak = static_cast<std::uint64_t>(live_blocks_.at_mark(i));
    all[i].counts.bytes_at_peak = static_cast<std::uint64_t>(live_bytes_.at_mark(i));
    all[i].counts.blocks_at_end = static_cast<std::uint64_t>(live_blocks_.now(i));
    all[i].counts.bytes_at_end = static_cast<std::uint64_t>(live_bytes_.now(i));
  }
  return all;
}

std::size_t call_counter::index_of(std::uint32_t stack, std::uint32_t thread) {
  const std::uint64_t key = std::uint64_t{stack} << 32 | thread;
  const auto [found, is_new] = index_.try_emplace(key, entries_.size());
  if (is_new) {
    entries_.push_back({stack, thread, {}});
    live_blocks_.add_count();
    live_bytes_.add_count();
  }
  return found->second;
}

void call_counter::change(std::size_t i, std::uint64_t size, std::int64_t sign) {
  live_blocks_.add(i, sign);
  live_bytes_.add(i, sign * static_cast<std::int64_t>(size));
}

}  // namespace ashlar::report
