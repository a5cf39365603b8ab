// tools/tune/traced_workload.cpp. Layer: tune.
#include "tools/tune/traced_workload.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tools/trace/lifetimes.hpp"
#include "tools/trace/source.hpp"
#include "tools/tune/file_digest.hpp"
#include "tools/tune/tuning.hpp"

namespace ashlar::tune {

namespace {

constexpr std::uint64_t steps_between_words = 1 << 18;  // of progress

// Moments are numbered by 32 bits, peaks by 31.
constexpr std::uint64_t most_changes = INT32_MAX;

/// What a trace lacks, and what pools could not serve when it was made: with either, peaks may have been higher.
std::string shortcomings(const trace::trace_reader& reader, const std::string& file,
                         std::uint64_t lost, std::uint64_t refused) {
  std::vector<std::string> all;
  if (!reader.warning().empty()) all.push_back(reader.warning());
  if (lost != 0)
    all.push_back(fmt::format("{}: {} events were lost: peaks may have been higher", file, lost));
  if (refused != 0) {
    all.push_back(fmt::format(
        "{}: {} requests found no block in the pools that were recorded: more may be needed than "
        "the trace has; record with larger capacities",
        file, refused));
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

void require_servable(const trace::step& birth, const trace_request& request,
                      const std::string& file) {
  if (birth.size <= workload_builder::largest_size && birth.alignment <= largest_alignment) return;
  if (birth.size > request.largest) return;
  throw impossible(fmt::format(
      "{}: a request of {} bytes at alignment {} is too large for a pool: --largest BYTES leaves "
      "large requests out",
      file, birth.size, birth.alignment));
}

trace_identity read_trace(const std::string& file, const trace_request& request,
                          workload_builder& into, const progress& tell) {
  trace_identity read;
  read.file = file;
  trace::trace_reader reader(trace::open_file_source(file));
  trace::lifetimes blocks(reader);
  into.begin_trace();
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
      require_servable(s, request, file);
      if (s.size > request.largest) {
        ++read.left_out;
        continue;
      }
      ++read.births;
      into.birth(s.slot, s.size, s.alignment);
    } else if (s.happened == trace::step::what::death && s.size <= request.largest) {
      ++read.deaths;
      into.death(s.slot);
    } else if (s.happened == trace::step::what::other) {
      if (s.kind == trace::event_kind::lost) lost += s.size;
      if (s.kind == trace::event_kind::refused) ++refused;
    }
    if (read.births + read.deaths > most_changes)
      throw impossible(fmt::format("{}: more than {} births and deaths", file, most_changes));
  }
  read.unknown_deaths = blocks.unknown_deaths();
  read.warning = shortcomings(reader, file, lost, refused);
  read.sha256 = sha256_of_file(file);
  return read;
}

}  // namespace

traced_workload read_traces(const std::vector<std::string>& files, const trace_request& request,
                            const progress& tell) {
  workload_builder builder(request.least_alignment, request.kept);
  traced_workload read;
  for (const std::string& file : files)
    read.traces.push_back(read_trace(file, request, builder, tell));
  read.load = builder.finish();
  return read;
}

}  // namespace ashlar::tune
