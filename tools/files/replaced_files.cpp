// tools/files/replaced_files.cpp. Layer: files.
#include "tools/files/replaced_files.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/files/error.hpp"

namespace ashlar::files {

namespace fs = std::filesystem;

namespace {

// What a signal's handler removes; null: free. `ashlar help --pages` writes the most: a page for each
// command.
constexpr std::size_t names_max = 64;
std::array<std::atomic<const char*>, names_max> names;
std::atomic<pid_t> owner;  // a child, before it executes a program, removes nothing of its parent's

extern "C" void remove_names_and_end(int signal_number) {
  if (::getpid() == owner) {
    for (const auto& name : names) {
      if (const char* const path = name.load()) ::unlink(path);
    }
  }
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);  // it waits until this handler returns
}

// What is ignored stays so (nohup).
void handle_signals() {
  if (owner.exchange(::getpid()) == ::getpid()) return;
  struct sigaction action{};
  action.sa_handler = remove_names_and_end;
  sigfillset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    struct sigaction now{};
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
      ::sigaction(number, &action, nullptr);
  }
}

void keep_name(const char* name) {
  for (auto& each : names) {
    const char* free = nullptr;
    if (each.compare_exchange_strong(free, name)) return;
  }
}

void forget_name(const char* name) {
  for (auto& each : names) {
    const char* kept = name;
    each.compare_exchange_strong(kept, nullptr);
  }
}

[[noreturn]] void refuse(const std::string& name) {
  throw std::system_error(errno, std::generic_category(), name);
}

[[noreturn]] void refuse(std::string_view option, const std::string& path, std::string_view why) {
  throw command_error(status_usage, fmt::format("{} {}: {}", option, path, why));
}

[[noreturn]] void refuse_by_system(std::string_view option, const std::string& path, int error) {
  refuse(option, path, fmt::format("cannot write there: {}", std::strerror(error)));
}

[[noreturn]] void fail(const std::string& path, int error) {
  if (path == "-")
    throw command_error(status_failed,
                        fmt::format("cannot write to standard output: {}", std::strerror(error)));
  throw input_error(fmt::format("cannot write '{}': {}", path, std::strerror(error)));
}

mode_t mode_of_new_files() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

// The file that a name leads to, through links, though it may not be there yet.
std::string file_behind(const std::string& path) {
  fs::path file = path;
  std::error_code error;
  constexpr int links_max = 40;  // as the system follows
  for (int links = 0; links < links_max && fs::is_symlink(file, error); ++links)
    file = file.parent_path() / fs::read_symlink(file, error);
  const fs::path parent = file.parent_path();
  const fs::path folder = fs::canonical(parent.empty() ? fs::path(".") : parent, error);
  return error ? file.string() : (folder / file.filename()).string();
}

std::atomic<bool> replaces_any{false};

// What is written for people and for other programs says in its first words whose it is. JSON says it
// in a member.
bool is_of_ashlar(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string begin(1024, '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(file.gcount()));
  if (begin.starts_with('{')) {
    const std::string all = begin + std::string(std::istreambuf_iterator<char>(file), {});
    return all.find("\"ashlar\":") != std::string::npos;
  }
  constexpr std::string_view first_words[] = {
      "\x89"
      "A",
      "ashlar-trace-text ", "label,allocator,library,", ".TH ASHLAR"};
  constexpr std::string_view words[] = {
      "hosen by ashlar tune",       "<title>ashlar ", ": allocators compared</title>",
      "<testsuites name=\"ashlar ", "title=ashlar ",  "\"extra\": \"ashlar "};
  return std::ranges::any_of(first_words,
                             [&](std::string_view each) { return begin.starts_with(each); }) ||
         std::ranges::any_of(
             words, [&](std::string_view each) { return begin.find(each) != std::string::npos; });
}

bool is_same_file(const struct stat& of, const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && status.st_dev == of.st_dev &&
         status.st_ino == of.st_ino;
}

}  // namespace

void replace_any_file() { replaces_any = true; }

bool is_any_file_replaced() { return replaces_any; }

bool may_be_replaced(const std::string& path) {
  std::error_code none;
  return is_any_file_replaced() || !fs::is_regular_file(path, none) ||
         fs::file_size(path, none) == 0 || is_of_ashlar(path);
}

bool may_be_replaced(const std::string& path, std::string_view magic) {
  std::error_code error;
  if (!fs::exists(path, error)) return true;
  if (!fs::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string start(magic.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  return file.gcount() == 0 || start == magic;
}

signals_held_back::signals_held_back() {
  sigset_t all{};
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

signals_held_back::~signals_held_back() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

temporary_file::temporary_file(std::string place, mode_t mode)
    : place_(std::move(place)), name_(place_ + ".XXXXXX") {
  const signals_held_back held;
  handle_signals();
  descriptor_ = ::mkostemp(name_.data(), O_CLOEXEC);
  if (descriptor_ < 0) refuse(place_);
  keep_name(name_.c_str());
  ::fchmod(descriptor_, mode);
}

temporary_file::~temporary_file() {
  ::close(descriptor_);
  if (name_.empty()) return;
  ::unlink(name_.c_str());
  forget_name(name_.c_str());
}

void temporary_file::take_place() {
  const signals_held_back held;
  if (::rename(name_.c_str(), place_.c_str()) != 0) refuse(place_);
  forget_name(name_.c_str());
  name_.clear();
}

int replaced_files::descriptor_of(const place& of) {
  return of.temporary ? of.temporary->descriptor() : of.device.descriptor();
}

bool replaced_files::has_standard_output() const {
  return std::ranges::any_of(places_, [](const place& p) { return p.path == "-"; });
}

void replaced_files::prepare(std::string_view option, const std::string& path, bool is_ours) {
  if (path == "-") {
    if (has_standard_output()) refuse(option, path, "standard output has one file already");
    places_.push_back({std::string(option),
                       path,
                       {},
                       nullptr,
                       open_file(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3))});
    return;
  }
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) refuse_by_system(option, path, errno);
    places_.push_back({std::string(option), path, {}, nullptr, open_file(descriptor)});
    return;
  }
  place made{std::string(option), path, file_behind(path), nullptr};
  for (const std::string& input : inputs_) {
    if (exists && is_same_file(status, input))
      refuse(option, path, "that is an input; name another file");
  }
  for (const place& other : places_) {
    if (made.target == other.target || (exists && is_same_file(status, other.path)))
      refuse(option, path, fmt::format("that is what {} writes; name another file", other.option));
  }
  if (!is_ours && !may_be_replaced(path))
    refuse(
        option, path,
        "it is there, and ashlar has not written it: name another file, or replace it by --force");
  // What is not to be written is not replaced either.
  if (exists && ::access(path.c_str(), W_OK) != 0) refuse_by_system(option, path, errno);
  try {
    made.temporary = std::make_unique<temporary_file>(
        made.target, exists ? status.st_mode & 07777 : mode_of_new_files());
  } catch (const std::system_error& error) {
    refuse_by_system(option, path, error.code().value());
  }
  places_.push_back(std::move(made));
}

void replaced_files::write(std::size_t place_number, std::string_view bytes) {
  const place& to = places_[place_number];
  if (const int error = write_all(descriptor_of(to), bytes); error != 0) fail(to.path, error);
}

void replaced_files::commit() {
  const signals_held_back all_or_none;
  for (const place& each : places_) {
    if (!each.temporary) continue;
    try {
      each.temporary->take_place();
    } catch (const std::system_error& error) {
      fail(each.path, error.code().value());
    }
  }
}

void replaced_files::commit(const std::vector<std::string>& contents) {
  for (std::size_t i = 0; i < places_.size(); ++i) write(i, contents[i]);
  commit();
}

int replaced_files::commit_beside(int status, const std::vector<std::string>& contents) {
  try {
    commit(contents);
    return status;
  } catch (const command_error& error) {
    return fail_beside(status, error.what());
  }
}

}  // namespace ashlar::files
