// tools/trace/source.cpp. Layer: trace.
#include "tools/trace/source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/trace/error.hpp"

namespace ashlar::trace {
namespace {

[[noreturn]] void fail_to_open(const std::string& path) {
  throw trace_error(path, std::string("cannot be opened: ") + std::strerror(errno));
}

class file_source final : public byte_source {
 public:
  explicit file_source(const std::string& path) : name_(path) {
    // Before it is opened: that waits for a pipe's other end, and may have an effect on a device.
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) fail_to_open(path);
    if (!S_ISREG(status.st_mode))
      throw trace_error(path,
                        "is not a file; a trace that comes through a pipe has to be saved first");
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) fail_to_open(path);
    ::fstat(file_, &status);  // of this one, should it have been replaced meanwhile
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
  ~file_source() override { ::close(file_); }
  file_source(const file_source&) = delete;
  file_source& operator=(const file_source&) = delete;

  std::size_t read(std::uint64_t offset, std::span<std::uint8_t> into) override {
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t got =
          ::pread(file_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0)
        throw trace_error(name_, offset + done,
                          std::string("cannot be read: ") + std::strerror(errno));
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string name_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

class bytes_source final : public byte_source {
 public:
  bytes_source(std::string name, std::string bytes)
      : name_(std::move(name)), bytes_(std::move(bytes)) {}
  std::size_t read(std::uint64_t offset, std::span<std::uint8_t> into) override {
    if (offset >= bytes_.size()) return 0;
    const std::size_t count =
        std::min(into.size(), bytes_.size() - static_cast<std::size_t>(offset));
    std::memcpy(into.data(), bytes_.data() + offset, count);
    return count;
  }
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string name_, bytes_;
};

}  // namespace

std::unique_ptr<byte_source> open_file_source(const std::string& path) {
  return std::make_unique<file_source>(path);
}
std::unique_ptr<byte_source> memory_source(std::string name, std::string bytes) {
  return std::make_unique<bytes_source>(std::move(name), std::move(bytes));
}

}  // namespace ashlar::trace
