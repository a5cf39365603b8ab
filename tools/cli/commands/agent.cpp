// tools/cli/commands/agent.cpp: `ashlar agent`: the heaps of all processes of this host, over HTTP.
// Layer: cli.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "tools/agent/web_server.hpp"
#include "tools/cli/commands/commands.hpp"
#include "tools/cli/error.hpp"
#include "tools/files/files.hpp"
#include "tools/measure/allocator_list.hpp"

namespace ashlar::cli {
namespace {

struct agent_options {
  std::uint32_t port = 9480;
  std::string address = "127.0.0.1";
  std::string token_file, push;
  std::uint32_t push_every = 60;
};

constexpr const char* agent_footer =
    R"(It finds every process of this user that has a control socket, or of all users where it runs
as root, and asks them each time that it is asked. It ends by Ctrl-C or SIGTERM.

  /                       a page: processes, the last hour, what holds memory, a recording
  /metrics                all figures, for Prometheus
  /debug/pprof/heap?pid=N what lives in a process that samples, for go tool pprof
  /debug/pprof/allocs?pid=N  the same, what was allocated first
  /targets                where these are, for Grafana Alloy, Parca and http_sd of Prometheus
  /healthz                says ok

Nobody but this host reaches it, unless --listen names another address. Then whoever asks needs
the token in --token-file: as a Bearer token, or as the password of the user ashlar. Nothing is
encrypted.

--push sends the profile of each process that samples, every minute, to one of these:

  pyroscope+http://HOST:PORT  Pyroscope's /ingest, in pprof's format
  otlp+http://HOST:PORT       OpenTelemetry's profiles (opentelemetry-proto 1.10.0)
  FOLDER                      files TIME-BUILD_ID-PROCESS.pb.gz, for go tool pprof

Both have https, too. What a collector does not take waits in 64 MiB of memory; the oldest is
dropped, and /metrics counts it.

Examples:
  ashlar agent
  ashlar agent --port 9000
  ashlar agent --listen 10.0.0.7 --token-file /etc/ashlar/token
  ashlar agent --push pyroscope+http://pyroscope:4040
  curl http://127.0.0.1:9480/metrics
  go tool pprof 'http://127.0.0.1:9480/debug/pprof/heap?pid=4711'

Exit status: 0 after Ctrl-C or SIGTERM; 1 where it cannot listen; 2 a wrong command line.)";

constexpr std::size_t token_bytes_min = 16, token_bytes_max = 512;

// Returns: the first line of the file. Throws: command_error.
std::string token_in(const std::string& path) {
  std::string token = files::read_input(path);
  token.resize(std::min(token.size(), token.find('\n')));
  if (token.ends_with('\r')) token.pop_back();
  const bool is_plain = std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7F; });
  if (token.size() < token_bytes_min || token.size() > token_bytes_max || !is_plain)
    throw input_error(fmt::format(
        "--token-file {}: its first line is no token: {} to {} letters, digits and signs "
        "without blanks ('openssl rand -hex 32 > FILE' makes one)",
        path, token_bytes_min, token_bytes_max));
  return token;
}

// Returns: its whole path, since a process has a folder of its own; nothing: it is not there.
std::string record_library() try {
  return std::filesystem::absolute(measure::find_record_library()).string();
} catch (const command_error&) {
  return {};
}

}  // namespace

void add_agent(command_parser& to) {
  command& agent =
      to.add({"agent", "Serve the heaps of all running processes: a page, Prometheus, pprof",
              "[OPTIONS]", agent_footer});
  const auto with = std::make_shared<agent_options>();
  agent.value("--port", "N", with->port, "The port; 0: any that is free").within(0, UINT16_MAX);
  agent.value("--listen", "ADDRESS", with->address, "The address at which it listens, a number");
  agent.file("--token-file", with->token_file, "Whoever asks needs the token in this file");
  agent.value("--push", "WHERE", with->push, "Send profiles to a collector or into a folder");
  agent.value("--push-every", "SECONDS", with->push_every, "How often").within(1, 86'400);
  agent.does([with] {
    agent::server_options options{.address = with->address,
                                  .port = static_cast<std::uint16_t>(with->port),
                                  .token = {},
                                  .push = with->push,
                                  .push_every = std::chrono::seconds(with->push_every),
                                  .record_library = record_library()};
    if (!with->token_file.empty()) options.token = token_in(with->token_file);
    agent::serve(options);
    return 0;
  });
}

}  // namespace ashlar::cli
