// operator new and delete of the whole program, by adapt/new_delete.hpp in another source.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/ashlar.h>

namespace {

/// Volatile, so that no compiler leaves the pair of new and delete out.
void* volatile kept = nullptr;

std::uint64_t held() {
  ashlar_stats s;
  ashlar_stats_get(&s);
  return s.total.bytes_in_use;
}

struct alignas(256) aligned {
  char bytes[300];
};

TEST(NewDelete, EveryFormIsServedByTheProcessHeap) {
  const std::uint64_t before = held();
  const auto expect_served = [&](void* p, std::size_t size) {
    ASSERT_NE(p, nullptr);
    kept = p;
    EXPECT_GE(held(), before + size);
  };
  constexpr std::size_t size = 200'000;  // large: counted at once
  constexpr std::align_val_t alignment{1024};
  void* p = ::operator new(size);
  expect_served(p, size);
  ::operator delete(p);
  p = ::operator new[](size);
  expect_served(p, size);
  ::operator delete[](p);
  p = ::operator new(size, alignment);
  expect_served(p, size);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 1024, 0u);
  ::operator delete(p, alignment);
  p = ::operator new[](size, alignment);
  expect_served(p, size);
  ::operator delete[](p, alignment);
  p = ::operator new(size, std::nothrow);
  expect_served(p, size);
  ::operator delete(p, std::nothrow);
  p = ::operator new[](size, alignment, std::nothrow);
  expect_served(p, size);
  ::operator delete[](p, alignment, std::nothrow);
  EXPECT_EQ(held(), before);
}

#if defined(__cpp_sized_deallocation)
TEST(NewDelete, TheFormsThatAreToldTheSizeGiveBackToo) {
  const std::uint64_t before = held();
  constexpr std::size_t size = 200'000;
  constexpr std::align_val_t alignment{1024};
  ::operator delete(::operator new(size), size);
  ::operator delete[](::operator new[](size), size);
  ::operator delete(::operator new(size, alignment), size, alignment);
  ::operator delete[](::operator new[](size, alignment), size, alignment);
  EXPECT_EQ(held(), before);
}
#endif

TEST(NewDelete, ClassesAndContainersUseIt) {
  const std::uint64_t before = held();
  {
    auto objects = std::make_unique<aligned[]>(1000);
    kept = objects.get();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(kept) % 256, 0u);
    EXPECT_GE(held(), before + 1000 * sizeof(aligned));
    std::thread([] {
      std::vector<std::string> texts(1000, std::string(100, 'x'));
      kept = texts.data();
    }).join();
  }
  EXPECT_LT(held(), before + 1000 * sizeof(aligned));
}

/// More than any object has, also where a half of all addresses can be had. The compiler would warn of a constant.
volatile std::size_t more_than_any = SIZE_MAX / 2 + 1;

TEST(NewDelete, WhatCannotBeHadThrowsOrIsNull) {
  const std::size_t too_much = more_than_any;
  EXPECT_THROW(kept = ::operator new(too_much), std::bad_alloc);
  EXPECT_THROW(kept = ::operator new(too_much, std::align_val_t{4096}), std::bad_alloc);
  EXPECT_EQ(::operator new(too_much, std::nothrow), nullptr);
  EXPECT_EQ(::operator new[](too_much, std::nothrow), nullptr);
}

int handler_calls = 0;

TEST(NewDelete, TheHandlerIsAskedAsLongAsThereIsOne) {
  std::set_new_handler([] {
    if (++handler_calls == 3) std::set_new_handler(nullptr);
  });
  EXPECT_THROW(kept = ::operator new(more_than_any), std::bad_alloc);
  EXPECT_EQ(handler_calls, 3);
}

}  // namespace
