// The tests of the small sources of ashlar/core: a part for each, with its name.
#include <tests/support/test_headers.hpp>

#include <ashlar/arena/test_source.hpp>
#include <ashlar/core/bits.hpp>
#include <ashlar/core/count_ones.hpp>
#include <ashlar/core/exact_divisor.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/core/number_list.hpp>
#include <ashlar/core/pprof.hpp>
#include <ashlar/core/sealable_source.hpp>
#include <ashlar/core/trace_recorder.hpp>

namespace {

using namespace ashlar;
using namespace ashlar::detail;

// ---- fault --------------------------------------------------------------------------------------

TEST(Fault, EveryKindHasANameAndASentenceOfItsOwn) {
  std::set<std::string> texts{"unknown", "unknown fault"};
  for (int kind = 0; kind <= static_cast<int>(fault_kind::leak); ++kind) {
    EXPECT_TRUE(texts.insert(describe(static_cast<fault_kind>(kind))).second) << kind;
    EXPECT_TRUE(texts.insert(name_of(static_cast<fault_kind>(kind))).second) << kind;
  }
}

// A kind that a later version of the library may add is told, not read past a table.
TEST(Fault, AKindThatIsNotKnownHasASentenceToo) {
  EXPECT_STREQ(describe(static_cast<fault_kind>(200)), "unknown fault");
  EXPECT_STREQ(name_of(static_cast<fault_kind>(200)), "unknown");
}

// ---- sealable_source ----------------------------------------------------------------------------

TEST(SealableSource, GivesUntilItIsSealedAndTakesBackAlways) {
  ashlar_test::test_source below;
  sealable_source source(ashlar_test::test_source_ref{&below});
  static_assert(page_source<decltype(source)>);
  void* const first = source.allocate(32, 8);
  EXPECT_NE(first, nullptr);
  source.seal();
  EXPECT_TRUE(source.is_sealed());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(source.allocate(1, 1), nullptr);
  EXPECT_EQ(source.refused(), 2u);
  EXPECT_EQ(below.pieces.size(), 1u);
  source.deallocate(first, 32, 8);
  EXPECT_TRUE(below.pieces.empty());
  source.unseal();
  void* const second = source.allocate(32, 8);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(source.refused(), 2u);
  source.deallocate(second, 32, 8);
}

// ---- bits ---------------------------------------------------------------------------------------

TEST(Bits, AlignmentAgreesWithDivisionForEverySmallNumber) {
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (std::size_t n = 0; n < 10'000; ++n) {
      ASSERT_EQ(ashlar::align_down(n, alignment), n / alignment * alignment);
      ASSERT_EQ(ashlar::align_up(n, alignment), ashlar::divide_up(n, alignment) * alignment);
    }
  }
}

TEST(Bits, CheckedAlignmentRefusesToWrap) {
  std::size_t result = 7;
  EXPECT_FALSE(ashlar::align_up_checked(SIZE_MAX, 16, result));
  EXPECT_EQ(result, 7u);
  EXPECT_TRUE(ashlar::align_up_checked(SIZE_MAX - 15, 16, result));
  EXPECT_EQ(result, SIZE_MAX - 15);
}

static_assert(ashlar::min_of(3, 5) == 3 && ashlar::min_of(5, 3) == 3 && ashlar::min_of(0, 0) == 0);
static_assert(ashlar::max_of(3, 5) == 5 && ashlar::max_of(SIZE_MAX, 0) == SIZE_MAX);

TEST(Bits, OnesAreCountedAsTheLibraryCountsThem) {
  std::uint64_t bits = 1;
  for (unsigned i = 0; i < 64; ++i) {
    EXPECT_EQ(ashlar::detail::count_ones(std::uint64_t{1} << i), 1u) << i;
    EXPECT_EQ(ashlar::detail::count_ones(~std::uint64_t{0} >> i), 64 - i) << i;
  }
  for (int i = 0; i < 1000; ++i) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    EXPECT_EQ(ashlar::detail::count_ones(bits), static_cast<unsigned>(std::popcount(bits))) << bits;
  }
  EXPECT_EQ(ashlar::detail::count_ones(0), 0u);
}

TEST(LineWriter, DropsWhatDoesNotFit) {
  ashlar::line_writer<8> line;
  line << "abc" << 1234567u;
  EXPECT_EQ(std::string(line.data(), line.size()), "abc12345");
}

TEST(LineWriter, ALineEndsEvenWhereThereIsNoRoom) {
  ashlar::line_writer<4> full, roomy;
  full << "abcd";
  full.end_line();
  EXPECT_EQ(std::string(full.data(), full.size()), "abc\n");
  roomy << "ab";
  roomy.end_line();
  EXPECT_EQ(std::string(roomy.data(), roomy.size()), "ab\n");
}

TEST(LineWriter, WritesAddressesAndTheLargestNumber) {
  ashlar::line_writer<64> line;
  line << reinterpret_cast<const void*>(0xbeef0) << " " << SIZE_MAX << " " << 0u;
  EXPECT_EQ(std::string(line.data(), line.size()), "0xbeef0 " + std::to_string(SIZE_MAX) + " 0");
}

// ---- trace_recorder -----------------------------------------------------------------------------
// The bytes of a recorded trace are the same on every processor, whatever the order of its bytes.

struct text_port {
  static constexpr std::uint32_t ticks_per_second = 1000;
  std::string written;
  std::uint32_t clock = 0;

  std::uint32_t now() noexcept { return clock += 300; }
  bool write(const std::byte* bytes, std::size_t count) noexcept {
    written.append(reinterpret_cast<const char*>(bytes), count);
    return true;
  }
};

/// Returns: the bytes of a trace of two blocks, at addresses of the test's own.
std::string recorded() {
  trace_recorder<text_port> recorder;
  const recorded_pool pool{.id = reinterpret_cast<const void*>(std::uintptr_t{0x20000f00}),
                           .name = "messages"};
  const auto* const low = reinterpret_cast<const void*>(std::uintptr_t{0x20001000});
  const auto* const high = reinterpret_cast<const void*>(std::uintptr_t{0x7ff01040});
  EXPECT_TRUE(recorder.begin("firmware"));
  recorder.allocated(pool, low, 48, 16);
  recorder.allocated(pool, high, 1'000'000, 8);
  recorder.mark("half");
  recorder.freed(pool, low);
  recorder.refused(pool, 96, 8);
  EXPECT_TRUE(recorder.end());
  return recorder.port().written;
}

/// Returns: what follows the header, in hexadecimal digits. The header tells how many bytes a
/// pointer has.
std::string frames_of(const std::string& trace) {
  std::string digits;
  for (const char c : trace.substr(trace.find("AFRM"))) {
    const auto byte = static_cast<unsigned char>(c);
    digits += "0123456789abcdef"[byte / 16];
    digits += "0123456789abcdef"[byte % 16];
  }
  return digits;
}

TEST(TraceRecorder, WritesTheSameBytesOnEveryProcessor) {
  const std::string trace = recorded();
  EXPECT_EQ(trace.substr(0, 12), std::string("\x89"
                                             "ATR\r\n\x1a\n\x07\0\0\0",
                                             12));
  EXPECT_EQ(
      frames_of(trace),
      "4146524d0100000001000000050000002c01000000000000dc0500000000000043000000335052f36703713c"
      "0500c7c7241426090000ac02ac02ac02ac02060030c0843d00600f008090808001a090e0ff03809080800102"
      "000403020001010e000468616c66086d657373616765734146524d0200000000000000010000000000000000"
      "0000000000000000000000090000000d10edc312f7e7ae0700010180bc8080044146524d0300000000000000"
      "01000000000000000000000000000000000000001a000000e5902cc0fb037f951800ff9d808002819e808002"
      "809e808002086d657373616765734146524d0400000000000000000000000000000000000000000000000000"
      "0000010000004d478c6761b81c7805");
}

// ---- number_list --------------------------------------------------------------------------------
// Tests of core/number_list.hpp, and of exact_divisor's way back.

static_assert(std::is_same_v<link_for<0>, std::uint8_t>);
static_assert(std::is_same_v<link_for<253>, std::uint8_t>);
static_assert(std::is_same_v<link_for<254>, std::uint16_t>);
static_assert(std::is_same_v<link_for<65'533>, std::uint16_t>);
static_assert(std::is_same_v<link_for<65'534>, std::uint32_t>);
static_assert(std::is_same_v<link_for<4'294'967'294>, std::size_t>);

/// Every number that fits, so that those next to `live` and `kept` are among them; the links hold
/// old bytes before.
template <class Link>
class NumberList : public testing::Test {};
using widths = testing::Types<std::uint8_t, std::uint16_t>;
TYPED_TEST_SUITE(NumberList, widths);

TYPED_TEST(NumberList, AgreesWithAModelUpToItsLastNumber) {
  using list_type = number_list<TypeParam>;
  constexpr std::size_t capacity = list_type::max_count;
  std::vector<TypeParam> storage(capacity + 1, list_type::live);
  auto* const links = reinterpret_cast<typename list_type::array*>(storage.data());
  list_type list;
  EXPECT_FALSE(list.is_live(links, 0));
  EXPECT_FALSE(list.is_live(links, 1)) << "what the links held before is no block in use";
  EXPECT_EQ(list.pop(links), 0u);
  std::vector<std::size_t> free;
  for (std::size_t n = 1; n <= capacity; ++n) {
    ASSERT_EQ(list.carve(links, capacity), n);
    ASSERT_TRUE(list.is_live(links, n));
    ASSERT_FALSE(list.is_live(links, n + 1));
  }
  EXPECT_EQ(list.carve(links, capacity), 0u);
  EXPECT_EQ(list.carved(), capacity);
  EXPECT_FALSE(list.is_live(links, 0));
  EXPECT_FALSE(list.is_live(links, SIZE_MAX));
  std::mt19937 random(7);
  for (int step = 0; step < 200'000; ++step) {
    const std::size_t n = 1 + random() % capacity;
    if (list.is_live(links, n)) {
      list.push(links, n);
      free.push_back(n);
    } else {
      ASSERT_EQ(list.pop(links), free.back()) << "last in, first out";
      ASSERT_TRUE(list.is_live(links, free.back()));
      free.pop_back();
    }
    ASSERT_EQ(list.first(), free.empty() ? 0 : free.back());
  }
  EXPECT_EQ(list.length(links), free.size());
}

TEST(ExactDivisor, TheDividendOfAQuotientIsItsNumber) {
  std::mt19937_64 random(11);
  for (std::size_t d = 1; d < 300; ++d) {
    const exact_divisor<> divisor(d);
    for (int i = 0; i < 100; ++i) {
      const auto n = static_cast<std::size_t>(random() >> (random() % 64));
      ASSERT_EQ(divisor.dividend(divisor.quotient(n), d), n) << d;
    }
    ASSERT_EQ(divisor.dividend(divisor.quotient(0), d), 0u);
    ASSERT_EQ(divisor.dividend(divisor.quotient(SIZE_MAX), d), SIZE_MAX);
  }
}

// ---- byte_exchange -----------------------------------------------------------------------------

TEST(ByteExchange, ChangesTheByteAndNoOther) {
  for (std::size_t place = 0; place < 8; ++place) {
    alignas(4) std::array<std::uint8_t, 8> bytes{1, 2, 3, 4, 5, 6, 7, 8};
    std::array<std::uint8_t, 8> expected = bytes;
    expected[place] = 0xfe;
    EXPECT_EQ(exchange_in_word(bytes[place], std::uint8_t{0xfe}), place + 1);
    EXPECT_EQ(bytes, expected);
    EXPECT_EQ(exchange_byte(bytes[place], std::uint8_t{0}), 0xfe);
    EXPECT_EQ(bytes[place], 0);
  }
}

// Each thread holds a value of its own for each byte, and swaps it with the byte all the time. No
// value may be lost or be there twice, whatever the other threads do to the same byte and to its
// neighbours.
TEST(ByteExchange, NoValueIsLostBetweenThreads) {
  constexpr int rounds = 300'000;
  constexpr std::size_t thread_count = 4;
  using values = std::array<std::uint8_t, 4>;
  alignas(4) values bytes{};
  std::array<values, thread_count> held;
  std::atomic<std::size_t> ready{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < thread_count; ++t) {
    held[t].fill(static_cast<std::uint8_t>(t + 1));
    threads.emplace_back([&bytes, &ready, &mine = held[t]] {
      ++ready;
      while (ready != thread_count)
        std::this_thread::yield();  // else one has ended before the next begins
      for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < bytes.size(); ++i)
          mine[i] = exchange_in_word(bytes[i], mine[i]);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::array<int, thread_count + 1> seen{};
    ++seen[bytes[i]];
    for (const values& of_thread : held) ++seen[of_thread[i]];
    for (const int times : seen) EXPECT_EQ(times, 1);
  }
}

// ---- pprof --------------------------------------------------------------------------------------
// The bytes of messages, by the rules of the protobuf format. What readers find in a whole profile:
// tests/sampling.

struct text_out {
  std::string bytes;
  void put(const void* from, std::size_t count) {
    bytes.append(static_cast<const char*>(from), count);
  }
};

TEST(Pprof, NumbersHaveSevenBitsAByte) {
  text_out out;
  pprof::protobuf_writer<text_out> writer(out);
  writer.number(1, 0);  // left out
  writer.number(1, 127);
  writer.number(1, 128);
  writer.number(2, UINT64_MAX);
  EXPECT_EQ(out.bytes, "\x08\x7f\x08\x80\x01\x10" + std::string(9, '\xff') + "\x01");
}

TEST(Pprof, PartsHaveTheirLengths) {
  text_out out;
  pprof::protobuf_writer<text_out> writer(out);
  const std::array<std::int64_t, 3> values = {0, -1, 300};
  writer.message(3, [&](auto& part) {
    part.text(1, std::string(200, 'x'));
    part.message(2, [&](auto& inner) { inner.numbers(7, std::span<const std::int64_t>(values)); });
  });
  const std::string inner = std::string("\x3a\x0d\0", 3) + std::string(9, '\xff') + "\x01\xac\x02";
  const std::string part = "\x0a\xc8\x01" + std::string(200, 'x') + "\x12\x0f" + inner;
  EXPECT_EQ(out.bytes, "\x1a\xdc\x01" + part);
}

}  // namespace
