// tools/cli/commands/tune_pools.cpp: `ashlar tune`: traces and profiles in, a header of pools and
// its certificate out. Layer: cli.

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include <fmt/format.h>

#include <ashlar/core/bits.hpp>

#include "tools/cli/commands/commands.hpp"
#include "tools/cli/commands/tune.hpp"
#include "tools/cli/error.hpp"
#include "tools/cli/table.hpp"
#include "tools/cli/text.hpp"
#include "tools/files/files.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/files/text.hpp"
#include "tools/tune/pool_files.hpp"
#include "tools/tune/tuning.hpp"
#include "tools/tune/workload.hpp"

namespace ashlar::cli {
namespace {

tune::tuning_request request_of(const tune_options& options, const pool_options& pools) {
  tune::tuning_request request;
  if (options.classes != "auto") {
    request.classes = files::number_in(options.classes);
    if (!request.classes) {
      throw command_error(status_usage,
                          fmt::format("--classes {}: neither a number nor auto", options.classes));
    }
  }
  request.margin_percent = pools.margin_percent;
  request.budget_bytes = pools.budget_bytes;
  return request;
}

void require_sense(const pool_options& pools) {
  if (!is_power_of_two(pools.alignment) || pools.alignment > tune::largest_alignment) {
    throw command_error(status_usage, fmt::format("--align {}: no power of two up to {}",
                                                  pools.alignment, tune::largest_alignment));
  }
  if (pools.margin_percent > tune::largest_margin) {
    throw command_error(status_usage, fmt::format("--margin {}: at most {} percent",
                                                  pools.margin_percent, tune::largest_margin));
  }
  if (pools.largest && *pools.largest > tune::workload_builder::largest_size) {
    throw command_error(status_usage,
                        fmt::format("--largest {}: no pool has blocks of more than {} bytes",
                                    *pools.largest, tune::workload_builder::largest_size));
  }
  if (!tune::is_namespace_name(pools.space)) {
    throw command_error(
        status_usage,
        fmt::format("--namespace '{}': no C++ namespace has such a name", pools.space));
  }
}

tune::resolution resolution_for(const tune_options& options, const pool_options& pools) {
  if (pools.resolution.empty()) {
    return tune::has_profile(options.inputs) ? tune::resolution::profile : tune::resolution::exact;
  }
  return tune::resolution_of(pools.resolution);
}

// Beside the header, where the user named none; then only what tune wrote is written over there.
std::string certificate_path_of(const tune_options& options) {
  if (!options.certificate_path.empty() || options.header_path.empty() ||
      options.header_path == "-")
    return options.certificate_path;
  namespace fs = std::filesystem;
  const std::string path = fs::path(options.header_path).replace_extension(".json").string();
  std::error_code error;
  if (path == options.header_path || !fs::is_regular_file(path, error) ||
      fs::file_size(path, error) == 0)
    return path;
  const auto found = nlohmann::json::parse(files::read_input(path), nullptr, false);
  // It has a mode, as what --mode heap writes does.
  if (!found.is_object() || !found.contains("ashlar") || !found.contains("mode"))
    throw command_error(status_usage,
                        fmt::format("-o {}: '{}', where its certificate would go, is there and is "
                                    "none; name another file with --certificate, or remove it",
                                    options.header_path, path));
  return path;
}

std::string render_classes(const tune::certified_tuning& result) {
  table classes({{"block"}, {"aligned"}, {"peak"}, {"capacity"}, {"bytes"}});
  for (const tune::size_class& c : result.made.classes) {
    classes.add_row({format_count(c.block_size), format_count(c.alignment), format_count(c.peak),
                     format_count(c.capacity), format_count(c.bytes)});
  }
  return classes.render(2);
}

std::string render_curve(const tune::tuning& made) {
  table curve({{"classes"}, {"bytes"}, {""}, {"", align::left}});
  for (std::size_t k = 1; k <= made.curve.size(); ++k) {
    const double share =
        static_cast<double>(made.curve[k - 1]) / static_cast<double>(made.curve.front());
    curve.add_row({format_count(k), format_count(made.curve[k - 1]),
                   k == made.asked_classes ? "<-" : "", format_bar(share, 30, reader_glyphs())});
  }
  return curve.render(2);
}

std::string render(const tune::certified_tuning& result) {
  std::string text;
  if (!result.made.curve.empty()) {
    text += fmt::format(
        "  least bytes by number of classes; the knee (<-) is the first within "
        "{} % of the last\n  (powers of two take {})\n\n{}\n",
        tune::knee_percent, format_count(result.made.powers_of_two), render_curve(result.made));
  }
  text += render_classes(result);
  text += fmt::format("\n  {} bytes in {}, margin {} %\n", format_count(result.made.bytes),
                      counted(result.made.classes.size(), "class", "es"), result.margin_percent);
  if (result.read_as.sizes == tune::resolution::profile) {
    text +=
        "  sizes as profiles tell them apart: less than 8 bytes more up to 512, at most 1/16 more "
        "up to 64 KiB, 1/8 up to 64 MiB\n";
  }
  return text;
}

}  // namespace

int tune_pools(const tune_options& options, const pool_options& pools) {
  require_sense(pools);
  const tune::tuning_request request = request_of(options, pools);
  files::replaced_files files(options.inputs);
  if (!options.header_path.empty()) files.prepare("-o", options.header_path);
  const std::string certificate_path = certificate_path_of(options);
  if (!certificate_path.empty()) files.prepare("--certificate", certificate_path);

  auto line = std::make_unique<progress_line>();
  const tune::progress tell = [&](std::string_view what, double share) { line->tell(what, share); };
  tune::certified_tuning result;
  result.read_as.least_alignment = pools.alignment;
  if (pools.largest) result.read_as.largest = *pools.largest;
  result.margin_percent = pools.margin_percent;
  result.ashlar_version = ASHLAR_CLI_VERSION;
  try {
    result.read_as.sizes = resolution_for(options, pools);
    tune::input_workload read = tune::read_inputs(options.inputs, result.read_as, tell);
    result.inputs = std::move(read.inputs);
    result.made = tune::tune_static(read.load, request, tell);
    line.reset();
    warn_of(result.inputs);
    print_beside(files, render(result));
  } catch (const tune::impossible& error) {
    line.reset();
    warn_of(result.inputs);  // perhaps the reason
    throw command_error(status_usage, error.what());
  }
  std::vector<std::string> contents;
  if (!options.header_path.empty()) contents.push_back(tune::pools_header(result, pools.space));
  if (!certificate_path.empty()) contents.push_back(tune::certificate(result));
  files.commit(contents);
  return 0;
}

}  // namespace ashlar::cli
