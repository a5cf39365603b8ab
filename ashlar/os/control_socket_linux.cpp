// os/control_socket_linux.cpp: os/control_socket.hpp by a Unix stream socket.
// Layer: os.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <ashlar/core/control_protocol.hpp>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/os/clock.hpp>
#include <ashlar/os/control_socket.hpp>
#include <ashlar/os/path_pattern.hpp>
#include <ashlar/os/process.hpp>
#include <ashlar/os/replaced_file.hpp>
#include <ashlar/os/system_call.hpp>

namespace ashlar::os {
namespace {

namespace protocol = control_protocol;

/// Nobody sends this signal: it is left over from a coprocessor. The thread blocks it as it blocks
/// all, and sees in a signalfd that it is pending. So waking needs no descriptor in the program's
/// table.
constexpr int bell_signal = SIGSTKFLT;

// ---- the thread's own table of descriptors ------------------------------------------------------

#if !defined(SYS_close_range)
#define SYS_close_range 436
#endif
constexpr unsigned close_range_unshare = 2;
constexpr unsigned first_beyond_streams = STDERR_FILENO + 1;

/// Effects: the thread shares its descriptors with no other one, and has only the standard streams.
/// Returns: whether the system has done that.
bool leave_descriptors() noexcept {
  if (system_call(SYS_close_range, first_beyond_streams, ~0U, close_range_unshare) == 0)
    return true;
  // Before Linux 5.9, or where a sandbox does not know it.
  if (::unshare(CLONE_FILES) != 0) return false;
  DIR* const open_files = ::opendir("/proc/thread-self/fd");
  if (open_files == nullptr) return false;
  while (const dirent* const each = ::readdir(open_files)) {
    const int file = std::atoi(each->d_name);
    if (file > STDERR_FILENO && file != ::dirfd(open_files)) ::close(file);
  }
  ::closedir(open_files);
  return true;
}

int open_nothing() noexcept { return ::open("/dev/null", O_RDWR | O_CLOEXEC); }
/// Effects: each standard stream is open, so that no socket takes its number.
void fill_streams() noexcept {
  for (int file = open_nothing(); file >= 0; file = open_nothing())
    if (file > STDERR_FILENO) {
      ::close(file);
      return;
    }
}
/// Effects: the standard streams lead nowhere. So no pipe of the program stays open because of this
/// thread.
void empty_streams() noexcept {
  const int nothing = open_nothing();
  if (nothing < 0) return;
  for (int file = 0; file <= STDERR_FILENO; ++file) ::dup3(nothing, file, O_CLOEXEC);
  ::close(nothing);
}

// ---- the folder and the name --------------------------------------------------------------------

/// lstat and geteuid, past a program's own: libfaketime's lstat has ended when the name goes, and
/// fakeroot tells another user.
#ifdef SYS_newfstatat
bool look_at(const char* path, struct stat& found) noexcept {
  return system_call(SYS_newfstatat, AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW) == 0;
}
uid_t user() noexcept { return static_cast<uid_t>(system_call(SYS_geteuid)); }
#else
bool look_at(const char* path, struct stat& found) noexcept { return ::lstat(path, &found) == 0; }
uid_t user() noexcept { return ::geteuid(); }
#endif

/// Effects: makes the folder if it is not there. Returns: null, or why it is not one that its owner
/// alone can enter.
const char* why_not_private(const char* folder) noexcept {
  if (::mkdir(folder, 0700) != 0 && errno != EEXIST) return describe_error(errno);
  struct stat found{};
  if (!look_at(folder, found)) return describe_error(errno);
  if (!S_ISDIR(found.st_mode)) return "its folder is a link or a file: remove that";
  if (found.st_uid != user()) return "its folder belongs to another user: name a path of yours";
  if ((found.st_mode & 077) != 0) return "others may enter its folder: chmod 700 it";
  return nullptr;
}

sockaddr_un address_of(const char* path) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path, std::min(std::strlen(path), sizeof address.sun_path - 1));
  return address;
}
const sockaddr* as_address(const sockaddr_un& address) noexcept {
  return reinterpret_cast<const sockaddr*>(&address);
}

/// Returns: the process that listens at the path; 0 where none does.
pid_t listener_at(const sockaddr_un& address) noexcept {
  const int asking = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (asking < 0) return 0;
  ucred peer{};
  socklen_t size = sizeof peer;
  pid_t found = 0;
  const bool has_room = ::connect(asking, as_address(address), sizeof address) == 0;
  if (has_room && ::getsockopt(asking, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
    found = peer.pid;
  else if (errno == EAGAIN)  // it listens, and many ask
    found = -1;
  ::close(asking);
  return found;
}

/// Effects: removes the sockets that dead processes have left in the folder of `own`. A process
/// that was killed or left by _exit removes none. One of another container has a number that means
/// nothing here, but it listens.
void remove_left_over(const char* own) noexcept {
  char path[sizeof(sockaddr_un::sun_path)];
  const auto folder_bytes = static_cast<std::size_t>(std::strrchr(own, '/') + 1 - own);
  std::memcpy(path, own, folder_bytes);
  path[folder_bytes] = '\0';
  DIR* const folder = ::opendir(path);
  if (folder == nullptr) return;
  while (const dirent* const each = ::readdir(folder)) {
    char* end = nullptr;
    const long pid = std::strtol(each->d_name, &end, 10);
    if (pid <= 0 || std::strncmp(end, protocol::name_end, sizeof protocol::name_end - 1) != 0)
      continue;
    text_writer name(path + folder_bytes, sizeof path - folder_bytes - 1);
    name << each->d_name;
    path[folder_bytes + name.size()] = '\0';
    const bool is_dead = ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
    if (is_dead && listener_at(address_of(path)) == 0) ::unlink(path);
  }
  ::closedir(folder);
}

// ---- clients ------------------------------------------------------------------------------------

constexpr int clients_max = 8;
constexpr std::uint64_t second_ns = 1'000'000'000;
/// So long a client may take to send its request, and to read the answer.
constexpr std::uint64_t request_ns_max = 2 * second_ns;
constexpr std::uint64_t answer_ns_max = 10 * second_ns;
/// The thread rests for so long when the system has no room for another client, or lets it wait for
/// none.
constexpr int rest_ms = 200;

constexpr char no_memory[] = "ashlar 1 error 0000000000000033\nthe process gets no memory for it";
static_assert(sizeof no_memory == protocol::head_bytes + 33 + 1);

/// One connection. There is one request in it, and one answer.
struct client {
  int file = 0;  ///< 0: free
  std::size_t peer = 0;
  std::uint64_t until_ns = 0;
  std::size_t used = 0;    ///< bytes of the request
  char* memory = nullptr;  ///< the answer, if it has to be freed
  const char* answer = nullptr;
  std::size_t size = 0, sent = 0;
  char request[protocol::request_bytes_max];

  void drop() noexcept {
    ::close(file);
    std::free(memory);
    file = 0;
    used = size = sent = 0;
    answer = memory = nullptr;
  }
};

/// Effects: writes what is to be said of the request, a line. Returns: as a control_handler.
bool answer_line(client& c, control_handler handler, std::FILE* out) noexcept {
  constexpr std::string_view begin = protocol::word;
  char* rest = nullptr;
  const bool is_request = std::strncmp(c.request, begin.data(), begin.size()) == 0;
  const unsigned long version = is_request ? std::strtoul(c.request + begin.size(), &rest, 10) : 0;
  if (version == 0 || *rest != ' ') {
    std::fprintf(out, "a request begins with 'ashlar %u '", protocol::version);
    return false;
  }
  if (version != protocol::version) {
    std::fprintf(
        out,
        "the process has version %u of the protocol, the request version %lu: use the command "
        "of the library's release",
        protocol::version, version);
    return false;
  }
  return handler(rest + 1, c.peer, out);
}

/// Effects: makes the answer to a whole request.
void make_answer(client& c, control_handler handler) noexcept {
  c.until_ns = steady_ns() + answer_ns_max;
  c.answer = no_memory;
  c.size = sizeof no_memory - 1;
  std::FILE* const out = ::open_memstream(&c.memory, &c.size);
  if (out == nullptr) return;
  char head[protocol::head_bytes + 1];
  std::memset(head, ' ', sizeof head);
  std::fwrite(head, 1, protocol::head_bytes, out);
  const bool done = answer_line(c, handler, out);
  const bool is_whole = std::ferror(out) == 0;
  if (std::fclose(out) != 0 || !is_whole) {
    c.size = sizeof no_memory - 1;
    return;
  }
  std::snprintf(head, sizeof head, "%s%u %-5s %016zu\n", protocol::word, protocol::version,
                done ? "ok" : "error", c.size - protocol::head_bytes);
  std::memcpy(c.memory, head, protocol::head_bytes);
  c.answer = c.memory;
}

/// Effects: sends what the client takes now.
void send_on(client& c) noexcept {
  const auto sent = ::send(c.file, c.answer + c.sent, c.size - c.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (sent > 0) c.sent += static_cast<std::size_t>(sent);
  if (sent < 0 || c.sent == c.size) c.drop();
}

/// Effects: takes what has come of the request. Once that is whole, it is answered.
void receive(client& c, control_handler handler) noexcept {
  const auto got = ::recv(c.file, c.request + c.used, sizeof c.request - c.used, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return c.drop();
  char* const fresh = c.request + c.used;
  c.used += static_cast<std::size_t>(got);
  auto* const end = static_cast<char*>(std::memchr(fresh, '\n', static_cast<std::size_t>(got)));
  if (end == nullptr && c.used < sizeof c.request) return;
  // A line that is too long is cut. No request is so long, so it is refused.
  *(end != nullptr ? end : c.request + sizeof c.request - 1) = '\0';
  make_answer(c, handler);
  send_on(c);
}

/// Effects: takes a client in. One of another user is sent away.
void accept_client(int listener, client* clients) noexcept {
  const int file = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (file < 0) {
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      static_cast<void>(::poll(nullptr, 0, rest_ms));
    return;
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  client* const free =
      std::find_if(clients, clients + clients_max, [](const client& c) { return c.file == 0; });
  if (free == clients + clients_max ||
      ::getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      (peer.uid != ::geteuid() && peer.uid != 0)) {
    ::close(file);
    return;
  }
  free->file = file;
  free->peer = static_cast<std::size_t>(peer.pid);
  free->until_ns = steady_ns() + request_ns_max;
}

/// Returns: how long to sleep until a client has taken too long, in ms; -1: there is none.
int wait_ms(const client* clients) noexcept {
  std::uint64_t until = UINT64_MAX;
  for (int i = 0; i < clients_max; ++i)
    if (clients[i].file != 0) until = std::min(until, clients[i].until_ns);
  if (until == UINT64_MAX) return -1;
  const std::uint64_t now = steady_ns();
  return until <= now ? 0 : static_cast<int>((until - now) / 1'000'000 + 1);
}

constexpr const char* too_long = "the path is too long for a socket: 94 bytes are the most";
static_assert(control_socket::path_bytes_max == 94);

}  // namespace

control_socket::opening control_socket::choose_path(const control_place& at) noexcept {
  const auto put = [this](const char* pattern) {
    return expand_path(pattern, path_, path_bytes_max + 1) ? 0 : ENAMETOOLONG;
  };
  if (at.pattern != nullptr) {
    char with_number[path_max];
    text_writer text(with_number, sizeof with_number);
    text << at.pattern << (at.is_forked && !has_place(at.pattern, 'p') ? ".%p" : "");
    if (text.size() == sizeof with_number) return {ENAMETOOLONG, too_long};
    with_number[text.size()] = '\0';
    return put(with_number) == 0 ? opening{} : opening{ENAMETOOLONG, too_long};
  }
  const auto in_folder = [&](std::string_view parent, std::size_t number) -> const char* {
    text_writer text(path_, sizeof path_);
    text << parent;
    if (number != SIZE_MAX) text << number;
    if (text.size() + 32 > sizeof path_) return too_long;
    path_[text.size()] = '\0';
    const char* const why = why_not_private(path_);
    text << "/" << process_number() << protocol::name_end;
    path_[text.size()] = '\0';
    return why;
  };
  if (at.runtime_folder[0] == '/') {
    char own[path_max];
    text_writer text(own, sizeof own);
    text << at.runtime_folder << protocol::runtime_subfolder;
    if (in_folder({own, text.size()}, SIZE_MAX) == nullptr) return {};
  }
  const char* const why = in_folder(protocol::shared_folder, ::geteuid());
  return why == nullptr ? opening{} : opening{EACCES, why};
}

control_socket::opening control_socket::listen_at_name() noexcept {
  // The socket has another name until it listens, so nobody finds one that refuses its clients.
  // It is the thread's own, and of the kind that remove_left_over finds.
  char before[path_max];
  text_writer text(before, sizeof before);
  text << std::string_view(path_, static_cast<std::size_t>(std::strrchr(path_, '/') + 1 - path_))
       << static_cast<std::size_t>(thread_.load(std::memory_order_relaxed)) << protocol::name_end
       << "~";
  before[text.size()] = '\0';
  struct stat own{};
  if (look_at(before, own) && S_ISSOCK(own.st_mode)) ::unlink(before);
  const sockaddr_un address = address_of(before);
  if (::bind(listener_, as_address(address), sizeof address) != 0)
    return {errno, describe_error(errno)};
  opening result;
  if (::listen(listener_, 64) != 0 || !look_at(before, own))
    result = {errno, describe_error(errno)};
  else
    result = give_name(before);
  ::unlink(before);
  device_ = own.st_dev;
  file_ = own.st_ino;
  is_named_.store(result.error == 0, std::memory_order_release);
  return result;
}

control_socket::opening control_socket::give_name(const char* before) noexcept {
  if (::link(before, path_) == 0) return {};
  struct stat there{};
  if (errno == EEXIST && look_at(path_, there)) {
    if (!S_ISSOCK(there.st_mode))
      return {EEXIST, "a file is there that is no socket: name another path"};
    const pid_t other = listener_at(address_of(path_));
    // Another copy of the library in this process has opened it: that is what was wanted.
    if (other == static_cast<pid_t>(process_number())) return {EADDRINUSE, nullptr};
    if (other != 0)
      return {EADDRINUSE, "another process has it: %p in the path becomes the process's number"};
  }
  // A dead process has left it, or the system makes no second name here.
  if (::rename(before, path_) == 0) return {};
  return {errno, describe_error(errno)};
}

control_socket::opening control_socket::open(const control_place& at) noexcept {
  thread_.store(static_cast<int>(system_call(SYS_gettid)), std::memory_order_relaxed);
  if (!leave_descriptors())
    return {ENOSYS, "the system lets no thread have descriptors of its own (close_range, unshare)"};
  fill_streams();
  opening result = choose_path(at);
  if (result.error != 0) return result;
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sigset_t bell;
  sigemptyset(&bell);
  sigaddset(&bell, bell_signal);
  ::pthread_sigmask(SIG_BLOCK, &bell, nullptr);  // as a service thread does with all
  bell_ = ::signalfd(-1, &bell, SFD_CLOEXEC | SFD_NONBLOCK);
  if (listener_ < 0 || bell_ < 0) return {errno, describe_error(errno)};
  // The name gets these rights; the mask of the process is not touched.
  if (::fchmod(listener_, 0600) != 0) return {errno, describe_error(errno)};
  result = listen_at_name();
  if (result.error == 0 && at.pattern == nullptr) remove_left_over(path_);
  return result;
}

void control_socket::serve(control_handler answer, const std::atomic<bool>& must_end) noexcept {
  empty_streams();
  client clients[clients_max];
  pollfd polled[clients_max + 2];
  bool hears_bell = true;
  while (!must_end.load(std::memory_order_acquire)) {
    // No more entries than are needed: RLIMIT_NOFILE bounds their number.
    pollfd* end = polled + 2;
    for (const client& c : clients)
      if (c.file != 0) *end++ = {c.file, c.answer != nullptr ? short{POLLOUT} : short{POLLIN}, 0};
    pollfd& calls = polled[0];
    pollfd& bell = polled[1];
    calls = {end != std::end(polled) ? listener_ : -1, POLLIN, 0};
    bell = {hears_bell ? bell_ : -1, POLLIN, 0};
    if (::poll(polled, static_cast<nfds_t>(end - polled), wait_ms(clients)) < 0) {
      if (errno != EINTR) static_cast<void>(::poll(nullptr, 0, rest_ms));
      continue;
    }
    // Pending for the whole process, and not for this thread: it is the program's.
    if (bell.revents != 0 && !must_end.load(std::memory_order_acquire)) hears_bell = false;
    const std::uint64_t now = steady_ns();
    const pollfd* next = polled + 2;
    for (client& c : clients) {
      if (c.file == 0) continue;
      if (next++->revents != 0)
        c.answer != nullptr ? send_on(c) : receive(c, answer);
      else if (now >= c.until_ns)
        c.drop();
    }
    if (calls.revents != 0) accept_client(listener_, clients);
  }
  for (client& c : clients)
    if (c.file != 0) c.drop();
  remove_name();
  ::close(listener_);
  ::close(bell_);
}

void control_socket::wake() noexcept {
  const int saved = errno;
  system_call(SYS_tgkill, process_number(), thread_.load(std::memory_order_relaxed), bell_signal);
  errno = saved;
}

void control_socket::remove_name() noexcept {
  if (!is_named_.exchange(false, std::memory_order_acq_rel)) return;
  const int saved = errno;
  struct stat there{};
  if (look_at(path_, there) && there.st_dev == device_ && there.st_ino == file_) ::unlink(path_);
  errno = saved;
}

void let_trace(std::size_t process) noexcept {
  static_cast<void>(::prctl(PR_SET_PTRACER, process, 0, 0, 0));
}

}  // namespace ashlar::os
