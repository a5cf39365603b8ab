// tools/control/request.cpp. Layer: control.
#include "tools/control/request.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <list>

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
  exchange(const process_socket& to, const std::string& request, const bounds& limits, answer& into)
      : file_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
        until_(clock::now() + limits.each),
        bytes_max_(limits.bytes),
        left_(fmt::format("{}{} {}\n", control_protocol::word, control_protocol::version, request)),
        answer_(&into) {
    const int error = connect_to(to.path, file_.descriptor());
    ucred peer{};
    socklen_t size = sizeof peer;
    if (error != 0)  // EAGAIN: too many ask already
      finish(error == EAGAIN ? outcome::silent : outcome::not_served);
    else if (::getsockopt(file_.descriptor(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
             (peer.uid != ::geteuid() && peer.uid != 0 && ::geteuid() != 0))
      finish(outcome::not_trusted);
    answer_->from = peer.pid;
  }

  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] clock::time_point until() const { return until_; }
  [[nodiscard]] pollfd wanted() const {
    return {file_.descriptor(), static_cast<short>(left_.empty() ? POLLIN : POLLOUT), 0};
  }
  void advance() { left_.empty() ? receive() : send(); }
  void give_up() { finish(outcome::silent); }

 private:
  void finish(outcome how) {
    answer_->how = how;
    if (how != outcome::done && how != outcome::refused && how != outcome::other_version)
      std::string().swap(answer_->text);
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
    if (got > 0) answer_->text.append(bytes, static_cast<std::size_t>(got));
    const bool is_all = got <= 0;
    if (is_all || answer_->text.size() >= control_protocol::head_bytes) read_answer(is_all);
  }
  // The text is what came until now, `is_all` or not. What it says is in its first line.
  void read_answer(bool is_all) {
    unsigned version = 0;
    char word[8] = {};
    std::size_t bytes = 0;
    std::string& text = answer_->text;
    const std::string head = text.substr(0, control_protocol::head_bytes);
    const int read = std::sscanf(head.c_str(), "ashlar %u %7s %zu", &version, word, &bytes);
    if (text.empty()) return finish(outcome::broken);
    if (read < 1) return finish(outcome::not_ashlar);
    if (version != control_protocol::version) {
      text = fmt::format("{}", version);
      return finish(outcome::other_version);
    }
    if (read == 3 && bytes > bytes_max_) return finish(outcome::too_long);
    const std::size_t has = text.size() - std::min(text.size(), control_protocol::head_bytes);
    if (read == 3 && has < bytes && !is_all) return;
    if (read != 3 || has != bytes) return finish(outcome::broken);
    text.erase(0, control_protocol::head_bytes);
    finish(std::strcmp(word, "ok") == 0 ? outcome::done : outcome::refused);
  }

  files::open_file file_;
  clock::time_point until_;
  std::size_t bytes_max_;
  std::string left_;  // of the request
  answer* answer_;
  bool is_over_ = false;
};

// Why there is no answer, behind the socket's name.
std::string failure_of(const answer& got, const process_socket& socket, milliseconds limit) {
  switch (got.how) {
    case outcome::done:
      break;
    case outcome::refused:
      return fmt::format(": {}", got.text);
    case outcome::not_served:
      return socket.pid != 0
                 ? " does not serve its control socket any more: it has executed another program, "
                   "or the socket is that of an earlier process of this number"
                 : " is served by no process: ASHLAR_CONTROL names the socket of one";
    case outcome::not_trusted:
      return ": another user listens at its control socket, which is not asked: remove the socket";
    case outcome::silent:
      return fmt::format(
          " gave no answer within {} s: it may be stopped, or get no processor; try again when it "
          "runs",
          std::chrono::duration_cast<std::chrono::seconds>(limit).count());
    case outcome::broken:
      return " ended before its answer was whole: look whether it still runs";
    case outcome::other_version:
      return fmt::format(
          " has version {} of the control protocol, and this command version {}: use the command "
          "of the library's release",
          got.text, control_protocol::version);
    case outcome::not_ashlar:
      return ": what listens at its socket is not ashlar";
    case outcome::too_long:
      return ": its answer is longer than any that this command takes";
  }
  return {};
}

}  // namespace

std::vector<answer> ask_all(const std::vector<process_socket>& sockets, const std::string& request,
                            const bounds& limits) {
  const auto until = clock::now() + limits.all;
  std::vector<answer> answers(sockets.size());
  std::list<exchange> open;
  for (std::size_t next = 0; clock::now() < until;) {
    for (; next < sockets.size() && open.size() < limits.at_once; ++next)
      open.emplace_back(sockets[next], request, limits, answers[next]);
    open.remove_if([](const exchange& each) { return each.is_over(); });
    if (open.empty() && next == sockets.size()) return answers;
    std::vector<pollfd> wanted;
    auto first_end = until;
    for (const exchange& each : open) {
      wanted.push_back(each.wanted());
      first_end = std::min(first_end, each.until());
    }
    const auto left = std::chrono::ceil<milliseconds>(first_end - clock::now()).count();
    if (!open.empty())
      ::poll(wanted.data(), wanted.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
    std::size_t place = 0;
    for (exchange& each : open) {
      if (wanted[place++].revents != 0)
        each.advance();
      else if (clock::now() >= each.until())
        each.give_up();
    }
  }
  for (exchange& each : open) each.give_up();
  return answers;
}

std::string ask(const process_socket& socket, const std::string& request, milliseconds limit) {
  answer got = ask_all({socket}, request, {.each = limit, .all = limit}).front();
  if (got.how != outcome::done)
    throw files::command_error(files::status_failed,
                               socket.name() + failure_of(got, socket, limit));
  return std::move(got.text);
}

}  // namespace ashlar::control
