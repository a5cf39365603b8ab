// What a label may hold, and what the system says of this process.
// Needs Linux.
#include "tools/agent/process_facts.hpp"

#include <random>

#include <gtest/gtest.h>
#include <unistd.h>

namespace ashlar::agent {
namespace {

TEST(ProcessFacts, LabelsAreUtf8) {
  EXPECT_EQ(label_value("a\nb \xC3\xA9\xF0\x9F\x98\x80"), "a\nb \xC3\xA9\xF0\x9F\x98\x80");
  for (const char* const wrong : {"\x80", "\xC0", "\xC1", "\xF5", "\xFF", "\xC3"})
    EXPECT_EQ(label_value(wrong), "\xEF\xBF\xBD") << wrong;
  EXPECT_EQ(label_value("\xED\xA0\x80"),
            "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // half a character
  EXPECT_EQ(label_value("\xE0\x80\xAF"),
            "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");       // longer than need be
  EXPECT_EQ(label_value("\xF4\x90\x80\x80").size(), 12u);  // beyond the last one
}

TEST(ProcessFacts, LabelsAreBounded) {
  EXPECT_EQ(label_value(std::string(5000, 'x')).size(), label_bytes_max);
  // A character is there whole or not at all.
  const std::string cut = label_value(std::string(label_bytes_max - 1, 'x') + "\xC3\xA9");
  EXPECT_EQ(cut, std::string(label_bytes_max - 1, 'x'));
}

TEST(ProcessFacts, LabelsOfRandomBytesStayWhatTheyAre) {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    const std::string once = label_value(bytes);
    ASSERT_EQ(label_value(once), once);
    ASSERT_LE(once.size(), label_bytes_max);
  }
}

TEST(ProcessFacts, AttributesOfOpenTelemetry) {
  const char* const list = "service.name=web,service.version=1%2C2%,x=%4,y,=z";
  EXPECT_EQ(attribute(list, "service.name"), "web");
  EXPECT_EQ(attribute(list, "service.version"), "1,2%");
  EXPECT_EQ(attribute(list, "x"), "%4");
  EXPECT_EQ(attribute(list, "y"), "");
  EXPECT_EQ(attribute("", "y"), "");
}

TEST(ProcessFacts, ServicesAreUnits) {
  EXPECT_EQ(unit_of("/system.slice/web.service"), "web");
  EXPECT_EQ(unit_of("/user.slice/user-7.slice/user@7.service/app.slice/shop.service"), "shop");
  EXPECT_EQ(unit_of("/user.slice/user@7.service/session.scope"), "");
  EXPECT_EQ(unit_of("/"), "");
}

TEST(ProcessFacts, OfThisProcess) {
  const process_facts own = facts_of(::getpid());
  EXPECT_FALSE(own.comm.empty());
  EXPECT_EQ(own.service.empty(), false);
  EXPECT_GT(own.started, 0u);
  EXPECT_GT(own.minor_faults, 0u);
  const process_facts none = facts_of(-1);
  EXPECT_EQ(none.comm + none.service + none.cgroup, "");
  EXPECT_EQ(none.started, 0u);
}

}  // namespace
}  // namespace ashlar::agent
