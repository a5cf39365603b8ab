// tools/agent/pusher.cpp. Layer: agent.
#include "tools/agent/pusher.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <future>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include "tools/agent/connection_watch.hpp"
#include "tools/files/error.hpp"
#include "tools/files/files.hpp"
#include "tools/files/replaced_files.hpp"
#include "tools/files/text.hpp"
#include "tools/trace/profile_fields.hpp"
#include "tools/trace/symbols.hpp"

namespace ashlar::agent {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

constexpr std::size_t answer_bytes_max = 64 * 1024;  // with its head, and TLS
constexpr std::chrono::milliseconds look_time(10);   // between looks whether a request must end

// Throws: std::runtime_error.
std::string gzipped(std::string_view bytes) {
  constexpr int with_gzip_header = 15 + 16, default_memory = 8;
  z_stream stream{};
  if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, with_gzip_header, default_memory,
                     Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib does not begin");
  std::string packed(::deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int end = ::deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (end != Z_STREAM_END) throw std::runtime_error("zlib does not end");
  packed.shrink_to_fit();
  return packed;
}

// Returns: the text without what has a meaning in a name of Pyroscope's, or in a URL.
std::string plain(std::string_view text) {
  std::string all;
  for (const char c : text) {
    const bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' || c == '/';
    all += is_kept ? c : '_';
  }
  return all;
}

// Returns: how many profiles the answer says were not taken; 0 where it is no such answer.
std::uint64_t rejected(std::string_view answer) try {
  constexpr unsigned partial_success = 1, rejected_profiles = 1;
  for (trace::field_reader fields(answer); !fields.is_at_end();)
    if (const trace::field f = fields.next(); f.number == partial_success)
      for (trace::field_reader inner(f.bytes); !inner.is_at_end();)
        if (const trace::field part = inner.next(); part.number == rejected_profiles)
          return part.value;
  return 0;
} catch (const trace::damaged_profile&) {
  return 0;
}

// `server`: HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT.
bool has_right_port(std::string_view server) {
  const std::size_t colon = server.rfind(':');
  if (colon == std::string_view::npos || server.ends_with(']')) return true;
  return colon != 0 && files::number_in<std::uint16_t>(server.substr(colon + 1)).value_or(0) != 0;
}

// Returns: the text as a part of one line.
std::string one_line(std::string_view text) {
  std::string line = label_value(text);
  for (char& c : line)
    if (c >= '\0' && c < ' ') c = ' ';
  return line;
}

template <class... Values>
void log(fmt::format_string<Values...> form, Values&&... values) {
  fmt::print(stderr, "ashlar agent: {}\n", fmt::format(form, std::forward<Values>(values)...));
}

}  // namespace

push_target push_target_of(const std::string& given) {
  const auto fail = [&](std::string_view why) -> files::command_error {
    return {files::status_usage, fmt::format("--push {}: {}", one_line(given), why)};
  };
  const std::size_t scheme_end = given.find("://");
  if (scheme_end == std::string::npos) {
    std::error_code failed;
    if (!std::filesystem::is_directory(given, failed))
      throw fail("it is no folder, and no URL such as pyroscope+http://HOST:4040");
    // A link that others put there would say which file is written.
    if ((std::filesystem::status(given).permissions() & std::filesystem::perms::others_write) !=
        std::filesystem::perms::none)
      throw fail("others may write into the folder (chmod o-w)");
    return {.how = push_target::kind::folder, .server = {}, .path = given};
  }
  const std::string scheme = given.substr(0, scheme_end);
  push_target to;
  if (scheme.starts_with("pyroscope+"))
    to.how = push_target::kind::pyroscope;
  else if (scheme.starts_with("otlp+"))
    to.how = push_target::kind::otlp;
  const std::string transport = scheme.substr(scheme.find('+') + 1);
  if (to.how == push_target::kind::folder || (transport != "http" && transport != "https"))
    throw fail(
        "it begins with none of pyroscope+http://, pyroscope+https://, otlp+http://, "
        "otlp+https://");
  const std::size_t host = scheme_end + 3, path = std::min(given.find('/', host), given.size());
  const bool is_plain = std::ranges::none_of(
      given, [](unsigned char c) { return c <= ' ' || c == '@' || c == '?' || c == '#'; });
  if (path == host || !is_plain)
    throw fail("behind :// stand a host, a port and maybe a path: no name, password or query");
  to.server = transport + "://" + given.substr(host, path - host);
  to.path = given.substr(path);
  while (to.path.ends_with('/')) to.path.pop_back();
  if (to.how == push_target::kind::pyroscope)
    to.path += "/ingest";
  else if (to.path.empty())
    to.path = "/v1development/profiles";
  if (!has_right_port(std::string_view(given).substr(host, path - host)) ||
      !httplib::Client(to.server).is_valid())
    throw fail("it names no server");
  return to;
}

pusher::pusher(push_target to, seconds every, fleet& of, process_profiles& from)
    : to_(std::move(to)), every_(every), fleet_(of), profiles_(from), thread_([this] { run(); }) {}

pusher::~pusher() {
  {
    const std::lock_guard guard(mutex_);
    must_end_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

push_counts pusher::counts() const {
  const std::lock_guard guard(mutex_);
  push_counts all = counts_;
  all.dropped += waiting_.dropped();
  all.waiting_bytes = waiting_.bytes();
  return all;
}

bool pusher::must_end() const {
  const std::lock_guard guard(mutex_);
  return must_end_;
}

void pusher::run() {
  auto next = std::chrono::steady_clock::now();
  for (;;) {
    try {
      collect();
    } catch (const std::exception& error) {
      log("no profiles could be made: {}", error.what());
    }
    send_all();
    next = std::max(next + every_, std::chrono::steady_clock::now());
    std::unique_lock guard(mutex_);
    if (changed_.wait_until(guard, next, [this] { return must_end_; })) return;
  }
}

void pusher::collect() {
  const auto now = fleet_.look();
  for (const process_figures& each : now->processes) {
    if (must_end()) return;
    try {
      const auto made = profiles_.make(each, "inuse_space");
      if (!made || made->how != control::outcome::done) continue;  // it does not sample, mostly
      pushed_profile one = packed(made->text, each);
      const std::lock_guard guard(mutex_);
      waiting_.add(std::move(one));
    } catch (const std::exception&) {
      continue;  // a process may say anything
    }
  }
}

pushed_profile pusher::packed(const std::string& profile, const process_figures& of) const {
  const auto now = system_clock::now();
  if (to_.how == push_target::kind::otlp)
    return {to_.path, gzipped(otlp_request(profile, of, {now - every_, now}))};
  const std::time_t until = system_clock::to_time_t(now);
  if (to_.how == push_target::kind::folder) {
    const std::string id =
        files::hexadecimal(trace::build_id_of(fmt::format("/proc/{}/exe", of.socket.pid)));
    return {fmt::format("{}/{:%Y%m%dT%H%M%SZ}-{}-{}.pb.gz", to_.path, fmt::gmtime(until),
                        id.empty() ? "none" : id, of.socket.pid),
            gzipped(profile)};
  }
  // %7B and the like are the signs of name{key=value,key=value}.
  std::string name = fmt::format("{}%7Bpid%3D{}%2Ccomm%3D{}", plain(of.facts.service),
                                 of.socket.pid, plain(of.facts.comm));
  if (!of.facts.version.empty()) name += "%2Cversion%3D" + plain(of.facts.version);
  name += fmt::format("%2Chost%3D{}%7D", plain(host_name()));
  return {fmt::format("{}?name={}&from={}&until={}&format=pprof&spyName=ashlar", to_.path, name,
                      system_clock::to_time_t(now - every_), until),
          gzipped(profile)};
}

void pusher::send_all() {
  const std::string where = to_.server.empty() ? to_.path : to_.server;
  for (;;) {
    pushed_profile one;
    {
      const std::lock_guard guard(mutex_);
      if (waiting_.is_empty() || must_end_) return;
      one = waiting_.oldest();
    }
    std::string why;
    const outcome how = send(one, why);
    const std::lock_guard guard(mutex_);
    if (must_end_) return;
    // Each line is of a change: a collector that is away for a day makes one.
    if (how == outcome::failed) {
      if (!std::exchange(counts_.is_failing, true))
        log("{} takes no profiles: {}. They wait in {} MiB of memory, where the oldest are dropped",
            where, why, spool_bytes_max >> 20);
      return;
    }
    waiting_.pop();
    if (how == outcome::refused) {
      counts_.is_failing = false;
      ++counts_.dropped;
      if (!std::exchange(counts_.is_refusing, true))
        log("{} refuses profiles, which are dropped: {}", where, why);
      continue;
    }
    ++counts_.pushed;
    const bool was_failing = std::exchange(counts_.is_failing, false);
    if (std::exchange(counts_.is_refusing, false) || was_failing)
      log("{} takes profiles again; {} were dropped until now", where,
          counts_.dropped + waiting_.dropped());
  }
}

pusher::outcome pusher::send(const pushed_profile& one, std::string& why) {
  try {
    return to_.how == push_target::kind::folder ? store(one, why) : post(one, why);
  } catch (const std::exception& error) {
    why = error.what();
    return outcome::failed;
  }
}

pusher::outcome pusher::store(const pushed_profile& one, std::string& /*why*/) const {
  files::replaced_files file;
  file.prepare("--push", one.place, true);
  file.commit({one.bytes});
  return outcome::arrived;
}

pusher::outcome pusher::post(const pushed_profile& one, std::string& why) {
  httplib::Client client(to_.server);
  client.set_connection_timeout(seconds(2));
  client.set_read_timeout(seconds(5));
  client.set_write_timeout(seconds(5));
  client.set_url_encode(false);
  const bool is_otlp = to_.how == push_target::kind::otlp;
  httplib::Request request;
  request.method = "POST";
  request.path = one.place;
  request.body = one.bytes;
  request.headers = {
      {"Content-Type", is_otlp ? "application/x-protobuf" : "application/octet-stream"},
      {"User-Agent", "ashlar-agent"},
      {"Connection", "close"}};
  if (is_otlp) request.headers.emplace("Content-Encoding", "gzip");
  std::string answer;
  int status = 0;
  request.response_handler = [&](const httplib::Response& head) {
    status = head.status;
    return true;
  };
  request.content_receiver = [&](const char* bytes, std::size_t count, std::uint64_t,
                                 std::uint64_t) {
    if (answer.size() + count > answer_bytes_max) return false;
    answer.append(bytes, count);
    return true;
  };
  // The library bounds each wait for bytes, and not their sum, and client.stop() waits while it
  // connects. So a copy of the descriptor ends a request.
  std::mutex socket_mutex;
  std::optional<files::open_file> socket;
  client.set_socket_options([&](auto made) {
    const std::lock_guard guard(socket_mutex);
    socket.emplace(::fcntl(made, F_DUPFD_CLOEXEC, 0));
  });
  auto sending = std::async(std::launch::async, [&] { return client.send(request); });
  const auto end = std::chrono::steady_clock::now() + send_time;
  while (sending.wait_for(look_time) != std::future_status::ready) {
    const bool is_late = must_end() || std::chrono::steady_clock::now() > end;
    const std::lock_guard guard(socket_mutex);
    if (socket && (is_late || bytes_received(socket->descriptor()) > answer_bytes_max))
      ::shutdown(socket->descriptor(), SHUT_RDWR);
  }
  const httplib::Result got = sending.get();
  if (status == 0) {
    why = httplib::to_string(got.error());
    return outcome::failed;
  }
  // Where its status is known, a longer answer is as good as a short one.
  constexpr int ok = 200, not_ok = 300;
  if (status >= ok && status < not_ok) {
    const std::uint64_t lost = is_otlp ? rejected(answer) : 0;
    if (lost == 0) return outcome::arrived;
    why = fmt::format("it rejected {} of them", lost);
    return outcome::refused;
  }
  why = fmt::format("HTTP status {}: {}", status, one_line(answer));
  constexpr std::array try_again{408, 429, 502, 503, 504};
  return std::ranges::find(try_again, status) != try_again.end() ? outcome::failed
                                                                 : outcome::refused;
}

}  // namespace ashlar::agent
