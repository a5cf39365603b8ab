// tools/findings/site_table.cpp. Layer: findings.
#include "tools/findings/site_table.hpp"

#include <optional>
#include <string>

#include "tools/findings/call_owner.hpp"

namespace ashlar::findings {

site_table::site_table(const std::vector<trace::stack_definition>& stacks,
                       const names_of_stack& names_of) {
  std::array<std::unordered_map<std::string, std::uint32_t>, 2> known;  // by the text of the calls
  for (const trace::stack_definition& stack : stacks) {
    place at{static_cast<std::uint32_t>(places_.size()), {nobody, nobody}};
    const std::vector<trace::named_call> calls = names_of(stack);
    const std::optional<std::size_t> own = owner_of(calls);
    std::string key;
    std::size_t in_key = 0;
    for (std::size_t whom = 0; own && whom < sites_.size(); ++whom) {
      const std::size_t owner = *own + whom;
      if (owner >= calls.size() || !is_of_program(calls[owner])) break;
      for (; in_key <= owner; ++in_key) key += calls[in_key].text() + '\n';
      const auto [found, is_new] =
          known[whom].emplace(key, static_cast<std::uint32_t>(sites_[whom].size()));
      if (is_new) {
        sites_[whom].push_back({calls, owner, *own});
      }
      at.sites[whom] = found->second;
    }
    places_.emplace(stack.number, at);
  }
}

}  // namespace ashlar::findings
