// tools/findings/site_table.cpp. Layer: findings.
#include "tools/findings/site_table.hpp"

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "tools/findings/call_owner.hpp"

namespace ashlar::findings {

site_table::site_table(const std::vector<trace::stack_definition>& stacks,
                       const names_of_stack& names_of, owned_by whom) {
  std::unordered_map<std::string, std::uint32_t> known;  // by the text of the calls
  for (const trace::stack_definition& stack : stacks) {
    place at{static_cast<std::uint32_t>(places_.size()), nobody};
    std::vector<trace::named_call> calls = names_of(stack);
    const std::optional<std::size_t> own = owner_of(calls);
    const std::size_t owner = own.value_or(0) + (whom == owned_by::its_caller ? 1 : 0);
    if (own && owner < calls.size() && is_of_program(calls[owner])) {
      std::string key;
      for (const trace::named_call& call : std::span(calls).first(owner + 1))
        key += call.text() + '\n';
      const auto [found, is_new] =
          known.emplace(std::move(key), static_cast<std::uint32_t>(sites_.size()));
      if (is_new) sites_.push_back({std::move(calls), owner, *own});
      at.site = found->second;
    }
    places_.emplace(stack.number, at);
  }
}

}  // namespace ashlar::findings
