// runtime/memory_limit.cpp: what happens at the limit of the process heap.
// Layer: runtime.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include <ashlar/core/line_writer.hpp>
#include <ashlar/core/stats.h>
#include <ashlar/fault/report.hpp>
#include <ashlar/os/call_stack.hpp>
#include <ashlar/os/last_words.hpp>
#include <ashlar/os/memory_pressure.hpp>
#include <ashlar/runtime/memory_limit.hpp>
#include <ashlar/runtime/process_hardened.hpp>
#include <ashlar/runtime/process_thread.hpp>
#include <ashlar/runtime/sampling.hpp>
#include <ashlar/runtime/settings.hpp>

namespace ashlar::runtime {

constinit memory_limit the_limit;

namespace {

/// Returns: whether the calling thread is in a place where the program's function must not run, nor
/// the process end: in that function, or in a handler that interrupted a call of the heap.
[[nodiscard]] bool is_in_between() noexcept {
  return self.at_limit || self.outside || self.pass.depth != 0;
}

/// Effects: appends the places that hold most, by the samples, each with the place that called it.
void append_holders(text_writer& to) noexcept {
  constexpr std::size_t told_max = 3;
  struct {
    double bytes = 0;
    const detail::sampled_site* site = nullptr;  // none ever goes
  } most[told_max + 1];
  if constexpr (is_drop_in) {
    if (samples.has_started())
      samples.for_each_site([&](const detail::sampled_site& s) {
        most[told_max] = {s.sums.live_bytes, &s};
        for (std::size_t i = told_max; i != 0 && most[i].bytes > most[i - 1].bytes; --i)
          std::swap(most[i], most[i - 1]);
      });
  }
  if (most[0].bytes < 1) {
    to << ", ASHLAR_SAMPLE=512K tells which call sites hold it";
    return;
  }
  to << ", most of it held by ";
  for (std::size_t i = 0; i < told_max && most[i].bytes >= 1; ++i) {
    if (i != 0) to << ", ";
    for (std::uint32_t f = 0; f < most[i].site->depth && f < 2; ++f) {
      const os::frame_place place = os::place_of(most[i].site->frames[f]);
      to << (f != 0 ? " from " : "") << (place.function != nullptr ? place.function : "code")
         << " at " << (place.file != nullptr ? place.file : "") << "+"
         << reinterpret_cast<const void*>(place.offset);
    }
    to << " (" << static_cast<std::uint64_t>(most[i].bytes) << " bytes";
    if constexpr (is_drop_in)
      if (detail::sampled_tag tag; samples.read_tag(most[i].site->tag, tag))
        to << ", tag " << static_cast<const char*>(tag.name);
    to << ")";
  }
}

}  // namespace

const char* parse_limit(const char* text, std::uint64_t& bytes, const char* root) noexcept {
  constexpr const char* expected = "bytes such as 512M, a percentage such as 90%, or 0 for none";
  const std::size_t length = std::strlen(text);
  if (length == 0 || text[length - 1] != '%') return parse_bytes(text, bytes) ? nullptr : expected;
  unsigned percent = 0;
  for (const char* p = text; p + 1 != text + length; ++p) {
    if (*p < '0' || *p > '9' || percent > 100) return expected;
    percent = percent * 10 + static_cast<unsigned>(*p - '0');
  }
  if (percent == 0 || percent > 100) return expected;
  const std::uint64_t whole = os::memory_group(root).hard_limit();
  if (whole == UINT64_MAX)
    return "bytes such as 512M, since no control group bounds the memory of this process";
  bytes = whole / 100 * percent;
  return nullptr;
}

void memory_limit::set(std::uint64_t bytes) noexcept {
  bytes_.store(bytes, std::memory_order_relaxed);
  apply();
  if (bytes == 0 || the_heap.committed_bytes() <= bytes) return;
  trim();
  const std::size_t held = the_heap.committed_bytes();
  if (held <= bytes) return;
  line_writer<256> line;
  line << "ashlar: the limit of " << bytes << " bytes is below the " << held
       << " bytes that the heap holds: it gets no more until it holds less";
  line.end_line();
  os::write_remark(line.data(), line.size());
}

void memory_limit::call_back(function call, void* argument, unsigned percent) noexcept {
  // Whoever calls it finds that it is not the same before and after the argument.
  function_.store(nullptr);
  argument_.store(argument);
  function_.store(call);
  soft_percent_.store(percent == 0 ? usual_percent : percent, std::memory_order_relaxed);
  apply();
}

void memory_limit::apply() noexcept {
  std::uint64_t bytes = 0;
  unsigned percent = 0;
  do {  // again where another thread has set something meanwhile: else the older one might stay
    bytes = bytes_.load();
    percent = soft_percent_.load();
    const auto most = std::min<std::uint64_t>(bytes, std::numeric_limits<std::size_t>::max());
    the_heap.set_limit(bytes == 0 ? SIZE_MAX : static_cast<std::size_t>(most), percent);
  } while (bytes != bytes_.load() || percent != soft_percent_.load());
}

bool memory_limit::call_program(std::size_t bytes_to_drop) noexcept {
  const function call = function_.load();
  void* const argument = argument_.load();
  if (call == nullptr || call != function_.load()) return false;
  const int saved = errno;
  self.at_limit = true;
  call(bytes_to_drop, argument);
  self.at_limit = false;
  errno = saved;
  if (const visit here; here.is_inside()) {
    empty_quarantine();
    if (self.own != nullptr) the_heap.flush(*self.own);
  }
  for (reclaim_progress scan{.at_once = true}; reclaim_step(scan);) {
  }
  return true;
}

void memory_limit::cross() noexcept {
  if (is_in_between()) return;
  {
    const visit here;
    if (!here.is_inside() || !the_heap.take_crossing()) return;
    the_heap.purge();
  }
  if (const std::size_t above = the_heap.bytes_above(); above != 0) call_program(above);
}

void memory_limit::note_tag(unsigned tag) noexcept {
  if constexpr (is_drop_in) {
    detail::sampled_tag now;
    if (is_in_between()) return;
    bool has_crossed = false;
    if (const look at; true) has_crossed = samples.take_crossing(tag, now);
    if (!has_crossed) return;
    const auto bytes = static_cast<std::uint64_t>(now.live_bytes);
    line_writer<256> line;
    line << "ashlar: the tag \"" << static_cast<const char*>(now.name) << "\" holds " << bytes
         << " bytes, give or take "
         << static_cast<std::uint64_t>(detail::square_root(now.live_variance))
         << ", which is above its limit of " << now.limit_bytes << " (ASHLAR_TAG_LIMIT)";
    line.end_line();
    os::write_remark(line.data(), line.size());
    call_program(static_cast<std::size_t>(bytes - now.limit_bytes));
  }
}

int limit_tag([[maybe_unused]] std::string_view name,
              [[maybe_unused]] std::uint64_t bytes) noexcept {
  if constexpr (is_drop_in) {
    if (name.empty() || name.size() > detail::sampled_tag::name_bytes_max) return EINVAL;
    if (!the_heap.start() || !samples.start()) return ENOMEM;
    const look at;
    const unsigned number = samples.number_of(name);
    if (number == 0) return ENOMEM;
    if (number == samples.other_tags) return EINVAL;
    samples.limit_tag(number, bytes);
    return 0;
  }
  return ENOTSUP;
}

bool memory_limit::make_room(std::size_t size) noexcept {
  if (is_in_between() || size > bytes_.load(std::memory_order_relaxed)) return false;
  {
    const visit here;
    if (!here.is_inside()) return false;
    if (!the_heap.is_beyond_limit(size)) return true;  // another thread has made room since
  }
  return call_program(std::max(size, the_heap.bytes_above()));
}

void memory_limit::refuse(std::size_t size, const char* call) noexcept {
  if (is_in_between()) return;
  {
    const visit here;
    if (!here.is_inside() || !the_heap.is_beyond_limit(size)) return;
  }
  the_heap.note_refusal();
  if (ends_.load(std::memory_order_relaxed)) end(size, call);
}

void memory_limit::end(std::size_t size, const char* call) const noexcept {
  ashlar_stats now;
  collect(now, false);
  line_writer<2048> more;
  more << "limit " << bytes_.load(std::memory_order_relaxed) << " (ASHLAR_LIMIT), committed "
       << now.total.committed_bytes << ", in use " << now.total.bytes_in_use;
  append_holders(more);
  more.end_text();
  detail::end_in_fault({.kind = fault_kind::exhausted, .call = call, .needed = size},
                       {.more = more.data()});
}

}  // namespace ashlar::runtime
