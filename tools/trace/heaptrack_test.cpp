#include "tools/trace/heaptrack.hpp"

#include <sstream>

#include <gtest/gtest.h>

#include "tools/trace/error.hpp"
#include "tools/trace/trace_test_files.hpp"

namespace ashlar::trace {
namespace {

std::string imported(const std::string& text) {
  std::istringstream from(text);
  std::string bytes;
  read_heaptrack(from, "a.raw", "0.1", [&](std::string_view more) { bytes += more; });
  return bytes;
}

std::string fault_of(const std::string& text) {
  try {
    imported(text);
    return "";
  } catch (const trace_error& error) {
    return error.what();
  }
}

TEST(Heaptrack, ARawRecordingIsRead) {
  trace_reader reader =
      test::read(imported("v 10400 3\nx b /usr/bin/ls\nX ls -l /usr\nI 1000 5e298d\nm 1 -\nm 1 x "
                          "5000 0 36c0 4000 100\n"
                          "m 8 /lib/a b 9000 0 10\nt 5010 0\nt 9005 1\nt 9006 1\nc a\n+ 18 2 "
                          "f010\n+ 2a 1 f020\nc 14\n- f010\nR 5\n"),
                 unfinished::refuse);
  EXPECT_EQ(reader.header().get(header_name::program), "/usr/bin/ls");
  EXPECT_EQ(reader.header().get(header_name::arguments), std::string("ls -l /usr\0", 11));
  EXPECT_EQ(reader.header().number(header_name::page_bytes, 0), 4096u);
  const std::vector<stack_definition> stacks{{1, {0x5010}}, {2, {0x9005, 0x5010}}};
  EXPECT_EQ(reader.stacks(), stacks);
  const std::vector<module_definition> modules{{0x5000, 0x86c0, 0x5000, "/usr/bin/ls"},
                                               {0x9000, 0x9100, 0x5000, "/usr/bin/ls"},
                                               {0x9000, 0x9010, 0x9000, "/lib/a b"}};
  EXPECT_EQ(reader.modules(), modules);
  event first = test::birth(1, 10, 0xf010, 24);
  first.stack = 2;
  ASSERT_NE(reader.peek(), nullptr);
  EXPECT_EQ(*reader.peek(), first);
  reader.pop();
  EXPECT_EQ(reader.peek()->size, 42u);
  reader.pop();
  EXPECT_EQ(*reader.peek(), test::death(1, 20, 0xf010));
  reader.pop();
  EXPECT_EQ(reader.peek(), nullptr);
}

TEST(Heaptrack, WhatIsNoRecordingIsRefusedWithItsOffset) {
  EXPECT_NE(fault_of("").find("a.raw: at byte 0"), std::string::npos);
  EXPECT_NE(fault_of("hello").find("a.raw: at byte 0"), std::string::npos);
  for (const char* wrong : {"+ 1 9 f", "+ 1", "- ", "t 1 5", "m 99 a", "x ff a", "m 1 a 0 5 "}) {
    const std::string fault = fault_of(std::string("v 1 3\n") + wrong + "\n");
    EXPECT_EQ(fault.substr(0, 18), "a.raw: at byte 6: ") << wrong;
  }
}

}  // namespace
}  // namespace ashlar::trace
