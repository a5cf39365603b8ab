// tests/trace/command_in_folder.hpp: the ashlar command, run in a folder of its own.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using words = std::vector<std::string>;

class CommandInFolder : public testing::Test {
 protected:
  CommandInFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ashlar-record-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) folder_ = name;
  }
  ~CommandInFolder() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  // Runs the command, in the folder. Returns: the wait status.
  int ashlar(const words& arguments) { return wait_for(start(arguments)); }
  pid_t start(const words& arguments) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    if (::chdir(folder_.c_str()) != 0) ::_exit(125);
    ::dup2(::open("out", O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    ::dup2(::open("err", O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    std::vector<char*> pointers{const_cast<char*>(ASHLAR_COMMAND)};
    for (const std::string& word : arguments) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    ::execv(ASHLAR_COMMAND, pointers.data());
    ::_exit(125);
  }
  static int wait_for(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }
  [[nodiscard]] std::string said(const char* stream) const {
    std::ifstream file(path(stream), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // But for what said() is of.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (name != "out" && name != "err") names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path folder_;
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
