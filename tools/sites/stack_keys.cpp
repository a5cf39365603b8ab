// tools/sites/stack_keys.cpp. Layer: sites.
#include "tools/sites/stack_keys.hpp"

namespace ashlar::sites {

stack_key stack_keys::of(const trace::stack_definition& stack) {
  stack_key key;
  for (const std::uint64_t address : stack.frames) key += at(address);
  return key;
}

const stack_key& stack_keys::at(std::uint64_t address) {
  const auto [found, is_new] = known_.try_emplace(address);
  if (is_new) {
    for (const trace::named_call& call : names_.of({0, {address}}))
      found->second += numbers_.of(name_of_(call));
  }
  return found->second;
}

}  // namespace ashlar::sites
