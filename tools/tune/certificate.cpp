// tools/tune/certificate.cpp. Layer: tune.
#include "tools/tune/certificate.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "tools/files/json.hpp"
#include "tools/tune/file_digest.hpp"
#include "tools/tune/input_json.hpp"

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
    return std::count_if(inputs.begin(), inputs.end(),
                         [kind](const input_identity& input) { return input.kind == kind; });
  };
  if (count(input_kind::profile) == 0) return "each trace";
  if (count(input_kind::trace) == 0) return "each run of the profiles";
  return "each trace and each run of the profiles";
}

std::string what_is_claimed(const certified_tuning& made) {
  const std::size_t most = made.made.asked_classes;
  if (made.borrow) {
    return "A set of these classes in which an exhausted class takes from the next larger one "
           "serves every request of each trace, in its order.";
  }
  return fmt::format(
      "A set of these classes serves every request of {}, and of every program whose classes have "
      "no more blocks alive at one time than the capacities. No set of at most {} class{}, each "
      "for all sizes above the one before it{}, that has a block for every request, and this "
      "margin, has fewer bytes.",
      requests_of(made.inputs), most, most == 1 ? "" : "es",
      made.read_as.sizes == resolution::profile ? " up to a size of the profiles' grid" : "");
}

}  // namespace

std::string claim_of(const certified_tuning& made) {
  const bool whole =
      std::all_of(made.inputs.begin(), made.inputs.end(),
                  [](const input_identity& input) { return input.gaps == recording_gaps{}; });
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
           {"spill", made.borrow ? "take_larger" : "never"},
           {"classes", classes_json(made.made.classes)},
           {"total_bytes", made.made.bytes},
           {"at_most_classes", made.made.asked_classes},
           {"curve", made.made.curve},
           {"moments", moments_json(made.made.witness)},
           {"inputs", inputs_json(made.inputs)}};
  if (made.made.least_block_bytes) all["least_block_bytes"] = *made.made.least_block_bytes;
  // Of the text as dump() writes it: the names sorted, no blanks.
  all["seal"] = sha256_of(files::json_text(all));
  return files::json_text(all, 1) + "\n";
}

}  // namespace ashlar::tune
