// tools/cli/difference_report.hpp: two recordings beside each other, as text and as JSON.
// Layer: cli.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/sites/difference.hpp"

namespace ashlar::cli {

// A figure that recordings are compared by.
struct measure_text {
  std::string_view name;   // as an option has it
  std::string_view label;  // behind a number: "at the peak"
  std::string_view noun;   // "the bytes at the peak"
  sites::measure figure;
  bool in_bytes;

  // Returns: "1.5 KiB" or "1,536".
  [[nodiscard]] std::string format(std::uint64_t value) const;
};
// Throws: command_error that lists the names, where there is no such name.
const measure_text& measure_named(std::string_view name);

// Of one stretch of a run: the most bytes that lived at once in it.
struct live_stretch {
  double end_seconds = 0;  // since the first event
  std::uint64_t bytes = 0;
};

struct difference_report {
  struct side {
    std::string path;
    trace::trace_header header;
    std::string warning;
    std::uint64_t lost_events = 0;
    double seconds = 0;
    std::vector<live_stretch> over_time;
  };
  side before;
  side after;
  const measure_text& by;
  sites::difference found;
};

// `rows`: how many call sites and sizes are listed; `is_full`: with all of their calls.
std::string render_difference(const difference_report& report, std::size_t rows, bool is_full);
nlohmann::json difference_json(const difference_report& report);
// The same for a page, which has to stay small: call sites that changed by less than a 10,000th of
// the program in every figure are summed up as one.
nlohmann::json difference_page_data(const difference_report& report);

}  // namespace ashlar::cli
