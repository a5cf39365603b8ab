// tools/files/background_files.cpp. Layer: files.
#include "tools/files/background_files.hpp"

#include <cstdio>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "tools/files/replaced_files.hpp"

namespace ashlar::files {
namespace {

// Returns: why it could not be written; empty: it was. A file that `is_ours` is replaced whatever
// is in it.
std::string write_file(const std::string& path, const std::string& contents, bool is_ours) {
  try {
    replaced_files file;
    file.prepare("-o", path, is_ours);
    file.commit({contents}, reaches_disk::before_the_name);
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

background_files::~background_files() {
  end_writer();
}

void background_files::replace(const std::string& path, std::string contents) {
  const std::lock_guard hold(lock_);
  waiting_[path] = std::move(contents);
  if (!writer_.joinable()) writer_ = std::thread([this] { write_what_comes(); });
  changed_.notify_one();
}

void background_files::write_what_comes() {
  std::unique_lock hold(lock_);
  for (;;) {
    changed_.wait(hold, [this] { return is_last_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const auto next = waiting_.extract(waiting_.begin());
    const bool is_ours = written_.contains(next.key());
    hold.unlock();
    std::string failure = write_file(next.key(), next.mapped(), is_ours);
    hold.lock();
    if (failure.empty()) written_.insert(next.key());
    const auto [known, is_new] = failures_.try_emplace(next.key());
    if (is_new && !failure.empty())
      fmt::print(stderr, "ashlar: warning: {}; it is tried again the next time\n", failure);
    known->second = std::move(failure);
    if (known->second.empty()) failures_.erase(known);
  }
}

void background_files::end_writer() {
  {
    const std::lock_guard hold(lock_);
    is_last_ = true;
    changed_.notify_one();
  }
  if (writer_.joinable()) writer_.join();
}

std::vector<std::string> background_files::finish() {
  end_writer();
  std::vector<std::string> failures;
  failures.reserve(failures_.size());
  for (const auto& [path, why] : failures_) failures.push_back(why);
  return failures;
}

}  // namespace ashlar::files
