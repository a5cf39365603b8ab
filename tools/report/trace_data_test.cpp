#include "tools/report/trace_data.hpp"

#include <tests/support/test_headers.hpp>

#include "tools/report/bins.hpp"
#include "tools/trace/trace_files_test.hpp"

namespace ashlar::report {
namespace {

using trace::event;
using namespace trace::test;

call_site innermost(const std::vector<trace::named_call>& calls) {
  return calls.empty() ? call_site() : call_site{calls.front().name, {}, {}, {}};
}

nlohmann::json data_of(const std::vector<event>& events, std::optional<class_set> chosen = {}) {
  trace::trace_reader reader = trace::test::read(trace::test::written(events));
  trace::call_names names(reader);
  const auto names_of = [&](const trace::stack_definition& stack) { return names.of(stack); };
  return trace_data(reader, {"a.atrace", std::move(chosen), names_of, innermost, {}});
}

template <class Number = std::uint64_t>
Number sum(const nlohmann::json& numbers) {
  Number total = 0;
  for (const auto& each : numbers) total += each.get<Number>();
  return total;
}

TEST(TraceData, ASmallTraceByHand) {
  // A tick is a microsecond. Peak: 100 + 40 bytes, at 20.
  const nlohmann::json data =
      data_of({birth(1, 10, 0x1000, 100), birth(2, 20, 0x2000, 40), death(2, 30, 0x1000),
               birth(1, 40, 0x3000, 20), death(1, 50, 0x9999)},
              class_set("chosen classes", {{40, 16, 1}, {100, 16, 1}}));
  EXPECT_EQ(
      std::tuple(data["trace"]["births"], data["trace"]["birth_bytes"], data["trace"]["deaths"],
                 data["trace"]["deaths_in_another_thread"], data["trace"]["unknown_deaths"],
                 data["trace"]["threads"], data["trace"]["live_bytes_at_end"]),
      std::tuple(3, 160, 1, 1, 1, 2, 60));
  EXPECT_EQ(data["trace"]["arguments"], (std::vector<std::string>{"program", "-x"}));
  // From the first event on.
  EXPECT_DOUBLE_EQ(data["trace"]["seconds"].get<double>(), 40e-6);
  EXPECT_DOUBLE_EQ(data["trace"]["live_bytes_mean"].get<double>(),
                   (100 * 10 + 140 * 10 + 40 * 10 + 60 * 10) / 40.0);
  EXPECT_EQ(data["peak"]["live_bytes"], 140);
  EXPECT_EQ(data["peak"]["live_blocks"], 2);
  EXPECT_DOUBLE_EQ(data["peak"]["seconds"].get<double>(), 10e-6);
  EXPECT_EQ(data["class_sets"][0]["slack_at_peak"], (112 - 100) + (48 - 40));
  EXPECT_EQ(data["class_sets"][1]["slack_at_peak"], 0);
  EXPECT_DOUBLE_EQ(data["class_sets"][1]["slack_mean"].get<double>(), 20 * 10 / 40.0);
  EXPECT_EQ(data["class_sets"][1]["classes"][0]["peak_blocks"], 2);
  EXPECT_EQ(data["class_sets"][1]["classes"][0]["blocks_at_peak"], 1);
  EXPECT_EQ(data["lifetimes"]["blocks"], (std::vector<int>{1}));
  EXPECT_DOUBLE_EQ(data["lifetimes"]["from_seconds"][0].get<double>(), 16e-6);
  EXPECT_TRUE(data["call_sites"].is_null());
}

// As `env` does, which executes another program; what is executed last may need less.
TEST(TraceData, TheProgramOfThePeakNamesThePage) {
  const std::string words("python3\0work.py\0", 16);
  const std::string last("true\0", 5);
  const nlohmann::json data =
      data_of({birth(1, 10, 0x1000, 100), other(trace::event_kind::image, 1, 20, 0, words),
               birth(1, 30, 0x2000, 200), death(1, 40, 0x2000),
               other(trace::event_kind::image, 1, 50, 0, last), birth(1, 60, 0x3000, 10)});
  EXPECT_EQ(data["trace"]["program"], "python3");
  EXPECT_EQ(data["trace"]["arguments"], (std::vector<std::string>{"python3", "work.py"}));
}

// Two stacks of one site, and one of another: what each site held in each point.
TEST(TraceData, CallSitesHoldBytesOverTime) {
  const auto by = [](std::uint32_t stack, event e) {
    e.stack = stack;
    return e;
  };
  std::string bytes;
  trace::trace_writer out([&](std::string_view more) { bytes += more; }, trace::test::header());
  out.add(std::vector<trace::stack_definition>{{1, {0x10}}, {2, {0x20}}, {3, {0x30}}});
  for (const event& e :
       {by(1, birth(1, 10, 0x1000, 100)), by(2, birth(1, 20, 0x2000, 10)),
        by(3, birth(1, 30, 0x3000, 1)), by(1, death(1, 40, 0x1000)), birth(1, 50, 0x4000, 7)})
    out.add(e);
  out.close();
  trace::trace_reader reader = trace::test::read(bytes);
  const auto named = [](const trace::stack_definition& stack) {
    return std::vector<trace::named_call>{{stack.number == 3 ? "other" : "site", "", 0, "", {}}};
  };
  const nlohmann::json data = trace_data(reader, {"a.atrace", {}, named, innermost, {}});
  const nlohmann::json& timeline = data["timeline"];
  const auto point_at = [&](double seconds) {
    const auto& all = timeline["seconds"];
    return std::ranges::find_if(
               all, [&](const auto& s) { return s.template get<double>() > seconds - 5e-7; }) -
           all.begin();
  };
  std::map<std::string, nlohmann::json> held;
  for (const auto& course : timeline["held"]["sites"])
    held[data["sites"]["sites"][course["site"].get<std::size_t>()]["name"]] = course["bytes"];
  ASSERT_EQ(held.size(), 2u);
  const auto at = [&](double seconds) {
    const auto p = static_cast<std::size_t>(point_at(seconds));
    return std::vector<int>{held["site"][p], held["other"][p], timeline["held"]["others"][p]};
  };
  EXPECT_EQ(at(0), (std::vector{100, 0, 0}));
  EXPECT_EQ(at(10e-6), (std::vector{110, 0, 0}));
  EXPECT_EQ(at(20e-6), (std::vector{110, 1, 0}));
  EXPECT_EQ(at(31e-6), (std::vector{10, 1, 0}));
  EXPECT_EQ(at(40e-6), (std::vector{10, 1, 7})) << "a block without a stack is no site's";
  EXPECT_TRUE(data_of({birth(1, 10, 0x1000)})["timeline"]["held"].is_null());
}

// A recorded pool had no block: that changes no other figure.
TEST(TraceData, RequestsThatWereRefusedAreCounted) {
  const std::vector<event> served{birth(1, 10, 0x1000, 100), death(1, 50, 0x1000)};
  std::vector<event> all = served;
  for (const std::uint64_t time : {20u, 30u})
    all.insert(all.end() - 1,
               trace::test::other(trace::event_kind::refused, 1, time, 24, "messages"));
  const nlohmann::json data = data_of(all);
  EXPECT_EQ(std::tuple(data["trace"]["refused_requests"], data["trace"]["births"],
                       data["trace"]["birth_bytes"], data["peak"]["live_bytes"]),
            std::tuple(2, 1, 100, 100));
  EXPECT_EQ(data_of(served)["trace"]["refused_requests"], 0);
}

// A number that no event has is no thread.
TEST(TraceData, ThreadsAreThoseThatDidSomething) {
  EXPECT_EQ(data_of({birth(2, 10, 0x1000, 8), birth(7, 20, 0x2000, 8)})["trace"]["threads"], 2);
}

// A forked process, as any whose recorder began long before it, has the figures of its own time.
TEST(TraceData, WhenItBeganChangesNoFigure) {
  const auto begun_at = [](std::uint64_t begin) {
    return data_of({birth(1, begin, 0x1000, 1000), birth(2, begin + 500'000, 0x2000, 500),
                    death(1, begin + 1'000'000, 0x1000)});
  };
  const nlohmann::json at_once = begun_at(0);
  EXPECT_DOUBLE_EQ(at_once["trace"]["seconds"].get<double>(), 1);
  EXPECT_DOUBLE_EQ(at_once["trace"]["live_bytes_mean"].get<double>(), 1250);
  EXPECT_EQ(at_once["timeline"]["seconds"][0], 0);
  EXPECT_GT(at_once["timeline"]["seconds"].size(), 500u);
  for (const std::uint64_t begin : {1u, 100'000'000u, 4'000'000'000u})
    EXPECT_EQ(begun_at(begin), at_once) << begin;
}

struct living {
  std::uint64_t size, born;
};

// The figures again, the slow way: all that lives is looked at after each event.
TEST(TraceData, RandomTracesAgree) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    std::mt19937 random(seed);
    std::map<std::uint64_t, living> alive;
    std::vector<event> events;
    std::uint64_t time = 0, peak = 0;
    std::map<std::uint64_t, living> at_peak;
    std::map<std::size_t, std::uint64_t> births_by_bin;
    std::map<std::size_t, std::uint64_t> lifetimes;
    std::uint64_t bytes = 0;
    for (int i = 0; i < 4000; ++i) {
      time += 1 + random() % 50;
      if (alive.empty() || random() % 5 < 3) {
        const std::uint64_t size = random() % (random() % 3 == 0 ? 200000 : 300);
        const std::uint64_t address = 0x10000 + std::uint64_t{random() % 1000000} * 16;
        if (alive.contains(address)) continue;
        events.push_back(birth(1, time, address, size));
        alive[address] = {size, time};
        bytes += size;
        ++births_by_bin[size_bins::of(size)];
        if (bytes > peak) {
          peak = bytes;
          at_peak = alive;
        }
      } else {
        const auto dies =
            std::next(alive.begin(), static_cast<std::ptrdiff_t>(random() % alive.size()));
        events.push_back(death(1, time, dies->first));
        ++lifetimes[static_cast<std::size_t>(std::bit_width(time - dies->second.born))];
        bytes -= dies->second.size;
        alive.erase(dies);
      }
    }
    const class_set chosen("chosen classes", {{64, 16, 9}, {300, 16, 9}, {100000, 16, 9}});
    const nlohmann::json data = data_of(events, chosen);
    EXPECT_EQ(data["peak"]["live_bytes"], peak);
    EXPECT_EQ(data["peak"]["live_blocks"], at_peak.size());

    const std::array sets{class_set::process_heap(), chosen};
    for (std::size_t s = 0; s < sets.size(); ++s) {
      std::uint64_t slack = 0;
      for (const auto& [address, block] : at_peak)
        slack += sets[s].of(block.size, 0).block_size - block.size;
      const nlohmann::json& figures = data["class_sets"][s];
      EXPECT_EQ(figures["slack_at_peak"], slack);
      std::uint64_t blocks = 0, class_bytes = 0, class_slack = 0;
      for (const auto& c : figures["classes"]) {
        blocks += c["blocks_at_peak"].get<std::uint64_t>();
        class_bytes += c["bytes_at_peak"].get<std::uint64_t>();
        class_slack += c["slack_at_peak"].get<std::uint64_t>();
      }
      EXPECT_EQ(blocks, at_peak.size());
      EXPECT_EQ(class_bytes, peak);
      EXPECT_EQ(class_slack, slack);
    }

    std::size_t bin = 0;
    ASSERT_EQ(data["sizes"]["first"].size(), births_by_bin.size());
    for (const auto& [index, births] : births_by_bin) {
      EXPECT_EQ(data["sizes"]["first"][bin], size_bins::begin(index));
      EXPECT_EQ(data["sizes"]["births"][bin++], births);
    }
    EXPECT_EQ(sum(data["sizes"]["bytes_at_peak"]), peak);
    EXPECT_EQ(sum(data["sizes"]["blocks_at_peak"]), at_peak.size());
    bin = 0;
    ASSERT_EQ(data["lifetimes"]["blocks"].size(), lifetimes.size());
    for (const auto& [index, blocks] : lifetimes)
      EXPECT_EQ(data["lifetimes"]["blocks"][bin++], blocks);

    const nlohmann::json& timeline = data["timeline"];
    EXPECT_EQ(*std::ranges::max_element(timeline["live_bytes"]), peak);
    for (std::size_t p = 0; p < timeline["seconds"].size(); ++p) {
      std::uint64_t layers = 0;
      for (const auto& layer : timeline["layers"]) layers += layer["bytes"][p].get<std::uint64_t>();
      ASSERT_EQ(layers, timeline["live_bytes"][p].get<std::uint64_t>());
    }
  }
}

TEST(TraceData, ManyClassesAreTenLayersAtMost) {
  std::vector<event> events;
  for (std::uint64_t i = 1; i <= 40; ++i) events.push_back(birth(1, i, 0x10000 * i, 16 * i));
  const nlohmann::json layers = data_of(events)["timeline"]["layers"];
  ASSERT_EQ(layers.size(), 10u);
  EXPECT_EQ(layers.back()["name"], "other classes");
  events.resize(10);
  EXPECT_EQ(data_of(events)["timeline"]["layers"].size(), 10u);  // none is left alone in "other"
  EXPECT_NE(data_of(events)["timeline"]["layers"].back()["name"], "other classes");
}

}  // namespace
}  // namespace ashlar::report
