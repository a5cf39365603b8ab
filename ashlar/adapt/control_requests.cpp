// adapt/control_requests.cpp: what a process answers at its control socket.
// Layer: adapt. runtime/control.hpp declares it; docs/control-protocol.md lists the requests.
#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <ashlar/adapt/c_api.h>
#include <ashlar/core/control_protocol.hpp>
#include <ashlar/os/control_socket.hpp>
#include <ashlar/os/loaded_module.hpp>
#include <ashlar/os/replaced_file.hpp>
#include <ashlar/runtime/control.hpp>
#include <ashlar/runtime/memory_limit.hpp>
#include <ashlar/runtime/sampling.hpp>

namespace {

/// A request's words behind its name, and what is needed for the answer.
struct request {
  const char* words;
  std::size_t peer;
  std::FILE* out;
};

bool fail(const request& r, const char* subject, const char* why) {
  std::fprintf(r.out, "%s%s%s", subject, *subject != '\0' ? ": " : "", why);
  return false;
}

bool stats(const request& r) { return ashlar_stats_write(r.out, ASHLAR_STATS_JSON) == 0; }
bool metrics(const request& r) { return ashlar_stats_write(r.out, ASHLAR_STATS_PROMETHEUS) == 0; }

bool trim(const request& r) {
  std::fprintf(r.out, "{\"given_back_bytes\": %zu}\n", ashlar_trim());
  return true;
}

bool write_limit(const request& r, const ashlar_stats& now) {
  std::fprintf(r.out,
               "{\"limit_bytes\": %" PRIu64 ", \"committed_bytes\": %" PRIu64
               ", \"limit_refusals\": %" PRIu64 "}\n",
               now.total.limit_bytes, now.total.committed_bytes, now.total.limit_refusals);
  return true;
}
/// What the limit is, and how far the heap is from it.
bool limit(const request& r) {
  ashlar_stats now;
  ashlar::runtime::collect(now, false);
  return write_limit(r, now);
}
/// Returns: whether `text` is a limit, whose bytes are stored.
bool read_limit(const request& r, const char* text, std::uint64_t& bytes) {
  const char* const expected = ashlar::runtime::parse_limit(text, bytes);
  if (expected != nullptr) std::fprintf(r.out, "limit %s: expected %s", text, expected);
  return expected == nullptr;
}
bool set_limit(const request& r) {
  std::uint64_t bytes = 0;
  if (!read_limit(r, r.words, bytes)) return false;
  ashlar::runtime::the_limit.set(bytes);
  return limit(r);
}
/// The same of a heap's budget: NAME, or a limit, a tab and NAME.
bool budget(const request& r) {
  const char* const between = std::strchr(r.words, ashlar::control_protocol::between_paths);
  std::uint64_t bytes = 0;
  char text[32] = {};
  if (between != nullptr) {
    const auto length = static_cast<std::size_t>(between - r.words);
    std::memcpy(text, r.words, std::min(length, sizeof text - 1));
    if (!read_limit(r, length < sizeof text ? text : r.words, bytes)) return false;
  }
  const char* const name = between != nullptr ? between + 1 : r.words;
  ashlar_stats now;
  const auto ask = ashlar::runtime::ask_named_heap.load();
  ashlar::runtime::named_heap which{.wanted = name};
  if (ask != nullptr && ask(which, between != nullptr ? &bytes : nullptr, now))
    return write_limit(r, now);
  return fail(r, name, "no heap of this name lives in this process");
}

bool tag_limits(const request& r) {
  if constexpr (ashlar::is_drop_in) {
    if (ashlar::runtime::limit_tags(r.words)) return true;
    return fail(r, r.words, "expected a tag, = and bytes such as 64M, and a comma before more");
  }
  return fail(r, "", "only libashlar-malloc.so samples, and this process has libashlar");
}

bool sample(const request& r) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long every = std::strtoull(r.words, &end, 10);
  if (errno != 0 || end == r.words || *end != '\0' || every > SIZE_MAX)
    return fail(r, "sample", "a number of bytes is expected, or 0 for none");
  if (ashlar_sample(static_cast<std::size_t>(every)) == 0) return true;
  return fail(r, "",
              errno == ENOTSUP ? "only libashlar-malloc.so samples, and this process has libashlar"
                               : ashlar::os::describe_error(errno));
}

/// Returns: whether a profile was written, about `subject`: `error` is 0.
bool was_written(const request& r, const char* subject, int error) {
  if (error == 0) return true;
  if (error == EINVAL)
    return fail(r, "", "nothing was ever sampled: 'ashlar ctl PID sample 512K' begins that");
  return fail(r, subject,
              error == ENOTSUP ? "only libashlar-malloc.so samples, and this process has libashlar"
                               : ashlar::os::describe_error(error));
}

bool profile(const request& r) {
  return was_written(r, r.words, ashlar_sample_write(r.words) == 0 ? 0 : errno);
}

bool profile_here(const request& r) {
  int error = ENOTSUP;
  if constexpr (ashlar::is_drop_in)
    error = ashlar::runtime::write_samples(
        [](const char* bytes, std::size_t count, void* out) {
          return std::fwrite(bytes, 1, count, static_cast<std::FILE*>(out)) == count ? 0 : ENOMEM;
        },
        r.out);
  return was_written(r, "", error);
}

bool leaks(const request& r) {
  ashlar::os::let_trace(r.peer);
  return true;
}

/// Returns: whether the recorder did what was asked: it returns 0, an error's number, or -1 and
/// errno.
bool was_done(const request& r, const char* subject, int result) {
  if (result == 0) return true;
  const int error = result > 0 ? result : errno;
  if (error == EBUSY) return fail(r, "", "it is being recorded already");
  if (error == ESRCH) return fail(r, "", "it is not being recorded");
  if (error == ENOEXEC) return fail(r, "", "it has no heap that can be recorded");
  return fail(r, subject, ashlar::os::describe_error(error));
}

bool record_start(const request& r) {
  const char* const between = std::strchr(r.words, ashlar::control_protocol::between_paths);
  if (between == nullptr) return fail(r, "record start", "a library and a trace are expected");
  char library[ashlar::control_protocol::request_bytes_max];
  const auto length = static_cast<std::size_t>(between - r.words);
  std::memcpy(library, r.words, length);
  library[length] = '\0';
  const char* why = nullptr;
  void* const found = ashlar::os::function_in_library(library, "ashlar_record_start", why);
  if (found == nullptr) return fail(r, "", why);
  return was_done(r, between + 1, reinterpret_cast<int (*)(const char*)>(found)(between + 1));
}

bool record_stop(const request& r) {
  const char* why = nullptr;
  void* const found = ashlar::os::function_in_library(r.words, "ashlar_record_stop", why);
  if (found == nullptr) return fail(r, "", why);
  return was_done(r, "record stop", reinterpret_cast<int (*)()>(found)());
}

struct known_request {
  std::string_view name;
  bool has_words;
  bool (*answer)(const request& r);
};
constexpr known_request known[] = {
    {"stats", false, stats},
    {"trim", false, trim},
    {"limit", false, limit},
    {"limit", true, set_limit},
    {"budget", true, budget},
    {"tag", true, tag_limits},
    {"sample", true, sample},
    {"profile", true, profile},
    {"profile", false, profile_here},
    {"metrics", false, metrics},
    {"leaks", false, leaks},
    {"record start", true, record_start},
    {"record stop", true, record_stop},
};

}  // namespace

bool ashlar::runtime::answer_control(const char* line, std::size_t peer, std::FILE* out) noexcept {
  for (const known_request& k : known) {
    // Not by string_view::starts_with: clang leaves a call of the C++ library in it.
    if (std::strncmp(line, k.name.data(), k.name.size()) != 0) continue;
    const char* const rest = line + k.name.size();
    if (!k.has_words && *rest == '\0') return k.answer({rest, peer, out});
    if (k.has_words && rest[0] == ' ' && rest[1] != '\0') return k.answer({rest + 1, peer, out});
  }
  std::fprintf(out, "this release knows no such request");
  return false;
}
