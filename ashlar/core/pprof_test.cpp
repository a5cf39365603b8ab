// The bytes of a profile, against the rules of the protobuf format.

#include <tests/support/test_headers.hpp>

#include <ashlar/core/pprof.hpp>

namespace {

using namespace ashlar;

struct text_out {
  std::string bytes;
  void put(const void* from, std::size_t count) {
    bytes.append(static_cast<const char*>(from), count);
  }
};

/// A message as its fields: of each its numbers, and its parts with a length.
struct message {
  std::map<unsigned, std::vector<std::uint64_t>> numbers;
  std::map<unsigned, std::vector<std::string>> parts;

  static std::uint64_t variable(std::string_view& from) {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(from.at(0));
      from.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  }
  explicit message(std::string_view from) {
    while (!from.empty()) {
      const std::uint64_t key = variable(from);
      const std::uint64_t value = variable(from);
      const auto field = static_cast<unsigned>(key >> 3);
      if ((key & 7) == 0) {
        numbers[field].push_back(value);
      } else {
        EXPECT_EQ(key & 7, 2u);
        EXPECT_LE(value, from.size());
        const auto bytes = static_cast<std::size_t>(value);
        parts[field].emplace_back(from.substr(0, bytes));
        from.remove_prefix(bytes);
      }
    }
  }
  static std::vector<std::uint64_t> list(std::string_view from) {
    std::vector<std::uint64_t> values;
    while (!from.empty()) values.push_back(variable(from));
    return values;
  }
};

TEST(Pprof, NumbersHaveSevenBitsAByte) {
  text_out out;
  pprof::protobuf_writer<text_out> writer(out);
  writer.number(1, 0);  // left out
  writer.number(1, 127);
  writer.number(1, 128);
  writer.number(2, UINT64_MAX);
  EXPECT_EQ(out.bytes.substr(0, 5), std::string("\x08\x7f\x08\x80\x01", 5));
  const message m(out.bytes);
  EXPECT_EQ(m.numbers.at(1), (std::vector<std::uint64_t>{127, 128}));
  EXPECT_EQ(m.numbers.at(2), (std::vector<std::uint64_t>{UINT64_MAX}));
}

TEST(Pprof, PartsHaveTheirLengths) {
  text_out out;
  pprof::protobuf_writer<text_out> writer(out);
  const std::array<std::int64_t, 3> values = {0, -1, 300};
  writer.message(3, [&](auto& part) {
    part.text(1, std::string(200, 'x'));
    part.message(2, [&](auto& inner) { inner.numbers(7, std::span<const std::int64_t>(values)); });
  });
  const message outer(out.bytes);
  const message part(outer.parts.at(3).at(0));
  EXPECT_EQ(part.parts.at(1).at(0), std::string(200, 'x'));
  const message inner(part.parts.at(2).at(0));
  EXPECT_EQ(message::list(inner.parts.at(7).at(0)),
            (std::vector<std::uint64_t>{0, UINT64_MAX, 300}));
}

TEST(Pprof, AHeapProfileHasWhatReadersAskFor) {
  text_out out;
  pprof::profile_writer<text_out> profile(out);
  pprof::begin_heap_profile(profile, 4096);
  profile.default_sample_type("inuse_space");
  const pprof::text_index name = profile.text("work"), file = profile.text("work.cpp");
  profile.add(pprof::mapping{.id = 1, .begin = 0x1000, .end = 0x2000, .file = file});
  profile.add(pprof::function{.id = 1, .name = name, .file = file});
  const std::array<pprof::line, 1> lines = {{{.function = 1, .number = 12}}};
  profile.add(pprof::location{.id = 9, .mapping = 1, .address = 0x1234, .lines = lines});
  const std::array<std::uint64_t, 1> stack = {9};
  profile.sample(stack, pprof::rounded({.allocated_blocks = 1.6,
                                        .allocated_bytes = 100,
                                        .live_blocks = 0,
                                        .live_bytes = 0.4,
                                        .lifetime_ns = 7}));
  const message m(out.bytes);
  const std::vector<std::string>& texts = m.parts.at(6);
  const auto text = [&texts](std::uint64_t i) { return texts.at(static_cast<std::size_t>(i)); };
  EXPECT_EQ(text(0), "");
  std::vector<std::string> types;
  for (const std::string& type : m.parts.at(1)) {
    const message t(type);
    types.push_back(text(t.numbers.at(1).at(0)) + "/" + text(t.numbers.at(2).at(0)));
  }
  EXPECT_EQ(types, (std::vector<std::string>{"alloc_objects/count", "alloc_space/bytes",
                                             "inuse_objects/count", "inuse_space/bytes",
                                             "lifetime/nanoseconds"}));
  EXPECT_EQ(text(m.numbers.at(14).at(0)), "inuse_space");
  EXPECT_EQ(m.numbers.at(12).at(0), 4096u);
  const message sample(m.parts.at(2).at(0));
  EXPECT_EQ(message::list(sample.parts.at(1).at(0)), (std::vector<std::uint64_t>{9}));
  EXPECT_EQ(message::list(sample.parts.at(2).at(0)), (std::vector<std::uint64_t>{2, 100, 0, 0, 7}));
  const message location(m.parts.at(4).at(0));
  EXPECT_EQ(location.numbers.at(3).at(0), 0x1234u);
  const message line(location.parts.at(4).at(0));
  EXPECT_EQ(line.numbers.at(2).at(0), 12u);
  const message function(m.parts.at(5).at(0));
  EXPECT_EQ(text(function.numbers.at(2).at(0)), "work");
}

}  // namespace
