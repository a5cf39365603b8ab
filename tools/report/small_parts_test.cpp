// The tests of the small sources of tools/report: a part for each, with its name.
#include <tests/support/test_headers.hpp>

#include <ashlar/heap/class_table.hpp>

#include "tools/report/attachments.hpp"
#include "tools/report/bins.hpp"
#include "tools/report/counter_tracks.hpp"
#include "tools/report/html_page.hpp"
#include "tools/report/memory_rows.hpp"
#include "tools/report/timeline.hpp"

namespace ashlar::report {
namespace {

using ashlar::detail::standard_classes;
using nlohmann::json;
using trace::memory_kind;

// ---- attachments -------------------------------------------------------------------------------

const json times{{"median", 2.0}, {"min", 1.0}, {"max", 3.0}};

json pools() {
  return {{"certificate", 2},
          {"total_bytes", 1000},
          {"margin_percent", 5},
          {"classes", {{{"block_size", 32}, {"alignment", 16}, {"capacity", 10}}}},
          {"inputs", {{{"file", "run.atrace"}}}}};
}
json replay() {
  json latency{{"calls", 5}};
  for (const char* name : {"p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "p99.99_ns", "longest_ns"})
    latency[name] = 20;
  return {{"report", "replay"},
          {"schema", 1},
          {"trace", "run.atrace"},
          {"outcomes",
           {{{"on", "system"},
             {"runs", 3},
             {"failures", 0},
             {"wall_seconds", times},
             {"processor_seconds", times},
             {"peak_rss_bytes", times},
             {"latencies", {{"malloc", latency}}}},
            {{"on", "broken"}, {"runs", 0}, {"failures", 0}}}}};
}

TEST(Attachments, AreRead) {
  const chosen_pools chosen = read_pools(pools().dump(), "pools.json");
  EXPECT_EQ(chosen.classes.of(20, 0).block_size, 32u);
  EXPECT_EQ(chosen.classes[0].capacity, 10u);
  EXPECT_EQ(chosen.about["total_bytes"], 1000);
  const json replayed = read_replay(replay().dump(), "replay.json");
  EXPECT_EQ(replayed["outcomes"][0]["wall_seconds"]["median"], 2.0);
  EXPECT_EQ(replayed["outcomes"][0]["latencies"]["malloc"]["p99.9_ns"], 20);
  EXPECT_FALSE(replayed["outcomes"][1].contains("wall_seconds"));
}

// Each member is taken out, and each is made a text where it is a number (and a number where it is a text).
void refuse_each_change(const json& right, const std::function<void(const std::string&)>& read) {
  const json flat = right.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    json wrong = flat;
    wrong[pointer] = value.is_string() ? json(-1) : json("many");
    EXPECT_THROW(read(wrong.unflatten().dump()), attachment_error) << pointer;
  }
  for (const auto& [name, value] : right.items()) {
    json wrong = right;
    wrong.erase(name);
    EXPECT_THROW(read(wrong.dump()), attachment_error) << name;
  }
}

TEST(Attachments, WhatIsNotAsItShouldBeIsRefused) {
  // What the report does not say of a replay it does not read.
  refuse_each_change(pools(), [](const std::string& text) { (void)read_pools(text, "x"); });
  refuse_each_change(replay(), [](const std::string& text) { (void)read_replay(text, "x"); });
}

// Its page would compare all with the first.
TEST(Attachments, WhatHasNoAllocatorIsRefused) {
  json replayed = replay();
  replayed["outcomes"] = json::array();
  EXPECT_THROW((void)read_replay(replayed.dump(), "x"), attachment_error);
}

TEST(Attachments, TheMessageNamesFileFaultAndCommand) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      (void)read_replay(text, "out.json");
    } catch (const attachment_error& error) {
      return error.what();
    }
    return "none";
  };
  for (const char* text : {"", "{", "[]", "{\"report\": \"replay\", \"schema\": 2}"}) {
    EXPECT_NE(message(text).find("'out.json'"), std::string::npos) << message(text);
    EXPECT_NE(message(text).find("ashlar replay --json"), std::string::npos) << message(text);
  }
  EXPECT_NE(message("{\"report\": \"replay\", \"schema\": 2}").find("schema"), std::string::npos);
}

// ---- bins --------------------------------------------------------------------------------------

TEST(SizeBins, EachSizeIsInItsBinAndTheBinsJoin) {
  for (std::size_t bin = 0; bin + 1 < size_bins::count; ++bin) {
    ASSERT_EQ(size_bins::last(bin) + 1, size_bins::begin(bin + 1)) << bin;
    ASSERT_EQ(size_bins::of(size_bins::begin(bin)), bin);
    ASSERT_EQ(size_bins::of(size_bins::last(bin)), bin);
  }
  for (std::uint64_t size = 0; size < 100000; ++size) {
    ASSERT_LE(size_bins::begin(size_bins::of(size)), size);
    ASSERT_GE(size_bins::last(size_bins::of(size)), size);
  }
  EXPECT_EQ(size_bins::of(0), 0u);
  EXPECT_EQ(size_bins::of(UINT64_MAX), size_bins::count - 1);
}

TEST(SizeBins, NoneIsWiderThanASixteenthOfItsSizes) {
  for (std::size_t bin = size_bins::exact; bin < size_bins::count; ++bin) {
    ASSERT_LT(size_bins::last(bin) - size_bins::begin(bin), size_bins::begin(bin) / 16) << bin;
  }
}

// ---- class_set ---------------------------------------------------------------------------------

TEST(ClassSet, TheProcessHeapsClassesAreItsOwn) {
  const class_set heap = class_set::process_heap();
  ASSERT_EQ(heap.size(), class_count - 1);
  for (const std::size_t alignment : {0u, 16u, 64u, 4096u}) {
    for (std::size_t size = 0; size <= small_size_max; size += 7) {
      const class_set::place place = heap.of(size, alignment);
      const class_index c = standard_classes.of_aligned_size(size, alignment == 0 ? 1 : alignment);
      ASSERT_EQ(place.index, c - 1u) << size;
      ASSERT_EQ(place.block_size, standard_classes.block_size(c)) << size;
    }
  }
}

TEST(ClassSet, AboveTheClassesThereArePages) {
  const class_set heap = class_set::process_heap();
  const std::uint64_t page = std::uint64_t{1} << heap_page_shift;
  EXPECT_EQ(heap.of(small_size_max + 1, 0).index, heap.size());
  EXPECT_EQ(heap.of(small_size_max + 1, 0).block_size, small_size_max + page);
  EXPECT_EQ(heap.of(10 * page * 100, 0).block_size, 10 * page * 100);
  EXPECT_GE(heap.of(UINT64_MAX, 0).block_size, UINT64_MAX);
  EXPECT_EQ(heap.of(100, 2 * page).index, heap.size()) << "a slab begins at a page";
}

TEST(ClassSet, TheSmallestChosenClassThatHoldsARequestTakesIt) {
  const class_set chosen("chosen", {{256, 64, 4}, {24, 8, 1}, {64, 64, 2}, {100, 16, 3}});
  EXPECT_EQ(chosen.of(0, 0).block_size, 24u);
  EXPECT_EQ(chosen.of(24, 8).block_size, 24u);
  EXPECT_EQ(chosen.of(24, 16).block_size, 64u);
  EXPECT_EQ(chosen.of(65, 0).block_size, 100u);
  EXPECT_EQ(chosen.of(65, 64).block_size, 256u);
  EXPECT_EQ(chosen.of(257, 0).index, chosen.size());
  EXPECT_EQ(chosen.of(257, 0).block_size,
            standard_classes.block_size(standard_classes.of_size(257)));
  EXPECT_EQ(chosen.of(20, 128).index, chosen.size());
}

// ---- counter_tracks ----------------------------------------------------------------------------

const json data = {
    {"trace", {{"program", "/bin/program"}, {"file", "a.atrace"}, {"pid", 7}}},
    {"timeline",
     {{"seconds", {0.0, 0.5, 1.0}},
      {"live_bytes", {100, 110, 110}},
      {"live_blocks", {1, 2, 2}},
      {"held", {{"sites", {{{"site", 1}, {"bytes", {0, 10, 10}}}}}, {"others", {100, 100, 100}}}}}},
    {"sites",
     {{"sites",
       {{{"name", "first"}, {"source", ""}}, {{"name", "f in p"}, {"source", "p.c:3"}}}}}}};

// "at microseconds: value" of a counter.
std::vector<std::string> counter(const json& tracks, const std::string& name) {
  std::vector<std::string> found;
  for (const json& event : tracks["traceEvents"])
    if (event["ph"] == "C" && event["name"] == name) {
      EXPECT_EQ(event["pid"], 7);
      found.push_back(event["ts"].dump() + ": " + event["args"].begin().value().dump() + " " +
                      event["args"].begin().key());
    }
  return found;
}

TEST(CounterTracks, ACounterChangesWhereItsValueDoes) {
  const json tracks = counter_tracks(data);
  using all = std::vector<std::string>;
  EXPECT_EQ(tracks["traceEvents"][0]["args"]["name"], "/bin/program");
  EXPECT_EQ(counter(tracks, "live bytes"), (all{"0.0: 100 bytes", "500000.0: 110 bytes"}));
  EXPECT_EQ(counter(tracks, "live blocks"), (all{"0.0: 1 blocks", "500000.0: 2 blocks"}));
  EXPECT_EQ(counter(tracks, "held: f in p at p.c:3"), (all{"0.0: 0 bytes", "500000.0: 10 bytes"}));
  EXPECT_EQ(counter(tracks, "held: other call sites"), (all{"0.0: 100 bytes"}));
}

// ---- html_page ---------------------------------------------------------------------------------

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t place = text.find(part); place != std::string::npos;
       place = text.find(part, place + 1))
    ++count;
  return count;
}

TEST(HtmlPage, NamesInATraceCannotEndTheScript) {
  const nlohmann::json hostile{{"program", "</script><script>alert(1)</script><!-- "}};
  EXPECT_EQ(count_of(html_page(hostile), "</script"),
            count_of(html_page(nlohmann::json()), "</script"));
  EXPECT_EQ(json_for_script(hostile).find('<'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(json_for_script(hostile)), hostile);
}

TEST(HtmlPage, WhatIsNoUtf8IsReplaced) {
  EXPECT_TRUE(nlohmann::json::accept(json_for_script({{"program", "caf\xe9"}})));
}

TEST(HtmlPage, IsWhole) {
  const std::string page = html_page({{"answer", 42}});
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_EQ(count_of(page, "@include") + count_of(page, "@data"), 0u);  // no place is left
  EXPECT_EQ(count_of(page, "{\"answer\":42}"), 1u);
  EXPECT_EQ(count_of(page, "The MIT License (MIT)"), 1u);
  EXPECT_EQ(count_of(page, "var uPlot="), 1u);
}

// ---- memory_rows -------------------------------------------------------------------------------

constexpr std::uint64_t mib = 1 << 20;

trace::trace_header program(const std::string& path) {
  trace::trace_header header;
  header.set(trace::header_name::program, path);
  return header;
}

trace::resident_memory mostly_anonymous() {
  trace::resident_memory memory;
  memory.peak = 210 * mib;
  memory.resident = 200 * mib;
  memory.malloc = 10 * mib;
  memory.live = 8 * mib;
  memory.parts = {
      {memory_kind::anonymous, "V8", 100 * mib}, {memory_kind::anonymous, "", 60 * mib},
      {memory_kind::file, "libc.so", 20 * mib},  {memory_kind::file, "program", 6 * mib},
      {memory_kind::stack, "", 3 * mib},         {memory_kind::recorder, "", mib}};
  return memory;
}

TEST(MemoryRows, AddUpToThePeakTheLargestOfOthersFirst) {
  const memory_rows all = memory_rows_of(mostly_anonymous(), program("/bin/x"));
  std::uint64_t sum = 0;
  std::string names;
  for (const memory_row& row : all.rows) {
    sum += row.bytes;
    names += row.name.substr(0, 9) + "|";
  }
  EXPECT_EQ(all.peak, 210 * mib);
  EXPECT_EQ(sum, all.peak);
  EXPECT_EQ(names, "blocks of|malloc be|anonymous|files|stacks|the recor|at the pe|");
  EXPECT_EQ(all.rows[0].bytes, 8 * mib);
  EXPECT_EQ(all.rows[1].bytes, 2 * mib);
  ASSERT_EQ(all.rows[2].parts.size(), 1u);
  EXPECT_EQ(all.rows[2].parts[0].name, "V8");
  EXPECT_EQ(all.rows[3].parts.size(), 2u);
}

TEST(MemoryRows, APlaceWithoutANameIsOnePartWhateverItWorksFor) {
  trace::resident_memory memory = mostly_anonymous();
  memory.parts = {{memory_kind::anonymous, "libx.so+0x12 for f", 100 * mib, 1},
                  {memory_kind::anonymous, "libx.so+0x12 for g", 60 * mib, 2},
                  {memory_kind::anonymous, "map at x.c:1", 30 * mib, 3}};
  const memory_rows all = memory_rows_of(memory, program("/bin/x"));
  ASSERT_EQ(all.rows[2].parts.size(), 2u);
  EXPECT_EQ(all.rows[2].parts[0].name, "libx.so+0x12 for f and others");
  EXPECT_EQ(all.rows[2].parts[0].bytes, 160 * mib);
  EXPECT_EQ(all.remedy, "");  // the lines say it
}

TEST(MemoryRows, HaveTheLimitOfTheControlGroup) {
  trace::trace_header header = program("/bin/x");
  EXPECT_EQ(memory_rows_of(mostly_anonymous(), header).limit, 0u);
  header.set(trace::header_name::memory_limit, 512 * mib);
  const memory_rows all = memory_rows_of(mostly_anonymous(), header);
  EXPECT_EQ(all.limit, 512 * mib);
  EXPECT_EQ(memory_json(mostly_anonymous(), all, 1)["limit_bytes"], 512 * mib);
}

TEST(MemoryRows, NameTheRemedyOfTheRuntime) {
  const auto remedy = [](const std::string& path) {
    return memory_rows_of(mostly_anonymous(), program(path)).remedy;
  };
  for (const auto& [path, word] : {std::pair{"/usr/bin/php8.2", "USE_ZEND_ALLOC=0"},
                                   {"/usr/bin/python3.11", "PYTHONMALLOC=malloc"},
                                   {"node", "--max-old-space-size"},
                                   {"/usr/lib/gcc/x/12/cc1plus", "ggc-min-heapsize"},
                                   {"/usr/bin/java", "-Xmx"},
                                   {"/usr/lib/R/bin/exec/R", "Rprofmem"},
                                   {"/opt/Renderer", "with stacks"},
                                   {"/opt/own", "with stacks"}})
    EXPECT_NE(remedy(path).find(word), std::string::npos) << path << ": " << remedy(path);
}

TEST(MemoryRows, AskForNoStacksThatTheRecordingHas) {
  trace::trace_header header = program("/opt/own");
  header.set(trace::header_name::options, "stacks=64");
  EXPECT_NE(memory_rows_of(mostly_anonymous(), header).remedy.find("its allocator"),
            std::string::npos);
}

TEST(MemoryRows, OfAForkedProcessHaveWhatItsParentAllocated) {
  trace::trace_header header = program("/opt/own");
  header.set(trace::header_name::parent, std::uint64_t{7});
  EXPECT_NE(memory_rows_of(mostly_anonymous(), header).rows[1].name.find("fork"),
            std::string::npos);
}

TEST(MemoryRows, SayOfWhichRuntimeTheLostBlocksAreNoLeaks) {
  EXPECT_NE(remark_on_lost("/usr/bin/ruby3.1").find("before it exits"), std::string_view::npos);
  EXPECT_EQ(remark_on_lost("/usr/bin/jq"), "");
}

TEST(MemoryRows, NameNoneWhereMallocHasMostOrTheRestIsFiles) {
  trace::resident_memory memory = mostly_anonymous();
  memory.parts[0].bytes -= 100 * mib;
  memory.parts[2].bytes += 100 * mib;  // files
  memory.parts[1].bytes -= 45 * mib;
  memory.parts[2].bytes += 45 * mib;
  EXPECT_EQ(memory_rows_of(memory, program("php")).remedy, "");
  memory = mostly_anonymous();
  memory.malloc = 140 * mib;
  memory.parts[0].bytes = 0;
  memory.parts[1].bytes = 30 * mib;
  EXPECT_EQ(memory_rows_of(memory, program("php")).remedy, "");
}

TEST(MemoryRows, NameWhatTellsTheScriptsHoldersWhereMallocHasMostForTheInterpreter) {
  trace::resident_memory memory = mostly_anonymous();
  memory.malloc = memory.resident;
  memory.parts.clear();
  const auto remedy = [&](const char* path, const char* holder) {
    return memory_rows_of(memory, program(path), holder).remedy;
  };
  EXPECT_EQ(remedy("/usr/bin/lua5.4", ""), "");
  EXPECT_NE(remedy("/usr/bin/lua5.4", "lua5.4+0x1230d").find("collectgarbage"), std::string::npos);
  const std::string python = remedy("/usr/bin/python3.13", "list_resize in python3.13");
  EXPECT_NE(python.find("PYTHONPERFSUPPORT"), std::string::npos);
  EXPECT_EQ(python.find("PYTHONMALLOC"), std::string::npos);
  EXPECT_NE(remedy("/opt/own", "caml_alloc_for_heap in own").find("OCAMLRUNPARAM"),
            std::string::npos);
  EXPECT_EQ(remedy("/opt/own", "f in own"), "");
}

TEST(MemoryRows, CountAHeapThatARuntimeMapsFromAFile) {
  trace::resident_memory memory = mostly_anonymous();
  for (trace::resident_part& part : memory.parts) part.kind = memory_kind::data;
  EXPECT_NE(memory_rows_of(memory, program("/usr/bin/sbcl")).remedy, "");
  EXPECT_EQ(memory_rows_of(memory, program("/opt/own")).remedy, "");
}

TEST(MemoryRows, NameNoneForLittle) {
  trace::resident_memory memory = mostly_anonymous();
  memory.parts = {{memory_kind::anonymous, "", 4 * mib}};
  memory.malloc = mib;
  memory.resident = memory.peak = 5 * mib;
  EXPECT_NE(memory_rows_of(memory, program("php")).remedy, "");
  memory.parts[0].bytes -= 1;
  EXPECT_EQ(memory_rows_of(memory, program("php")).remedy, "");
}

TEST(MemoryRows, OfWhatWasNotRecordedAreNone) {
  EXPECT_EQ(memory_rows_of({}, program("x")).peak, 0u);
  trace::resident_memory only_peak;
  only_peak.peak = 5;
  const memory_rows all = memory_rows_of(only_peak, program("x"));
  EXPECT_EQ(all.peak, 5u);
  EXPECT_TRUE(all.rows.empty());
}

// ---- timeline ----------------------------------------------------------------------------------

struct moment {
  std::uint64_t time, bytes;
  std::vector<std::int64_t> layers;
};

// All moments are kept here, and each point is looked up in them.
void compare_with_all_moments(std::uint64_t seed, std::uint64_t longest_step, int changes) {
  constexpr std::size_t classes = 40;  // more than change in one interval
  std::mt19937_64 random(seed);
  timeline over_time(longest_step * static_cast<std::uint64_t>(changes));
  for (std::size_t c = 0; c < classes; ++c) ASSERT_EQ(over_time.add_layer(), c);
  heap_state state;
  std::vector<moment> all{{0, 0, std::vector<std::int64_t>(classes)}};
  std::uint64_t time = 0;
  for (int i = 0; i < changes; ++i) {
    time += random() % (longest_step + 1);
    const std::size_t at = random() % classes;
    moment next = all.back();
    next.time = time;
    auto bytes = static_cast<std::int64_t>(random() % 100);
    if (random() % 2 == 0) bytes = -std::min(next.layers[at], bytes);
    next.layers[at] += bytes;
    next.bytes += static_cast<std::uint64_t>(bytes);
    state.bytes = next.bytes;
    over_time.go_to(time);
    over_time.add(at, bytes);
    over_time.reach(state);
    all.push_back(next);
  }
  over_time.close();

  const std::uint64_t width = over_time.interval_ticks();
  const auto& points = over_time.points();
  ASSERT_EQ(points.size(), time / width + 1);
  ASSERT_LE(points.size(), timeline::most_points);
  std::vector<std::vector<std::int64_t>> courses;
  for (std::size_t c = 0; c < classes; ++c) courses.push_back(over_time.course(c));
  std::size_t m = 0;
  moment before = all.front();
  for (std::size_t p = 0; p < points.size(); ++p) {
    // What lived when the interval began, and all that happened in it.
    moment most = before;
    most.time = p * width;
    for (; m < all.size() && all[m].time / width == p; ++m) {
      if (all[m].bytes > most.bytes) most = all[m];
      before = all[m];
    }
    ASSERT_EQ(points[p].state.bytes, most.bytes) << "point " << p;
    ASSERT_EQ(points[p].time, most.time) << "point " << p;
    for (std::size_t c = 0; c < classes; ++c)
      ASSERT_EQ(courses[c][p], most.layers[c]) << "point " << p;
  }
  ASSERT_EQ(m, all.size());
}

TEST(Timeline, EachPointIsTheHighestMomentOfItsInterval) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) compare_with_all_moments(seed, 3, 3000);
}
TEST(Timeline, GapsAreFilledWithWhatLived) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) compare_with_all_moments(seed, 1000000, 200);
}
TEST(Timeline, FewTicksHaveAnIntervalEach) { compare_with_all_moments(1, 1, 500); }

}  // namespace

}  // namespace ashlar::report
