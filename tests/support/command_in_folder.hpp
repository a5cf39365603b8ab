// support/command_in_folder.hpp: the ashlar command, started with words in a folder that has its streams as files.
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
  // Those of a line, with blanks between them.
  words(const std::string& line) {
    std::istringstream all(line);
    for (std::string word; all >> word;) push_back(word);
  }
  words(const char* line) : words(std::string(line)) {}
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
                            : ::open(output_, O_WRONLY | O_CREAT | O_TRUNC, 0600),
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
  const char* output_ = "out";    // the file that is its standard output
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

// A command whose messages count, on whichever stream they are.
class CommandThatSays : public CommandInFolder {
 protected:
  // It has to end with this status. Returns: what it said on both streams.
  std::string done(const words& line, int status = 0, place at = place::current()) const {
    const finished_command ended = command(line, status, at);
    return ended.out + ended.err;
  }
  // With status 2 and a message that has `named` in it; no file comes of it.
  void expect_refused(const words& line, const std::string& named,
                      place at = place::current()) const {
    const std::vector<std::string> before = files();
    has(done(line, 2, at), named, at);
    EXPECT_EQ(files(), before) << named << ": a file was left";
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
