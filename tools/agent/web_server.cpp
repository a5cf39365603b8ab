// tools/agent/web_server.cpp: what a request gets. Layer: agent.
#include "tools/agent/web_server.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <httplib.h>
#include <netdb.h>
#include <sys/socket.h>

#include "tools/agent/connection_watch.hpp"
#include "tools/agent/fleet.hpp"
#include "tools/agent/fleet_page.hpp"
#include "tools/agent/metrics_text.hpp"
#include "tools/agent/process_profiles.hpp"
#include "tools/agent/pusher.hpp"
#include "tools/agent/recordings.hpp"
#include "tools/control/request.hpp"
#include "tools/files/error.hpp"
#include "tools/files/files.hpp"
#include "tools/files/text.hpp"

namespace ashlar::agent {
namespace {

using files::command_error;
using files::status_failed;
using files::status_usage;
using httplib::Request;
using httplib::Response;
using std::chrono::seconds;

constexpr std::size_t threads = 8;
constexpr std::size_t sites_shown = 20;
// A page of another site cannot send this header without asking first, and is told no.
constexpr const char* own_header = "X-Ashlar";

constexpr int not_asked_rightly = 400, no_token = 401, not_allowed = 403, not_there = 404,
              not_possible = 409, too_busy = 503, process_fails = 502;

// go tool pprof prints the text of a response that has its header.
void refuse(Response& to, int status, const std::string& why) {
  to.status = status;
  to.set_header("X-Go-Pprof", "1");
  to.set_content(why + "\n", "text/plain; charset=utf-8");
}

// In a time that says nothing of where they differ.
bool are_equal(std::string_view a, std::string_view b) {
  unsigned char differs = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    differs =
        static_cast<unsigned char>(differs | (static_cast<unsigned char>(a[i]) ^
                                              static_cast<unsigned char>(i < b.size() ? b[i] : 0)));
  return differs == 0;
}

// Returns: the address that is written as a number, or null.
std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> address_of(const std::string& text,
                                                                std::uint16_t port) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(text.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0)
    found = nullptr;
  return {found, &::freeaddrinfo};
}

class web_server {
 public:
  explicit web_server(const server_options& options)
      : options_(options), recordings_(options.record_library) {
    if (!options.push.empty()) push_to_ = push_target_of(options.push);
    http_.new_task_queue = [] { return new httplib::ThreadPool(threads); };
    http_.set_keep_alive_max_count(1);
    http_.set_read_timeout(seconds(5));
    http_.set_write_timeout(seconds(5));
    http_.set_payload_max_length(1024);
    // Two agents at one port would answer in turn: no SO_REUSEPORT.
    http_.set_socket_options([](auto socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    http_.set_default_headers(
        {{"X-Content-Type-Options", "nosniff"},
         {"Cache-Control", "no-store"},
         {"Content-Security-Policy",
          "default-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
          "frame-ancestors 'none'"}});
    http_.set_pre_routing_handler([this](const Request& request, Response& to) {
      return may_ask(request, to) ? httplib::Server::HandlerResponse::Unhandled
                                  : httplib::Server::HandlerResponse::Handled;
    });
    http_.set_exception_handler([](const Request&, Response& to, const std::exception_ptr&) {
      refuse(to, 500, "the agent could not do it");
    });
    http_.Get("/healthz", [](const Request&, Response& to) {
      to.set_content("ok\n", "text/plain; charset=utf-8");
    });
    http_.Get("/", [](const Request&, Response& to) {
      to.set_content(agent_page.data(), agent_page.size(), "text/html; charset=utf-8");
    });
    http_.Get("/metrics", [this](const Request& request, Response& to) {
      const metrics_format format = preferred_format(request.get_header_value("Accept"));
      const push_counts pushed = pusher_ ? pusher_->counts() : push_counts();
      to.set_content(metrics_text(*fleet_.look(), format, pusher_ ? &pushed : nullptr),
                     content_type(format));
    });
    http_.Get("/processes", [this](const Request&, Response& to) {
      to.set_content(fleet_json(*fleet_.look(), fleet_), "application/json");
    });
    http_.Get("/targets", [this](const Request& request, Response& to) {
      to.set_content(targets_json(*fleet_.look(), request.get_header_value("Host")),
                     "application/json");
    });
    http_.Get("/debug/pprof/heap", [this](const Request& request, Response& to) {
      send_profile(request, "inuse_space", to);
    });
    http_.Get("/debug/pprof/allocs", [this](const Request& request, Response& to) {
      send_profile(request, "alloc_space", to);
    });
    http_.Get("/sites", [this](const Request& request, Response& to) {
      if (const auto profile = profile_of(request, "inuse_space", to))
        to.set_content(sites_json(*profile, sites_shown), "application/json");
    });
    http_.Post("/sample",
               [this](const Request& request, Response& to) { begin_sampling(request, to); });
    http_.Post("/record", [this](const Request& request, Response& to) { record(request, to); });
  }

  // Effects: the port is this one's. Returns: its number. Throws: command_error.
  std::uint16_t bind() {
    if (options_.port == 0) {
      const int port = http_.bind_to_any_port(options_.address);
      if (port <= 0) fail_to_bind();
      return static_cast<std::uint16_t>(port);
    }
    if (!http_.bind_to_port(options_.address, options_.port)) fail_to_bind();
    return options_.port;
  }

  void run(std::uint16_t port, const sigset_t& ends) {
    const connection_watch watch(port);
    if (push_to_) pusher_.emplace(*push_to_, options_.push_every, fleet_, profiles_);
    std::thread serving([this] { http_.listen_after_bind(); });
    while (!http_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const bool is_6 = options_.address.find(':') != std::string::npos;
    fmt::print("ashlar agent: http://{}{}{}:{}/\n", is_6 ? "[" : "", options_.address,
               is_6 ? "]" : "", port);
    std::fflush(stdout);
    const timespec step{fleet::step.count(), 0};
    do fleet_.remember();
    while (::sigtimedwait(&ends, nullptr, &step) < 0);
    is_ending_.store(true);
    http_.stop();
    serving.join();
    pusher_.reset();
  }

 private:
  // The library does not say why: a socket of our own does.
  [[noreturn]] void fail_to_bind() const {
    const auto to = address_of(options_.address, options_.port);
    const files::open_file probe(::socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const bool fails = ::bind(probe.descriptor(), to->ai_addr, to->ai_addrlen) != 0;
    const std::string why = fails && errno != EADDRINUSE
                                ? std::strerror(errno)
                                : "another process has that port (--port names one)";
    throw command_error(status_failed, fmt::format("cannot listen at {}, port {}: {}",
                                                   options_.address, options_.port, why));
  }

  bool may_ask(const Request& request, Response& to) const {
    if (request.path == "/healthz") return true;
    if (!options_.token.empty()) {
      const std::string given = request.get_header_value("Authorization");
      const std::string basic =
          httplib::make_basic_authentication_header("ashlar", options_.token).second;
      if (are_equal(given, "Bearer " + options_.token) || are_equal(given, basic)) return true;
      to.set_header("WWW-Authenticate", "Basic realm=\"ashlar\"");
      refuse(to, no_token,
             "the token is needed: 'Authorization: Bearer TOKEN', or user ashlar and the token");
      return false;
    }
    // A page of another site whose name leads here must not read the answer.
    std::string host = request.get_header_value("Host");
    if (const std::size_t port = host.rfind(':'); port != std::string::npos && !host.ends_with(']'))
      host.resize(port);
    if (host.empty() || host == "localhost" || host == "127.0.0.1" || host == "[::1]") return true;
    refuse(to, not_allowed, "ask it by 127.0.0.1 or localhost");
    return false;
  }

  // Returns: the process that the request names, or the only one; null: the response says why.
  const process_figures* process_in(const Request& request, const fleet_look& now,
                                    Response& to) const {
    if (!request.has_param("pid")) {
      if (now.processes.size() == 1) return &now.processes.front();
      std::string why =
          fmt::format("there are {} processes: ?pid=N names one of them", now.processes.size());
      for (const process_figures& each : now.processes)
        why += fmt::format("\n?pid={} {} {}", each.socket.pid, each.facts.service, each.facts.comm);
      refuse(to, not_asked_rightly, why);
      return nullptr;
    }
    const auto pid = files::number_in(request.get_param_value("pid"));
    const process_figures* const found =
        pid && *pid <= INT32_MAX ? now.find(static_cast<pid_t>(*pid)) : nullptr;
    if (found == nullptr) refuse(to, not_there, "no such process has a control socket");
    return found;
  }

  // Returns: whether the process has done it; if not, the response says why.
  static bool is_done(const control::answer& got, const process_figures& of, Response& to) {
    if (got.how == control::outcome::done) return true;
    if (got.how == control::outcome::refused)
      refuse(to, not_possible, label_value(got.text));
    else
      refuse(to, process_fails, fmt::format("process {} gave no whole answer", of.socket.pid));
    return false;
  }

  // Returns: a profile with names; none: the response says why.
  std::optional<std::string> profile_of(const Request& request, const char* first, Response& to) {
    const auto now = fleet_.look();
    const process_figures* const of = process_in(request, *now, to);
    if (of == nullptr) return std::nullopt;
    auto made = profiles_.make(*of, first);
    if (!made) {
      refuse(to, too_busy, "other profiles are being made: ask again");
      return std::nullopt;
    }
    if (!is_done(*made, *of, to)) return std::nullopt;
    return std::move(made->text);
  }

  void send_profile(const Request& request, const char* first, Response& to) {
    const auto profile = profile_of(request, first, to);
    if (!profile) return;
    to.set_header("Content-Disposition", "attachment; filename=\"heap.pb\"");
    to.set_content(*profile, "application/octet-stream");
  }

  // Returns: whether the page of this agent asks, or a program; if not, the response says why.
  static bool may_change(const Request& request, Response& to) {
    if (request.has_header(own_header)) return true;
    refuse(to, not_allowed, fmt::format("the header {}: 1 is needed", own_header));
    return false;
  }

  void begin_sampling(const Request& request, Response& to) {
    if (!may_change(request, to)) return;
    const auto every = files::number_in(request.get_param_value("every"));
    if (!every)
      return refuse(to, not_asked_rightly, "?every=N: one of N bytes is to be sampled; 0: none");
    const auto now = fleet_.look();
    const process_figures* const of = process_in(request, *now, to);
    if (of == nullptr) return;
    const auto got = control::ask_all({of->socket}, fmt::format("sample {}", *every),
                                      {.each = profile_time, .all = profile_time});
    if (is_done(got.front(), *of, to)) to.set_content("done\n", "text/plain; charset=utf-8");
  }

  void record(const Request& request, Response& to) {
    if (!may_change(request, to)) return;
    const auto duration = files::number_in(request.get_param_value("seconds"));
    if (!duration || *duration == 0 || *duration > recordings::seconds_max)
      return refuse(to, not_asked_rightly,
                    fmt::format("?seconds=N: 1 to {}", recordings::seconds_max));
    const auto now = fleet_.look();
    const process_figures* const of = process_in(request, *now, to);
    if (of == nullptr) return;
    auto made = recordings_.make(*of, seconds(*duration), is_ending_);
    if (!made) return refuse(to, too_busy, "other processes are being recorded: ask again");
    if (is_done(*made, *of, to)) to.set_content(made->text, "application/octet-stream");
  }

  const server_options& options_;
  fleet fleet_;
  process_profiles profiles_;
  recordings recordings_;
  std::atomic<bool> is_ending_{false};
  std::optional<push_target> push_to_;
  std::optional<pusher> pusher_;
  httplib::Server http_;
};

}  // namespace

void serve(const server_options& options) {
  if (address_of(options.address, options.port) == nullptr)
    throw command_error(status_usage,
                        fmt::format("--listen: '{}' is no address, such as 10.0.0.7 or ::1",
                                    label_value(options.address)));
  const bool is_local = options.address == "127.0.0.1" || options.address == "::1";
  if (!is_local && options.token.empty())
    throw command_error(status_usage,
                        fmt::format("--listen {}: others may reach it, so --token-file is needed",
                                    options.address));
  // A server of debug files is asked over the network, for as long as that takes.
  ::unsetenv("DEBUGINFOD_URLS");
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGINT);
  ::sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  web_server server(options);
  const std::uint16_t port = server.bind();
  server.run(port, ends);
}

}  // namespace ashlar::agent
