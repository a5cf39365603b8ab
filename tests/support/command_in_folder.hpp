// support/command_in_folder.hpp: the ashlar command, started with words in a folder that has its streams as files, or as a
// user types it into a shell.
// Requires: ASHLAR_COMMAND, the command's path.
#pragma once

#include <source_location>
#include <tests/support/test_folder.hpp>
#include <tests/support/test_headers.hpp>

#include <fcntl.h>

namespace support {

struct words : std::vector<std::string> {
  using vector::vector;
  words(std::vector<std::string> all) : vector(std::move(all)) {}
  friend words operator+(words a, const words& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
};

using place = std::source_location;  // of the line that demands something

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
inline void has(const std::string& text, const std::string& part, place at = place::current()) {
  if (!contains(text, part))
    ADD_FAILURE_AT(at.file_name(), at.line()) << "lacks '" << part << "':\n" << text;
}
inline void lacks(const std::string& text, const std::string& part, place at = place::current()) {
  if (contains(text, part))
    ADD_FAILURE_AT(at.file_name(), at.line()) << "has '" << part << "':\n" << text;
}

struct finished_command {
  int wait_status = 0;
  std::string out;
  std::string err;

  [[nodiscard]] int exit_status() const {
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
  }
  [[nodiscard]] int signal() const { return WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0; }
};

class CommandInFolder : public TestFolder {
 protected:
  CommandInFolder() { std::filesystem::create_directory(path("tmp")); }

  // In a process group of its own. Its standard input is the file "in", empty unless the test wrote it.
  [[nodiscard]] pid_t start(const words& arguments) const {
    std::filesystem::remove(path("out"));  // what an earlier program said is not waited for
    const pid_t child = ::fork();
    if (child != 0) {
      ::setpgid(child, child);
      return child;
    }
    ::setpgid(0, 0);
    if (::chdir(folder_.c_str()) != 0) ::_exit(125);
    ::setenv("TMPDIR", path("tmp").c_str(), 1);
    ::setenv("LC_ALL", "C", 1);
    for (const auto& [name, value] : environment_) ::setenv(name.c_str(), value.c_str(), 1);
    if (pending_signal_ != 0) {
      sigset_t blocked;
      ::sigemptyset(&blocked);
      ::sigaddset(&blocked, pending_signal_);
      ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
      ::raise(pending_signal_);
    }
    ::dup2(::open("in", O_RDONLY | O_CREAT, 0600), 0);
    ::dup2(reader_has_gone_ ? pipe_without_reader()
                            : ::open("out", O_WRONLY | O_CREAT | O_TRUNC, 0600),
           1);
    ::dup2(::open("err", O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    std::vector<char*> pointers{const_cast<char*>(ASHLAR_COMMAND)};
    for (const std::string& word : arguments) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    ::execv(ASHLAR_COMMAND, pointers.data());
    ::_exit(125);
  }
  // Returns: the wait status.
  static int wait_for(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }
  [[nodiscard]] finished_command finish(pid_t child) const {
    const int status = wait_for(child);
    return {status, said("out"), said("err")};
  }
  finished_command command(const words& arguments) const { return finish(start(arguments)); }
  // It has to end with this status.
  finished_command command(const words& arguments, int status, place at = place::current()) const {
    finished_command ended = command(arguments);
    if (ended.exit_status() != status)
      ADD_FAILURE_AT(at.file_name(), at.line())
          << "wait status " << ended.wait_status << ", not exit status " << status << ":\n"
          << ended.out << ended.err;
    return ended;
  }
  // The same. Returns: what it printed.
  std::string done(const words& arguments, int status = 0, place at = place::current()) const {
    return command(arguments, status, at).out;
  }
  int ashlar(const words& arguments) const { return wait_for(start(arguments)); }

  [[nodiscard]] std::string said(const char* stream) const { return read_file(path(stream)); }
  // But for what is there of every command.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name != "in" && name != "out" && name != "err" && name != "tmp") names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  // In its TMPDIR: always.
  [[nodiscard]] bool left_nothing_behind() const { return std::filesystem::is_empty(path("tmp")); }

  std::vector<std::pair<std::string, std::string>> environment_;
  bool reader_has_gone_ = false;  // its standard output is a pipe that nobody reads any more
  int pending_signal_ =
      0;  // waits, blocked, for a command that looks for it: whenever that is, it has come before

 private:
  static int pipe_without_reader() {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(125);
    ::close(ends[0]);
    return ends[1];
  }
};

struct ended {
  int status = -1;
  std::string said;  // on both streams
};

class CommandByShell : public TestFolder {
 protected:
  [[nodiscard]] std::size_t count_files() const {
    const std::filesystem::directory_iterator all(folder_);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  // Runs the command with these words, which a shell reads.
  [[nodiscard]] static ended ashlar(const std::string& words) {
    ended result;
    FILE* const pipe = ::popen(("LC_ALL=C '" ASHLAR_COMMAND "' " + words + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return result;
    std::array<char, 4096> piece{};
    for (std::size_t got = 0; (got = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;)
      result.said.append(piece.data(), got);
    const int status = ::pclose(pipe);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
  }
  static ended ashlar(const std::string& words, int status, place at = place::current()) {
    ended result = ashlar(words);
    if (result.status != status)
      ADD_FAILURE_AT(at.file_name(), at.line())
          << "status " << result.status << ", not " << status << ": " << words << '\n'
          << result.said;
    return result;
  }
  static std::string done(const std::string& words, int status = 0, place at = place::current()) {
    return ashlar(words, status, at).said;
  }
  // With status 2 and a message that has `named` in it; no file comes of it.
  void expect_refused(const std::string& words, const std::string& named) const {
    const std::size_t files = count_files();
    has(done(words, 2), named);
    EXPECT_EQ(count_files(), files) << words << ": a file was left";
  }
};

// Returns: whether it became true within some ten seconds.
template <class Condition>
bool becomes_true(Condition condition) {
  for (int i = 0; i < 5000; ++i) {
    if (condition()) return true;
    ::usleep(2000);
  }
  return condition();
}

}  // namespace support
