// tools/trace/call_names.hpp: the calls of a trace's stacks, with functions, files and lines.
// Layer: trace.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tools/trace/format.hpp"
#include "tools/trace/known_places.hpp"
#include "tools/trace/reader.hpp"
#include "tools/trace/source_lines.hpp"

namespace ashlar::trace {

// The functions that a program made at run time, from the list that it wrote
// for perf(1).

/// Where a process writes its list, as `python3 -X perf` does.
std::string perf_map_path(std::uint64_t pid);

/// A line of the list is "begin bytes name", both numbers hexadecimal. A line that is none is left out.
class perf_map {
 public:
  /// Reads nothing where there is no such file, or it belongs to another user that is not root.
  explicit perf_map(const std::string& path);
  /// Returns: the function whose code is there. Of Python's "py::function:file" it has the file, too,
  /// and the line where that defines it, if it defines one of that name. Empty: none.
  [[nodiscard]] source_place at(std::uint64_t address);

 private:
  struct function {
    std::uint64_t end = 0;
    std::string name;
  };
  using line_numbers = std::unordered_map<std::string, std::uint32_t>;  // 0: there are several

  static line_numbers lines_of(const std::string& script);

  std::map<std::uint64_t, function> functions_;  // by begin; what was made there last
  std::unordered_map<std::string, line_numbers> scripts_;
};

/// Returns: "std::vector::push_back" of "void std::vector<int>::push_back(int&&)": the name alone.
[[nodiscard]] std::string short_name(std::string_view function);

/// Returns: the addresses at which functions allocate for many others: the innermost call of a quarter
/// of all stacks, with 16 or more places behind it; and what does so around these.
[[nodiscard]] std::unordered_set<std::uint64_t> wrappers_of(
    const std::vector<stack_definition>& stacks);

struct named_call {
  /// "function in library.so", "library.so+0x1234" where the function is unknown, "0x1234" in a trace
  /// without files; of a recorded pool its name; "[stack cut at 16 frames]" (docs/trace-format.md);
  /// "function in rows.py" or "[code made at run time]" where no file was mapped.
  std::string name;
  std::string file;  ///< of the source; empty: unknown
  std::uint32_t line = 0;
  std::string module;  ///< the program or library, of Python code its source; empty: it is no file
  /// The name without what may be another in the next run or build: the function or the pool. Empty:
  /// it is unknown. gcc warns of a list that leaves it out, but for `{}`.
  std::string function{};  // NOLINT(readability-redundant-member-init)
  /// Whether it only hands blocks on, as xmalloc does: a good part of all stacks allocate here, from
  /// many places.
  bool is_wrapper = false;

  /// Returns: "file:line"; empty: unknown.
  [[nodiscard]] std::string place() const;
  /// Returns: the name, with short_name() of the function.
  [[nodiscard]] std::string brief() const;
  /// Returns: the name, and the place where it is known.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string brief_text() const;  ///< likewise
  /// Returns: whether it is a function of a script, which an interpreter executes.
  [[nodiscard]] bool is_of_script() const { return !module.empty() && file == module; }
  /// Returns: whether debug information of its module would tell more.
  [[nodiscard]] bool lacks_line() const {
    return line == 0 && module.starts_with('/') && !is_of_script();
  }
};

/// Names return addresses: by the names that the trace has, and otherwise by the files that were
/// mapped, if they are still what they were. A name in the trace that has no line gets one where the
/// same build, by its build id, is at hand. Code made at run time has a map of its names. Not
/// thread-safe.
class call_names {
 public:
  /// Requires: the reader lives longer.
  explicit call_names(const trace_reader& of);
  /// Of several names of one address the last counts. `known`: has what was found before, and gets
  /// what is found of builds that have an id. Requires: `in_trace` and `known` live longer.
  call_names(std::vector<module_definition> modules, std::span<const name_definition> in_trace,
             known_places* known = nullptr);

  /// Returns: the calls from the inside out, those that the compiler put inline among them.
  std::vector<named_call> of(const stack_definition& stack);

  /// Returns: the largest variable of a program or library with data, by its name without folders as
  /// a memory_map has it.
  static_variable largest_variable(std::string_view file);

  /// Returns: the files that were asked for, and are gone or another build now: their calls have
  /// offsets only.
  struct lost_file {
    std::string path;
    file_state state{};
    friend bool operator==(const lost_file&, const lost_file&) = default;
  };
  [[nodiscard]] const std::vector<lost_file>& lost() const { return lost_; }

 private:
  const std::vector<named_call>& at(std::uint64_t address);
  std::vector<named_call> find(std::uint64_t address);
  named_call made_at_run_time(std::uint64_t address);
  std::vector<source_place> places_of(const module_definition& module, std::uint64_t address);
  void note_if_lost(const module_definition& module);

  std::vector<module_definition> modules_;
  std::unordered_set<std::uint64_t> wrappers_;  // addresses
  std::unordered_map<std::uint64_t, const std::vector<source_place>*> in_trace_;
  std::unordered_map<std::uint64_t, std::vector<named_call>> known_;
  std::vector<lost_file> lost_;
  known_places* known_before_ = nullptr;
  source_lines sources_;
  std::uint64_t pid_ = 0;         // 0: unknown
  std::optional<perf_map> made_;  // once it was asked for
};

}  // namespace ashlar::trace
