#include "tools/image/memory_image.hpp"

#include <tests/support/test_headers.hpp>

#include "tools/files/files.hpp"

namespace ashlar::image {
namespace {

std::span<const std::byte> bytes_of(const std::vector<std::uint64_t>& words) {
  return std::as_bytes(std::span(words));
}

TEST(MemoryImage, ReadsOverTheEndsOfStretches) {
  const std::vector<std::uint64_t> first{1, 2};
  const std::vector<std::uint64_t> second{3, 4};
  memory_image image;
  image.add_mapping({0x1000, 0x1020, true, {}, 0, false});
  image.add_bytes(0x1000, bytes_of(first));
  image.add_bytes(0x1010, bytes_of(second));
  EXPECT_EQ(image.value_at<std::uint64_t>(0x1008), 2u);
  std::array<std::uint64_t, 4> all{};
  EXPECT_EQ(image.read(0x1000, std::as_writable_bytes(std::span(all))), sizeof all);
  EXPECT_EQ(all, (std::array<std::uint64_t, 4>{1, 2, 3, 4}));
  EXPECT_FALSE(image.value_at<std::uint64_t>(0x1019).has_value()) << "its last byte is missing";
  EXPECT_FALSE(image.value_at<std::uint8_t>(0xfff).has_value());
  EXPECT_TRUE(image.at(0x1020).empty());
}

TEST(MemoryImage, WhatWasNotKeptIsTheFilesOrZero) {
  const files::scratch_directory folder;
  const std::string path = folder.path() + "/file";
  std::ofstream(path, std::ios::binary) << std::string(0x1000, 'a') << std::string(0x100, 'b');
  const std::vector<std::uint64_t> kept{7};
  memory_image image;
  image.add_mapping({0x10000, 0x12000, false, path, 0, false});
  image.add_mapping({0x20000, 0x40000, true, {}, 0, true});
  image.add_mapping({0x50000, 0x51000, false, path + "_gone", 0, false});
  image.add_bytes(0x10800, bytes_of(kept));
  image.add_bytes(0x30000, bytes_of(kept));
  EXPECT_EQ(image.value_at<char>(0x10000), 'a');
  EXPECT_EQ(image.at(0x10000).size(), 0x800u) << "up to what was kept";
  EXPECT_EQ(image.value_at<std::uint64_t>(0x10800), 7u);
  EXPECT_EQ(image.value_at<char>(0x11010), 'b');
  EXPECT_FALSE(image.value_at<char>(0x11100).has_value()) << "behind the file's end";
  EXPECT_EQ(image.value_at<std::uint64_t>(0x20008), 0u);
  EXPECT_EQ(image.value_at<std::uint64_t>(0x30000), 7u);
  EXPECT_EQ(image.value_at<std::uint64_t>(0x3fff8), 0u);
  EXPECT_FALSE(image.value_at<char>(0x50000).has_value());
  image.replace_file(path + "_gone", path);
  EXPECT_EQ(image.text_at(0x10ffe, 3), "aab");
}

TEST(MemoryImage, PointersLieInWhatCanBeWrittenAndInStacksThatAreInUse) {
  const std::vector<std::uint64_t> page(512);
  memory_image image;
  image.add_mapping({0x1000, 0x2000, false, {}, 0, false});  // closed: below a thread's stack
  image.add_mapping({0x2000, 0x3000, true, {}, 0, false});
  image.add_mapping({0x5000, 0x6000, false, {}, 0, false});
  image.add_mapping({0x7000, 0x8000, true, {}, 0, false});
  image.add_bytes(0x2000, bytes_of(page));
  image.add_bytes(0x5000, bytes_of(page));
  image.add_bytes(0x7000, bytes_of(page));
  image.add_thread({1, 0x2800, {}});
  image.add_thread({2, 0x7800, {}});  // its stack is in a mapping with other things
  const auto places = image.places_of_pointers();
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].begin, 0x2800u - 128);
  EXPECT_EQ(places[0].end, 0x3000u);
  EXPECT_EQ(places[1].begin, 0x7000u);
  image.first_stack = 0x7f00;
  EXPECT_EQ(image.places_of_pointers()[1].begin, 0x7800u - 128);
}

}  // namespace
}  // namespace ashlar::image
