// tools/cli/commands/tune_heap.cpp: `ashlar tune --mode heap`: traces and profiles in, the process
// heap's classes out. Layer: cli.

#include <cmath>
#include <memory>

#include <fmt/format.h>

#include <ashlar/core/size_class.hpp>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/commands/tune.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/table.hpp"
#include "tools/cli/text.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/files/text.hpp"
#include "tools/tune/heap_tuning.hpp"

namespace ashlar::cli {
namespace {

constexpr std::size_t most_classes = ashlar::class_count - 1;

tune::heap_class_request heap_request_of(const tune_options& options, const heap_options& heap) {
  tune::heap_class_request request;
  if (options.classes != "auto") {
    const std::optional<std::uint64_t> number = files::number_in(options.classes);
    const std::size_t least = tune::least_heap_classes();
    if (!number || *number < least || *number > most_classes)
      throw command_error(status_usage,
                          fmt::format("--classes {}: a heap has {} (the powers of two from 16 "
                                      "bytes to 128 KiB, for requests that no "
                                      "trace has) to {} classes; or auto",
                                      options.classes, least, most_classes));
    request.classes = *number;
  }
  request.by = tune::weigh_of(heap.weigh);
  return request;
}

std::string render_heap(const tune::heap_tuning& tuned) {
  const tune::heap_classes& made = tuned.made;
  table slack({{"", align::left},
               {"classes used"},
               {"slack at the peak"},
               {""},
               {"slack over time"},
               {""}});
  const auto add = [&](const std::string& name, std::size_t used, const tune::heap_slack& of) {
    const auto cell = [](double bytes) {
      return format_bytes(static_cast<std::uint64_t>(std::llround(bytes)));
    };
    const auto share = [](double part, double whole) {
      return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : std::string("-");
    };
    slack.add_row({name, format_count(used), cell(of.at_peak),
                   share(of.at_peak, made.requested.at_peak), cell(of.over_time),
                   share(of.over_time, made.requested.over_time)});
  };
  add("standard classes", made.standard_used, made.standard_slack);
  add("tuned classes", made.used, made.slack);
  return slack.render(2) + fmt::format(
                               "\n  {} block sizes; percent of the {} that were asked for at the "
                               "peak, {} over time, of requests up to "
                               "128 KiB\n",
                               made.sizes.size(),
                               format_bytes(static_cast<std::uint64_t>(made.requested.at_peak)),
                               format_bytes(static_cast<std::uint64_t>(made.requested.over_time)));
}

bool is_header(const std::string& path) { return path.ends_with(".hpp") || path.ends_with(".h"); }

}  // namespace

int tune_heap(const tune_options& options, const heap_options& heap) {
  const tune::heap_class_request request = heap_request_of(options, heap);
  files::replaced_files files(options.inputs);
  if (!options.header_path.empty()) files.prepare("-o", options.header_path);
  if (!options.certificate_path.empty()) files.prepare("--certificate", options.certificate_path);
  auto line = std::make_unique<progress_line>();
  tune::heap_tuning tuned =
      tune::tune_heap(options.inputs, request,
                      [&](std::string_view what, double share) { line->tell(what, share); });
  line.reset();
  tuned.ashlar_version = ASHLAR_CLI_VERSION;
  warn_of(tuned.inputs);
  print_beside(files, render_heap(tuned));
  std::vector<std::string> contents;
  if (!options.header_path.empty())
    contents.push_back(is_header(options.header_path) ? tune::classes_header(tuned)
                                                      : tune::class_file_text(tuned));
  if (!options.certificate_path.empty()) contents.push_back(tune::classes_json(tuned));
  files.commit(contents);
  return 0;
}

}  // namespace ashlar::cli
