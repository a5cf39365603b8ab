// tools/findings/remedies.cpp. Layer: findings.
#include "tools/findings/remedies.hpp"

#include <algorithm>
#include <string>

#include "tools/findings/snippets.hpp"

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
    {"growth", "growth", "A block that grows step by step",
     "Say the size before the first element: reserve(), or one block of the final size. Where "
     "nobody "
     "knows the size, double the block in each step."},
    {"temporary", "temporary", "Blocks that live for a moment",
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
    {"hot_loop", "temporary", "An allocation in a hot loop",
     "Few of these blocks live at once. Make as many before the loop, and use them again."},
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

std::string_view code_of(std::string_view kind, std::string_view part) {
  const std::string name = std::string(kind) + '_' + std::string(part);
  const auto found = std::find_if(snippets.begin(), snippets.end(),
                                  [&](const snippet& s) { return s.name == name; });
  return found == snippets.end() ? std::string_view() : found->code;
}

}  // namespace

remedy remedy_for(const finding& f) {
  const words_of_kind& w = all_words[static_cast<std::size_t>(f.kind)];
  const bool is_in_c = f.owner < f.calls.size() && f.calls[f.owner].file.ends_with(".c");
  const std::string in_c = std::string(w.snippet) + "_c";
  if (is_in_c && !code_of(in_c, "standard").empty())
    return {w.name, w.title, w.words, code_of(in_c, "standard"), {}};
  return {w.name, w.title, w.words, code_of(w.snippet, "standard"), code_of(w.snippet, "ashlar")};
}

}  // namespace ashlar::findings
