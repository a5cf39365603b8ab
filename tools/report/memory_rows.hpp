// tools/report/memory_rows.hpp: whose the memory was that a process had at its peak. Layer: report.
//
// Law: the rows add up to the peak.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/trace/format.hpp"
#include "tools/trace/resident_memory.hpp"

namespace ashlar::report {

struct memory_row {
  std::uint64_t bytes = 0;
  std::string name;                         // for people
  std::vector<trace::resident_part> parts;  // with names: the largest of what it has
};

struct memory_rows {
  std::uint64_t peak = 0;        // bytes in memory; 0: not recorded
  std::uint64_t limit = 0;       // what its control group may have; 0: no limit, or not known
  std::vector<memory_row> rows;  // none is 0; empty: only the peak is known
  std::string remedy;            // where malloc has little of it; empty: it has most
};

// Effects: what a known stack mapped gets the name that `name_of` gives the stack.
void name_parts(trace::resident_memory& of, const std::vector<trace::stack_definition>& stacks,
                const std::function<std::string(const trace::stack_definition&)>& name_of);

// `of`: the trace's header, which names the program. `interpreters_holder`: the call that holds most of
// malloc's blocks, if it is an interpreter's own: then the remedy says what names the script's.
memory_rows memory_rows_of(const trace::resident_memory& memory, const trace::trace_header& of,
                           std::string_view interpreters_holder = {});

// Returns: why what such a program has lost at its exit is no leak; empty: it may be one.
[[nodiscard]] std::string_view remark_on_lost(std::string_view program);

nlohmann::json memory_json(const trace::resident_memory& memory, const memory_rows& rows,
                           double seconds);
// The most that was in memory in stretches of the looks, in seconds since `first` ticks.
nlohmann::json resident_over_time(const std::vector<trace::memory_look>& looks, std::uint64_t first,
                                  double seconds_per_tick);

}  // namespace ashlar::report
