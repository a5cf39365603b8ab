// tools/tune/pool_files.cpp. Layer: tune.
#include "tools/tune/pool_files.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include <fmt/format.h>

#include "tools/files/json.hpp"

namespace ashlar::tune {

namespace {

using json = nlohmann::json;

json classes_json(const std::vector<size_class>& classes) {
  json list = json::array();
  for (const size_class& c : classes) {
    list.push_back({{"block_size", c.block_size},
                    {"alignment", c.alignment},
                    {"peak", c.peak},
                    {"capacity", c.capacity},
                    {"bytes", c.bytes}});
  }
  return list;
}

json moments_json(const std::vector<moment>& moments) {
  json list = json::array();
  for (const moment at : moments) list.push_back(json::array({at.trace, at.changes}));
  return list;
}

// What requests the claim is of.
std::string requests_of(const std::vector<input_identity>& inputs) {
  const auto count = [&](input_kind kind) {
    return std::ranges::count_if(
        inputs, [kind](const input_identity& input) { return input.kind == kind; });
  };
  if (count(input_kind::profile) == 0) return "each trace";
  if (count(input_kind::trace) == 0) return "each run of the profiles";
  return "each trace and each run of the profiles";
}

std::string what_is_claimed(const certified_tuning& made) {
  const std::size_t most = made.made.asked_classes;
  return fmt::format(
      "A set of these classes serves every request of {}, and of every program whose classes have "
      "no more blocks alive at one time than the capacities. No set of at most {} class{}, each "
      "for all sizes above the one before it{}, that has a block for every request, and this "
      "margin, has fewer bytes.",
      requests_of(made.inputs), most, most == 1 ? "" : "es",
      made.read_as.sizes == resolution::profile ? " up to a size of the profiles' grid" : "");
}

// Each between blanks.
constexpr std::string_view reserved_words =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t"
    " char32_t char8_t class co_await co_return co_yield compl concept const const_cast"
    " consteval constexpr constinit continue decltype default delete do double dynamic_cast"
    " else enum explicit export extern false float for friend goto if inline int long mutable"
    " namespace new noexcept not not_eq nullptr operator or or_eq private protected public"
    " register reinterpret_cast requires return short signed sizeof static static_assert"
    " static_cast struct switch template this thread_local throw true try typedef typeid"
    " typename union unsigned using virtual void volatile wchar_t while xor xor_eq ";

bool is_identifier(std::string_view word) {
  if (word.empty() || std::isdigit(static_cast<unsigned char>(word.front())) != 0) return false;
  for (const char c : word) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  }
  return reserved_words.find(fmt::format(" {} ", word)) == std::string_view::npos;
}

std::string head(const certified_tuning& made) {
  std::string text = fmt::format(
      "// Pools chosen by ashlar tune {}: do not edit, tune again.\n"
      "//\n"
      "// {} bytes in {} class{}; margin {} %; blocks aligned to {} at least.\n",
      made.ashlar_version, made.made.bytes, made.made.classes.size(),
      made.made.classes.size() == 1 ? "" : "es", made.margin_percent, made.read_as.least_alignment);
  text += "// Serves what is in these files (SHA-256, file):\n";
  return text + inputs_comment(made.inputs, "//");
}

// The arguments of a set, one class a line, up to the policies.
std::string set_arguments(const certified_tuning& made) {
  std::string text;
  for (const size_class& c : made.made.classes)
    text +=
        fmt::format("    ::ashlar::blocks<{}, {}, {}>,\n", c.block_size, c.capacity, c.alignment);
  return text + "    ::ashlar::spill::never";
}

}  // namespace

std::string claim_of(const certified_tuning& made) {
  const bool whole = std::ranges::all_of(
      made.inputs, [](const input_identity& input) { return input.gaps == recording_gaps{}; });
  return what_is_claimed(made) + (whole ? ""
                                        : " All this is of what was recorded, and not all was: the "
                                          "inputs say what is missing.");
}

std::string certificate(const certified_tuning& made) {
  json all{{"certificate", certificate_version},
           {"ashlar", made.ashlar_version},
           {"mode", "static"},
           {"claim", claim_of(made)},
           {"alignment", made.read_as.least_alignment},
           {"largest", made.read_as.largest},
           {"resolution", word_of(made.read_as.sizes)},
           {"margin_percent", made.margin_percent},
           {"spill", "never"},
           {"classes", classes_json(made.made.classes)},
           {"total_bytes", made.made.bytes},
           {"at_most_classes", made.made.asked_classes},
           {"curve", made.made.curve},
           {"moments", moments_json(made.made.witness)},
           {"inputs", inputs_json(made.inputs)}};
  // Of the text as dump() writes it: the names sorted, no blanks.
  all["seal"] = sha256_of(files::json_text(all));
  return files::json_text(all, 1) + "\n";
}

bool is_namespace_name(const std::string& name) {
  std::string_view rest = name;
  for (;;) {
    const std::size_t end = rest.find("::");
    if (!is_identifier(rest.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    rest.remove_prefix(end + 2);
  }
}

std::string pools_header(const certified_tuning& made, const std::string& space) {
  std::string text = head(made);
  text +=
      "#pragma once\n"
      "\n"
      "#include <cstddef>\n"
      "\n"
      "#include <ashlar/pool/pool_set.hpp>\n"
      "\n";
  text += fmt::format("namespace {} {{\n\n", space);
  text +=
      "/// One class: bytes of a block, the blocks' alignment, their number, and the most that "
      "were alive at one time.\n"
      "struct tuned_class {\n"
      "  ::std::size_t block_size;\n"
      "  ::std::size_t alignment;\n"
      "  ::std::size_t capacity;\n"
      "  ::std::size_t peak;\n"
      "};\n";
  text += fmt::format("inline constexpr tuned_class classes[{}] = {{\n", made.made.classes.size());
  for (const size_class& c : made.made.classes)
    text += fmt::format("    {{{}, {}, {}, {}}},\n", c.block_size, c.alignment, c.capacity, c.peak);
  text += "};\n";
  text += fmt::format(
      "/// Bytes of a set of them with the default policies, where pointers have {} bytes.\n"
      "inline constexpr ::std::size_t total_bytes = {};\n\n",
      sizeof(void*), made.made.bytes);
  text += fmt::format(
      "/// The storage inside: in .bss where it is static.\n"
      "template <class... Policies>\n"
      "using static_pools = ::ashlar::static_pool_set<\n{},\n    Policies...>;\n\n"
      "/// In one piece of a page source, which is among the policies.\n"
      "template <class... Policies>\n"
      "using pools = ::ashlar::pool_set<\n{},\n    Policies...>;\n\n",
      set_arguments(made), set_arguments(made));
  text += fmt::format(
      "static_assert(sizeof(void*) != {} || sizeof(static_pools<>) == total_bytes,\n"
      "              \"this version of ashlar lays pools out differently: tune again\");\n"
      "static_assert([] {{\n"
      "  for (::std::size_t c = 0; c < static_pools<>::class_count; ++c) {{\n"
      "    if (static_pools<>::block_size(c) != classes[c].block_size ||\n"
      "        static_pools<>::block_alignment(c) != classes[c].alignment ||\n"
      "        static_pools<>::block_count(c) != classes[c].capacity)\n"
      "      return false;\n"
      "  }}\n"
      "  return true;\n"
      "}}(), \"the classes are not those of the set\");\n",
      sizeof(void*));
  text += fmt::format("\n}}  // namespace {}\n", space);
  return text;
}

}  // namespace ashlar::tune
