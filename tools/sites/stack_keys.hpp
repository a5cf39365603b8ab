// tools/sites/stack_keys.hpp: equal keys for stacks that are one call site. Layer: sites.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "tools/trace/call_names.hpp"

namespace ashlar::sites {

/// A number for each call, from the inside out.
using stack_key = std::u32string;

/// Numbers for the names of calls. Two traces that share one object have equal numbers for equal
/// names.
class name_numbers {
 public:
  char32_t of(const std::string& name) {
    return numbers_.try_emplace(name, static_cast<char32_t>(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<std::string, char32_t> numbers_;
};

/// Makes the keys of one trace's stacks. Each address is named once. Not thread-safe.
class stack_keys {
 public:
  using name_of_call = std::function<std::string(const trace::named_call&)>;

  /// `name_of`: calls with equal names are the same. Requires: names and numbers live longer.
  stack_keys(trace::call_names& names, name_numbers& numbers, name_of_call name_of)
      : names_(names), numbers_(numbers), name_of_(std::move(name_of)) {}

  /// Returns: the key of all calls, those that the compiler put inline among them.
  stack_key of(const trace::stack_definition& stack);

 private:
  const stack_key& at(std::uint64_t address);

  trace::call_names& names_;
  name_numbers& numbers_;
  name_of_call name_of_;
  std::unordered_map<std::uint64_t, stack_key> known_;
};

}  // namespace ashlar::sites
