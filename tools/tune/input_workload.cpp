// tools/tune/input_workload.cpp. Layer: tune.
#include "tools/tune/input_workload.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

#include "tools/tune/tuning.hpp"

namespace ashlar::tune {

namespace {

using profiling::pool_grid;

// Moments are numbered by 32 bits, peaks by 31.
constexpr std::uint64_t most_changes = INT32_MAX;

bool is_left_out(const trace::step& s, const input_request& request, const std::string& file) {
  const bool servable = pool_grid::serves(s.size, s.alignment);
  if (request.sizes == resolution::profile) {
    return !servable || needed_bytes(s.size, s.alignment, request.least_alignment, request.sizes) >
                            request.largest;
  }
  if (!servable && s.size <= request.largest) {
    throw impossible(fmt::format(
        "{}: a request of {} bytes at alignment {} is too large for a pool: --largest BYTES leaves "
        "large requests out",
        file, s.size, s.alignment));
  }
  return s.size > request.largest;
}

input_identity add_trace(const std::string& file, const input_request& request,
                         workload_builder& into, const progress& tell) {
  into.begin_trace();
  std::uint64_t changes = 0;
  const auto take = [&](const trace::step& s) {
    if (is_left_out(s, request, file)) return false;
    if (++changes > most_changes)
      throw impossible(fmt::format("{}: more than {} births and deaths", file, most_changes));
    if (s.happened == trace::step::what::birth) {
      into.birth(s.slot, s.size, s.alignment);
    } else {
      into.death(s.slot);
    }
    return true;
  };
  return read_trace(file, take, tell);
}

input_identity add_profile(const std::string& file, const input_request& request,
                           workload_builder& into) {
  if (request.sizes == resolution::exact) {
    throw impossible(fmt::format(
        "{}: a profile does not have the exact sizes: leave --resolution exact out, or give traces",
        file));
  }
  profile_input read = read_profile(file);
  const profile_limit limit{request.largest, request.largest_is_of_exact_sizes};
  into.add(read.runs, limit);
  for (const profiling::pool_row& row : read.runs.pools) {
    if (into.counts(row, limit)) continue;
    read.identity.births -= row.births;
    read.identity.left_out += row.births;
    read.identity.deaths -=
        std::accumulate(row.lifetimes.begin(), row.lifetimes.end(), std::uint64_t{0});
  }
  return read.identity;
}

}  // namespace

std::string word_of(resolution sizes) {
  return sizes == resolution::exact ? "exact" : "profile";
}
resolution resolution_of(const std::string& word) {
  for (const resolution sizes : {resolution::exact, resolution::profile})
    if (word == word_of(sizes)) return sizes;
  throw std::out_of_range(word);
}

bool has_profile(const std::vector<std::string>& files) {
  return std::any_of(files.begin(), files.end(),
                     [](const std::string& file) { return kind_of(file) == input_kind::profile; });
}

input_workload read_inputs(const std::vector<std::string>& files, const input_request& request,
                           const progress& tell) {
  workload_builder builder(request.least_alignment, request.kept, request.sizes);
  input_workload read;
  for (const std::string& file : files) {
    read.inputs.push_back(kind_of(file) == input_kind::profile
                              ? add_profile(file, request, builder)
                              : add_trace(file, request, builder, tell));
  }
  read.load = builder.finish();
  return read;
}

}  // namespace ashlar::tune
