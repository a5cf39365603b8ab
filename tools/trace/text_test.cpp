#include "tools/trace/text.hpp"

#include <tests/support/test_headers.hpp>

#include "tools/trace/error.hpp"
#include "tools/trace/trace_files_test.hpp"

namespace ashlar::trace {
namespace {

std::string text_of_trace(const std::string& bytes) {
  trace_reader reader = test::read(bytes, unfinished::refuse);
  std::string text;
  write_text(reader, [&](std::string_view more) { text += more; });
  return text;
}

std::string trace_of_text(const std::string& text) {
  std::istringstream from(text);
  std::string bytes;
  read_text(from, "a.txt", [&](std::string_view more) { bytes += more; });
  return bytes;
}

std::string fault_of(const std::string& text) {
  try {
    trace_of_text(text);
    return "";
  } catch (const trace_error& error) {
    return error.what();
  }
}

// Every kind of event, every field, two threads.
std::string rich_trace() {
  std::string bytes;
  trace_writer out([&](std::string_view more) { bytes += more; }, test::header());
  const std::vector<event_kind> births{event_kind::by_malloc,  event_kind::by_calloc,
                                       event_kind::by_realloc, event_kind::by_aligned,
                                       event_kind::by_new,     event_kind::by_new_array,
                                       event_kind::by_pool};
  const std::vector<event_kind> deaths{event_kind::from_free, event_kind::from_realloc,
                                       event_kind::from_delete, event_kind::from_delete_array,
                                       event_kind::from_pool};
  const std::vector<event_kind> others{
      event_kind::thread_start, event_kind::thread_exit, event_kind::fork,   event_kind::image,
      event_kind::mark,         event_kind::lost,        event_kind::refused};
  std::uint64_t time = 100;
  for (const std::uint32_t thread : {1u, 9u}) {
    for (const event_kind kind : births) {
      ++time;
      event e = test::birth(thread, time, 0xffff'ffff'0000'0000u + time, 70);
      e.kind = kind;
      e.alignment = kind == event_kind::by_aligned ? std::uint64_t{1} << 40 : 0;
      e.stack = kind == event_kind::by_new ? 3 : 0;
      out.add(e);
    }
    for (const event_kind kind : deaths) {
      ++time;
      event e = test::death(thread, time, 0x7fff'0000 + time % 3);
      e.kind = kind;
      out.add(e);
    }
    for (const event_kind kind : others) {
      out.add(test::other(kind, thread, ++time, 4711,
                          has_text(kind) ? std::string_view("a b\0\\\n\xff", 7) : ""));
    }
    out.add(test::note(thread, ++time, 0x7fff'0008, 4711));
    out.add(test::other(event_kind::mark, thread, ++time, 0, ""));
  }
  out.add(std::vector<stack_definition>{{3, {1, 2, 0xffff'ffff'ffff'fff0}}, {4, {}}});
  out.add(
      std::vector<module_definition>{{1, 2, 3, "/a path/lib.so"}, {2, 3, 0, "lib", "\x01\xab"}});
  out.add(std::vector<name_definition>{{2, {{"inlined<a, b>", "/a path/b.h", 7}, {"outer", "", 0}}},
                                       {1, {{"", "c.c", 1}}},
                                       {9, {}}});
  out.add(std::vector<memory_look>{{7, 4096, 0},
                                   {9,
                                    12288,
                                    20480,
                                    {{memory_kind::anonymous, 0x1000, 0x4000, 8192, "V8"},
                                     {memory_kind::file, 0, 0, 4096, "a lib.so"}}}});
  out.add(std::vector<own_mapping>{{8, 0x1000, 0x2000, 3}, {5, 0x1000, 0x1000, 0}});
  out.add(exit_look{"a reason", {{3, 2, 48}, {0, 1, UINT64_MAX}}});
  out.close();
  return bytes;
}

TEST(Text, ATraceComesBackFromItsTextAndATextFromItsTrace) {
  const std::string text = text_of_trace(rich_trace());
  const std::string bytes = trace_of_text(text);
  EXPECT_EQ(text_of_trace(bytes), text);
  // What the import wrote is what it writes again, to the byte.
  EXPECT_EQ(trace_of_text(text_of_trace(bytes)), bytes);
  trace_reader a = test::read(rich_trace());
  trace_reader b = test::read(bytes);
  EXPECT_EQ(a.header(), b.header());
  EXPECT_EQ(a.stacks(), b.stacks());
  EXPECT_EQ(a.modules(), b.modules());
  EXPECT_EQ(a.names().size(), 3u);
  EXPECT_EQ(a.names(), b.names());
  EXPECT_EQ(a.looks().size(), 2u);
  EXPECT_EQ(a.looks(), b.looks());
  EXPECT_EQ(a.mappings().size(), 2u);
  EXPECT_EQ(a.mappings(), b.mappings());
  EXPECT_EQ(a.look_at_exit().value().lost.size(), 2u);
  EXPECT_EQ(a.look_at_exit(), b.look_at_exit());
  while (const event* e = a.peek()) {
    ASSERT_NE(b.peek(), nullptr);
    ASSERT_EQ(*b.peek(), *e);
    a.pop();
    b.pop();
  }
  EXPECT_EQ(b.peek(), nullptr);
}

TEST(Text, LinesAreWhatPeopleRead) {
  const std::string text = text_of_trace(test::written(
      {test::birth(1, 5, 0x1000, 24), test::other(event_kind::mark, 1, 6, 0, "two words"),
       test::death(2, 7, 0x1000)}));
  EXPECT_EQ(text,
            "ashlar-trace-text 1\n"
            "header program /bin/program\n"
            "header arguments program\\00-x\\00\n"
            "header ticks_per_second 1000000\n"
            "5 1 malloc 0x1000 24\n"
            "6 1 mark 0 two\\20words\n"
            "7 2 free 0x1000\n");
}

TEST(Text, EscapedTextComesBackAndNothingElseIsTaken) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (const std::string& text : {all, std::string(), std::string("\\e"), std::string("e")}) {
    std::string back = "x";
    EXPECT_TRUE(unescape(escape(text), back));
    EXPECT_EQ(back, text);
  }
  std::string back;
  for (const char* wrong : {"", "\\", "\\1", "\\gg", "a b", "\\0x", "a\\4"})
    EXPECT_FALSE(unescape(wrong, back)) << wrong;
}

TEST(Text, WhatIsWrongIsNamedWithItsOffset) {
  EXPECT_NE(fault_of("hello\n").find("a.txt: at byte 0: this is no trace as text"),
            std::string::npos);
  const std::string head = "ashlar-trace-text 1\nheader program x\n";
  const std::string at = "a.txt: at byte " + std::to_string(head.size() + 12) + ": ";
  for (const char* wrong : {"x 1 free 0x10",
                            "2 1 frees 0x10",
                            "2 1 free",
                            "2 1 malloc 0x10",
                            "2 0 free 0x10",
                            "2 1 free 0x10 12",
                            "2 1 malloc 0x10 4 align=3",
                            "2 1 malloc 0x10 -4",
                            "2 99999999999 free 0x10",
                            "0 1 free 0x10",
                            "2 1 mark 0",
                            "2 1 mark 0 a\\",
                            "stack 0",
                            "module 1 2 3",
                            "name",
                            "name x",
                            "name 1 f a.c",
                            "name 1 f a.c x",
                            "name 1 f a.c 4294967296",
                            "mapping 1 2 3",
                            "mapping 1 0xffffffffffffffff 3 0",
                            "memory 1 2",
                            "memory 1 2 3 4",
                            "memory 1 2 3 4 0x2 0x1 0 \\e",
                            "memory 1 2 3 0 0x1 0x2 0 \\e",
                            "memory 1 2 3 256 0x1 0x2 0 \\e",
                            "2 1 malloc 0x10 99999999999999999999",
                            "2 1 free 0x10 stack=2"}) {
    const std::string fault = fault_of(head + "1 1 fork 7 \n" + wrong + "\n");
    EXPECT_EQ(fault.substr(0, at.size()), at) << wrong;
  }
  EXPECT_EQ(fault_of(head + "1 1 fork 7 \n\n1 1 free 0x10"), "");
}

// No trace comes of a text that a reader would refuse.
TEST(Text, LongerTextsAndMoreNamesThanATraceHasAreRefused) {
  const std::string head = "ashlar-trace-text 1\n";
  const std::string most(event_text_max, 'a');
  EXPECT_EQ(fault_of(head + "1 1 mark 0 " + most + "\n"), "");
  EXPECT_EQ(fault_of(head + "1 1 mark 0 " + most + "a\n"),
            "a.txt: at byte 20: a text of more than 1048576 bytes");
  std::string names = head;
  for (std::size_t i = 0; i < header_names_max; ++i)
    names += "header n" + std::to_string(i) + " x\n";
  EXPECT_EQ(fault_of(names), "");
  EXPECT_EQ(fault_of(names + "header more x\n"),
            "a.txt: at byte " + std::to_string(names.size()) + ": a header has at most 1024 names");
}

}  // namespace
}  // namespace ashlar::trace
