// Runs every misuse of misuse.cpp, on both faces: each must end by SIGABRT with a line on standard
// error that holds "ashlar:", the name of the call and the address. Ending well is a failure.
#include <cctype>
#include <tests/support/in_child.hpp>
#include <tests/support/test_headers.hpp>

namespace {

struct face {
  const char* name;
  const char* program;
  const char* preload;  ///< null: none
};

constexpr face faces[] = {
    {"c", MISUSE_C_FACE, nullptr},
#ifdef MISUSE_DROP_IN
    {"drop_in", MISUSE_DROP_IN, MISUSE_LIBRARY},
#endif
};

/// Effects: runs the program in this mode, by the emulator of this build where it has one.
support::child_end run(const face& f, const std::string& mode, const char* environment = nullptr) {
  std::vector<std::string> words;
#ifdef ASHLAR_EMULATOR
  std::istringstream emulator(ASHLAR_EMULATOR);
  for (std::string word; emulator >> word;) words.push_back(word);
#endif
  words.insert(words.end(), {f.program, mode});
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const auto begin = [&] {
    if (f.preload != nullptr) ::setenv("LD_PRELOAD", f.preload, 1);
    if (environment != nullptr) ::putenv(const_cast<char*>(environment));
    ::execv(pointers[0], pointers.data());
    return false;
  };
  return support::in_child(begin, 60);
}

struct misuse {
  std::string mode;
  std::string call;  ///< what the line must name, as a part of the call's name on either face
};
/// What the program lists, but for its correct use.
std::vector<misuse> misuses() {
  std::istringstream words(run(faces[0], "").err);
  std::vector<misuse> found;
  for (std::string word; words >> word;) {
    const auto is_of = [&](const char* call) { return word.find(call) != std::string::npos; };
    for (const char* call : {"realloc", "usable_size", "free"})
      if (is_of(call)) {
        found.push_back({word, call});
        break;
      }
  }
  return found;
}

/// The address that the program announced, as 0x and digits; empty when it did not get that far.
std::string announced(const std::string& said) {
  const std::string label = "misused: ";
  const std::size_t at = said.find(label);
  if (at == std::string::npos) return {};
  return said.substr(at + label.size(), said.find('\n', at) - at - label.size());
}

/// True when one line of `text` holds all of it; the address as a whole number.
bool has_line(const std::string& text, const std::string& call, const std::string& address) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) return false;
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t prefix = line.find("ashlar:");
    const std::size_t place = line.find(address);
    if (prefix == std::string::npos || place == std::string::npos) continue;
    const char behind = place + address.size() < line.size() ? line[place + address.size()] : ' ';
    if (std::isxdigit(static_cast<unsigned char>(behind)) != 0) continue;
    if (line.find(call, prefix) != std::string::npos) return true;
  }
  return false;
}

class Misuse : public testing::TestWithParam<std::tuple<face, misuse>> {};

TEST_P(Misuse, EndsWithAMessageAndAbort) {
  const auto& [f, m] = GetParam();
  const support::child_end result = run(f, m.mode);
  const std::string address = announced(result.err);
  ASSERT_NE(address, "") << "the program did not get as far as its misuse: " << result.err;
  EXPECT_FALSE(result.exited) << "the program went on and ended with " << result.code;
  EXPECT_EQ(result.code, SIGABRT) << result.err;
  EXPECT_TRUE(has_line(result.err, m.call, address))
      << "no line with ashlar:, " << m.call << " and " << address << " in: " << result.err;
}

// The same line, and the program comes to its end: realloc returned null (4), else the misuse did
// nothing (0).
TEST_P(Misuse, IsToldAndDroppedWhereTheProcessGoesOn) {
  const auto& [f, m] = GetParam();
  const support::child_end result = run(f, m.mode, "ASHLAR_FAULT=continue");
  const std::string address = announced(result.err);
  ASSERT_NE(address, "") << result.err;
  EXPECT_TRUE(result.exited) << "signal " << result.code << "\n" << result.err;
  const bool reallocates = m.call == "realloc";
  EXPECT_EQ(result.code, reallocates ? 4 : 0) << result.err;
  EXPECT_TRUE(has_line(result.err, m.call, address)) << result.err;
}

INSTANTIATE_TEST_SUITE_P(EveryFace, Misuse,
                         testing::Combine(testing::ValuesIn(faces), testing::ValuesIn(misuses())),
                         [](const auto& tested) {
                           return std::get<1>(tested.param).mode + "_" +
                                  std::get<0>(tested.param).name;
                         });

TEST(Misuses, AreListedByTheProgram) { EXPECT_EQ(misuses().size(), 33u); }

class CorrectUse : public testing::TestWithParam<face> {};

TEST_P(CorrectUse, EndsWell) {
  const support::child_end result = run(GetParam(), "none");
  EXPECT_TRUE(result.well());
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_NE(announced(result.err), "");
}

INSTANTIATE_TEST_SUITE_P(EveryFace, CorrectUse, testing::ValuesIn(faces),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
