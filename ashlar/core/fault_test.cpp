#include <set>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/core/fault.hpp>

namespace {

using namespace ashlar;

TEST(Fault, EveryKindHasASentenceOfItsOwn) {
  std::set<std::string> sentences;
  for (int kind = 0; kind <= static_cast<int>(fault_kind::leak); ++kind)
    sentences.insert(describe(static_cast<fault_kind>(kind)));
  EXPECT_EQ(sentences.size(), static_cast<std::size_t>(fault_kind::leak) + 1);
  EXPECT_FALSE(sentences.contains("unknown fault"));
}

TEST(Fault, EveryKindHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int kind = 0; kind <= static_cast<int>(fault_kind::leak); ++kind)
    names.insert(name_of(static_cast<fault_kind>(kind)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(fault_kind::leak) + 1);
  EXPECT_FALSE(names.contains("unknown"));
}

// A kind that a later version of the library may add is told, not read past a table.
TEST(Fault, AKindThatIsNotKnownHasASentenceToo) {
  EXPECT_STREQ(describe(static_cast<fault_kind>(200)), "unknown fault");
  EXPECT_STREQ(name_of(static_cast<fault_kind>(200)), "unknown");
}

}  // namespace
