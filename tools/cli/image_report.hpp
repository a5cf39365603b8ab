// tools/cli/image_report.hpp: what ashlar's heap holds in a core file or a process, as text and as
// JSON. Layer: cli.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/image/memory_image.hpp"
#include "tools/inspect/address_answer.hpp"
#include "tools/inspect/heap_reader.hpp"
#include "tools/inspect/memory_parts.hpp"
#include "tools/inspect/survey.hpp"
#include "tools/trace/call_names.hpp"

namespace ashlar::cli {

struct image_report {
  std::string path;  // of the core; empty: a process
  const image::memory_image* image = nullptr;
  const inspect::heap_contents* heaps = nullptr;
  inspect::page_map pages;
  inspect::survey survey;
  trace::call_names* calls = nullptr;
  double pause_ms = 0;  // that the process stood still
};

// `rows`: how many lines each table has at most; the others are counted.
std::string render_image(const image_report& report, std::size_t rows);
// Only what no pointer leads to.
std::string render_unreachable(const image_report& report, std::size_t rows);
// A line for each block in use: address, bytes, what is in it.
std::string render_blocks(const image::memory_image& image, const inspect::heap_contents& heaps,
                          inspect::file_symbols& names);
nlohmann::json image_json(const image_report& report);

// `heaps`, `calls`: of the same image.
std::string render_answer(const inspect::address_answer& answer,
                          const inspect::heap_contents& heaps, trace::call_names& calls);
nlohmann::json answer_json(const inspect::address_answer& answer,
                           const inspect::heap_contents& heaps, trace::call_names& calls);

}  // namespace ashlar::cli
