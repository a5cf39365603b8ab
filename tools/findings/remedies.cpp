// tools/findings/remedies.cpp. Layer: findings.
#include "tools/findings/remedies.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace ashlar::findings {
namespace {

struct words_of_kind {
  std::string_view name;
  std::string_view snippet;  // whose code it shows
  std::string_view title;
  std::string_view words;
};

// By finding_kind.
constexpr words_of_kind all_words[] = {
    {"leak", "", "Memory that is never freed",
     "Free these blocks when their use is over. 'ashlar leaks --trace' lists their calls. "
     "Where nobody looked for pointers at exit, something may keep them: a program that only "
     "builds what it works on, and ends, may leave it as it is."},
    {"rising", "", "Memory that grows all through the run",
     "Give what keeps these blocks a bound, as a cache has one: drop the oldest, or what was used "
     "least. A program that only loads what it works on rises, too: then leave it as it is."},
    {"growth", "growth", "A block that grows step by step",
     "Say the size before the first element: reserve(), or one block of the final size. Where "
     "nobody "
     "knows the size, double the block in each step."},
    {"short_lived", "short_lived", "Blocks that live for a moment",
     "Keep one object outside of the loop and use it again. A string or a vector keeps its memory "
     "when it is cleared or assigned. A buffer of bounded size can be a local array."},
    {"handoff", "handoff", "Blocks that one thread makes and another frees",
     "Use the blocks again instead of freeing them: send them back to the thread that makes them, "
     "or "
     "take them from a pool of as many blocks as can be under way."},
    {"together", "together", "Blocks that all die together",
     "Give them an arena. It hands out memory by moving a pointer, and frees all of it at once."},
    {"nodes", "nodes", "A container with a block for each element",
     "Give the container a pool, so that its nodes lie side by side. Where the order of elements "
     "is "
     "not needed while they are added, a sorted vector has no nodes at all."},
    {"pool", "pool", "Many blocks of one size",
     "Give the type a pool of its own. A block is then a step in a list, and the objects lie side "
     "by side."},
    {"hot_loop", "short_lived", "An allocation in a hot loop",
     "Few of these blocks live at once. Make as many before the loop, and use them again. Nodes of "
     "a container can lie in a pool or an arena that is there before the loop."},
    {"slack", "slack", "Blocks that are a little too large",
     "Make them smaller by as much as is said here. Often a header or an ending zero was added to "
     "a "
     "round size."},
    {"untouched", "untouched", "Large blocks that are mostly never touched",
     "Ask for what is usually needed, and let the block grow by doubling where that is too little. "
     "Pages that nobody touches have no memory, so the change saves address space, not memory in "
     "use. That counts under ulimit -v, where the system promises no more than it has, and where "
     "huge pages bring memory that nobody touches. Else leave it as it is."},
    {"pins", "pins", "Few blocks that keep many pages",
     "Let these blocks lie together, in a pool, an arena or a heap of their own. Then the pages of "
     "what dies around them become free. The saving is verified: the run was replayed by address, "
     "with these blocks in pages of their own. glibc's malloc gives free pages back from its end "
     "only, so take blocks of 256 KiB for the pool, or call malloc_trim(0)."},
};
static_assert(std::size(all_words) == finding_kinds);

enum class language : std::uint8_t { cpp, c, rust, python };

// Where C++ has another word for it.
struct words_of_language {
  finding_kind kind;
  language in;
  std::string_view words;
};
constexpr words_of_language other_words[] = {
    {finding_kind::growth, language::c,
     "Ask for one block of the final size. Where nobody knows the size, double the block in each "
     "step."},
    {finding_kind::growth, language::rust,
     "Say the size before the first element: with_capacity(), or reserve()."},
    {finding_kind::growth, language::python,
     "Let it have its size at once: a comprehension, join(), or [None] * n."},
    {finding_kind::short_lived, language::c,
     "Keep one buffer outside of the loop and use it again. One of bounded size can be a local "
     "array."},
    {finding_kind::short_lived, language::rust,
     "Keep one String or Vec outside of the loop, and clear() it: it keeps its memory."},
    {finding_kind::short_lived, language::python,
     "Keep one object outside of the loop. A memoryview has a part of a buffer without a copy."},
};

// Whether a file asks the C++ library for memory, or has such a function: what strip leaves.
bool has_operator_new(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return false;
  static constexpr std::string_view name("\0_Znwm\0", 7);  // of 64 bits
  std::ifstream file(path, std::ios::binary);
  std::string part;
  for (std::string more(std::size_t{1} << 20, '\0'); file;) {
    file.read(more.data(), static_cast<std::streamsize>(more.size()));
    part.append(more, 0, static_cast<std::size_t>(file.gcount()));
    if (part.find(name) != std::string::npos) return true;
    part.erase(0, part.size() - std::min(part.size(), name.size()));
  }
  return false;
}

language language_of(const finding& f) {
  if (f.owner >= f.calls.size()) return language::cpp;
  const trace::named_call& call = f.calls[f.owner];
  const auto is_in = [&](std::string_view ending) { return call.file.ends_with(ending); };
  if (call.is_of_script() || is_in(".py")) return language::python;
  if (is_in(".rs")) return language::rust;
  if (is_in(".c")) return language::c;
  if (!call.file.empty()) return language::cpp;
  // Without debug information, only C++ and Rust have names with types or spaces.
  const bool has_types = std::ranges::any_of(f.calls, [](const auto& each) {
    return each.function.find("::") != std::string::npos ||
           each.function.find('(') != std::string::npos;
  });
  return has_types || has_operator_new(call.module) ? language::cpp : language::c;
}

std::string_view code_of(std::string_view kind, std::string_view part) {
  const std::string name = std::string(kind) + '_' + std::string(part);
  const auto found = std::ranges::find(snippets, name, &snippet::name);
  return found == snippets.end() ? std::string_view() : found->code;
}

}  // namespace

remedy remedy_for(const finding& f) {
  const words_of_kind& w = all_words[static_cast<std::size_t>(f.kind)];
  const language in = language_of(f);
  if (in == language::cpp)
    return {w.name, w.title, w.words, code_of(w.snippet, "standard"), code_of(w.snippet, "ashlar")};
  const auto* const other = std::ranges::find_if(
      other_words, [&](const words_of_language& o) { return o.kind == f.kind && o.in == in; });
  const std::string code = in == language::c ? std::string(w.snippet) + "_c" : std::string();
  return {w.name,
          w.title,
          other == std::end(other_words) ? w.words : other->words,
          code_of(code, "standard"),
          {}};
}

}  // namespace ashlar::findings
