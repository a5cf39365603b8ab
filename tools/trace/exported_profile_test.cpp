#include "tools/trace/exported_profile.hpp"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tools/trace/trace_test_files.hpp"

namespace ashlar::trace {
namespace {

using test::birth;
using test::death;

event with_stack(event e, std::uint32_t stack) {
  e.stack = stack;
  return e;
}

/// Two call stacks with names: main > work > make (10 blocks of 100, 4 of them freed after a
/// millisecond each) and main > "a;b" (one of 50).
class Export : public testing::Test {
 protected:
  Export() {
    trace_writer out([&](std::string_view more) { bytes_ += more; }, test::header());
    out.add(std::vector<stack_definition>{{1, {0x10, 0x20, 0x30}}, {2, {0x40, 0x30}}});
    out.add(std::vector<module_definition>{{0x1, 0x100, 0, "/bin/program", "\x01\xab"}});
    out.add(std::vector<name_definition>{{0x10, {{"make", "make.c", 7}}},
                                         {0x20, {{"inlined", "work.c", 3}, {"work", "work.c", 9}}},
                                         {0x30, {{"main", "main.c", 1}}},
                                         {0x40, {{"a;b", "", 0}}}});
    for (std::uint64_t i = 0; i < 10; ++i)
      out.add(with_stack(birth(1, 1000, 0x1000 + 16 * i, 100), 1));
    for (std::uint64_t i = 0; i < 4; ++i) out.add(death(1, 2000, 0x1000 + 16 * i));
    out.add(with_stack(birth(1, 3000, 0x9000, 50), 2));
    out.close();
  }

  template <class Write>
  std::string exported(Write write, profile_figure figure) {
    trace_reader reader = test::read(bytes_);
    const trace_summary all = summarise(reader, 1);
    call_names names(reader);
    std::string text;
    write(reader, all, names, figure, [&](std::string_view more) { text += more; });
    return text;
  }

 private:
  std::string bytes_;
};

TEST_F(Export, FoldedStacksHaveTheOutermostCallFirst) {
  const auto folded = [this](profile_figure f) { return exported(write_folded, f); };
  EXPECT_EQ(folded(profile_figure::alloc_space), "main;a:b 50\nmain;work;inlined;make 1000\n");
  EXPECT_EQ(folded(profile_figure::alloc_objects), "main;a:b 1\nmain;work;inlined;make 10\n");
  EXPECT_EQ(folded(profile_figure::inuse_space), "main;a:b 50\nmain;work;inlined;make 600\n");
  EXPECT_EQ(folded(profile_figure::inuse_objects), "main;a:b 1\nmain;work;inlined;make 6\n");
  EXPECT_EQ(folded(profile_figure::peak_space), "main;work;inlined;make 1000\n");
  // Four blocks lived for a millisecond, six for two, up to the end.
  EXPECT_EQ(folded(profile_figure::lifetime), "main;work;inlined;make 16000000\n");
}

TEST_F(Export, AProfileHasNamesAndLinesAndTheFigureThatIsFirst) {
  const std::string profile = exported(write_pprof, profile_figure::alloc_space);
  for (const char* text :
       {"main", "work", "inlined", "make", "a;b", "make.c", "/bin/program", "01ab", "peak_space"})
    EXPECT_NE(profile.find(text), std::string::npos) << text;
  EXPECT_NE(profile, exported(write_pprof, profile_figure::inuse_space));
}

TEST(ExportFigures, HaveNames) {
  std::set<profile_figure> all;
  for (const std::string_view name : profile_figure_names) all.insert(figure_named(name).value());
  EXPECT_EQ(all.size(), std::size(profile_figure_names));
  EXPECT_FALSE(figure_named("space").has_value());
}

}  // namespace
}  // namespace ashlar::trace
