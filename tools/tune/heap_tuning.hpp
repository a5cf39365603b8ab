// tools/tune/heap_tuning.hpp: traces and profiles in; the process heap's block sizes out, as text that it loads, as a
// header, as JSON. Layer: tune.
#pragma once

#include <string>
#include <vector>

#include "tools/tune/heap_classes.hpp"
#include "tools/tune/inputs.hpp"

namespace ashlar::tune {

struct heap_tuning {
  std::string ashlar_version;
  weigh by = weigh::both;
  std::vector<input_identity> inputs;
  heap_classes made;
};

/// Throws: trace_error where a file cannot be read. Requires: as choose_heap_classes.
[[nodiscard]] heap_tuning tune_heap(const std::vector<std::string>& files,
                                    const heap_class_request& request, const progress& tell = {});

/// Returns: what ASHLAR_CONFIG names (heap/class_file.hpp).
[[nodiscard]] std::string class_file_text(const heap_tuning& tuned);

/// Returns: what a build of the library takes as <ashlar/runtime/tuned_classes.hpp> (runtime/process_classes.hpp).
[[nodiscard]] std::string classes_header(const heap_tuning& tuned);

[[nodiscard]] std::string classes_json(const heap_tuning& tuned);

/// Returns: the option's word for it, and back. Throws: std::out_of_range for another word.
[[nodiscard]] std::string word_of(weigh by);
[[nodiscard]] weigh weigh_of(const std::string& word);

}  // namespace ashlar::tune
