#include "tools/trace/frame.hpp"

#include <tests/support/test_headers.hpp>

namespace ashlar::trace {
namespace {

TEST(Varint, EveryLengthComesBackAndNothingElseIsTaken) {
  for (unsigned bits = 0; bits <= 64; ++bits) {
    const std::uint64_t number =
        bits == 0 ? 0 : std::numeric_limits<std::uint64_t>::max() >> (64 - bits);
    std::string bytes;
    put_varint(bytes, number);
    EXPECT_EQ(bytes.size(), bits == 0 ? 1u : (bits + 6) / 7);
    byte_reader from(view_of(bytes));
    EXPECT_EQ(from.varint(), number);
    EXPECT_TRUE(from.empty());
    byte_reader cut(view_of(bytes).first(bytes.size() - 1));
    EXPECT_FALSE(cut.varint());
  }
}

TEST(Varint, MoreThan64BitsAreRefused) {
  const std::string too_large = std::string(9, '\xff') + '\x02';
  EXPECT_FALSE(byte_reader(view_of(too_large)).varint());
  EXPECT_FALSE(byte_reader(view_of(std::string(11, '\x80'))).varint());
}

TEST(Zigzag, SmallDifferencesOfBothSignsAreSmall) {
  EXPECT_EQ(zigzag(0), 0u);
  EXPECT_EQ(zigzag(~std::uint64_t{0}), 1u);
  EXPECT_EQ(zigzag(1), 2u);
  for (const std::uint64_t n :
       {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63,
        (std::uint64_t{1} << 63) - 1, std::uint64_t{4711}})
    EXPECT_EQ(unzigzag(zigzag(n)), n);
}

// The value that the polynomial's catalogues give for it.
TEST(Checksum, IsCrc32C) {
  EXPECT_EQ(checksum(view_of("123456789")), 0xe3069283u);
  EXPECT_EQ(checksum({}), 0u);
}

// A random program of one thread: sizes of a few kinds, addresses used again, all kinds of events.
std::vector<event> random_events(std::uint64_t seed, std::size_t count) {
  static const std::string text = "a text of a mark";
  std::mt19937_64 random(seed);
  std::vector<event> events;
  std::vector<std::uint64_t> live;
  std::uint64_t time = random() >> (random() % 64);
  while (events.size() < count) {
    event e;
    e.thread = 7;
    if (time < std::numeric_limits<std::uint64_t>::max() / 2)
      time += random() >> (40 + random() % 24);
    e.time = time;
    const auto choice = random() % 16;
    if (choice < 8 || live.empty()) {
      e.kind = static_cast<event_kind>(1 + random() % 7);
      e.size = random() >> (random() % 64);
      e.address = random() >> (random() % 64);
      if (random() % 4 != 0) e.address &= ~std::uint64_t{15};
      if (random() % 8 == 0) e.alignment = std::uint64_t{1} << random() % 64;
      if (random() % 8 == 0) e.stack = static_cast<std::uint32_t>(random() | 1);
      live.push_back(e.address);
    } else if (choice < 15) {
      e.kind = static_cast<event_kind>(16 + random() % 5);
      const std::size_t which = random() % live.size();
      e.address = random() % 8 == 0 ? random() : live[which];
      live[which] = live.back();
      live.pop_back();
    } else if (random() % 2 == 0) {
      e.kind = event_kind::untouched;
      e.address = random() % 8 == 0 ? random() : live[random() % live.size()];
      e.size = random() >> (random() % 64);
    } else {
      e.kind = static_cast<event_kind>(32 + random() % 7);
      e.size = random() >> (random() % 64);
      if (has_text(e.kind)) e.text = text;
    }
    events.push_back(e);
  }
  return events;
}

std::string framed(const std::vector<event>& events, unsigned time_bits = 0) {
  compressor with;
  frame_encoder encoder;
  for (const event& e : events) encoder.add(e, time_bits);
  std::string bytes;
  encoder.finish(7, with, bytes);
  return bytes;
}

TEST(Frame, EveryEventComesBack) {
  for (std::uint64_t seed = 0; seed < support::times(200u); ++seed) {
    const std::vector<event> events = random_events(seed, 1 + seed * seed % 3000);
    const std::string bytes = framed(events);
    frame_header header;
    ASSERT_TRUE(decode(view_of(bytes).first(frame_header_bytes), header));
    EXPECT_EQ(header.kind, frame_kind::brief_events);
    EXPECT_EQ(header.count, events.size());
    EXPECT_EQ(header.first_time, events.front().time);
    EXPECT_EQ(header.last_time, events.back().time);
    decompressor with;
    frame_decoder decoder;
    std::uint64_t room = UINT64_MAX;
    ASSERT_EQ(decoder.begin(header, view_of(bytes).subspan(frame_header_bytes), with, room),
              nullptr);
    for (const event& e : events) {
      ASSERT_NE(decoder.left(), 0u);
      event read;
      ASSERT_EQ(decoder.next(read), nullptr);
      ASSERT_EQ(read, e);
    }
    EXPECT_EQ(decoder.left(), 0u);
  }
}

std::vector<event> read_frame(const std::string& bytes) {
  frame_header header;
  EXPECT_TRUE(decode(view_of(bytes).first(frame_header_bytes), header));
  decompressor with;
  frame_decoder decoder;
  std::uint64_t room = UINT64_MAX;
  EXPECT_EQ(decoder.begin(header, view_of(bytes).subspan(frame_header_bytes), with, room), nullptr);
  std::vector<event> events;
  while (decoder.left() != 0) {
    const char* const fault = decoder.next(events.emplace_back());
    EXPECT_EQ(fault, nullptr) << fault;
    if (fault != nullptr) break;
    events.back().text = {};  // it lives as long as the decoder
  }
  return events;
}

// All but the times comes back. These are less than a step away and do not go back; the first and
// the last one are exact.
TEST(Frame, CoarseTimesAreWithinAStep) {
  for (std::uint64_t seed = 0; seed < support::times(200u); ++seed) {
    const std::vector<event> events = random_events(seed, 1 + seed * seed % 3000);
    const auto bits = static_cast<unsigned>(seed % (time_bits_max + 1));
    const std::vector<event> read = read_frame(framed(events, bits));
    ASSERT_EQ(read.size(), events.size());
    EXPECT_EQ(read.front().time, events.front().time);
    EXPECT_EQ(read.back().time, events.back().time);
    for (std::size_t i = 0; i < events.size(); ++i) {
      event expected = events[i];
      const std::uint64_t error =
          std::max(expected.time, read[i].time) - std::min(expected.time, read[i].time);
      ASSERT_LT(error, std::uint64_t{1} << bits);
      if (i != 0) {
        ASSERT_GE(read[i].time, read[i - 1].time);
      }
      expected.time = read[i].time;
      expected.text = {};
      ASSERT_EQ(read[i], expected);
    }
  }
}

TEST(Frame, EventsOfAStepHaveEqualDistances) {
  std::vector<event> events;
  for (const std::uint64_t time : {1000u, 1001u, 1002u, 1003u, 1016u, 1040u}) {
    event& e = events.emplace_back();
    e.kind = event_kind::by_malloc;
    e.thread = 7;
    e.time = time;
  }
  std::vector<std::uint64_t> times;
  for (const event& e : read_frame(framed(events, 4))) times.push_back(e.time);
  EXPECT_EQ(times, (std::vector<std::uint64_t>{1000, 1004, 1008, 1012, 1016, 1040}));
}

// The same few blocks over and over: a byte an event says which, wherever the blocks are.
TEST(Frame, BlocksThatAreUsedAgainTakeAByte) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> free_blocks;
  std::vector<std::uint64_t> live;
  for (int i = 0; i < 100; ++i) free_blocks.push_back(random() & 0x7fff'ffff'fff0);
  std::vector<event> events;
  while (events.size() < 10'000) {
    const bool is_birth = live.size() < 50 || (random() % 2 == 0 && !free_blocks.empty());
    std::vector<std::uint64_t>& from = is_birth ? free_blocks : live;
    std::vector<std::uint64_t>& to = is_birth ? live : free_blocks;
    std::swap(from[random() % from.size()], from.back());
    event& e = events.emplace_back();
    e.kind = is_birth ? event_kind::by_malloc : event_kind::from_free;
    e.thread = 7;
    e.address = from.back();
    if (is_birth) e.size = 1 + random() % 1000;
    to.push_back(from.back());
    from.pop_back();
  }
  event end;
  end.kind = event_kind::thread_exit;
  end.thread = 7;
  events.push_back(end);
  const std::string bytes = framed(events);
  EXPECT_EQ(read_frame(bytes), events);
  // A size has 10 bits, a kind 1, an address 7; the first use of a block has 6 bytes more.
  EXPECT_LT(bytes.size(), events.size() * 22 / 8 + 100 * 6);
}

TEST(Frame, AHeaderWithAnyBitChangedIsNone) {
  const std::string bytes = framed(random_events(3, 10)).substr(0, frame_header_bytes);
  frame_header header;
  ASSERT_TRUE(decode(view_of(bytes), header));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(decode(view_of(damaged), header)) << bit;
  }
}

// A payload that lies (its checksum is not looked at here): a fault or other events, but no event too many and no crash.
TEST(Frame, APayloadWithAnyByteChangedIsReadWithoutHarm) {
  const std::string bytes = framed(random_events(4, 60));
  frame_header header;
  ASSERT_TRUE(decode(view_of(bytes).first(frame_header_bytes), header));
  decompressor with;
  std::size_t faults = 0;
  for (std::size_t at = frame_header_bytes; at < bytes.size(); ++at) {
    for (const int change : {1, 0x40, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      frame_decoder decoder;
      std::uint64_t room = UINT64_MAX;
      const char* fault =
          decoder.begin(header, view_of(damaged).subspan(frame_header_bytes), with, room);
      std::size_t read = 0;
      event e;
      while (fault == nullptr && decoder.left() != 0) {
        fault = decoder.next(e);
        ++read;
      }
      EXPECT_LE(read, header.count);
      faults += fault != nullptr;
    }
  }
  EXPECT_GT(faults, bytes.size());
}

TEST(Frame, IsReadWhereThereIsRoomForWhatItUnpacksToAndNoByteLess) {
  const std::vector<event> events = random_events(5, 1000);
  const std::string bytes = framed(events);
  const byte_view payload = view_of(bytes).subspan(frame_header_bytes);
  frame_header header;
  ASSERT_TRUE(decode(view_of(bytes).first(frame_header_bytes), header));
  decompressor with;
  const auto fault_in = [&](std::uint64_t& room) {
    frame_decoder decoder;
    const char* const fault = decoder.begin(header, payload, with, room);
    return std::string(fault == nullptr ? "" : fault);
  };
  std::uint64_t room = UINT64_MAX;
  EXPECT_EQ(fault_in(room), "");
  const std::uint64_t needed = UINT64_MAX - room;
  EXPECT_GT(needed, 1000 * (sizeof(std::uint64_t) + 2));  // an address, a kind and a time each
  room = needed;
  EXPECT_EQ(fault_in(room), "");
  EXPECT_EQ(room, 0u);
  for (std::uint64_t less = 0; less < needed; less += 97) {
    room = needed - 1 - less;
    EXPECT_EQ(fault_in(room), "more than a trace of this size may unpack to");
  }
}

// As a payload that lies about them would have it.
template <class Read>
std::string fault_of(const std::string& column, std::uint32_t count,
                     std::uint64_t room = 1u << 20) {
  compressor pack;
  decompressor unpack;
  std::string payload;
  pack.put_column(payload, view_of(column));
  frame_header header;
  header.count = count;
  Read read;
  const char* const fault = decode(header, view_of(payload), unpack, room, read);
  return fault == nullptr ? "" : fault;
}

// Two definitions come back. Another number of them, or less room than `needed`, is a fault.
template <class Read, class All>
void expect_back(const All& all, frame_kind kind, std::uint64_t needed, const char* missing,
                 const char* behind) {
  compressor pack;
  decompressor unpack;
  const std::string bytes = encode(all, pack);
  const byte_view payload = view_of(bytes).subspan(frame_header_bytes);
  frame_header header;
  ASSERT_TRUE(decode(view_of(bytes).first(frame_header_bytes), header));
  EXPECT_EQ(header.kind, kind);
  const auto fault_in = [&](std::uint32_t count, std::uint64_t room) {
    header.count = count;
    Read read;
    const char* const fault = decode(header, payload, unpack, room, read);
    if (fault == nullptr) {
      EXPECT_EQ(read, all);
    }
    return std::string(fault == nullptr ? "" : fault);
  };
  EXPECT_EQ(fault_in(2, needed), "");
  for (const std::uint64_t room : {needed - 1, std::uint64_t{0}})
    EXPECT_EQ(fault_in(2, room), "more than a trace of this size may unpack to");
  EXPECT_EQ(fault_in(3, 1000), missing);
  EXPECT_EQ(fault_in(1, 1000), behind);
}

TEST(Definitions, AnotherNumberOfThemOrLessRoomIsAFault) {
  using stacks = std::vector<stack_definition>;
  expect_back<stacks>(stacks{{4'000'000'000, {1, UINT64_MAX}}, {2, {3}}}, frame_kind::stacks,
                      2 * sizeof(stack_definition) + 3 * sizeof(std::uint64_t),
                      "a stack without number or depth", "bytes behind the last stack");
  using modules = std::vector<module_definition>;
  expect_back<modules>(modules{{0x1000, 0x2000, 0x800, "/usr/lib/a b.so"}, {1, 2, 3, ""}},
                       frame_kind::modules,
                       2 * sizeof(module_definition) + std::strlen("/usr/lib/a b.so"),
                       "a module without addresses or path", "bytes behind the last module");
  using names = std::vector<name_definition>;
  expect_back<names>(names{{1, {{"f", "a.c", 1}, {"", "", 0}}}, {UINT64_MAX, {}}},
                     frame_kind::names, 2 * sizeof(name_definition) + 2 * sizeof(source_place) + 4,
                     "a name without its address or places", "bytes behind the last name");
  using mappings = std::vector<own_mapping>;
  expect_back<mappings>(mappings{{7, 0x1000, 0x2000, UINT32_MAX}, {5, 0, UINT64_MAX, 0}},
                        frame_kind::mappings, 2 * sizeof(own_mapping),
                        "a mapping without its figures", "bytes behind the last mapping");
  std::string column;
  for (const std::uint64_t each : {0u, 4u, 0u, 1u, 0u, 2u}) put_varint(column, each);
  for (const std::uint64_t each : {UINT64_MAX, std::uint64_t{1}}) put_varint(column, each);
  EXPECT_EQ(fault_of<mappings>(column, 2), "a mapping that ends before it begins");
  expect_back<std::optional<exit_look>>(exit_look{"why", {{UINT32_MAX, 7, UINT64_MAX}, {0, 0, 0}}},
                                        frame_kind::exit_look, 3 + 2 * sizeof(lost_blocks),
                                        "lost blocks without their figures",
                                        "bytes behind the last lost blocks");
  EXPECT_EQ(fault_of<std::optional<exit_look>>("\x7f", 0), "a look at exit without its begin");
}

TEST(Definitions, BrokenLooksAtMemoryAreFaults) {
  using all_looks = std::vector<memory_look>;
  const all_looks looks{
      {7, 4096, 0},
      {5,
       UINT64_MAX,
       UINT64_MAX,
       {{memory_kind::heap, 0x1000, UINT64_MAX, 8192, "a"}, {memory_kind::file, 0, 0, 1, ""}}}};
  expect_back<all_looks>(
      looks, frame_kind::memory, 2 * sizeof(memory_look) + 2 * sizeof(mapped_memory) + 1,
      "a look at memory without its figures", "bytes behind the last look at memory");
  compressor pack;
  decompressor unpack;
  const std::string bytes = encode(looks, pack);
  std::string column;  // what both looks are
  byte_reader from(view_of(bytes).subspan(frame_header_bytes));
  ASSERT_TRUE(unpack.get_column(from, 1000, column));
  EXPECT_EQ(fault_of<all_looks>(column, 2), "");
  for (std::size_t some = 0; some < column.size(); ++some)
    EXPECT_NE(fault_of<all_looks>(column.substr(0, some), 2), "") << some;
  // No byte of it, changed to any other, is read beyond the end.
  for (std::size_t i = 0; i < column.size(); ++i)
    for (int value = 0; value < 256; ++value) {
      std::string changed = column;
      changed[i] = static_cast<char>(value);
      static_cast<void>(fault_of<all_looks>(changed, 2));
    }
  // More mappings than there are bytes; a kind 0; an end before the begin.
  const auto look = [](std::initializer_list<std::uint64_t> numbers) {
    std::string text;
    for (const std::uint64_t each : numbers) put_varint(text, each);
    return text;
  };
  EXPECT_EQ(fault_of<all_looks>(look({0, 1, 1, 1u << 30}), 1),
            "a look at memory without its figures");
  const char* const no_mapping = "a look at memory without all its mappings";
  EXPECT_EQ(fault_of<all_looks>(look({0, 1, 1, 1, 1, 0, 5, 1, 0}), 1), "");
  EXPECT_EQ(fault_of<all_looks>(look({0, 1, 1, 1, 0, 0, 5, 1, 0}), 1), no_mapping);
  EXPECT_EQ(fault_of<all_looks>(look({0, 1, 1, 1, 1, 2, UINT64_MAX, 1, 0}), 1), no_mapping);
  EXPECT_EQ(fault_of<all_looks>(look({0, 1, 1, 1, 1, 0, 5, 1, UINT64_MAX}), 1), no_mapping);
}

}  // namespace
}  // namespace ashlar::trace
