// A certificate of the tuner is true, and one in which any number is another is refused.
#include "tools/verify/verify.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tools/trace/writer.hpp"
#include "tools/tune/certificate.hpp"
#include "tools/tune/file_digest.hpp"

namespace ashlar::verify {
namespace {

using nlohmann::json;

// A trace of random births and deaths, a few blocks over-aligned and a few large.
void write_trace(const std::string& path, std::uint32_t seed) {
  std::ofstream file(path, std::ios::binary);
  trace::trace_header header;
  header.set(trace::header_name::ticks_per_second, 1'000'000'000);
  trace::trace_writer out([&](std::string_view bytes) { file << bytes; }, header);
  std::mt19937 random(seed);
  std::vector<std::uint64_t> live;
  std::uint64_t next = 4096;
  for (std::uint64_t time = 1; time < 1500; ++time) {
    trace::event e;
    e.thread = 1;
    e.time = time * 1000;
    if (live.empty() || random() % 100 < 40 + 20 * (time / 100 % 2)) {
      e.kind = trace::event_kind::by_malloc;
      e.size = random() % 20 == 0 ? random() % 5000 : random() % 200;
      e.alignment = random() % 30 == 0 ? 128 : 0;
      e.address = next;
      next += 8192;
      live.push_back(e.address);
    } else {
      e.kind = trace::event_kind::from_free;
      const std::size_t which = random() % live.size();
      e.address = live[which];
      live[which] = live.back();
      live.pop_back();
    }
    out.add(e);
  }
  out.close();
}

class Verify : public testing::Test {
 protected:
  Verify() : folder_(fmt::format("{}/ashlar-verify-{}", testing::TempDir(), ::getpid())) {
    std::filesystem::create_directory(folder_);
    for (std::uint32_t seed = 1; seed <= 2; ++seed) {
      traces_.push_back(fmt::format("{}/{}.atrace", folder_, seed));
      write_trace(traces_.back(), seed);
    }
  }
  ~Verify() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string certificate(const tune::tuning_request& request) const {
    tune::certified_tuning result;
    result.read_as.largest = 4000;
    result.read_as.kept = tune::workload_builder::keep::needs_and_slots;
    result.margin_percent = request.margin_percent;
    result.borrow = request.borrow;
    tune::traced_workload read = tune::read_traces(traces_, result.read_as);
    result.traces = read.traces;
    result.made = tune::tune_static(read.load, request);
    return tune::certificate(result);
  }

  // Returns: why it is refused; empty: it is true.
  static std::string why_refused(const std::string& text,
                                 const std::vector<std::string>& files = {}) {
    try {
      verify(text, files, [](std::string_view) {});
    } catch (const refused& error) {
      return error.what();
    }
    return "";
  }

  static std::string sealed(json all) {
    all.erase("seal");
    all["seal"] = tune::sha256_of(all.dump());
    return all.dump();
  }

  std::string folder_;
  std::vector<std::string> traces_;
};

// The paths of all numbers, as JSON pointers.
std::vector<json::json_pointer> numbers_of(const json& all) {
  std::vector<json::json_pointer> found;
  const json flat = all.flatten();
  for (const auto& [path, value] : flat.items()) {
    if (value.is_number()) found.emplace_back(path);
  }
  return found;
}

std::vector<tune::tuning_request> requests() {
  std::vector<tune::tuning_request> all(4);
  all[1].classes = 3;
  all[2].margin_percent = 10;
  all[3].borrow = true;
  return all;
}

TEST_F(Verify, WhatTheTunerClaimsIsTrue) {
  for (const tune::tuning_request& request : requests())
    EXPECT_EQ(why_refused(certificate(request)), "");
}

TEST_F(Verify, AnyOtherNumberBreaksTheSeal) {
  for (const tune::tuning_request& request : requests()) {
    const json all = json::parse(certificate(request));
    ASSERT_GT(numbers_of(all).size(), 50u);
    for (const json::json_pointer& path : numbers_of(all)) {
      for (const int change : {-1, 1}) {
        json changed = all;
        changed[path] = all[path].get<std::uint64_t>() + static_cast<std::uint64_t>(change);
        EXPECT_NE(why_refused(changed.dump()), "") << path;
      }
    }
  }
}

// With a seal that fits, what is claimed is still worked out. Only two things may differ a little and leave it true:
// a moment beside one of the witness, and how large a request must be to be left out.
TEST_F(Verify, AnyOtherNumberIsRefusedUnderANewSealToo) {
  for (const tune::tuning_request& request : requests()) {
    const json all = json::parse(certificate(request));
    std::size_t tried = 0;
    for (const json::json_pointer& path : numbers_of(all)) {
      const std::string name = path.to_string();
      if (name.starts_with("/moments/") || name == "/largest") continue;
      for (const int change : {-1, 1}) {
        json changed = all;
        changed[path] = all[path].get<std::uint64_t>() + static_cast<std::uint64_t>(change);
        EXPECT_NE(why_refused(sealed(changed)), "") << name;
        ++tried;
      }
    }
    EXPECT_GT(tried, 40u);
  }
}

TEST_F(Verify, AWitnessThatProvesLessIsRefused) {
  json all = json::parse(certificate({}));
  all["moments"] = json::array({json::array({0, 1})});
  EXPECT_NE(why_refused(sealed(all)), "");
  all["moments"] = json::array({json::array({0, 1'000'000})});
  EXPECT_NE(why_refused(sealed(all)).find("moment"), std::string::npos);
}

TEST_F(Verify, AnotherTraceIsRefused) {
  const std::string text = certificate({});
  EXPECT_EQ(why_refused(text, {traces_[0], traces_[1]}), "");
  EXPECT_NE(why_refused(text, {traces_[1], traces_[0]}).find("sha256"), std::string::npos);
  EXPECT_NE(why_refused(text, {traces_[0]}), "");
  EXPECT_THROW(verify(text, {traces_[0], folder_ + "/none"}, [](std::string_view) {}),
               std::runtime_error);
}

TEST_F(Verify, WhatIsNoCertificateIsRefused) {
  for (const char* text : {"", "{", "[]", "{}", "7", R"({"seal": ""})", R"({"seal": 3})"})
    EXPECT_NE(why_refused(text), "") << text;
  json all = json::parse(certificate({}));
  for (const std::string name : {"certificate", "alignment", "classes", "moments", "traces"}) {
    for (const json& value : {json(-1), json(1e40), json("x"), json::array({7}), json()}) {
      json changed = all;
      changed[name] = value;
      EXPECT_NE(why_refused(sealed(changed)), "") << name << value;
    }
    json without = all;
    without.erase(name);
    EXPECT_NE(why_refused(sealed(without)), "") << name;
  }
}

// The checker is small enough to be read whole.
TEST(VerifyItself, HasAtMostThreeHundredLinesOfCode) {
  std::size_t lines = 0;
  for (const auto& file : std::filesystem::directory_iterator(ASHLAR_VERIFY_FOLDER)) {
    const std::string name = file.path().filename().string();
    if (name.ends_with("_test.cpp") ||
        (file.path().extension() != ".cpp" && file.path().extension() != ".hpp"))
      continue;
    std::ifstream text(file.path());
    for (std::string line; std::getline(text, line);) {
      const std::size_t begin = line.find_first_not_of(' ');
      if (begin != std::string::npos && line.compare(begin, 2, "//") != 0) ++lines;
    }
  }
  EXPECT_GT(lines, 0u);
  EXPECT_LE(lines, 300u);
}

}  // namespace
}  // namespace ashlar::verify
