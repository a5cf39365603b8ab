// tools/report/memory_rows.cpp. Layer: report.
#include "tools/report/memory_rows.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace ashlar::report {
namespace {

using trace::memory_kind;
using trace::resident_part;

/// What a program has beside malloc, and what makes it less, or lets it use malloc.
struct runtime {
  std::string_view program;  // its file's name, up to a version
  std::string_view remedy;
  // How the function's name begins that maps its heap; null: the program alone tells.
  const char* function = nullptr;
  // What names the holders where malloc has most of the memory; empty: the remedy does.
  // gcc warns of a list that leaves it out, but for `{}`.
  std::string_view with_malloc{};  // NOLINT(readability-redundant-member-init)
};
constexpr std::string_view remedy_of_gcc =
    "gcc has its own collector: --param ggc-min-heapsize=KIB makes it run sooner";
constexpr std::array runtimes{
    runtime{"php", "USE_ZEND_ALLOC=0 in the environment makes php ask malloc for each block",
            nullptr, "the lines are php's own: the extension memprof names the script's"},
    runtime{"python",
            "PYTHONMALLOC=malloc in the environment makes python ask malloc for each object; from "
            "3.12 on, PYTHONPERFSUPPORT=1 names the script's functions",
            nullptr,
            "the lines are python's own: from 3.12 on, PYTHONPERFSUPPORT=1 in the environment "
            "names the script's functions"},
    runtime{"node",
            "V8 has its own heap: node --heap-prof names its holders, --max-old-space-size=MIB "
            "limits it"},
    runtime{"deno", "V8 has its own heap: --v8-flags=--max-old-space-size=MIB limits it"},
    runtime{"java",
            "the JVM has its own heap: -Xmx limits it, -XX:NativeMemoryTracking=summary tells "
            "the rest"},
    runtime{"ruby", "ruby has its own heap: ObjectSpace.dump_all names its objects"},
    runtime{"dotnet", "the CLR has its own heap: DOTNET_GCHeapHardLimit limits it"},
    runtime{"beam", "erl +Mea min makes the BEAM ask malloc for each block"},
    runtime{"guile",
            "guile has a collector: GC_MAXIMUM_HEAP_SIZE=BYTES in the environment limits it"},
    runtime{"ocaml", "OCaml has its own heap: OCAMLRUNPARAM=v=0x400 tells its figures at exit",
            "caml_"},
    runtime{"ghc", "GHC's programs have a heap of their own: +RTS -s tells it, +RTS -M limits it",
            "my_mmap"},
    runtime{"go",
            "Go has its own heap: runtime/pprof names its holders, GOMEMLIMIT in the environment "
            "limits it",
            "x_cgo_mmap"},
    runtime{"perl",
            "perl has its own heap in malloc's blocks: Devel::Size tells what objects hold"},
    runtime{"lua", "the script's objects are Lua's: collectgarbage('count') tells their KiB"},
    runtime{"tclsh", "Tcl hands out parts of these blocks: a line is one that found none free"},
    runtime{"R", "R's objects lie in these blocks: Rprofmem() names the calls of the script"},
    runtime{"emacs", "Lisp's objects lie in these blocks: (memory-report) tells what holds them"},
    runtime{"luajit", "LuaJIT has its own heap: collectgarbage('count') tells its KiB"},
    runtime{"pypy", "PyPy has its own heap: PYPY_GC_MAX=1GB in the environment limits it"},
    runtime{"racket", "Racket has its own heap: (dump-memory-stats) tells what is in it"},
    runtime{"sbcl", "SBCL has its own heap: --dynamic-space-size MIB limits it, (room) tells it"},
    runtime{"swipl", "SWI-Prolog has its own stacks: --stack-limit=SIZE limits them"},
    runtime{"cc1", remedy_of_gcc},
    runtime{"cc1plus", remedy_of_gcc},
    runtime{"lto1", remedy_of_gcc},
};
constexpr std::string_view no_runtime =
    "the program maps this memory itself: a recording with stacks names the lines";
constexpr std::string_view no_runtime_nor_lines =
    "no call of malloc or mmap by the program's code: its allocator or the loader mapped it";

/// `holder`: the interpreter's own function that holds most; empty: it is none. Returns: null where it
/// is none of these.
const runtime* runtime_of(std::string_view program, std::string_view holder = {},
                          const std::vector<resident_part>& parts = {}) {
  program.remove_prefix(program.rfind('/') + 1);
  const auto found = std::ranges::find_if(runtimes, [&](const runtime& each) {
    if (each.function != nullptr)
      return holder.starts_with(each.function) ||
             std::ranges::any_of(parts, [&](const resident_part& part) {
               return part.name.starts_with(each.function);
             });
    const std::string_view version = program.substr(std::min(each.program.size(), program.size()));
    return program.starts_with(each.program) &&
           (version.empty() || std::isalpha(static_cast<unsigned char>(version[0])) == 0);
  });
  return found != runtimes.end() ? &*found : nullptr;
}

std::string_view name_of(memory_kind kind) {
  switch (kind) {
    case memory_kind::file:
      return "files";
    case memory_kind::data:
      return "static data";
    case memory_kind::stack:
      return "stacks";
    case memory_kind::shared:
      return "shared memory";
    case memory_kind::recorder:
      return "the recorder's own";
    case memory_kind::heap:
    case memory_kind::anonymous:
      return "anonymous memory beside malloc";
  }
  return "other memory";
}

constexpr std::string_view and_others = " and others";

// Returns: without what a place without a name works for: "program+0x1234" of "program+0x1234 for f".
std::string_view first_of_name(std::string_view name) {
  const std::string_view place = name.substr(0, name.find(" for "));
  return place.find("+0x") != place.npos ? place : name;
}

}  // namespace

void name_parts(trace::resident_memory& of, const std::vector<trace::stack_definition>& stacks,
                const std::function<std::string(const trace::stack_definition&)>& name_of) {
  std::unordered_map<std::uint32_t, const trace::stack_definition*> by_number;
  for (const trace::stack_definition& stack : stacks) by_number[stack.number] = &stack;
  for (resident_part& part : of.parts) {
    const auto found = by_number.find(part.stack);
    if (found == by_number.end()) continue;
    part.name += (part.name.empty() ? "" : " by ") + name_of(*found->second);
  }
}

memory_rows memory_rows_of(const trace::resident_memory& memory, const trace::trace_header& of,
                           std::string_view interpreters_holder) {
  memory_rows all;
  all.peak = memory.peak;
  all.limit = of.number(trace::header_name::memory_limit, 0);
  if (memory.resident == 0) return all;
  const auto add = [&](std::uint64_t bytes, std::string name) -> memory_row& {
    return all.rows.emplace_back(memory_row{bytes, std::move(name), {}});
  };
  add(memory.malloc - memory.beyond_live(),
      memory.not_in_memory() == 0 ? "blocks of malloc" : "blocks of malloc, as far as in memory");
  const bool has_older =
      !of.get(trace::header_name::parent).empty() || !of.get(trace::header_name::attached).empty();
  const std::uint64_t rounding = std::min(memory.rounding, memory.beyond_live());
  add(memory.beyond_live() - rounding,
      has_older ? "malloc beyond its blocks: what came before the recording or fork, free memory"
                : "malloc beyond its blocks: free memory, its own data");
  add(rounding, "rounding of malloc's blocks, also for alignments");
  const std::size_t first = all.rows.size();
  const runtime* const known =
      runtime_of(of.get(trace::header_name::program), interpreters_holder, memory.parts);
  std::uint64_t anonymous = 0, recorder = 0;
  bool knows_lines = false;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;  // of parts of rows
  for (const resident_part& part : memory.parts) {
    const std::string_view name = name_of(part.kind);
    auto row = std::find_if(all.rows.begin() + static_cast<std::ptrdiff_t>(first), all.rows.end(),
                            [&](const memory_row& each) { return each.name == name; });
    memory_row& to = row != all.rows.end() ? *row : add(0, std::string(name));
    to.bytes += part.bytes;
    if (!part.name.empty()) {
      const std::string_view place = first_of_name(part.name);
      const auto [at, is_new] = places.try_emplace(std::pair(name, place), to.parts.size());
      resident_part& here = is_new ? to.parts.emplace_back(part) : to.parts[at->second];
      if (!is_new) here.bytes += part.bytes;
      if (part.name != here.name && !here.name.ends_with(and_others)) here.name += and_others;
    }
    knows_lines = knows_lines || part.stack != 0;
    // A heap that was mapped from a file is data.
    if (part.kind == memory_kind::anonymous || (known != nullptr && part.kind == memory_kind::data))
      anonymous += part.bytes;
    if (part.kind == memory_kind::recorder) recorder += part.bytes;
  }
  const auto is_before = [](const auto& a, const auto& b) {
    return std::tie(b.bytes, a.name) < std::tie(a.bytes, b.name);
  };
  std::sort(all.rows.begin() + static_cast<std::ptrdiff_t>(first), all.rows.end(), is_before);
  for (memory_row& row : all.rows)  // names may have joined what was apart
    std::ranges::sort(row.parts, is_before);
  add(memory.peak - memory.resident, "at the peak itself, between two samples");
  std::erase_if(all.rows, [](const memory_row& row) { return row.bytes == 0; });
  const double own = static_cast<double>(memory.resident - recorder);
  constexpr double most = 0.7;
  constexpr double notable = 0.1;
  constexpr std::uint64_t notable_bytes = 4u << 20;
  if (anonymous >= notable_bytes && static_cast<double>(memory.malloc) < most * own &&
      static_cast<double>(anonymous) > notable * own)
    all.remedy = known != nullptr ? known->remedy
                 : knows_lines    ? std::string_view()
                 : of.get(trace::header_name::options).find("stacks=") != std::string::npos
                     ? no_runtime_nor_lines
                     : no_runtime;
  else if (known != nullptr && !interpreters_holder.empty())
    all.remedy = known->with_malloc.empty() ? known->remedy : known->with_malloc;
  if (has_older && all.remedy == no_runtime_nor_lines)
    all.remedy = "what a process had before a fork is in its parent's trace, with its lines";
  return all;
}

std::string_view remark_on_lost(std::string_view program) {
  const runtime* const found = runtime_of(program);
  return found != nullptr && found->program == "ruby"
             ? "ruby unmaps its objects before it exits, and does not free what they hold"
             : std::string_view();
}

nlohmann::json memory_json(const trace::resident_memory& memory, const memory_rows& rows,
                           double seconds) {
  if (rows.peak == 0) return nullptr;
  nlohmann::json list = nlohmann::json::array();
  for (const memory_row& row : rows.rows) {
    nlohmann::json parts = nlohmann::json::array();
    for (const resident_part& part : row.parts)
      parts.push_back({{"name", part.name}, {"bytes", part.bytes}});
    list.push_back({{"name", row.name}, {"bytes", row.bytes}, {"parts", std::move(parts)}});
  }
  return {{"peak_bytes", rows.peak},
          {"limit_bytes", rows.limit},
          {"seconds", seconds},
          {"looked_at_bytes", memory.resident},
          {"malloc_bytes", memory.malloc},
          {"live_bytes", memory.live},
          {"rows", std::move(list)},
          {"remedy", rows.remedy}};
}

nlohmann::json resident_over_time(const std::vector<trace::memory_look>& looks, std::uint64_t first,
                                  double seconds_per_tick) {
  constexpr std::size_t points = 400;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;
  seen.reserve(looks.size());
  for (const trace::memory_look& look : looks) seen.emplace_back(look.time, look.resident);
  std::ranges::sort(seen);
  const std::size_t each = seen.size() / points + 1;
  nlohmann::json seconds = nlohmann::json::array();
  nlohmann::json bytes = nlohmann::json::array();
  for (std::size_t i = 0; i < seen.size(); i += each) {
    std::uint64_t most = 0;
    for (std::size_t k = i; k < std::min(i + each, seen.size()); ++k)
      most = std::max(most, seen[k].second);
    seconds.push_back(static_cast<double>(seen[i].first - std::min(seen[i].first, first)) *
                      seconds_per_tick);
    bytes.push_back(most);
  }
  return {{"seconds", std::move(seconds)}, {"resident_bytes", std::move(bytes)}};
}

}  // namespace ashlar::report
