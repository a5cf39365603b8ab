// fault/report.hpp: what is known of a fault, as text and as JSON.
// Layer: fault. Nothing here uses memory of the heap, which may be what is broken.
#pragma once

#include <cstddef>

#include <ashlar/core/fault.hpp>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/os/call_stack.hpp>

namespace ashlar::detail {

/// Who did something to a block, and where.
struct deed {
  const char* call = nullptr;  ///< such as "malloc"; null: not done
  std::size_t thread = 0;
  os::call_stack at;
};

/// What the checks know of a fault beyond the fault itself. Null: not known.
struct fault_history {
  const void* block = nullptr;  ///< where the caller's block begins
  std::size_t size = 0;         ///< what its caller asked for
  const char* how = nullptr;    ///< "found", "read" or "write": what `found` is called
  const deed* found = nullptr;  ///< the call or access at which it was seen
  const deed* made = nullptr;
  const deed* freed = nullptr;
  const char* more = nullptr;  ///< the end of the fault's own line
};

/// Effects: as ashlar_misuse and ashlar_fault; the report has the history, too.
void misuse(const fault& what, const fault_history& history) noexcept;
[[noreturn]] void end_in_fault(const fault& what, const fault_history& history) noexcept;
/// Returns: the history of the fault that the calling thread reports now; null: none is known.
[[nodiscard]] const fault_history* history_of_fault() noexcept;

/// Effects: appends the report's lines: where the address lies, who did what, the fault itself
/// last.
void append_text(text_writer& to, const fault& what, const fault_history* history) noexcept;
/// Effects: appends one line with one JSON object (docs/checks.md has its members). `event` is
/// "fault" or "report", `action` what becomes of the process.
void append_json(text_writer& to, const fault& what, const fault_history* history,
                 const char* event, const char* action) noexcept;

}  // namespace ashlar::detail
