// support/process.hpp: runs a program and keeps what it wrote and how it ended.
#pragma once

#include <array>
#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace support {

struct outcome {
  bool exited = false;  ///< by itself, with `code`; otherwise by the signal `code`
  int code = 0;
  std::string out, err;
};

/// Returns: what has to stand before a program of this build to run it: nothing, or an emulator and its arguments.
inline std::vector<std::string> emulator() {
  std::vector<std::string> words;
#ifdef ASHLAR_EMULATOR
  std::istringstream list(ASHLAR_EMULATOR);
  for (std::string word; list >> word;) words.push_back(word);
#endif
  return words;
}

/// Effects: runs `program_and_arguments` with the caller's environment and `environment` ("NAME=value") added,
/// waits for its end. A program that hangs is ended by SIGALRM after `seconds`.
inline outcome run(const std::vector<std::string>& program_and_arguments,
                   const std::vector<std::string>& environment, unsigned seconds) {
  std::vector<std::string> arguments = emulator();
  arguments.insert(arguments.end(), program_and_arguments.begin(), program_and_arguments.end());
  std::vector<char*> argument_list, environment_list;
  for (const std::string& s : arguments) argument_list.push_back(const_cast<char*>(s.c_str()));
  argument_list.push_back(nullptr);
  for (const std::string& s : environment) environment_list.push_back(const_cast<char*>(s.c_str()));
  for (char** entry = environ; *entry != nullptr; ++entry) environment_list.push_back(*entry);
  environment_list.push_back(nullptr);

  int pipes[2][2];
  for (auto& ends : pipes) {
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  }
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) {
    ::dup2(pipes[0][1], STDOUT_FILENO);
    ::dup2(pipes[1][1], STDERR_FILENO);
    ::alarm(seconds);
    ::execve(argument_list[0], argument_list.data(), environment_list.data());
    ::_exit(127);
  }
  outcome result;
  std::string* const texts[2] = {&result.out, &result.err};
  std::array<pollfd, 2> waiting{};
  for (std::size_t i = 0; i < 2; ++i) {
    ::close(pipes[i][1]);
    waiting[i] = {pipes[i][0], POLLIN, 0};
  }
  for (int open = 2; open > 0;) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
    for (std::size_t i = 0; i < 2; ++i) {
      if (waiting[i].revents == 0) continue;
      char bytes[4096];
      const auto length = ::read(waiting[i].fd, bytes, sizeof bytes);
      if (length > 0) {
        texts[i]->append(bytes, static_cast<std::size_t>(length));
      } else {
        waiting[i].fd = -1;
        --open;
      }
    }
  }
  for (const auto& ends : pipes) ::close(ends[0]);
  int status = 0;
  if (::waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid");
  result.exited = WIFEXITED(status);
  result.code = result.exited ? WEXITSTATUS(status) : WTERMSIG(status);
  return result;
}

}  // namespace support
