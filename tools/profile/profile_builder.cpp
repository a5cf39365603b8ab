// tools/profile/profile_builder.cpp. Layer: profile.
#include "tools/profile/profile_builder.hpp"

#include <algorithm>

#include "tools/profile/wide.hpp"

namespace ashlar::profiling {
namespace {

constexpr std::uint64_t nanoseconds_per_second = 1'000'000'000;

}  // namespace

profile_builder::profile_builder(std::uint64_t ticks_per_second)
    : ticks_per_second_(ticks_per_second), needs_(pool_grid::count) {
  for (std::size_t digits = 1; digits < first_ticks_.size(); ++digits) {
    const wide least = wide{1} << (digits - 1);  // nanoseconds
    first_ticks_[digits] = at_most_64_bits(
        (least * ticks_per_second_ + nanoseconds_per_second - 1) / nanoseconds_per_second);
  }
}

void profile_builder::take(const trace::step& s) {
  switch (s.happened) {
    case trace::step::what::birth:
      birth(s.time, s.size, s.alignment);
      break;
    case trace::step::what::death:
      if (s.kind == trace::event_kind::lost) ++missing_deaths_;
      death(s.time, s.size, s.alignment, s.born_at);
      break;
    case trace::step::what::unknown_death:
      ++unknown_deaths_;
      break;
    case trace::step::what::other:
      if (s.kind == trace::event_kind::lost) lost_events_ += s.size;
      if (s.kind == trace::event_kind::refused) ++refused_requests_;
      break;
  }
}

void profile_builder::birth(std::uint64_t time, std::uint64_t size, std::uint64_t alignment) {
  if (!pool_grid::serves(size, alignment)) {
    ++left_out_;
    return;
  }
  const std::uint32_t step = pool_grid::step_of(pool_grid::need_of(size, alignment));
  need_figures& need = needs_[step];
  ++need.births;
  need.requested_bytes += size;
  if (alignment > 1) {
    std::uint64_t& smallest = aligned_.try_emplace({alignment, step}, size).first->second;
    smallest = std::min(smallest, size);
  }
  peaks_.birth(step);
  heap_.birth(time, size, alignment);
}

void profile_builder::death(std::uint64_t time, std::uint64_t size, std::uint64_t alignment,
                            std::uint64_t born_at) {
  if (!pool_grid::serves(size, alignment)) return;
  const std::uint32_t step = pool_grid::step_of(pool_grid::need_of(size, alignment));
  const std::uint64_t lived = time > born_at ? time - born_at : 0;
  ++needs_[step].lifetimes[binary_digits_of_nanoseconds(lived)];
  peaks_.death(step);
  heap_.death(time, size, alignment);
}

std::size_t profile_builder::binary_digits_of_nanoseconds(std::uint64_t ticks) const {
  const auto longer = std::ranges::upper_bound(first_ticks_, ticks);
  return static_cast<std::size_t>(longer - first_ticks_.begin()) - 1;
}

profile profile_builder::snapshot() {
  profile made;
  made.runs = 1;
  made.nanoseconds =
      at_most_64_bits(wide{heap_.duration()} * nanoseconds_per_second / ticks_per_second_);
  made.left_out = left_out_;
  made.unknown_deaths = unknown_deaths_;
  made.missing_deaths = missing_deaths_;
  made.lost_events = lost_events_;
  made.refused_requests = refused_requests_;
  made.peak_bytes = heap_.peak_bytes();
  peak_counter::result peaks = peaks_.snapshot();
  for (const std::uint32_t step : peaks.used) {
    const need_figures& need = needs_[step];
    made.pools.push_back({.step = step,
                          .births = need.births,
                          .requested_bytes = need.requested_bytes,
                          .lifetimes = need.lifetimes});
  }
  made.peaks = std::move(peaks.peaks);
  for (const auto& [request, smallest] : aligned_)
    made.aligned.push_back(
        {.alignment = request.first, .step = request.second, .smallest = smallest});
  made.heap = heap_.rows();
  return made;
}

profile profile_of(trace::trace_reader& from) {
  profile_builder builder(from.ticks_per_second());
  trace::lifetimes blocks(from);
  for (trace::step s; blocks.next(s);) builder.take(s);
  profile made = builder.snapshot();
  made.unfinished_runs = from.warning().empty() ? 0 : 1;
  return made;
}

}  // namespace ashlar::profiling
