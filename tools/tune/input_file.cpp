// tools/tune/input_file.cpp. Layer: tune.
#include "tools/tune/input_file.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/profile/profile_file.hpp"
#include "tools/trace/source.hpp"
#include "tools/tune/file_digest.hpp"

namespace ashlar::tune {

namespace {

constexpr std::uint64_t steps_between_words = 1 << 18;  // of progress

// A profile may be replaced while it is read, by a recorder that goes on: its digest is of the bytes that are decoded.
std::string bytes_of(const std::string& file) {
  const std::unique_ptr<trace::byte_source> source = trace::open_file_source(file);
  // What is behind that is not read; decode() refuses it by the length that the file says it has.
  const std::uint64_t most = std::uint64_t{2} * profiling::profile_bytes_max;
  std::string bytes(static_cast<std::size_t>(std::min(source->size(), most)), '\0');
  bytes.resize(
      source->read(0, std::span(reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size())));
  return bytes;
}

std::string refusals(const std::string& file, std::uint64_t refused, const char* kind) {
  return fmt::format(
      "{}: {} requests found no block in the pools that were recorded: more may be needed than the "
      "{} has; record with larger capacities",
      file, refused, kind);
}

/// What a trace lacks, and what pools could not serve when it was made: with either, peaks may have been higher.
std::string shortcomings(const trace::trace_reader& reader, const std::string& file,
                         std::uint64_t lost, std::uint64_t refused) {
  std::vector<std::string> all;
  if (!reader.warning().empty()) all.push_back(reader.warning());
  if (lost != 0)
    all.push_back(fmt::format("{}: {} events were lost: peaks may have been higher", file, lost));
  if (refused != 0) all.push_back(refusals(file, refused, "trace"));
  return fmt::format("{}", fmt::join(all, "; "));
}

/// The same of a profile.
std::string shortcomings(const profiling::profile& runs, const std::string& file) {
  std::string missing;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count > 0) missing += fmt::format("{}{} {}", missing.empty() ? "" : ", ", count, what);
  };
  add(runs.unfinished_runs, "runs whose traces have no end");
  add(runs.lost_events, "events that the recorder lost");
  std::vector<std::string> all;
  if (!missing.empty()) all.push_back(fmt::format("{}: has {}", file, missing));
  if (runs.refused_requests > 0) all.push_back(refusals(file, runs.refused_requests, "profile"));
  return fmt::format("{}", fmt::join(all, "; "));
}

}  // namespace

input_kind kind_of(const std::string& file) {
  return profiling::is_profile(file) ? input_kind::profile : input_kind::trace;
}

input_identity read_trace(const std::string& file, const step_taker& take, const progress& tell) {
  input_identity read;
  read.file = file;
  trace::trace_reader reader(trace::open_file_source(file));
  trace::lifetimes blocks(reader);
  std::uint64_t steps = 0;
  std::uint64_t lost = 0;
  std::uint64_t refused = 0;
  for (trace::step s; blocks.next(s); ++steps) {
    if (tell && steps % steps_between_words == 0) {
      tell(fmt::format("reading {}", file),
           static_cast<double>(steps) /
               static_cast<double>(std::max<std::uint64_t>(reader.events(), 1)));
    }
    if (s.happened == trace::step::what::birth) {
      ++(take(s) ? read.births : read.left_out);
    } else if (s.happened == trace::step::what::death) {
      read.deaths += take(s) ? 1 : 0;
    } else if (s.happened == trace::step::what::other) {
      if (s.kind == trace::event_kind::lost) lost += s.size;
      if (s.kind == trace::event_kind::refused) ++refused;
    }
  }
  read.unknown_deaths = blocks.unknown_deaths();
  read.warning = shortcomings(reader, file, lost, refused);
  read.sha256 = sha256_of_file(file);
  return read;
}

profile_input read_profile(const std::string& file) {
  profile_input read;
  std::string bytes = bytes_of(file);
  read.identity.kind = input_kind::profile;
  read.identity.file = file;
  read.identity.sha256 = sha256_of(bytes);
  const auto source = trace::memory_source(file, std::move(bytes));
  read.runs = profiling::decode(*source);
  read.identity.births = read.runs.births();
  read.identity.deaths = read.runs.deaths();
  read.identity.left_out = read.runs.left_out;
  read.identity.unknown_deaths = read.runs.unknown_deaths;
  read.identity.warning = shortcomings(read.runs, file);
  return read;
}

}  // namespace ashlar::tune
