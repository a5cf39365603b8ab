// A certificate of the tuner is true, and one in which any number is another is refused.
#include "tools/verify/verify.hpp"

#include <nlohmann/json.hpp>
#include <tests/support/test_folder.hpp>

#include <fmt/format.h>

#include "tools/profile/profile_builder.hpp"
#include "tools/profile/profile_file.hpp"
#include "tools/trace/trace_files_test.hpp"
#include "tools/tune/pool_check.hpp"
#include "tools/tune/pool_files.hpp"

namespace ashlar::verify {
namespace {

using nlohmann::json;

// Random births and deaths, a few blocks over-aligned and a few large.
std::vector<trace::event> random_events(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint64_t> live;
  std::uint64_t next = 4096;
  std::vector<trace::event> all;
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
    all.push_back(e);
  }
  return all;
}

void write_profile(const std::string& path, const std::vector<std::string>& traces) {
  profiling::profile all;
  for (const std::string& trace : traces) {
    trace::trace_reader reader(trace::open_file_source(trace));
    profiling::merge(all, profiling::profile_of(reader));
  }
  support::write_file(path, profiling::encode(all));
}

class Verify : public support::TestFolder {
 protected:
  Verify() {
    for (std::uint32_t seed = 1; seed <= 2; ++seed) {
      traces_.push_back(written(std::to_string(seed), random_events(seed)));
      profiles_.push_back(path(fmt::format("{}.aprof", seed)));
      write_profile(profiles_.back(), {traces_.back()});
    }
    merged_ = path("merged.aprof");
    write_profile(merged_, traces_);
  }

  // Returns: the path of the trace that has these events.
  [[nodiscard]] std::string written(const std::string& name,
                                    const std::vector<trace::event>& all) const {
    support::write_file(path(name + ".atrace"), trace::test::written(all));
    return path(name + ".atrace");
  }

  struct claim {
    std::vector<std::string> files;
    tune::tuning_request request;
    tune::resolution sizes = tune::resolution::exact;
    std::uint64_t largest = 4000;
  };

  [[nodiscard]] std::vector<claim> claims() const {
    std::vector<claim> all(3, {traces_, {}});
    all[1].request.classes = 3;
    all[2].request.margin_percent = 10;
    const tune::resolution profile = tune::resolution::profile;
    all.push_back({traces_, {}, profile});
    all.push_back({profiles_, {}, profile});
    all.push_back({{merged_}, {.classes = 3}, profile});
    all.push_back({{merged_}, {.margin_percent = 10}, profile});
    // The first trace has peaks that the profile of the second does not have.
    all.push_back({{traces_[0], profiles_[1]}, {}, profile});
    return all;
  }

  [[nodiscard]] std::string certificate(const tune::tuning_request& request) const {
    return certificate_of({traces_, request});
  }
  [[nodiscard]] static std::string certificate_of(const claim& of) {
    return tune::certificate(tuned(of));
  }
  [[nodiscard]] static tune::certified_tuning tuned(const claim& of) {
    tune::certified_tuning result;
    result.read_as.largest = of.largest;
    result.read_as.sizes = of.sizes;
    result.margin_percent = of.request.margin_percent;
    tune::input_workload read = tune::read_inputs(of.files, result.read_as);
    result.inputs = read.inputs;
    result.made = tune::tune_static(read.load, of.request);
    return result;
  }

  // Returns: why it is refused, or no certificate at all; empty: it is true.
  static std::string why_refused(const std::string& text,
                                 const std::vector<std::string>& files = {}) {
    try {
      verify(text, files, [](std::string_view) {});
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  // Effects: the class has that many blocks, and all that follows from it is as it would be.
  static void set_capacity(json& all, std::size_t c, std::uint64_t capacity) {
    std::vector<tune::size_class> classes = tune::read_configuration(all.dump()).classes;
    classes[c].capacity = capacity;
    classes[c].bytes = tune::class_bytes({classes[c].block_size, classes[c].alignment}, capacity);
    all["classes"][c]["capacity"] = capacity;
    all["classes"][c]["bytes"] = classes[c].bytes;
    all["total_bytes"] = tune::set_bytes(classes);
  }

  static std::string sealed(json all) {
    all.erase("seal");
    all["seal"] = tune::sha256_of(all.dump());
    return all.dump();
  }

  std::vector<std::string> traces_;
  std::vector<std::string> profiles_;  // each of a trace
  std::string merged_;                 // of all traces
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

TEST_F(Verify, WhatTheTunerClaimsIsTrue) {
  for (const claim& each : claims()) EXPECT_EQ(why_refused(certificate_of(each)), "");
}

TEST_F(Verify, AnyOtherNumberBreaksTheSeal) {
  for (const claim& each : claims()) {
    const json all = json::parse(certificate_of(each));
    const std::vector<json::json_pointer> paths = numbers_of(all);
    ASSERT_GE(paths.size(), 25u);
    for (std::size_t n = 0; n < paths.size(); n += support::step(7u)) {
      for (const int change : {-1, 1}) {
        json changed = all;
        changed[paths[n]] = all[paths[n]].get<std::uint64_t>() + static_cast<std::uint64_t>(change);
        EXPECT_NE(why_refused(changed.dump()), "") << paths[n];
      }
    }
  }
}

// With a seal that fits, what is claimed is still worked out. Only two things may differ a little and leave it true:
// a moment beside one of the witness, and how large a request must be to be left out.
TEST_F(Verify, AnyOtherNumberIsRefusedUnderANewSealToo) {
  for (const claim& each : claims()) {
    const json all = json::parse(certificate_of(each));
    std::size_t tried = 0, passed = 0;
    for (const json::json_pointer& path : numbers_of(all)) {
      const std::string name = path.to_string();
      if (name.starts_with("/moments/") || name == "/largest") continue;
      if (++passed % support::step(5u) != 0) continue;  // each takes ten times as long
      for (const int change : {-1, 1}) {
        json changed = all;
        changed[path] = all[path].get<std::uint64_t>() + static_cast<std::uint64_t>(change);
        EXPECT_NE(why_refused(sealed(changed)), "") << name;
        ++tried;
      }
    }
    EXPECT_GT(tried, support::takes_samples ? 6u : 36u);
  }
}

// The parser keeps the last of two members, and who reads the text may keep the first.
TEST_F(Verify, AMemberThatIsThereTwiceIsRefused) {
  const std::string text = certificate({});
  const std::vector<std::pair<std::string, std::string>> twice{
      {"{", "\"total_bytes\": 1,"}, {"\"classes\": [\n  {", "\"capacity\": 1,"}};
  for (const auto& [first, member] : twice) {
    const std::size_t at = text.find(first);
    ASSERT_NE(at, std::string::npos) << first;
    std::string forged = text;
    forged.insert(at + first.size(), member);
    EXPECT_EQ(json::parse(forged), json::parse(text));
    EXPECT_NE(why_refused(forged).find("changed"), std::string::npos) << member;
  }
}

// Of which seal and numbers take no notice.
TEST_F(Verify, BlanksAreNoChange) {
  const json all = json::parse(certificate({}));
  EXPECT_EQ(why_refused(all.dump()), "");
  EXPECT_EQ(why_refused(all.dump(4, '\t') + "\r\n"), "");
}

TEST_F(Verify, AWitnessThatProvesLessIsRefused) {
  json all = json::parse(certificate({}));
  all["moments"] = json::array({json::array({0, 1})});
  EXPECT_NE(why_refused(sealed(all)), "");
  for (const json& none : {json{0, 1'000'000}, json{2, 0}, json{0, 1, 1}}) {
    all["moments"] = json::array({none});
    EXPECT_NE(why_refused(sealed(all)).find("there is no moment"), std::string::npos) << none;
  }
}

// Before anything is worked out with it.
TEST_F(Verify, WhatNoCertificateCanHaveIsRefused) {
  const auto why = [](const claim& of, const std::string& pointer, const json& value) {
    json changed = json::parse(certificate_of(of));
    changed[json::json_pointer(pointer)] = value;
    return why_refused(sealed(changed));
  };
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, json>>{{"/spill", "take_larger"},
                                                 {"/resolution", "coarse"},
                                                 {"/alignment", 0},
                                                 {"/alignment", 24},
                                                 {"/alignment", 1 << 21},
                                                 {"/margin_percent", 10'001}})
    EXPECT_NE(why({traces_, {}}, name, value).find("there is no such"), std::string::npos)
        << name << value;
  EXPECT_NE(why({traces_, {}, tune::resolution::profile}, "/inputs/0/kind", "x").find("kind"),
            std::string::npos);
  const claim three{traces_, {.classes = 3}};
  for (const auto& [name, value] : std::vector<std::pair<std::string, json>>{
           {"/at_most_classes", 2}, {"/at_most_classes", 257}, {"/curve", std::vector(257, 1)}})
    EXPECT_NE(why(three, name, value).find("not that many"), std::string::npos) << name << value;
}

TEST_F(Verify, AClassThatServesNothingIsRefused) {
  json all = json::parse(certificate({}));
  all["classes"].push_back(all["classes"].back());
  all["classes"].back()["block_size"] = 1 << 20;
  EXPECT_NE(why_refused(sealed(all)).find("serves no request"), std::string::npos);
}

TEST_F(Verify, ARequestWithoutAClassIsRefused) {
  json all = json::parse(certificate({}));
  all["classes"].erase(all["classes"].size() - 1);
  EXPECT_NE(why_refused(sealed(all)).find("no class serves"), std::string::npos);
}

TEST_F(Verify, ACapacityThatIsNotThePeakAndItsMarginIsRefused) {
  json all = json::parse(certificate({.classes = 3, .margin_percent = 200}));
  set_capacity(all, 0, all["classes"][0]["capacity"].get<std::uint64_t>() - 1);
  EXPECT_NE(why_refused(sealed(all)).find("class 0, capacity"), std::string::npos);
}

TEST_F(Verify, FewerClassesThatTakeMoreBytesAreRefused) {
  for (std::size_t classes = 2; classes <= 5; ++classes) {
    tune::certified_tuning made = tuned({traces_, {.classes = classes - 1}});
    made.made.asked_classes = classes;
    EXPECT_NE(why_refused(tune::certificate(made)).find("least bytes"), std::string::npos);
  }
}

// 990 bytes at 64 need 1,024, and a class of 1,008 that is so aligned for the 64 bytes would serve them. Its set had fewer
// bytes: 200 and 100 blocks are linked by one byte each, 300 by two.
TEST_F(Verify, AClassThatTakesRequestsOfTheNextIsNoneThatCounts) {
  std::vector<trace::event> events;
  trace::event e;
  e.thread = 1;
  const auto add = [&](trace::event_kind kind, std::uint64_t size, std::uint64_t alignment) {
    e.kind = kind;
    e.size = size;
    e.alignment = alignment;
    events.push_back(e);
  };
  e.address = 1 << 20;
  add(trace::event_kind::by_malloc, 64, 64);
  add(trace::event_kind::from_free, 0, 0);
  for (int block = 0; block < 300; ++block) {
    e.address += 4096;
    add(trace::event_kind::by_malloc, block < 200 ? 1008 : 990, block < 200 ? 0 : 64);
  }
  const json all = json::parse(certificate_of({{written("misled", events)}, {.classes = 2}}));
  EXPECT_EQ(why_refused(all.dump()), "");
  EXPECT_EQ(all.at("classes").size(), 1u);
}

// 2 PiB. A profile needs no pools to be verified.
TEST_F(Verify, PoolsThatNoMemoryHoldsAreNotRefused) {
  profiling::profile_builder builder(1'000'000'000);
  std::vector<trace::event> events;
  trace::event e;
  e.kind = trace::event_kind::by_malloc;
  e.thread = 1;
  e.size = tune::workload_builder::largest_size;
  for (e.time = 1; e.time <= 1 << 15; ++e.time) {
    e.address = e.time << 40;
    builder.birth(e.time, e.size, 0);
    events.push_back(e);
  }
  const std::string profile = path("huge.aprof");
  support::write_file(profile, profiling::encode(builder.snapshot()));
  const std::string text = certificate_of({{profile}, {}, tune::resolution::profile, e.size});
  EXPECT_EQ(why_refused(text), "");
  const std::string traced =
      certificate_of({{written("huge", events)}, {}, tune::resolution::exact, e.size});
  EXPECT_THROW(verify(traced, {}, [](std::string_view) {}), std::bad_alloc);
}

TEST_F(Verify, AnotherTraceIsRefused) {
  const std::string text = certificate({});
  EXPECT_EQ(why_refused(text, {traces_[0], traces_[1]}), "");
  EXPECT_NE(why_refused(text, {traces_[1], traces_[0]}).find("sha256"), std::string::npos);
  EXPECT_NE(why_refused(text, {traces_[0]}).find("number of inputs"), std::string::npos);
  EXPECT_THROW(verify(text, {traces_[0], path("none")}, [](std::string_view) {}),
               std::runtime_error);
}

// A profile knows the peaks of neighbouring sizes, and nothing of moments.
TEST_F(Verify, WhatAProfileCannotShowIsRefused) {
  const json all = json::parse(certificate_of({profiles_, {}, tune::resolution::profile}));
  json exact = all;
  exact["resolution"] = "exact";
  EXPECT_NE(why_refused(sealed(exact)).find("exact"), std::string::npos);
  json witness = all;
  witness["moments"] = json::array({json::array({0, 1})});
  EXPECT_NE(why_refused(sealed(witness)).find("moment"), std::string::npos);
}

// 64 bytes at 64 pass over the class of 112, which is not as aligned, and 112 bytes do not.
TEST_F(Verify, AClassThatServesNoIntervalOfTheSizesIsRefused) {
  std::vector<trace::event> events;
  for (const auto& [size, alignment] : {std::pair{64, 64}, {112, 0}, {128, 64}}) {
    trace::event e;
    e.kind = trace::event_kind::by_malloc;
    e.thread = 1;
    e.time = e.address = static_cast<std::uint64_t>(size);
    e.size = static_cast<std::uint64_t>(size);
    e.alignment = static_cast<std::uint64_t>(alignment);
    events.push_back(e);
  }
  json all = json::parse(certificate_of({{written("apart", events)}, {.classes = 1}}));
  json smaller = all["classes"][0];
  smaller["block_size"] = 112;
  smaller["alignment"] = 16;
  all["classes"].insert(all["classes"].begin(), smaller);
  EXPECT_NE(why_refused(sealed(all)).find("no interval"), std::string::npos);
}

TEST_F(Verify, ItIsToldThatProfilesAreNotReplayed) {
  for (const bool replayed : {true, false}) {
    std::string told;
    verify(replayed ? certificate({}) : certificate_of({{merged_}, {}, tune::resolution::profile}),
           {}, [&](std::string_view found) { told += found; });
    EXPECT_EQ(told.find("no order") == std::string::npos, replayed) << told;
  }
}

TEST_F(Verify, WhatIsMissingInACertificateOrNoNumberIsRefused) {
  const json all = json::parse(certificate({}));
  for (const std::string name : {"alignment", "resolution", "classes", "moments", "inputs"}) {
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
