// tools/cli/replaced_files.cpp. Layer: cli.
#include "tools/cli/replaced_files.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/cli/error.hpp"

namespace ashlar::cli {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(std::string_view option, const std::string& path) {
  throw command_error(status_usage, fmt::format("{} {}: cannot write there: {}", option, path,
                                                std::strerror(errno)));
}

mode_t mode_of_new_files() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

replaced_files::~replaced_files() {
  for (const place& each : places_) {
    ::close(each.descriptor);
    if (!each.temporary.empty()) ::unlink(each.temporary.c_str());
  }
}

void replaced_files::prepare(std::string_view option, const std::string& path) {
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) refuse(option, path);
    places_.push_back({path, {}, descriptor});
    return;
  }
  // A link stays one: it is the file behind it that is replaced. One that is not to be written is not replaced.
  if (exists && ::access(path.c_str(), W_OK) != 0) refuse(option, path);
  std::error_code error;
  const std::string target = exists ? fs::canonical(path, error).string() : path;
  std::string temporary = target + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) refuse(option, path);
  ::fchmod(descriptor, exists ? status.st_mode & 07777 : mode_of_new_files());
  places_.push_back({target, temporary, descriptor});
}

void replaced_files::commit(const std::vector<std::string>& contents, reaches_disk when) {
  const auto fail = [](const place& each) {
    throw command_error(status_usage,
                        fmt::format("cannot write '{}': {}", each.path, std::strerror(errno)));
  };
  for (std::size_t i = 0; i < places_.size(); ++i) {
    std::string_view rest = contents[i];
    while (!rest.empty()) {
      const ssize_t put = ::write(places_[i].descriptor, rest.data(), rest.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) fail(places_[i]);
      rest.remove_prefix(static_cast<std::size_t>(put));
    }
    // What is no file of a disk, as a pipe, says EINVAL.
    if (when == reaches_disk::before_the_name && ::fdatasync(places_[i].descriptor) != 0 &&
        errno != EINVAL)
      fail(places_[i]);
  }
  for (place& each : places_) {
    if (each.temporary.empty()) continue;
    if (::rename(each.temporary.c_str(), each.path.c_str()) != 0) fail(each);
    each.temporary.clear();
  }
}

}  // namespace ashlar::cli
