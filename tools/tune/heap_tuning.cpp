// tools/tune/heap_tuning.cpp. Layer: tune.
#include "tools/tune/heap_tuning.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include <ashlar/core/bits.hpp>
#include <ashlar/heap/class_file.hpp>
#include <ashlar/heap/class_table.hpp>

#include "tools/files/json.hpp"
#include "tools/profile/profile_builder.hpp"
#include "tools/profile/size_grid.hpp"

namespace ashlar::tune {

// ---- the choice ------------------------------------------------------------------------------------

namespace {

using ashlar::detail::class_table;
using ashlar::detail::shared_slab_block_max;
using profiling::heap_row;

constexpr std::uint64_t large_granule = 4096;  // of block sizes above shared_slab_block_max

/// Returns: the least block size that serves `size` bytes. Requires: size <= small_size_max.
std::uint32_t least_block(std::uint64_t size) {
  const std::uint64_t granule = size <= shared_slab_block_max ? block_granule : large_granule;
  return static_cast<std::uint32_t>(align_up(std::max<std::uint64_t>(size, 1), granule));
}

/// Returns: the largest request's bytes.
std::uint64_t size_of(const heap_row& of) { return profiling::heap_grid::size_of(of.step); }
bool is_over_aligned(const heap_row& of) { return of.alignment > block_granule; }
bool has_class(const heap_row& of) { return class_table::serves(size_of(of), of.alignment); }

double at_peak(std::uint64_t number) { return static_cast<double>(number); }
double mean(std::uint64_t number_1024) { return static_cast<double>(number_1024) / 1024; }

double weight(const heap_row& of, weigh by) {
  switch (by) {
    case weigh::at_peak:
      return at_peak(of.at_peak.blocks);
    case weigh::over_time:
      return mean(of.mean_1024.blocks);
    default:
      return at_peak(of.at_peak.blocks) + mean(of.mean_1024.blocks);
  }
}

/// A block size that a class may have, and what it would serve alone.
struct candidate {
  std::uint32_t size;
  double weight = 0;      // of the requests that are at alignment 16 and need just this
  bool is_there = false;  // whatever it costs
  bool is_used = false;   // by a request that only it can serve
};

/// Over-aligned requests whose slack on the next power of two is worth a class, most slack first.
std::vector<std::uint32_t> sizes_for_alignments(std::span<const heap_row> rows, weigh by,
                                                std::size_t most) {
  std::map<std::uint32_t, double> gains;
  for (const heap_row& of : rows) {
    if (!has_class(of) || !is_over_aligned(of)) continue;
    const std::uint64_t need = align_up(size_of(of), of.alignment);
    const std::uint32_t block = least_block(need);
    if (block % of.alignment == 0)
      gains[block] += weight(of, by) * static_cast<double>(std::bit_ceil(need) - block);
  }
  std::vector<std::pair<double, std::uint32_t>> worth;
  for (const auto& [size, gain] : gains)
    if (gain > static_cast<double>(heap_class_bytes)) worth.emplace_back(-gain, size);
  std::ranges::sort(worth);
  std::vector<std::uint32_t> taken;
  for (std::size_t i = 0; i < std::min(worth.size(), most); ++i) taken.push_back(worth[i].second);
  return taken;
}

std::vector<candidate> candidates_of(std::span<const heap_row> rows,
                                     const heap_class_request& request) {
  std::map<std::uint32_t, candidate> by_size;
  const auto at = [&by_size](std::uint32_t size) -> candidate& {
    return by_size.try_emplace(size, candidate{size}).first->second;
  };
  for (std::uint32_t size = block_granule; size <= small_size_max; size *= 2)
    at(size).is_there = true;
  // Half of what is free for the rest: the others must have their share.
  const std::size_t most = (request.classes - least_heap_classes()) / 2;
  for (const std::uint32_t size : sizes_for_alignments(rows, request.by, most))
    at(size).is_there = at(size).is_used = true;
  for (const heap_row& of : rows) {
    const double w = weight(of, request.by);
    if (!has_class(of) || w == 0) continue;
    if (!is_over_aligned(of))
      at(least_block(size_of(of))).weight += w;
    else  // served by what is there anyway: a class of its own or a power of two
      at(static_cast<std::uint32_t>(std::bit_ceil(std::max(size_of(of), of.alignment)))).is_used =
          true;
  }
  std::vector<candidate> all;
  all.reserve(by_size.size());
  for (const auto& [size, one] : by_size) all.push_back(one);
  return all;
}

/// The cheapest cut of the candidates into at most so many intervals: least[k][j] is the cost of candidates 0..j with k classes,
/// the last of which is j.
class cheapest_cut {
 public:
  cheapest_cut(std::span<const candidate> all, std::size_t classes)
      : all_(all), classes_(classes), weight_before_(all.size() + 1) {
    for (std::size_t i = 0; i < all.size(); ++i)
      weight_before_[i + 1] = weight_before_[i] + all[i].weight;
    least_.assign((classes + 1) * all.size(), infinite);
    from_.assign((classes + 1) * all.size(), nobody);
    for (std::size_t k = 1; k <= classes; ++k)
      for (std::size_t j = 0; j < all.size(); ++j) fill(k, j);
  }

  [[nodiscard]] std::vector<std::uint32_t> sizes() const {
    const std::size_t last = all_.size() - 1;
    std::size_t best = 1;
    for (std::size_t k = 2; k <= classes_; ++k)
      if (least_[index(k, last)] < least_[index(best, last)]) best = k;
    std::vector<std::uint32_t> sizes;
    for (std::size_t k = best, j = last; j != nobody; j = from_[index(k--, j)])
      sizes.push_back(all_[j].size);
    std::ranges::reverse(sizes);
    return sizes;
  }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  static constexpr std::size_t nobody = SIZE_MAX;

  [[nodiscard]] std::size_t index(std::size_t k, std::size_t j) const {
    return k * all_.size() + j;
  }

  /// Returns: what class j costs that serves the candidates from `begin` on.
  [[nodiscard]] double cost(std::size_t begin, std::size_t j) const {
    const double served = weight_before_[j + 1] - weight_before_[begin];
    const double fixed =
        served > 0 || all_[j].is_used ? static_cast<double>(heap_class_bytes) : 0.0;
    return served * all_[j].size + fixed;
  }

  void fill(std::size_t k, std::size_t j) {
    // The class before j is some i < j; what is always there may not be skipped.
    for (std::size_t begin = j;; --begin) {
      const double before =
          begin == 0 ? (k == 1 ? 0.0 : infinite) : least_[index(k - 1, begin - 1)];
      const double all = before + cost(begin, j);
      if (all < least_[index(k, j)]) {
        least_[index(k, j)] = all;
        from_[index(k, j)] = begin == 0 ? nobody : begin - 1;
      }
      if (begin == 0 || all_[begin - 1].is_there) break;
    }
  }

  std::span<const candidate> all_;
  std::size_t classes_;
  std::vector<double> weight_before_;
  std::vector<double> least_;
  std::vector<std::size_t> from_;
};

std::unique_ptr<class_table> table_of(std::span<const std::uint32_t> classes) {
  return std::make_unique<class_table>(ashlar::detail::make_class_table(classes));
}

class_index class_of(const heap_row& of, const class_table& table) {
  return table.of_aligned_size(size_of(of), of.alignment);
}

std::size_t count_used(std::span<const heap_row> rows, const class_table& table, weigh by) {
  std::vector<bool> used(table.count);
  for (const heap_row& of : rows)
    if (has_class(of) && weight(of, by) > 0) used[class_of(of, table)] = true;
  return static_cast<std::size_t>(std::ranges::count(used, true));
}

heap_slack slack_in(std::span<const heap_row> rows, const class_table& table) {
  heap_slack sum;
  for (const heap_row& of : rows) {
    if (!has_class(of)) continue;
    const auto block = static_cast<double>(table.block_size(class_of(of, table)));
    sum.at_peak += at_peak(of.at_peak.blocks) * block - at_peak(of.at_peak.bytes);
    sum.over_time += mean(of.mean_1024.blocks) * block - mean(of.mean_1024.bytes);
  }
  return sum;
}

}  // namespace

std::size_t least_heap_classes() {
  return static_cast<std::size_t>(std::countr_zero(small_size_max / block_granule)) + 1;
}

heap_slack slack_with(std::span<const heap_row> rows, std::span<const std::uint32_t> classes) {
  return slack_in(rows, *table_of(classes));
}

heap_classes choose_heap_classes(std::span<const heap_row> rows,
                                 const heap_class_request& request) {
  const std::vector<candidate> all = candidates_of(rows, request);
  heap_classes chosen;
  chosen.sizes = cheapest_cut(all, request.classes).sizes();
  const auto table = table_of(chosen.sizes);
  chosen.slack = slack_in(rows, *table);
  chosen.used = count_used(rows, *table, request.by);
  chosen.standard_slack = slack_in(rows, ashlar::detail::standard_classes);
  chosen.standard_used = count_used(rows, ashlar::detail::standard_classes, request.by);
  for (const heap_row& of : rows) {
    if (!has_class(of)) continue;
    chosen.requested.at_peak += at_peak(of.at_peak.bytes);
    chosen.requested.over_time += mean(of.mean_1024.bytes);
  }
  return chosen;
}

// ---- files in, texts out ---------------------------------------------------------------------------

namespace {

using json = nlohmann::json;

constexpr std::array<std::pair<weigh, const char*>, 3> weigh_words = {
    {{weigh::at_peak, "peak"}, {weigh::over_time, "time"}, {weigh::both, "both"}}};

input_identity add_trace(const std::string& file, profiling::profile& into, const progress& tell) {
  profiling::heap_counter counter;
  const auto take = [&counter](const trace::step& s) {
    if (!profiling::pool_grid::serves(s.size, s.alignment)) return false;
    if (s.happened == trace::step::what::birth) {
      counter.birth(s.time, s.size, s.alignment);
    } else {
      counter.death(s.time, s.size, s.alignment);
    }
    return true;
  };
  input_identity read = read_trace(file, take, tell);
  profiling::profile run;
  run.heap = counter.rows();
  profiling::merge(into, run);
  return read;
}

input_identity add_profile(const std::string& file, profiling::profile& into) {
  profile_input read = read_profile(file);
  profiling::merge(into, read.runs);
  return std::move(read.identity);
}

/// Lines of numbers, `width` a line at most.
std::string wrapped(const std::vector<std::uint32_t>& numbers, const char* between,
                    const std::string& indent) {
  constexpr std::size_t width = 100;
  std::string text, line;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string word = fmt::format("{}{}", numbers[i], i + 1 < numbers.size() ? between : "");
    if (line.size() + 1 + word.size() > width) {
      text += indent + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return text + indent + line + "\n";
}

std::string comment(const heap_tuning& tuned, const std::string& mark) {
  const auto percent = [](double part, double of) { return of > 0 ? 100 * part / of : 0.0; };
  const heap_classes& made = tuned.made;
  return fmt::format(
      "{0} Chosen by ashlar tune --mode heap {1}, by blocks alive: {2}. Do not edit, tune again.\n"
      "{0} Slack of what was asked for: at the peak {3:.1f} % (standard classes {4:.1f} %), over "
      "time {5:.1f} % ({6:.1f} %).\n"
      "{0} From these files (SHA-256, file):\n"
      "{7}",
      mark, tuned.ashlar_version, word_of(tuned.by),
      percent(made.slack.at_peak, made.requested.at_peak),
      percent(made.standard_slack.at_peak, made.requested.at_peak),
      percent(made.slack.over_time, made.requested.over_time),
      percent(made.standard_slack.over_time, made.requested.over_time),
      inputs_comment(tuned.inputs, mark));
}

json slack_json(const heap_slack& slack) {
  return {{"at_peak", slack.at_peak}, {"over_time", slack.over_time}};
}

}  // namespace

std::string word_of(weigh by) {
  for (const auto& [value, word] : weigh_words)
    if (value == by) return word;
  throw std::out_of_range("weigh");
}
weigh weigh_of(const std::string& word) {
  for (const auto& [value, known] : weigh_words)
    if (word == known) return value;
  throw std::out_of_range(word);
}

heap_tuning tune_heap(const std::vector<std::string>& files, const heap_class_request& request,
                      const progress& tell) {
  heap_tuning tuned;
  tuned.by = request.by;
  profiling::profile all;
  for (const std::string& file : files) {
    tuned.inputs.push_back(kind_of(file) == input_kind::profile ? add_profile(file, all)
                                                                : add_trace(file, all, tell));
  }
  tuned.made = choose_heap_classes(all.heap, request);
  return tuned;
}

std::string class_file_text(const heap_tuning& tuned) {
  return fmt::format("{} {}\n{}{}", ashlar::detail::class_file_mark,
                     ashlar::detail::class_file_version, comment(tuned, "#"),
                     wrapped(tuned.made.sizes, "", ""));
}

std::string classes_header(const heap_tuning& tuned) {
  return comment(tuned, "//") +
         fmt::format(
             "#pragma once\n"
             "\n"
             "#include <cstdint>\n"
             "\n"
             "namespace ashlar::tuned {{\n"
             "\n"
             "/// Bytes; for a build of the library (CMake: -DASHLAR_CLASSES=this file).\n"
             "inline constexpr std::uint32_t block_sizes[{}] = {{\n"
             "{}}};\n"
             "\n"
             "}}  // namespace ashlar::tuned\n",
             tuned.made.sizes.size(), wrapped(tuned.made.sizes, ",", "    "));
}

std::string classes_json(const heap_tuning& tuned) {
  const json all{{"ashlar", tuned.ashlar_version},
                 {"mode", "heap"},
                 {"weigh", word_of(tuned.by)},
                 {"class_bytes", heap_class_bytes},
                 {"block_sizes", tuned.made.sizes},
                 {"classes_used", tuned.made.used},
                 {"standard_classes_used", tuned.made.standard_used},
                 {"requested_bytes", slack_json(tuned.made.requested)},
                 {"slack_bytes", slack_json(tuned.made.slack)},
                 {"standard_slack_bytes", slack_json(tuned.made.standard_slack)},
                 {"inputs", inputs_json(tuned.inputs)}};
  return files::json_text(all, 1) + "\n";
}

}  // namespace ashlar::tune
