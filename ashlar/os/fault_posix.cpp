// os/fault_posix.cpp: what a hosted program does with a detected misuse: one line on standard
// error, abort. Layer: os. Uses no memory from the heap: the heap may be what is broken.
#include <cerrno>
#include <cstdlib>

#include <unistd.h>

#include <ashlar/core/fault.hpp>
#include <ashlar/core/line_writer.hpp>

namespace {

void write_line(const ashlar::fault& what) noexcept {
  ashlar::line_writer<256> line;
  line << "ashlar: " << (what.call != nullptr ? what.call : "") << "(" << what.address
       << "): " << ashlar::describe(what.kind);
  if (what.pool != nullptr) line << ", pool '" << what.pool << "'";
  if (what.block_size != 0) line << ", block size " << what.block_size;
  if (what.needed != 0) line << ", needed " << what.needed;
  if (what.blocks != 0) line << ", blocks " << what.blocks;
  line.end_line();
  const int saved = errno;
  // The result is of no use: there is no second place to complain to.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  errno = saved;
}

}  // namespace

extern "C" void ashlar_fault(const ashlar::fault& what) noexcept {
  write_line(what);
  std::abort();
}

extern "C" void ashlar_report(const ashlar::fault& what) noexcept {
  write_line(what);
}
