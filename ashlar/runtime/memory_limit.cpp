// runtime/memory_limit.cpp: what happens at the limit of the process heap.
// Layer: runtime.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include <ashlar/check/heap_leaks.hpp>
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

/// What holds some of a heap: a call stack, or blocks of one size (0: large ones).
struct holder {
  std::uint64_t bytes = 0;
  const void* const* frames = nullptr;
  std::uint32_t depth = 0;
  std::uint32_t tag = 0;
  std::uint64_t block_size = 0;
};

/// Those that hold most.
class most_holders {
 public:
  void note(const holder& one) noexcept {
    most_[told_max] = one;
    for (std::size_t i = told_max; i != 0 && most_[i].bytes > most_[i - 1].bytes; --i)
      std::swap(most_[i], most_[i - 1]);
  }
  [[nodiscard]] bool is_empty() const noexcept { return most_[0].bytes == 0; }

  /// Effects: appends them, each call stack with the place that called it.
  void append(text_writer& to) const noexcept {
    for (std::size_t i = 0; i < told_max && most_[i].bytes != 0; ++i) {
      const holder& one = most_[i];
      to << (i == 0 ? ", most of it held by " : ", ");
      for (std::uint32_t f = 0; f < one.depth && f < 2; ++f) {
        const os::frame_place place = os::place_of(one.frames[f]);
        to << (f != 0 ? " from " : "") << (place.function != nullptr ? place.function : "code")
           << " at " << (place.file != nullptr ? place.file : "") << "+"
           << reinterpret_cast<const void*>(place.offset);
      }
      if (one.block_size != 0)
        to << "blocks of " << one.block_size << " bytes";
      else if (one.depth == 0)
        to << (one.frames == nullptr ? "large blocks" : "unknown calls");
      to << " (" << one.bytes << " bytes";
      if constexpr (is_drop_in)
        if (detail::sampled_tag tag; samples.read_tag(one.tag, tag))
          to << ", tag " << static_cast<const char*>(tag.name);
      to << ")";
    }
  }

 private:
  static constexpr std::size_t told_max = 3;
  holder most_[told_max + 1];
};

/// Effects: appends what holds most: call stacks, by the samples or by full checks; else blocks by
/// their size.
void append_holders(text_writer& to, const ashlar_stats& now, detail::full_check* checks) noexcept {
  most_holders most;
  if (checks != nullptr && checks->is_on()) {
    const detail::leak_sites sites([checks](auto visit) { checks->for_each_live(visit); });
    for (const detail::leak_site& s : sites)
      most.note({.bytes = s.bytes, .frames = s.at.frames, .depth = s.at.depth});
    return most.append(to);
  }
  if constexpr (is_drop_in) {
    if (samples.has_started())
      samples.for_each_site([&](const detail::sampled_site& s) {  // none ever goes
        most.note({.bytes = static_cast<std::uint64_t>(std::max(s.sums.live_bytes, 0.0)),
                   .frames = s.frames,
                   .depth = s.depth,
                   .tag = s.tag});
      });
    if (!most.is_empty()) return most.append(to);
  }
  for (std::uint32_t i = 0; i < now.class_count; ++i)
    most.note({.bytes = now.classes[i].block_size * now.classes[i].blocks_in_use,
               .block_size = now.classes[i].block_size});
  most.note({.bytes = now.large.committed_bytes});
  most.append(to);
  to << (is_drop_in          ? ", ASHLAR_SAMPLE=512K tells which call sites hold it"
         : checks != nullptr ? ", check::full<> tells which call sites hold it"
                             : "");
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
  if (bytes == 0 || the_heap.supply().committed_bytes() <= bytes) return;
  trim();
  const std::size_t held = the_heap.supply().committed_bytes();
  if (held <= bytes) return;
  line_writer<256> line;
  line << "ashlar: the limit of " << bytes << " bytes is below the " << held
       << " bytes that the heap holds: it gets no more until it holds less";
  line.end_line();
  os::write_remark(line.data(), line.size());
}

void limit_answer::set(function call, void* argument) noexcept {
  // Whoever calls it finds that it is not the same before and after the argument.
  function_.store(nullptr);
  argument_.store(argument);
  function_.store(call);
}

bool limit_answer::run(std::size_t bytes_to_drop) const noexcept {
  const function call = function_.load();
  void* const argument = argument_.load();
  if (call == nullptr || call != function_.load()) return false;
  const int saved = errno;
  self.at_limit = true;
  call(bytes_to_drop, argument);
  self.at_limit = false;
  errno = saved;
  return true;
}

bool is_in_between() noexcept {
  return self.at_limit || self.in_source || self.outside || self.pass.depth != 0;
}

void memory_limit::call_back(function call, void* argument, unsigned percent) noexcept {
  answer_.set(call, argument);
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
  if (!answer_.run(bytes_to_drop)) return false;
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
    if (!here.is_inside() || !the_heap.supply().take_crossing()) return;
    the_heap.supply().purge_aged(true);
  }
  if (const std::size_t above = the_heap.supply().bytes_above(); above != 0) call_program(above);
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
  return call_program(std::max(size, the_heap.supply().bytes_above()));
}

void memory_limit::refuse(std::size_t size, const char* call) noexcept {
  if (self.in_source) self.source_refused = true;
  if (is_in_between()) return;
  {
    const visit here;
    if (!here.is_inside() || !the_heap.is_beyond_limit(size)) return;
  }
  the_heap.note_refusal();
  if (!ends_.load(std::memory_order_relaxed)) return;
  ashlar_stats now;
  collect(now, false);
  end_at_limit(size, call, now);
}

void end_at_limit(std::size_t size, const char* call, const ashlar_stats& now, const char* pool,
                  detail::full_check* checks) noexcept {
  line_writer<2048> more;
  const bool is_budget = checks != nullptr;
  if (now.total.limit_bytes == 0)  // no budget
    more << "its source has no more";
  else
    more << (is_budget ? "budget " : "limit ") << now.total.limit_bytes
         << (is_budget ? "" : " (ASHLAR_LIMIT)");
  more << ", committed " << now.total.committed_bytes << ", in use " << now.total.bytes_in_use;
  append_holders(more, now, checks);
  more.end_text();
  detail::end_in_fault({.kind = fault_kind::exhausted, .call = call, .pool = pool, .needed = size},
                       {.more = more.data()});
}

}  // namespace ashlar::runtime
