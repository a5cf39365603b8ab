#include "tools/cli/process_files.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

#include "tools/cli/trace_files.hpp"
#include "tools/files/files.hpp"

namespace ashlar::cli {
namespace {

TEST(ProcessFiles, TheProgramsHasTheNameItself) {
  EXPECT_EQ(path_for_process("run.atrace", 7, 7), "run.atrace");
  EXPECT_EQ(path_for_process("run.atrace", 8, 7), "run.8.atrace");
  EXPECT_EQ(path_for_process("a/b.c/run.x.aprof", 8, 7), "a/b.c/run.x.8.aprof");
  EXPECT_EQ(path_for_process("a.b/run", 8, 7), "a.b/run.8");
}

TEST(ProcessFiles, OtherProcessesLeaveAloneWhatIsNoneOfTheirKind) {
  const files::scratch_directory folder;
  const std::string output = folder.path() + "/run.atrace";
  const auto name = [&] { return free_path_for_process(output, 8, 7, "magic"); };
  EXPECT_EQ(name(), folder.path() + "/run.8.atrace");
  std::ofstream(folder.path() + "/run.8.atrace") << "magic and more";
  EXPECT_EQ(name(), folder.path() + "/run.8.atrace");
  std::ofstream(folder.path() + "/run.8.atrace") << "notes";
  EXPECT_EQ(name(), folder.path() + "/run.8.2.atrace");
  std::filesystem::create_directory(folder.path() + "/run.8.2.atrace");
  EXPECT_EQ(name(), folder.path() + "/run.8.3.atrace");
}

TEST(TraceFiles, NothingThatIsThereIsWrittenOver) {
  const files::scratch_directory folder;
  const std::string output = folder.path() + "/run.atrace";
  const auto write = [](const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  };
  const auto read = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  write(output + ".7.part", "of a recorder that was killed");
  write(folder.path() + "/victim", "precious");
  std::filesystem::create_symlink("victim", output + ".8.part");
  write(folder.path() + "/run.8.atrace", "notes");
  {
    trace_files files(output);
    for (const std::uint32_t pid : {7u, 8u}) files.open(pid)("a trace");
    files.open(9);
    EXPECT_EQ(files.unfinished(),
              (std::vector<std::string>{output + ".7.2.part", output + ".8.2.part"}));
    EXPECT_EQ(files.commit(7, 7).path, output);
    EXPECT_EQ(files.commit(8, 7).path, folder.path() + "/run.8.2.atrace");
    files.open(10)("half a trace");
  }
  EXPECT_EQ(read(output + ".7.part"), "of a recorder that was killed");
  EXPECT_EQ(read(folder.path() + "/victim"), "precious");
  EXPECT_EQ(read(folder.path() + "/run.8.atrace"), "notes");
  EXPECT_EQ(read(folder.path() + "/run.8.2.atrace"), "a trace");
  EXPECT_EQ(read(output + ".10.part"), "half a trace");
  EXPECT_FALSE(std::filesystem::exists(output + ".9.part"));  // it had nothing
}

}  // namespace
}  // namespace ashlar::cli
