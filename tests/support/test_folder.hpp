// support/test_folder.hpp: a folder for a test's files, which goes away with it.
#pragma once

#include <tests/support/test_headers.hpp>

namespace support {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void write_file(const std::filesystem::path& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

class TestFolder : public testing::Test {
 protected:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ashlar-test-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) folder_ = name;
  }
  ~TestFolder() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  std::filesystem::path folder_;
};

}  // namespace support
