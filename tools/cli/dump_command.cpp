// tools/cli/dump_command.cpp. Layer: cli.
#include "tools/cli/dump_command.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/cli/error.hpp"
#include "tools/cli/trace_input.hpp"
#include "tools/trace/error.hpp"
#include "tools/trace/heaptrack.hpp"
#include "tools/trace/text.hpp"

namespace ashlar::cli {

namespace {

// Standard output, or a file that has its name only when it is whole.
class result_file {
 public:
  explicit result_file(std::string path) : path_(std::move(path)), part_(path_ + ".part") {
    if (path_.empty()) return;
    file_ = std::fopen(part_.c_str(), "wb");
    if (file_ == nullptr)
      throw input_error(fmt::format("cannot write '{}': {}", path_, std::strerror(errno)));
  }
  ~result_file() {
    if (path_.empty() || file_ == nullptr) return;
    std::fclose(file_);
    ::unlink(part_.c_str());
  }
  result_file(const result_file&) = delete;
  result_file& operator=(const result_file&) = delete;

  void write(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail();
  }
  void commit() {
    if (std::fflush(file_) != 0) fail();
    if (path_.empty()) return;
    const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
    if (!closed || std::rename(part_.c_str(), path_.c_str()) != 0) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw command_error(status_failed,
                        fmt::format("cannot write {}: {}", path_.empty() ? "the output" : path_,
                                    std::strerror(errno)));
  }
  std::string path_;
  std::string part_;
  std::FILE* file_ = stdout;
};

void import(const dump_options& options, const trace::byte_sink& to) {
  const bool from_standard_input = options.input == "-";
  std::ifstream file;
  if (!from_standard_input) {
    file.open(options.input, std::ios::binary);
    if (!file)
      throw input_error(fmt::format("cannot read '{}': {}", options.input, std::strerror(errno)));
  }
  std::istream& from = from_standard_input ? std::cin : file;
  const std::string name = from_standard_input ? "standard input" : options.input;
  if (options.from_heaptrack) return trace::read_heaptrack(from, name, ASHLAR_CLI_VERSION, to);
  trace::read_text(from, name, to);
}

}  // namespace

int dump_command(const dump_options& options) {
  const bool imports = options.from_text || options.from_heaptrack;
  if (imports && options.output.empty() && ::isatty(STDOUT_FILENO) == 1)
    throw command_error(status_usage, "dump: a trace is not for a terminal; name a file with -o");
  return with_trace_errors([&] {
    std::unique_ptr<trace::trace_reader> reader;
    if (!imports) reader = open_trace(options.input);
    result_file to(options.output);
    const auto sink = [&](std::string_view bytes) { to.write(bytes); };
    if (imports) {
      import(options, sink);
    } else {
      trace::write_text(*reader, sink);
    }
    to.commit();
    return 0;
  });
}

}  // namespace ashlar::cli
