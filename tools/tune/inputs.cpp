// tools/tune/inputs.cpp. Layer: tune.
#include "tools/tune/inputs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "tools/files/text.hpp"
#include "tools/profile/profile_file.hpp"
#include "tools/trace/source.hpp"

namespace ashlar::tune {

namespace {

class sha256 {
 public:
  sha256() : state_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    require(state_ != nullptr && EVP_DigestInit_ex(state_.get(), EVP_sha256(), nullptr) == 1);
  }
  void add(const char* bytes, std::size_t count) {
    require(EVP_DigestUpdate(state_.get(), bytes, count) == 1);
  }
  [[nodiscard]] std::string digits() {
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    require(EVP_DigestFinal_ex(state_.get(), sum, &size) == 1);
    return files::hexadecimal({reinterpret_cast<const char*>(sum), size});
  }

 private:
  static void require(bool worked) {
    if (!worked) throw std::runtime_error("libcrypto has no SHA-256");
  }
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> state_;
};

// Throws: std::runtime_error that names the file.
std::string sha256_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  sha256 sum;
  std::vector<char> buffer(std::size_t{1} << 20);
  do {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    sum.add(buffer.data(), static_cast<std::size_t>(file.gcount()));
  } while (file);
  if (file.bad()) throw std::runtime_error(fmt::format("cannot read '{}' to its end", path));
  return sum.digits();
}

constexpr std::uint64_t steps_between_words = 1 << 18;  // of progress

// A profile may be replaced while it is read, by a recorder that goes on: its digest is of the
// bytes that are decoded.
std::string bytes_of(const std::string& file) {
  const std::unique_ptr<trace::byte_source> source = trace::open_file_source(file);
  // What is behind that is not read; decode() refuses it by the length that the file says it has.
  const std::uint64_t most = std::uint64_t{2} * profiling::profile_bytes_max;
  std::string bytes(static_cast<std::size_t>(std::min(source->size(), most)), '\0');
  bytes.resize(
      source->read(0, std::span(reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size())));
  return bytes;
}

// `where_it_ends`: the reader's own words, empty where a trace has its end.
std::string warning_of(const recording_gaps& gaps, const std::string& file,
                       const std::string& where_it_ends) {
  if (gaps == recording_gaps{}) return "";
  return fmt::format("{}{}{}: {}: more may be needed than it shows{}", where_it_ends,
                     where_it_ends.empty() ? "" : "; ", file, text_of(gaps),
                     gaps.refused_requests > 0 ? "; record with larger pools" : "");
}

// Returns: a file's name without what would end a comment's line: control characters, and a
// backslash at its end.
std::string in_comment(const std::string& file) {
  std::string shown;
  for (const char c : file) shown += static_cast<unsigned char>(c) < ' ' || c == '\\' ? '?' : c;
  return shown;
}

}  // namespace

std::string sha256_of(std::string_view bytes) {
  sha256 sum;
  sum.add(bytes.data(), bytes.size());
  return sum.digits();
}

std::string text_of(const recording_gaps& gaps) {
  std::vector<std::string> all;
  const auto add = [&all](std::uint64_t count, const char* of_one, const char* of_more) {
    if (count > 0) all.push_back(fmt::format("{} {}", count, count == 1 ? of_one : of_more));
  };
  add(gaps.unfinished_runs, "run has no end", "runs have no end");
  add(gaps.lost_events, "event was lost", "events were lost");
  add(gaps.refused_requests, "request found no block in recorded pools",
      "requests found no block in recorded pools");
  return fmt::format("{}", fmt::join(all, ", "));
}

input_kind kind_of(const std::string& file) {
  return profiling::is_profile(file) ? input_kind::profile : input_kind::trace;
}

input_identity read_trace(const std::string& file, const step_taker& take, const progress& tell) {
  input_identity read;
  read.file = file;
  trace::trace_reader reader(trace::open_file_source(file));
  trace::lifetimes blocks(reader);
  std::uint64_t steps = 0;
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
      if (s.kind == trace::event_kind::lost) read.gaps.lost_events += s.size;
      if (s.kind == trace::event_kind::refused) ++read.gaps.refused_requests;
    }
  }
  read.unknown_deaths = blocks.unknown_deaths();
  read.gaps.unfinished_runs = reader.warning().empty() ? 0 : 1;
  read.warning = warning_of(read.gaps, file, reader.warning());
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
  read.identity.gaps = {read.runs.unfinished_runs, read.runs.lost_events,
                        read.runs.refused_requests};
  read.identity.warning = warning_of(read.identity.gaps, file, "");
  return read;
}

nlohmann::json inputs_json(const std::vector<input_identity>& inputs) {
  nlohmann::json list = nlohmann::json::array();
  for (const input_identity& input : inputs) {
    list.push_back({{"kind", input.kind == input_kind::trace ? "trace" : "profile"},
                    {"file", input.file},
                    {"sha256", input.sha256},
                    {"births", input.births},
                    {"deaths", input.deaths},
                    {"left_out", input.left_out},
                    {"unknown_deaths", input.unknown_deaths},
                    {"unfinished_runs", input.gaps.unfinished_runs},
                    {"lost_events", input.gaps.lost_events},
                    {"refused_requests", input.gaps.refused_requests}});
  }
  return list;
}

std::string inputs_comment(const std::vector<input_identity>& inputs, const std::string& mark) {
  std::string lines;
  for (const input_identity& input : inputs) {
    lines += fmt::format("{}   {} {}\n", mark, input.sha256, in_comment(input.file));
    if (const std::string gaps = text_of(input.gaps); !gaps.empty())
      lines += fmt::format("{}     as far as it was recorded: {}\n", mark, gaps);
  }
  return lines;
}

}  // namespace ashlar::tune
