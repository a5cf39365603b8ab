// tools/findings/site_table.hpp: the call sites of a trace: stacks whose inner calls are the same,
// up to the line that owns the block. Layer: findings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "tools/trace/call_names.hpp"
#include "tools/trace/format.hpp"

namespace ashlar::findings {

/// The calls of a stack, from the inside out.
using names_of_stack =
    std::function<std::vector<trace::named_call>(const trace::stack_definition&)>;

/// A call site of the program. Stacks differ outside of the owner, by who called it.
struct site {
  std::vector<trace::named_call> calls;  ///< of its first stack, from the inside out
  std::size_t owner = 0;      ///< index of the line that is told: the first own one, or its caller
  std::size_t first_own = 0;  ///< index of the program's own line in them
};

/// Which line owns a block. A helper that the whole program calls is judged by its callers, too:
/// its blocks may behave in one way for each of them.
enum class owned_by : std::uint8_t { first_own_call, its_caller };

/// Which sites a stack belongs to. Immutable.
class site_table {
 public:
  static constexpr std::uint32_t nobody = UINT32_MAX;
  static constexpr std::uint32_t no_stack = UINT32_MAX;

  /// Complexity: names each stack once.
  site_table(const std::vector<trace::stack_definition>& stacks, const names_of_stack& names_of);

  /// Where a stack is: its index among the definitions, and the index of its site; `nobody` where
  /// no line of the program owns the block (call_owner.hpp) or called its owner, or there is no
  /// such stack.
  struct place {
    std::uint32_t stack = no_stack;
    std::array<std::uint32_t, 2> sites{nobody, nobody};  // by owned_by
    [[nodiscard]] std::uint32_t site(owned_by whom) const {
      return sites[static_cast<std::size_t>(whom)];
    }
  };
  [[nodiscard]] place of(std::uint32_t stack_number) const {
    const auto found = places_.find(stack_number);
    return found == places_.end() ? place() : found->second;
  }
  [[nodiscard]] const std::vector<site>& sites(owned_by whom) const {
    return sites_[static_cast<std::size_t>(whom)];
  }
  [[nodiscard]] std::size_t stacks() const { return places_.size(); }

 private:
  std::unordered_map<std::uint32_t, place> places_;
  std::array<std::vector<site>, 2> sites_;  // by owned_by
};

}  // namespace ashlar::findings
