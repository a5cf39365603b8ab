#include "tools/trace/process_memory.hpp"

#include <array>
#include <system_error>
#include <tests/support/sanitizers.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/trace/spool_test_program.hpp"

namespace ashlar::trace {
namespace {

bool has(const std::vector<address_range>& places, const volatile void* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  for (const address_range& place : places)
    if (place.begin <= address && address < place.end) return true;
  return false;
}

class mapping {
 public:
  explicit mapping(int flags)
      : at_(static_cast<char*>(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0))) {
    if (at_ == MAP_FAILED) throw std::runtime_error("no memory");
  }
  ~mapping() { ::munmap(at_, bytes); }
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;
  char* at(std::size_t page) { return at_ + page * static_cast<std::size_t>(::getpagesize()); }

  static constexpr std::size_t bytes = 1 << 20;

 private:
  char* at_;
};

volatile std::uint64_t global = 0;
const char constant[] = "of the program's file";

TEST(ProcessMemory, PlacesAreThePagesThatTheProcessAloneHasWrittenTo) {
  if (support::sanitized) GTEST_SKIP() << "the sanitizer's mappings are too long";
  mapping own(MAP_PRIVATE);
  mapping shared(MAP_SHARED);
  *own.at(3) = 1;
  *shared.at(3) = 1;
  global = 1;
  volatile int local = 1;
  process_memory memory(::getpid(), 0);
  const std::vector<address_range> places = memory.places_of_pointers();
  EXPECT_TRUE(has(places, own.at(3)));
  EXPECT_FALSE(has(places, own.at(2)));
  EXPECT_FALSE(has(places, own.at(4)));
  EXPECT_FALSE(has(places, shared.at(3)));
  EXPECT_TRUE(has(places, &global));
  EXPECT_TRUE(has(places, &local));
  EXPECT_FALSE(has(places, constant));
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_LT(places[i].begin, places[i].end);
    EXPECT_EQ(places[i].begin % 8, 0u);
    if (i > 0) {
      EXPECT_LE(places[i - 1].end, places[i].begin);
    }
  }
}

TEST(ProcessMemory, TheFirstStackBeginsWhereItIsInUse) {
  if (support::sanitized) GTEST_SKIP() << "the sanitizer's mappings are too long";
  volatile char local[64] = {};
  const auto begin = reinterpret_cast<std::uintptr_t>(&local[32]);
  process_memory memory(::getpid(), begin);
  const std::vector<address_range> places = memory.places_of_pointers();
  EXPECT_TRUE(has(places, &local[40]));
  EXPECT_FALSE(has(places, &local[0] - 4096));
}

TEST(ProcessMemory, AMappingThatIsTooLongIsRefused) {
  constexpr std::size_t bytes = std::size_t{300} << 30;
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) GTEST_SKIP() << "no addresses";
  process_memory memory(::getpid(), 0);
  EXPECT_THROW(static_cast<void>(memory.places_of_pointers()), std::runtime_error);
  ::munmap(at, bytes);
}

TEST(ProcessMemory, ReadsWords) {
  const std::array<std::uint64_t, 3> words{1, 2, UINT64_MAX};
  std::array<std::uint64_t, 3> copy{};
  process_memory memory(::getpid(), 0);
  EXPECT_EQ(memory.read(reinterpret_cast<std::uintptr_t>(words.data()), copy), 3u);
  EXPECT_EQ(copy, words);
  EXPECT_EQ(memory.read(4096, copy), 0u) << "nothing is mapped there";
}

TEST(ProcessMemory, OfAProcessThatIsGone) {
  const auto pid = static_cast<pid_t>(test::ended_process());
  process_memory memory(pid, 0);
  EXPECT_THROW(static_cast<void>(memory.places_of_pointers()), std::system_error);
  std::array<std::uint64_t, 1> word{};
  EXPECT_THROW(memory.read(4096, word), std::system_error);
}

}  // namespace
}  // namespace ashlar::trace
