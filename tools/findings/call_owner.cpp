// tools/findings/call_owner.cpp. Layer: findings.
#include "tools/findings/call_owner.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace ashlar::findings {
namespace {

using trace::named_call;

std::string_view module_name(const named_call& call) {
  const std::string_view path = call.module;
  return path.substr(path.rfind('/') + 1);
}

bool is_of_system(const named_call& call) {
  static constexpr std::array<std::string_view, 8> libraries{
      "libc.so.", "libc-", "libm.so.", "libpthread.", "libstdc++.", "libc++.", "libgcc_s.", "ld-"};
  const std::string_view name = module_name(call);
  return std::ranges::any_of(libraries,
                             [&](std::string_view library) { return name.starts_with(library); });
}

// What a program calls to get a block of its own; anything else in the C library keeps the block.
bool is_for_the_caller(std::string_view function) {
  static constexpr std::array<std::string_view, 10> names{
      "strdup",   "strndup", "asprintf",     "vasprintf",   "getline",
      "getdelim", "wcsdup",  "reallocarray", "__vasprintf", "__vasprintf_internal"};
  while (function.starts_with('_') && !function.starts_with("__vasprintf"))
    function.remove_prefix(1);
  return std::ranges::find(names, function) != names.end();
}

// Names of the C++ and Rust libraries; a template may have its result before it ("void
// std::f<T>()").
bool is_of_standard_namespace(std::string_view name) {
  static constexpr std::array<std::string_view, 8> spaces{
      "std::",       "__gnu_cxx::", "alloc::", "core::",
      "hashbrown::", "<alloc::",    "<core::", "operator new"};
  return std::ranges::any_of(spaces,
                             [&](std::string_view space) { return name.starts_with(space); });
}

bool is_of_standard_library(const named_call& call) {
  // An installed library's header, as Boost's, is compiled into the program, and nobody there changes it.
  for (const char* folder : {"/rustc/", "/usr/include/", "/usr/local/include/"})
    if (call.file.starts_with(folder)) return true;
  if (call.file.find("/include/c++/") != std::string::npos) return true;
  return is_of_standard_namespace(short_name(function_of(call)));
}

// Strings and their streams are compiled into the C++ library; their blocks are the program's all
// the same.
bool keeps_its_blocks(const named_call& call) {
  if (!is_of_system(call)) return false;
  const std::string name = short_name(function_of(call));
  return !is_for_the_caller(name) && !name.starts_with("std::__cxx11::basic_string") &&
         !name.starts_with("std::basic_string");
}

// Algorithms and threads of the library that allocate for themselves, whoever calls them.
bool is_librarys_own_work(std::string_view function) {
  static constexpr std::array<std::string_view, 9> names{
      "std::regex_match", "std::regex_search",     "std::regex_replace",
      "std::stable_sort", "std::stable_partition", "std::inplace_merge",
      "std::thread::",    "std::jthread::",        "std::async"};
  const std::string name = short_name(function);
  return std::ranges::any_of(names, [&](std::string_view own) { return name.starts_with(own); });
}

bool says_that_it_allocates(std::string_view function) {
  std::string name = short_name(function);
  name.erase(0, name.rfind(':') + 1);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static constexpr std::array<std::string_view, 6> words{"alloc",     "memalign", "arenammap",
                                                         "new_arena", "strdup",   "strndup"};
  return name.ends_with("memory") || std::ranges::any_of(words, [&](std::string_view word) {
           return name.find(word) != std::string::npos;
         });
}

}  // namespace

bool is_of_program(const named_call& call) { return !call.module.empty() && !is_of_system(call); }

bool is_of_interpreter(const named_call& call) {
  static constexpr std::array names = std::to_array<std::string_view>(
      {"python",    "libpython",    "ruby",      "libruby",   "node",   "libnode",
       "php",       "perl",         "libperl",   "lua",       "liblua", "luajit",
       "libluajit", "java",         "libjvm",    "guile",     "tclsh",  "libguile",
       "libtcl",    "emacs",        "emacs-nox", "emacs-gtk", "swipl",  "libswipl",
       "liboctave", "liboctinterp", "libR",      "racket",    "sbcl",   "beam.smp",
       "bash",      "dash",         "sh"});
  const std::string_view name = module_name(call);
  return !call.is_of_script() &&
         (function_of(call).starts_with("caml_") ||  // of OCaml's runtime, in each of its programs
          call.module.find("/lib-dynload/") != std::string::npos ||
          std::ranges::any_of(names, [&](std::string_view of) {
            if (!name.starts_with(of)) return false;
            const std::string_view rest = name.substr(of.size());  // "3.11", "-3.1.so.3.1", ""
            return rest.substr(0, rest.find(".so")).find_first_not_of("0123456789.-") ==
                   std::string_view::npos;
          }));
}

std::string_view function_of(const named_call& call) {
  const std::string_view name = call.name;
  const std::string_view module = module_name(call);
  const std::string_view between = " in ";
  if (module.empty() || name.size() < module.size() + between.size() || !name.ends_with(module))
    return {};
  const std::string_view rest = name.substr(0, name.size() - module.size());
  return rest.ends_with(between) ? rest.substr(0, rest.size() - between.size())
                                 : std::string_view();
}

std::optional<std::size_t> owner_of(std::span<const named_call> calls) {
  const auto script =
      std::ranges::find_if(calls, [](const named_call& call) { return call.is_of_script(); });
  if (script != calls.end()) return static_cast<std::size_t>(script - calls.begin());
  if (calls.empty() || keeps_its_blocks(calls.front())) return std::nullopt;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const named_call& call = calls[i];
    const std::string_view function = function_of(call);
    if (call.module.empty() || is_librarys_own_work(function)) return std::nullopt;
    if (call.is_wrapper || is_of_standard_library(call)) continue;
    if (is_of_system(call)) {
      if (!is_for_the_caller(short_name(function))) return std::nullopt;
      continue;
    }
    // A function without a name that works for one that allocates does nothing else.
    const bool is_inside_of_one = function.empty() && i + 1 < calls.size() &&
                                  says_that_it_allocates(function_of(calls[i + 1]));
    if (!is_inside_of_one && !says_that_it_allocates(function)) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> line_of(std::span<const named_call> calls) {
  if (const auto owner = owner_of(calls)) return owner;
  const auto own = std::ranges::find_if(calls, [](const named_call& call) {
    return call.module.empty() || !(is_of_system(call) || is_of_standard_library(call));
  });
  // What code that is made at run time calls, says more than what that calls in turn.
  const auto made = std::ranges::find_if(
      calls, [](const named_call& call) { return call.module.empty() && !call.is_of_script(); });
  if (made != calls.begin() && made != calls.end() && !is_of_system(made[-1]) &&
      !is_of_standard_library(made[-1]) && says_that_it_allocates(function_of(made[-1])))
    return static_cast<std::size_t>(made - calls.begin()) - 1;
  if (own == calls.begin() || own == calls.end() || own->module.empty()) return std::nullopt;
  return static_cast<std::size_t>(own - calls.begin());
}

std::span<const named_call> folded(std::span<const named_call> calls) {
  const auto is_of_libraries = [](const named_call& call) {
    return is_of_system(call) || is_of_standard_library(call);
  };
  const auto own = std::ranges::find_if_not(calls, is_of_libraries);
  if (own == calls.end()) return calls;
  const auto first = own == calls.begin() ? own : own - 1;
  auto end = calls.end();
  // What the C library's start of a program is called from: _start, perhaps without its name.
  if (end - own >= 2 && is_of_system(end[-2]) && !is_of_system(end[-1]) &&
      (function_of(end[-1]).empty() || function_of(end[-1]) == "_start"))
    --end;
  // Rust's library calls a program's main function, and a function of that name calls the library.
  const auto starts_rust = [&] {
    return end - own >= 2 && function_of(end[-1]) == "main" &&
           function_of(end[-2]).starts_with("std::rt::");
  };
  while (is_of_libraries(end[-1]) || starts_rust()) --end;
  return {first, end};
}

bool is_container_node(std::span<const named_call> calls) {
  static constexpr std::array<std::string_view, 8> nodes{
      "_Rb_tree_node<", "_Hash_node<",  "_List_node<",  "_Fwd_list_node<",
      "__tree_node<",   "__hash_node<", "__list_node<", "__forward_list_node<"};
  return std::ranges::any_of(calls, [](const named_call& call) {
    // The allocator is one of nodes: its first argument.
    const std::size_t at = call.name.find("allocator<");
    if (at == std::string::npos) return false;
    const std::string_view rest = std::string_view(call.name).substr(at, 80);
    return std::ranges::any_of(nodes, [&](std::string_view node) {
      const std::size_t found = rest.find(node);
      return found != std::string_view::npos && found < 40;
    });
  });
}

}  // namespace ashlar::findings
