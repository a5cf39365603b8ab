// runtime/settings.hpp: what the environment says to the process heap.
// Layer: runtime. docs/statistics.md lists the variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <ashlar/check/full_check.hpp>
#include <ashlar/check/guarded_blocks.hpp>
#include <ashlar/fault/response.hpp>
#include <ashlar/os/system_space.hpp>
#include <ashlar/pages/page_heap.hpp>

namespace ashlar::runtime {

/// What is sampled, and when profiles are written (runtime/sampling.hpp).
struct sampling_settings {
  std::uint64_t every = 0;     ///< one of so many bytes: ASHLAR_SAMPLE; 0: none
  const char* file = nullptr;  ///< ASHLAR_SAMPLE_FILE; %p is the process, %n the number of the file
  const char* tag_limits = nullptr;  ///< ASHLAR_TAG_LIMIT
  int signal = 0;                    ///< that asks for a file: ASHLAR_SAMPLE_SIGNAL; 0: none
  std::uint64_t interval_s = 0;      ///< from file to file: ASHLAR_SAMPLE_INTERVAL; 0: none
  std::size_t guard_one_of =
      0;  ///< of so many samples one is guarded: ASHLAR_SAMPLE_GUARD; 0: none
};

struct settings {
  detail::purge_policy purge;
  std::uint64_t limit_bytes = 0;  ///< what the heap may hold: ASHLAR_LIMIT; 0: no bound
  bool ends_at_limit = false;     ///< the process ends there: ASHLAR_LIMIT_ACTION=end
  os::huge_pages huge_pages = os::huge_pages::as_the_system_says;  ///< ASHLAR_HUGE_PAGES
  bool background =
      false;  ///< a thread of the library's own gives memory back: ASHLAR_BACKGROUND=1
  const char* control =
      nullptr;  ///< the control socket (control.hpp): "1" or a path; null: none: ASHLAR_CONTROL
  bool exact = false;   ///< count and check every call: ASHLAR_STATS=exact, ASHLAR_CHECK=1
  bool full = false;    ///< guards, patterns, a queue, call stacks as well: ASHLAR_CHECK=full
  bool harden = false;  ///< words, canaries, zeros, a quarantine: ASHLAR_HARDEN=1
  bool shuffle =
      false;  ///< if hardened: new blocks come in random order, too: ASHLAR_HARDEN_SHUFFLE=1
  detail::full_check_options checks;
  detail::guard_options
      guards;  ///< one of how many blocks has pages of its own: ASHLAR_CHECK_GUARD
  sampling_settings sampling;
  detail::fault_settings faults;  ///< ASHLAR_FAULT, ASHLAR_FAULT_FORMAT, ASHLAR_FAULT_FILE
};

/// Whether this is the hardened library: what ASHLAR_HARDEN is where the environment does not say.
/// settings.cpp alone is compiled twice, so other sources ask this.
extern const bool is_hardened_edition;

/// Returns: the process's environment: what the C library says, or, before it is set up, what
/// `note_environment` was told; null when nobody knows it yet.
[[nodiscard]] char** process_environment() noexcept;
void note_environment(char** environment) noexcept;

/// Effects: one line on standard error: the setting is ignored, and what was expected.
void complain(const char* name, const char* value, const char* expected) noexcept;

/// Returns: the value of `name` in `environment` (an array like environ), or null when it is unset
/// or empty. Not getenv, which may not work yet.
[[nodiscard]] const char* find_setting(char** environment, const char* name) noexcept;

/// Returns: as find_setting, of a variable that names a file. A process with more rights than its
/// caller (set-user-ID) opens no file that the caller names: there one line on standard error says
/// so, and it is null.
[[nodiscard]] const char* find_file_setting(char** environment, const char* name) noexcept;

/// Returns: whether `where` says where a control socket can be: "1" or a path.
[[nodiscard]] bool is_control_place(const char* where) noexcept;

/// Effects: `value` is the number of bytes that `text` gives, up to 2^40, with or without a unit
/// (K, M, G, KiB, ...). Returns: false, and it is as it was, where it gives none.
[[nodiscard]] bool parse_bytes(const char* text, std::uint64_t& value) noexcept;

/// Returns: which of `words` the variable `name` is; `usual` when it is unset or empty. If it is
/// none of them, one line on standard error says what was `expected`, and `usual` stands.
[[nodiscard]] std::size_t read_word(char** environment, const char* name,
                                    std::initializer_list<const char*> words, const char* expected,
                                    std::size_t usual = 0) noexcept;

/// Returns: the settings in `environment` (an array like environ), defaults where it says nothing.
/// A value that cannot be read is reported in one line on standard error, and the default stands.
[[nodiscard]] settings read_settings(char** environment) noexcept;

}  // namespace ashlar::runtime
