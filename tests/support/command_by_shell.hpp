// support/command_by_shell.hpp: the ashlar command as a user types it, with a folder for its files.
// Requires: ASHLAR_COMMAND, the command's path.
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <tests/support/test_folder.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace support {

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
  // With status 2 and a message that has `named` in it; no file comes of it.
  void expect_refused(const std::string& words, const std::string& named) const {
    const std::size_t files = count_files();
    const ended result = ashlar(words);
    EXPECT_EQ(result.status, 2) << words << '\n' << result.said;
    EXPECT_NE(result.said.find(named), std::string::npos) << words << '\n' << result.said;
    EXPECT_EQ(count_files(), files) << words << ": a file was left";
  }
};

}  // namespace support
