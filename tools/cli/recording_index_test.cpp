#include "tools/cli/recording_index.hpp"

#include <nlohmann/json.hpp>
#include <tests/support/test_headers.hpp>

#include "tools/cli/chosen_trace.hpp"
#include "tools/cli/error.hpp"
#include "tools/files/files.hpp"
#include "tools/trace/trace_files_test.hpp"

namespace ashlar::cli {
namespace {

using namespace trace::test;

recorded_process process(std::uint32_t pid, const std::string& name) {
  recorded_process p;
  p.pid = pid;
  p.images.push_back({"/usr/bin/" + name, {name, "-v"}});
  p.is_recorded = true;
  return p;
}

// Two processes of a second each. The first one holds 100 bytes until it ends after half of it.
struct folder_of_two {
  files::scratch_directory folder;
  recording_index index;

  folder_of_two() {
    write("a.atrace", {birth(1, 100'000, 0x1000, 1000), death(1, 250'000, 0x1000),
                       birth(1, 250'001, 0x2000, 100)});
    write("b.atrace", {birth(1, 200'000, 0x1000, 500), birth(1, 900'000, 0x2000, 3000)});
    index.seconds = 1;
    index.processes = {process(10, "a"), process(11, "b"), process(12, "c")};
    index.processes[0].trace = "a.atrace";
    index.processes[0].end_seconds = 0.5;
    index.processes[1].trace = "b.atrace";
    index.processes[2].is_recorded = false;
    count_processes(index, folder.path());
  }
  void write(const std::string& name, const std::vector<trace::event>& events,
             const std::string& recording = "0123456789abcdef", std::uint64_t pid = 0) const {
    trace::trace_header header = trace::test::header();
    if (!recording.empty()) header.set(trace::header_name::recording, recording);
    if (pid != 0) header.set(trace::header_name::pid, pid);
    std::ofstream(folder.path() + "/" + name, std::ios::binary)
        << trace::test::written(events, 1000, header);
  }
  void write_index(const nlohmann::json& json) const {
    std::ofstream(folder.path() + "/" + index_file_name) << json.dump();
  }
};

TEST(RecordingIndex, WhatLivedInAllProcessesIsSummedByTime) {
  const folder_of_two of;
  const auto& sums = of.index.bytes_over_time;
  ASSERT_EQ(sums.size(), 200u);
  const auto at = [&](double seconds) { return sums[static_cast<std::size_t>(seconds * 200)]; };
  EXPECT_EQ(at(0.05), 0u);
  EXPECT_EQ(at(0.15), 1000u);
  EXPECT_EQ(at(0.22), 1500u);
  EXPECT_EQ(at(0.3), 600u);
  EXPECT_EQ(at(0.6), 500u);  // the first one's memory went with it
  EXPECT_EQ(at(0.95), 3500u);
  EXPECT_EQ(of.index.peak_bytes(), 3500u);
  EXPECT_NEAR(of.index.peak_seconds(), 0.905, 0.001);
  EXPECT_EQ(of.index.processes[0].allocated_bytes, 1100u);
  EXPECT_EQ(of.index.processes[0].peak_bytes, 1000u);
  EXPECT_EQ(of.index.processes[0].held_bytes, 100u);
}

TEST(RecordingIndex, WhatIsWrittenIsRead) {
  folder_of_two of;
  of.index.processes[1].images.push_back({"/usr/bin/d", {}});
  of.index.processes[1].exit_status = 3;
  of.index.memory = {0.5, 2, 300, 200, {0.1, 0.5}, {150, 200}};
  of.index.processes[1].proportional_bytes = 120;
  nlohmann::json older = index_json(of.index);
  older.erase("memory_together");
  of.write_index(older);
  EXPECT_EQ(read_index(of.folder.path()).memory.processes, 0u);
  of.write_index(index_json(of.index));
  const recording_index read = read_index(of.folder.path());
  EXPECT_EQ(index_json(read), index_json(of.index));
  EXPECT_TRUE(read.warning.empty());
  EXPECT_EQ(read.processes[1].name(), "d");
  for (const char* name : {"b", "d", "11"}) EXPECT_TRUE(read.processes[1].is_called(name)) << name;
  EXPECT_FALSE(read.processes[1].is_called("1"));
}

TEST(RecordingIndex, WithoutAnIndexItIsWhatTheTracesSay) {
  const folder_of_two of;
  const recording_index read = read_index(of.folder.path());
  EXPECT_EQ(read.warning.find("killed"), std::string::npos) << read.warning;
  ASSERT_EQ(read.processes.size(), 2u);
  EXPECT_EQ(read.processes[0].name(), "program");
  EXPECT_EQ(read.processes[1].allocated_bytes, 3500u);
  EXPECT_EQ(read.peak_bytes(), of.index.peak_bytes());
  EXPECT_NEAR(read.processes[1].end_seconds.value_or(0), 0.9, 1e-6);
}

TEST(RecordingIndex, TracesOfSeveralRecordingsAreNotOneTree) {
  for (const char* other : {"00112233445566aa", ""}) {
    const folder_of_two of;
    const std::vector<trace::event> events = {birth(1, 500'000, 0x1000, 3000)};
    of.write("c.atrace", events, other, 12);
    of.write("d.atrace", events, other, 13);
    recording_index read = read_index(of.folder.path());
    EXPECT_EQ(read.processes.size(), 2u);
    EXPECT_EQ(read.peak_bytes(), 3500u);
    const char* const said = *other != '\0' ? "of 2 recordings" : "of 3 recordings";
    EXPECT_NE(read.warning.find(said), std::string::npos) << read.warning;
    EXPECT_EQ(read.warning.find("killed"), std::string::npos) << read.warning;
    read = read_index(of.folder.path(), "13");
    EXPECT_EQ(read.processes.size(), *other != '\0' ? 2u : 1u);
    EXPECT_TRUE(read.processes.back().is_called("13"));
    EXPECT_EQ(read.peak_bytes(), *other != '\0' ? 6000u : 3000u);
  }
}

TEST(RecordingIndex, WhatIsDamagedIsNamed) {
  const folder_of_two of;
  const nlohmann::json whole = index_json(of.index);
  for (const char* name :
       {"schema", "command", "seconds", "bytes_over_time", "memory_together", "processes"}) {
    nlohmann::json damaged = whole;
    damaged[name] = nlohmann::json::array({-1.5e40});
    of.write_index(damaged);
    EXPECT_THROW(static_cast<void>(read_index(of.folder.path())), input_error) << name;
  }
  for (const auto& [name, value] : whole.at("processes").at(0).items()) {
    nlohmann::json damaged = whole;
    damaged["processes"][0][name] = nlohmann::json::array({-1.5e40});
    of.write_index(damaged);
    EXPECT_THROW(static_cast<void>(read_index(of.folder.path())), input_error) << name;
  }
}

// Of a server with many workers, these have most, though another process is larger.
TEST(ChosenTrace, TheFirstIsOfTheProgramThatHadMostTogether) {
  folder_of_two of;
  of.index.processes.push_back(of.index.processes[1]);
  of.index.processes[0].resident_bytes = 3000;
  for (std::size_t i : {1u, 3u}) of.index.processes[i].resident_bytes = 2000;
  EXPECT_EQ(places_by_memory(of.index).front(), 0u);
  EXPECT_EQ(like_first(of.index), of.index.processes[0].name());
  of.index.processes[0].proportional_bytes = 2000;
  of.index.processes[1].proportional_bytes = 1600;
  of.index.processes[3].proportional_bytes = 1300;
  EXPECT_EQ(places_by_memory(of.index).front(), 0u) << "they had less together";
  of.index.processes[3].proportional_bytes = 1700;
  EXPECT_EQ(places_by_memory(of.index), (std::vector<std::size_t>{3, 0, 1, 2}));
  EXPECT_EQ(like_first(of.index),
            of.index.processes[1].name() + " (2 processes, " + format_bytes(3300) + ")");
}

TEST(ChosenTrace, TheTableSaysWhatAProgramWasToDo) {
  folder_of_two of;
  of.index.processes[0].images.back().arguments = {"git", "repack", "-d"};
  of.index.processes[1].images.back().arguments = {"python3", "/home/me/work.py"};
  of.index.processes[2].images.back().arguments = {"sh", std::string(25, 'x')};
  of.index.processes[2].allocated_bytes = 1000;  // so that it has a row
  const std::string text = render_tree(of.index, "x", 10);
  for (const char* label : {"  git repack  ", "  python3 work.py  ", "  sh  "})
    EXPECT_NE(text.find(label), std::string::npos) << label << text;
}

TEST(ChosenTrace, TheTableHasTheLargestFirstAndFoldsLaunchers) {
  folder_of_two of;
  of.index.processes[0].allocated_bytes = 10;
  of.index.processes[1].allocated_bytes = 960;
  of.index.processes[2].allocated_bytes = 8;  // below 1 %
  const std::string text = render_tree(of.index, "x", 10);
  EXPECT_NE(text.find("processes      3 in 1.000 s"), std::string::npos) << text;
  EXPECT_LT(text.find("960 B"), text.find("10 B")) << text;
  EXPECT_NE(text.find("and 1 more"), std::string::npos) << text;
  EXPECT_NE(render_tree(of.index, "x", 1).find("and 2 more"), std::string::npos);
}

}  // namespace
}  // namespace ashlar::cli
