// What a file of classes may say, and what is told of one that cannot be used.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <ashlar/heap/class_file.hpp>
#include <ashlar/heap/class_table.hpp>

namespace {

using namespace ashlar;
using detail::class_file;
using detail::parse_class_file;

void expect_sizes(std::string_view text, std::initializer_list<std::uint32_t> sizes) {
  const class_file file = parse_class_file(text);
  ASSERT_EQ(file.wrong, nullptr) << text << ": " << file.wrong;
  ASSERT_EQ(file.count, sizes.size()) << text;
  EXPECT_TRUE(std::equal(sizes.begin(), sizes.end(), file.sizes.begin())) << text;
}

void expect_wrong(std::string_view text, std::size_t line, std::string_view word,
                  std::string_view part) {
  const class_file file = parse_class_file(text);
  ASSERT_NE(file.wrong, nullptr) << text;
  EXPECT_EQ(file.line, line) << text;
  EXPECT_EQ(file.word, word) << text;
  EXPECT_NE(std::string_view(file.wrong).find(part), std::string_view::npos) << file.wrong;
}

TEST(ClassFile, BlanksLinesAndCommentsOnlySeparate) {
  expect_sizes("ashlar-classes 1 131072", {131'072});
  expect_sizes("ashlar-classes 1\n16 48\n131072\n", {16, 48, 131'072});
  expect_sizes("# for me\n\n  ashlar-classes\t1 # version\r\n16#no blank\n\t48\r\n131072 #end",
               {16, 48, 131'072});
}

TEST(ClassFile, WhatCannotBeUsedIsNamedWithItsLine) {
  expect_wrong("", 1, "", "begins");
  expect_wrong("# nothing\n", 2, "", "begins");
  expect_wrong("ELF\n", 1, "ELF", "begins");
  expect_wrong("ashlar-classes", 1, "", "version");
  expect_wrong("ashlar-classes\n2 16 131072", 2, "2", "version");
  expect_wrong("ashlar-classes one 131072", 1, "one", "version");
  expect_wrong("ashlar-classes 1\n16 x32", 2, "x32", "no block size");
  expect_wrong("ashlar-classes 1\n16 32k", 2, "32k", "no block size");
  expect_wrong("ashlar-classes 1\n16 -32", 2, "-32", "no block size");
  expect_wrong("ashlar-classes 1\n99999999999", 2, "99999999999", "no block size");
  expect_wrong("ashlar-classes 1\n16 32\n40\n131072", 3, "40", "multiple of 16");
  expect_wrong("ashlar-classes 1\n32 16\n131072", 2, "16", "not larger");
  expect_wrong("ashlar-classes 1\n16\n", 3, "", "131072");
}

TEST(ClassFile, MoreClassesThanThereMayBeAreRefusedAtTheFirst) {
  std::string text = "ashlar-classes 1\n";
  for (std::size_t i = 1; i < 2 * class_count; ++i) text += std::to_string(16 * i) + "\n";
  expect_wrong(text, 1 + class_count, std::to_string(16 * class_count), "too many");
}

}  // namespace
