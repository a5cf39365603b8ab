// tools/profile/profile_file.cpp. Layer: profile.
#include "tools/profile/profile_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <utility>

#include <fmt/format.h>

#include "tools/profile/size_grid.hpp"
#include "tools/trace/bytes.hpp"
#include "tools/trace/error.hpp"
#include "tools/trace/format.hpp"

namespace ashlar::profiling {
namespace {

using trace::byte_view;
using trace::put_varint;

constexpr std::size_t preamble_bytes = 20;  // magic, version, grid, length of the body
constexpr std::size_t checksum_bytes = 4;
constexpr std::uint32_t most_blocks = INT32_MAX;  // of a peak

/// What comes first in a body, in this order.
constexpr std::array<std::uint64_t profile::*, 9> counts = {
    &profile::runs,        &profile::unfinished_runs,  &profile::nanoseconds,
    &profile::left_out,    &profile::unknown_deaths,   &profile::missing_deaths,
    &profile::lost_events, &profile::refused_requests, &profile::peak_bytes};

/// No peak of an interval is below that of a shorter one in it: what is written is how far it is above.
std::uint32_t least_peak(const interval_table& peaks, std::size_t first, std::size_t last) {
  return first == last ? 0 : std::max(peaks.at(first + 1, last), peaks.at(first, last - 1));
}

std::uint64_t logarithm_of(std::uint64_t alignment) {
  return alignment == 0 ? 0 : static_cast<std::uint64_t>(std::countr_zero(alignment));
}

void put_pools(std::string& out, const std::vector<pool_row>& rows) {
  put_varint(out, rows.size());
  std::uint32_t next = 0;
  for (const pool_row& row : rows) {
    put_varint(out, row.step - next);
    next = row.step + 1;
    put_varint(out, row.births);
    put_varint(out, row.requested_bytes);
    std::size_t end = row.lifetimes.size();
    while (end > 0 && row.lifetimes[end - 1] == 0) --end;
    std::size_t begin = 0;
    while (begin < end && row.lifetimes[begin] == 0) ++begin;
    put_varint(out, begin);
    put_varint(out, end - begin);
    for (std::size_t digits = begin; digits < end; ++digits) put_varint(out, row.lifetimes[digits]);
  }
}

void put_peaks(std::string& out, const interval_table& peaks) {
  for (std::size_t first = peaks.count(); first-- > 0;)
    for (std::size_t last = first; last < peaks.count(); ++last)
      put_varint(out, peaks.at(first, last) - least_peak(peaks, first, last));
}

void put_aligned(std::string& out, const std::vector<aligned_row>& rows) {
  put_varint(out, rows.size());
  for (const aligned_row& row : rows) {
    put_varint(out, logarithm_of(row.alignment));
    put_varint(out, row.step);
    put_varint(out, row.smallest);
  }
}

void put_heap(std::string& out, const std::vector<heap_row>& rows) {
  put_varint(out, rows.size());
  std::uint32_t previous = 0;
  for (const heap_row& row : rows) {
    put_varint(out, row.step - previous);
    previous = row.step;
    put_varint(out, logarithm_of(row.alignment));
    put_varint(out, row.births);
    for (const alive& each : {row.at_peak, row.mean_1024}) {
      put_varint(out, each.blocks);
      put_varint(out, each.bytes);
    }
  }
}

std::string body_of(const profile& made) {
  std::string body;
  for (const auto count : counts) put_varint(body, made.*count);
  put_pools(body, made.pools);
  put_peaks(body, made.peaks);
  put_aligned(body, made.aligned);
  put_heap(body, made.heap);
  return body;
}

/// Reads a body; whatever is wrong is told with its place in the file.
class body_reader {
 public:
  body_reader(const std::string& name, byte_view body)
      : name_(name), rest_(body), size_(body.size()) {}

  /// Returns: a number from `least` to `most`.
  std::uint64_t number(const char* what, std::uint64_t least = 0, std::uint64_t most = UINT64_MAX) {
    at_ = size_ - rest_.left();
    const auto found = rest_.varint();
    if (!found) fail(fmt::format("{}: no number is there", what));
    if (*found < least || *found > most)
      fail(fmt::format("{}: {} is not from {} to {}", what, *found, least, most));
    return *found;
  }
  /// Effects: says that the last number, or what it completes, is impossible.
  [[noreturn]] void fail(const std::string& fault) const { fail_at(at_, fault); }
  [[noreturn]] void fail_at(std::size_t place, const std::string& fault) const {
    throw trace::trace_error(name_, preamble_bytes + place, fault);
  }

  void read_counts(profile& into) {
    for (const auto count : counts) into.*count = number("a count");
    if (into.unfinished_runs > into.runs) fail("there are more unfinished runs than runs");
  }
  void read_pools(std::vector<pool_row>& into);
  void read_peaks(interval_table& into, std::size_t count);
  void read_aligned(std::vector<aligned_row>& into, const std::vector<pool_row>& pools);
  void read_heap(std::vector<heap_row>& into);
  void expect_end() {
    at_ = size_ - rest_.left();
    if (!rest_.empty()) fail("there are bytes behind the last row");
  }

 private:
  /// Returns: a place in a grid of so many sizes, that many behind `least`.
  std::uint32_t next_step(const char* what, std::uint32_t least, std::uint32_t count) {
    if (least >= count) fail(fmt::format("{}: there is no size behind the last one", what));
    return least + static_cast<std::uint32_t>(number(what, 0, count - 1 - least));
  }
  alive read_alive(std::uint32_t step);

  const std::string& name_;
  trace::byte_reader rest_;
  std::size_t size_;
  std::size_t at_ = 0;  // of the last number, in the body
};

void body_reader::read_pools(std::vector<pool_row>& into) {
  const std::uint64_t rows = number("the number of pool sizes", 0, pool_grid::count);
  into.reserve(rows);
  std::uint32_t next = 0;
  for (std::uint64_t r = 0; r < rows; ++r) {
    pool_row row;
    row.step = next_step("a pool size", next, pool_grid::count);
    next = row.step + 1;
    row.births = number("births", 1);
    row.requested_bytes = number("requested bytes");
    if (row.requested_bytes > wide{row.births} * pool_grid::size_of(row.step))
      fail("more bytes were requested than the blocks have");
    const std::uint64_t begin = number("the shortest lifetime", 0, row.lifetimes.size() - 1);
    const std::uint64_t length = number("the number of lifetimes", 0, row.lifetimes.size() - begin);
    wide deaths = 0;
    for (std::uint64_t digits = begin; digits < begin + length; ++digits)
      deaths += row.lifetimes[digits] = number("deaths");
    if (at_most_64_bits(deaths) > row.births) fail("there are more deaths than births");
    into.push_back(row);
  }
}

void body_reader::read_peaks(interval_table& into, std::size_t count) {
  into = interval_table(count);
  for (std::size_t first = count; first-- > 0;) {
    for (std::size_t last = first; last < count; ++last) {
      const std::uint32_t least = least_peak(into, first, last);
      const std::uint64_t most =
          first == last ? most_blocks
                        : std::min<std::uint64_t>(most_blocks, std::uint64_t{into.at(last, last)} +
                                                                   into.at(first, last - 1));
      into.at(first, last) =
          least + static_cast<std::uint32_t>(number("a peak", first == last ? 1 : 0, most - least));
    }
  }
}

void body_reader::read_aligned(std::vector<aligned_row>& into, const std::vector<pool_row>& pools) {
  constexpr auto most = static_cast<std::uint64_t>(std::countr_zero(pool_grid::largest_alignment));
  std::bitset<pool_grid::count> used;
  for (const pool_row& row : pools) used.set(row.step);
  const std::uint64_t rows = number("the number of aligned needs", 0, most * pools.size());
  into.reserve(rows);
  for (std::uint64_t r = 0; r < rows; ++r) {
    aligned_row row;
    row.alignment = std::uint64_t{1} << number("an alignment", 1, most);
    row.step = next_step("a pool size", 0, pool_grid::count);
    if (!into.empty() &&
        std::pair(into.back().alignment, into.back().step) >= std::pair(row.alignment, row.step))
      fail("aligned needs are not in their order");
    if (!used[row.step]) fail("an aligned need that no request had");
    row.smallest = number("the smallest request", 0, pool_grid::largest_size);
    if (pool_grid::step_of(pool_grid::need_of(row.smallest, row.alignment)) != row.step)
      fail("the smallest request needs another size");
    into.push_back(row);
  }
}

alive body_reader::read_alive(std::uint32_t step) {
  alive read;
  read.blocks = number("blocks");
  read.bytes = number("bytes");
  if (read.bytes > wide{read.blocks} * heap_grid::size_of(step))
    fail("there are more bytes than the blocks have");
  return read;
}

void body_reader::read_heap(std::vector<heap_row>& into) {
  constexpr auto least = static_cast<std::uint64_t>(std::countr_zero(2 * block_granule));
  constexpr auto most = static_cast<std::uint64_t>(std::countr_zero(pool_grid::largest_alignment));
  const std::uint64_t rows =
      number("the number of heap sizes", 0, (most - least + 2) * heap_grid::count);
  std::uint32_t previous = 0;
  for (std::uint64_t r = 0; r < rows; ++r) {
    heap_row row;
    row.step = next_step("a heap size", previous, heap_grid::count);
    previous = row.step;
    const std::uint64_t logarithm = number("an alignment", 0, most);
    if (logarithm > 0 && logarithm < least) fail("an alignment that every block has");
    row.alignment = logarithm == 0 ? 0 : std::uint64_t{1} << logarithm;
    if (!into.empty() &&
        std::pair(into.back().step, into.back().alignment) >= std::pair(row.step, row.alignment))
      fail("heap sizes are not in their order");
    row.births = number("births", 1);
    row.at_peak = read_alive(row.step);
    row.mean_1024 = read_alive(row.step);
    into.push_back(row);
  }
}

/// Returns: the length of the body. Throws: trace_error where no profile of this version begins.
std::uint32_t check_preamble(trace::byte_source& from) {
  const auto fail = [&](std::uint64_t at, const std::string& fault) {
    throw trace::trace_error(from.name(), at, fault);
  };
  std::array<std::uint8_t, preamble_bytes> preamble{};
  const std::size_t got = from.read(0, preamble);
  if (got == 0) fail(0, "the file is empty");
  const std::string_view begin =
      trace::text_of(byte_view(preamble).first(std::min(got, profile_magic.size())));
  if (begin == trace::magic)
    fail(0, "this is a trace: `ashlar tune profile` makes a profile of it");
  if (begin != profile_magic.substr(0, begin.size()))
    fail(0, "this is no profile of ashlar's (`ashlar tune profile` writes them)");
  if (got < preamble.size()) fail(got, "the file ends in the middle of its first 20 bytes");
  const auto version = trace::get_fixed<std::uint32_t>(preamble.data() + 8);
  if (version > profile_version)
    fail(8,
         fmt::format("the profile has version {}, and this ashlar reads up to {}: a newer ashlar "
                     "is needed",
                     version, profile_version));
  if (version != profile_version) fail(8, "the profile is damaged: there is no version 0");
  const auto grid = trace::get_fixed<std::uint32_t>(preamble.data() + 12);
  if (grid != grid_number)
    fail(12, fmt::format("the profile's sizes are those of grid {}, and this ashlar has grid {}: "
                         "profile the traces again",
                         grid, grid_number));
  const auto length = trace::get_fixed<std::uint32_t>(preamble.data() + 16);
  if (length > profile_bytes_max) fail(16, "the profile is longer than any can be");
  const std::uint64_t size = preamble_bytes + std::uint64_t{length} + checksum_bytes;
  if (from.size() < size) fail(from.size(), fmt::format("the file ends before its {} bytes", size));
  if (from.size() > size) fail(size, "there are bytes behind the end of the profile");
  return length;
}

}  // namespace

std::string encode(const profile& made) {
  const std::string body = body_of(made);
  std::string file(profile_magic);
  trace::put_fixed(file, profile_version);
  trace::put_fixed(file, grid_number);
  trace::put_fixed(file, static_cast<std::uint32_t>(body.size()));
  file += body;
  trace::put_fixed(file, trace::checksum(trace::view_of(file)));
  return file;
}

profile decode(trace::byte_source& from) {
  const std::uint32_t length = check_preamble(from);
  std::string file(preamble_bytes + length + checksum_bytes, '\0');
  const std::size_t got = from.read(0, {reinterpret_cast<std::uint8_t*>(file.data()), file.size()});
  if (got != file.size())
    throw trace::trace_error(from.name(), got, "the file became shorter while it was read");
  const byte_view all = trace::view_of(file);
  const byte_view summed = all.first(all.size() - checksum_bytes);
  if (trace::get_fixed<std::uint32_t>(all.data() + summed.size()) != trace::checksum(summed))
    throw trace::trace_error(from.name(), summed.size(), "the profile is damaged (checksum)");
  const byte_view body = summed.subspan(preamble_bytes);
  body_reader reader(from.name(), body);
  profile read;
  reader.read_counts(read);
  reader.read_pools(read.pools);
  reader.read_peaks(read.peaks, read.pools.size());
  reader.read_aligned(read.aligned, read.pools);
  reader.read_heap(read.heap);
  reader.expect_end();
  if (read.runs == 0 && read != profile{}) reader.fail("there are figures of no run");
  // A number can be written in more than one way, of which one is right: so equal profiles are equal bytes.
  const std::string again = body_of(read);
  if (trace::text_of(body) != again) {
    const std::string_view was = trace::text_of(body);
    const auto differs = std::mismatch(again.begin(), again.end(), was.begin(), was.end()).first;
    reader.fail_at(static_cast<std::size_t>(differs - again.begin()),
                   "a number is not written in its shortest way");
  }
  return read;
}

profile read_profile(const std::string& path) { return decode(*trace::open_file_source(path)); }

bool is_profile(const std::string& path) {
  std::array<std::uint8_t, profile_magic.size()> begin{};
  const std::size_t got = trace::open_file_source(path)->read(0, begin);
  return trace::text_of(byte_view(begin).first(got)) == profile_magic;
}

}  // namespace ashlar::profiling
