// tools/control/request.cpp. Layer: control.
#include "tools/control/request.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <deque>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <ashlar/core/control_protocol.hpp>

#include "tools/files/error.hpp"
#include "tools/files/files.hpp"

namespace ashlar::control {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Effects: connects the descriptor of a Unix stream socket. Returns: 0, or why not, as in errno.
int connect_to(const std::string& path, int descriptor) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto* const at = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(descriptor, at, sizeof address) == 0 ? 0 : errno;
}

// One request on its way. Each is advanced when its descriptor is ready.
class exchange {
 public:
  exchange(const process_socket& to, const std::string& request)
      : file_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
        left_(
            fmt::format("{}{} {}\n", control_protocol::word, control_protocol::version, request)) {
    const int error = connect_to(to.path, file_.descriptor());
    ucred peer{};
    socklen_t size = sizeof peer;
    if (error != 0)  // EAGAIN: too many ask already
      finish(error == EAGAIN ? outcome::silent : outcome::not_served);
    else if (::getsockopt(file_.descriptor(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
             (peer.uid != ::geteuid() && peer.uid != 0 && ::geteuid() != 0))
      finish(outcome::not_trusted);
  }

  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] pollfd wanted() const {
    return {is_over_ ? -1 : file_.descriptor(),
            static_cast<short>(left_.empty() ? POLLIN : POLLOUT), 0};
  }
  void advance() { left_.empty() ? receive() : send(); }
  [[nodiscard]] answer result() { return std::move(answer_); }

 private:
  void finish(outcome how) {
    answer_.how = how;
    is_over_ = true;
  }
  void send() {
    const ssize_t sent = ::send(file_.descriptor(), left_.data(), left_.size(), MSG_NOSIGNAL);
    if (sent >= 0)
      left_.erase(0, static_cast<std::size_t>(sent));
    else if (errno != EAGAIN && errno != EINTR)
      left_.clear();  // it may have said why, and closed then
  }
  void receive() {
    char bytes[16384];
    const ssize_t got = ::recv(file_.descriptor(), bytes, sizeof bytes, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0)
      answer_.text.append(bytes, static_cast<std::size_t>(got));
    else
      read_answer();
  }
  // The text is all that came. What it says is in its first line.
  void read_answer() {
    unsigned version = 0;
    char word[8] = {};
    std::size_t bytes = 0;
    const int read = std::sscanf(answer_.text.c_str(), "ashlar %u %7s %zu", &version, word, &bytes);
    if (answer_.text.empty()) return finish(outcome::broken);
    if (read < 1) return finish(outcome::not_ashlar);
    if (version != control_protocol::version) {
      answer_.text = fmt::format("{}", version);
      return finish(outcome::other_version);
    }
    if (read != 3 || answer_.text.size() != control_protocol::head_bytes + bytes)
      return finish(outcome::broken);
    answer_.text.erase(0, control_protocol::head_bytes);
    finish(std::strcmp(word, "ok") == 0 ? outcome::done : outcome::refused);
  }

  files::open_file file_;
  std::string left_;  // of the request
  answer answer_;
  bool is_over_ = false;
};

}  // namespace

std::vector<answer> ask_all(const std::vector<process_socket>& sockets, const std::string& request,
                            milliseconds limit) {
  const auto until = clock::now() + limit;
  std::deque<exchange> all;
  for (const process_socket& each : sockets) all.emplace_back(each, request);
  for (;;) {
    std::vector<pollfd> wanted;
    wanted.reserve(all.size());
    for (const exchange& each : all) wanted.push_back(each.wanted());
    const auto left = std::chrono::duration_cast<milliseconds>(until - clock::now()).count();
    if (left <= 0 ||
        std::all_of(all.begin(), all.end(), [](const exchange& e) { return e.is_over(); }))
      break;
    if (::poll(wanted.data(), wanted.size(), static_cast<int>(left)) <= 0) continue;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i].revents != 0) all[i].advance();
  }
  std::vector<answer> answers;
  answers.reserve(all.size());
  for (exchange& each : all) answers.push_back(each.result());
  return answers;
}

std::string ask(const process_socket& socket, const std::string& request, milliseconds limit) {
  answer got = ask_all({socket}, request, limit).front();
  const auto fail = [&](const std::string& why) {
    throw files::command_error(files::status_failed, fmt::format("{}{}", socket.name(), why));
  };
  switch (got.how) {
    case outcome::done:
      break;
    case outcome::refused:
      fail(fmt::format(": {}", got.text));
      break;
    case outcome::not_served:
      fail(socket.pid != 0
               ? " does not serve its control socket any more: it has executed another program, or "
                 "the socket is that of an earlier process of this number"
               : " is served by no process: ASHLAR_CONTROL names the socket of one");
      break;
    case outcome::not_trusted:
      fail(": another user listens at its control socket, which is not asked: remove the socket");
      break;
    case outcome::silent:
      fail(
          fmt::format(" gave no answer within {} s: it may be stopped, or get no processor; try "
                      "again when it runs",
                      std::chrono::duration_cast<std::chrono::seconds>(limit).count()));
      break;
    case outcome::broken:
      fail(" ended before its answer was whole: look whether it still runs");
      break;
    case outcome::other_version:
      fail(
          fmt::format(" has version {} of the control protocol, and this command version {}: use "
                      "the command of the library's release",
                      got.text, control_protocol::version));
      break;
    case outcome::not_ashlar:
      fail(": what listens at its socket is not ashlar");
      break;
  }
  return std::move(got.text);
}

}  // namespace ashlar::control
