// tools/findings/runs_test.hpp: small runs made by hand, for the tests of this room.
#pragma once

#include "tools/findings/finder.hpp"
#include "tools/trace/trace_files_test.hpp"

namespace ashlar::findings::test {

/// A run whose every birth has a call site of its own name.
class run {
 public:
  using block = std::uint64_t;

  // `caller`: who calls the site.
  block make(const std::string& site, std::uint64_t size, std::uint32_t thread = 1,
             const std::string& caller = "main") {
    trace::event e = trace::test::birth(thread, ++time_, next_ += 0x10000, size);
    e.stack = stack_of(site + '|' + caller);
    events_.push_back(e);
    return e.address;
  }
  void drop(block b, std::uint32_t thread = 1) {
    events_.push_back(trace::test::death(thread, ++time_, b));
  }
  /// The recorder looks at a block.
  void look(block b, std::uint64_t untouched) {
    events_.push_back(trace::test::note(1, ++time_, b, untouched));
  }
  block resize(block b, const std::string& site, std::uint64_t size, std::uint32_t thread = 1) {
    events_.push_back(trace::test::death(thread, ++time_, b));
    events_.back().kind = trace::event_kind::from_realloc;
    const block again = make(site, size, thread);
    events_.back().kind = trace::event_kind::by_realloc;
    return again;
  }

  /// The calls of a stack: the names between its '|', the last two with lines.
  static std::vector<trace::named_call> calls_of(const std::string& site) {
    std::vector<trace::named_call> calls;
    for (std::size_t at = 0; at <= site.size();) {
      const std::size_t end = std::min(site.find('|', at), site.size());
      calls.push_back({site.substr(at, end - at) + " in program", "", 0, "/bin/program"});
      at = end + 1;
    }
    for (std::size_t i = calls.size() - 2; i < calls.size(); ++i) {
      calls[i].file = "a.cpp";
      calls[i].line = 1;
    }
    return calls;
  }

  [[nodiscard]] findings_of_run findings(rounding by = rounding::ashlar) const {
    trace::trace_reader reader = trace::test::read(trace::test::written(events_));
    std::vector<trace::stack_definition> stacks;
    for (std::uint32_t i = 0; i < sites_.size(); ++i) stacks.push_back({i + 1, {i + 1}});
    finder finder(
        stacks, [&](const auto& stack) { return calls_of(sites_[stack.number - 1]); }, by);
    trace::lifetimes steps(reader);
    for (trace::step s; steps.next(s);) finder.count(s);
    return finder.findings();
  }

 private:
  std::uint32_t stack_of(const std::string& site) {
    for (std::uint32_t i = 0; i < sites_.size(); ++i)
      if (sites_[i] == site) return i + 1;
    sites_.push_back(site);
    return static_cast<std::uint32_t>(sites_.size());
  }

  std::vector<trace::event> events_;
  std::vector<std::string> sites_;
  std::uint64_t time_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace ashlar::findings::test
