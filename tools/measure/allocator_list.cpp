// tools/measure/allocator_list.cpp. Layer: measure.
#include "tools/measure/allocator_list.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/files/error.hpp"
#include "tools/files/text.hpp"
#include "tools/measure/program_file.hpp"

namespace ashlar::measure {

namespace fs = std::filesystem;

namespace {

const std::string library_name = "libashlar-malloc.so";

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_loadable_here(const std::string& path) {
  static const auto own = read_elf_kind(own_executable());
  const auto kind = read_elf_kind(path);
  return kind && kind->shared_object &&
         (!own || (kind->wide == own->wide && kind->machine == own->machine));
}

std::uint32_t read_word(std::string_view bytes, std::size_t offset) {
  std::uint32_t word = 0;
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof word) {
    std::memcpy(&word, bytes.data() + offset, sizeof word);
  }
  return word;
}

// The NUL-terminated text at an offset; empty where the file ends before.
std::string_view read_text(std::string_view bytes, std::size_t offset) {
  if (offset >= bytes.size()) return {};
  const std::string_view rest = bytes.substr(offset);
  const std::size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

}  // namespace

std::string own_executable() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string{} : path.string();
}

std::string find_beside_command(const std::string& name,
                                std::initializer_list<std::string_view> folders,
                                const std::string& remedy) {
  std::string message = fmt::format("cannot find {}; looked for", name);
  for (const std::string_view folder : folders) {
    const fs::path place = fs::path(own_executable()).parent_path() / folder / name;
    if (is_file(place)) return fs::canonical(place).string();
    message += fmt::format("\n  {}", place.lexically_normal().string());
  }
  throw files::command_error(files::status_usage, message + remedy);
}

namespace {

std::string find_own_library(const std::string& name, const char* variable) {
  const char* chosen = std::getenv(variable);
  if (chosen != nullptr && *chosen != '\0') {
    if (!is_file(chosen)) {
      throw files::command_error(files::status_usage,
                                 fmt::format("{} names '{}', which is not a file; set it to "
                                             "the path of {} or unset it",
                                             variable, chosen, name));
    }
    return fs::canonical(chosen).string();
  }
  return find_beside_command(
      name, {"../ashlar", ASHLAR_CLI_LIBDIR_FROM_BINDIR},
      fmt::format("\nBuild it (make build), or set {} to its path.", variable));
}

}  // namespace

std::string find_ashlar_library() { return find_own_library(library_name, "ASHLAR_MALLOC_LIB"); }
std::string find_record_library() {
  return find_own_library("libashlar-record.so", "ASHLAR_RECORD_LIB");
}
std::string find_at_signal_library() {
  return find_own_library("libashlar-at-signal.so", "ASHLAR_AT_SIGNAL_LIB");
}

std::string preloadable_name(const std::string& library, const files::scratch_directory& scratch) {
  if (library.find_first_of(" \t\n:$") == std::string::npos) return library;
  for (int number = 1;; ++number) {
    const fs::path link = fs::path(scratch.path()) / fmt::format("library-{}.so", number);
    std::error_code error;
    if (!fs::exists(fs::symlink_status(link, error))) fs::create_symlink(library, link);
    if (fs::read_symlink(link) == library) return link.string();
  }
}

std::vector<std::string> lookup_in_loader_cache(std::string_view cache,
                                                std::string_view file_name) {
  // A header of 48 bytes (count at 20), then entries of 24: flags, offset of the name, offset of
  // the path, ... Offsets count from the header, which an older header may precede. sys:
  // ldconfig(8).
  static constexpr std::string_view magic = "glibc-ld.so.cache1.1";
  constexpr std::size_t header_size = 48;
  constexpr std::size_t entry_size = 24;
  std::vector<std::string> paths;
  const std::size_t start = cache.find(magic);
  if (start == std::string_view::npos) return paths;
  cache.remove_prefix(start);
  const std::size_t entries = read_word(cache, magic.size());
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = header_size + i * entry_size;
    if (entry + entry_size > cache.size()) break;
    if (read_text(cache, read_word(cache, entry + 4)) != file_name) continue;
    const std::string_view path = read_text(cache, read_word(cache, entry + 8));
    if (!path.empty()) paths.emplace_back(path);
  }
  return paths;
}

std::string find_shared_library(std::string_view file_name) {
  std::vector<std::string> candidates;
  if (const char* folders = std::getenv("LD_LIBRARY_PATH"); folders != nullptr) {
    for (const std::string_view folder : files::parts_of(folders, ':'))
      if (!folder.empty()) candidates.push_back((fs::path(folder) / file_name).string());
  }
  std::ifstream cache_file("/etc/ld.so.cache", std::ios::binary);
  const std::string cache{std::istreambuf_iterator<char>(cache_file), {}};
  for (std::string& path : lookup_in_loader_cache(cache, file_name))
    candidates.push_back(std::move(path));
  for (const char* folder : {"/usr/local/lib", "/usr/lib64", "/usr/lib", "/lib64", "/lib"}) {
    candidates.push_back((fs::path(folder) / file_name).string());
  }
  for (const std::string& path : candidates) {
    if (!is_loadable_here(path)) continue;
    std::error_code error;
    const fs::path canonical = fs::canonical(path, error);
    if (!error) return canonical.string();
  }
  return {};
}

std::vector<allocator> installed_allocators() {
  std::vector<allocator> found;
  for (const known_allocator& known : known_allocators()) {
    for (const std::string_view file : known.libraries) {
      std::string path = find_shared_library(file);
      if (path.empty()) continue;
      found.push_back({std::string(known.name), std::move(path)});
      break;
    }
  }
  return found;
}

allocator parse_allocator(std::string_view option, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
    throw files::command_error(
        files::status_usage,
        fmt::format("{0} {1}: expected NAME=LIBRARY, as in {0} mine=./libmine.so", option, text));
  }
  return {text.substr(0, equals),
          find_given_library(fmt::format("{} {}", option, text), text.substr(equals + 1))};
}

std::string find_given_library(std::string_view given_by, const std::string& name) {
  std::string path = name;
  if (!is_file(path)) {
    path = path.find('/') == std::string::npos ? find_shared_library(path) : std::string{};
    if (path.empty())
      throw files::command_error(files::status_usage,
                                 fmt::format("{}: there is no library '{}'; name its file, as "
                                             "libjemalloc.so.2, or its path",
                                             given_by, name));
  }
  const auto kind = read_elf_kind(path);
  if (!kind || !kind->shared_object) {
    throw files::command_error(files::status_usage,
                               fmt::format("{}: '{}' is not a shared library", given_by, path));
  }
  std::error_code error;
  const fs::path canonical = fs::canonical(path, error);
  return error ? path : canonical.string();
}

std::string preload_complaint(const std::string& library, const signal_watch& watch) {
  const files::scratch_directory scratch;
  const files::open_file output = scratch.make_unnamed_file();
  const files::open_file null = files::open_null();
  child_request request;
  request.file = own_executable();
  request.arguments = {request.file};
  // The loader then lists what it would load, says what it cannot, and runs nothing (ld.so(8)).
  request.environment = environment_with(
      {{"LD_PRELOAD", preloadable_name(library, scratch)}, {"LD_TRACE_LOADED_OBJECTS", "1"}});
  request.stdin_fd = null.descriptor();
  request.stdout_fd = null.descriptor();
  request.stderr_fd = output.descriptor();
  run_child(request, watch);
  const std::string said = files::read_whole(output);
  if (said.find("cannot be preloaded") == std::string::npos) return {};
  std::string line = said.substr(0, said.find('\n'));
  return line;
}

std::string preload_value(const std::string& library) {
  const char* present = std::getenv("LD_PRELOAD");
  if (present == nullptr || *present == '\0') return library;
  return library + ":" + present;
}

child_outcome run_preloaded(const std::string& library, const std::string& program,
                            const std::vector<std::string>& command,
                            std::vector<std::pair<std::string, std::string>> changes,
                            const files::scratch_directory& scratch, const signal_watch& watch) {
  changes.emplace_back("LD_PRELOAD", preload_value(preloadable_name(library, scratch)));
  child_request request;
  request.file = program;
  request.arguments = command;
  request.environment = environment_with(changes);
  child_outcome outcome = run_child(request, watch);
  require_started(outcome, program);
  return outcome;
}

}  // namespace ashlar::measure
