// tools/measure/allocator_list.hpp: where the drop-in allocators of this machine are. Layer:
// measure.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/files/files.hpp"
#include "tools/measure/child_process.hpp"

namespace ashlar::measure {

struct allocator {
  std::string name;
  std::string library;  // absolute path; empty: the system's own allocator, nothing preloaded
};

// Finds libashlar-malloc.so: ASHLAR_MALLOC_LIB, else beside this executable as built, else as
// installed. Throws: command_error that lists the places looked at.
std::string find_ashlar_library();
// The same for libashlar-record.so (ASHLAR_RECORD_LIB).
std::string find_record_library();
// The same for libashlar-at-signal.so (ASHLAR_AT_SIGNAL_LIB).
std::string find_at_signal_library();

// The paths of a shared library's name: LD_LIBRARY_PATH, the loader's cache, the usual folders;
// only files for this tool's own kind of machine code. Returns: empty when there is none.
std::string find_shared_library(std::string_view file_name);

// The loader's cache (/etc/ld.so.cache) as text in, paths of `file_name` out.
std::vector<std::string> lookup_in_loader_cache(std::string_view cache, std::string_view file_name);

// The other drop-in allocators that are installed, in a fixed order.
std::vector<allocator> installed_allocators();

// "NAME=LIB.so", the value of an option. Throws: command_error.
allocator parse_allocator(std::string_view option, const std::string& text);
// A library's name or path. Throws: command_error that says by which words it was `given_by`.
std::string find_given_library(std::string_view given_by, const std::string& name);

// Effects: lets the loader try to preload the library (into this tool, without running it), since a
// library that it skips would leave the system's allocator to be measured under a wrong name.
// Returns: the loader's complaint, or empty.
std::string preload_complaint(const std::string& library, const signal_watch& watch);

// The loader splits LD_PRELOAD at blanks and colons, and expands '$': a library at such a path is
// given a plain name in the scratch folder, the same each time.
std::string preloadable_name(const std::string& library, const files::scratch_directory& scratch);

// LD_PRELOAD with the library first and the user's own after it.
std::string preload_value(const std::string& library);

// Effects: runs `command`, whose file is `program`, on `library`, with this process's own standard
// streams and `changes` to the environment. Throws: command_error when it did not start.
child_outcome run_preloaded(const std::string& library, const std::string& program,
                            const std::vector<std::string>& command,
                            std::vector<std::pair<std::string, std::string>> changes,
                            const files::scratch_directory& scratch, const signal_watch& watch);

// This executable's path.
std::string own_executable();
// Returns: the path of a file that is built with this executable or installed with it. `folders`: from that of the
// executable. Throws: command_error, with the places and the remedy.
std::string find_beside_command(const std::string& name,
                                std::initializer_list<std::string_view> folders,
                                const std::string& remedy);

// The other drop-in allocators that `ashlar compare` and
// `ashlar replay` look for.
// bench/peers/peers.json lists them, for the benchmarks too; the build makes the table of it.

struct known_allocator {
  std::string_view name;
  std::span<const std::string_view> libraries;  // file names; the first that is found is taken
};

std::span<const known_allocator> known_allocators();

}  // namespace ashlar::measure
