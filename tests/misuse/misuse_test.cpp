// Runs every misuse of misuse.cpp, on both faces: each must end by SIGABRT with a line on standard
// error that holds "ashlar:", the name of the call and the address. Ending well is a failure.
#include <cctype>
#include <tests/support/test_headers.hpp>

namespace support {

struct outcome {
  bool exited = false;  ///< by itself, with `code`; otherwise by the signal `code`
  int code = 0;
  std::string out, err;
};

/// Returns: what has to stand before a program of this build to run it: nothing, or an emulator and its arguments.
inline std::vector<std::string> emulator() {
  std::vector<std::string> words;
#ifdef ASHLAR_EMULATOR
  std::istringstream list(ASHLAR_EMULATOR);
  for (std::string word; list >> word;) words.push_back(word);
#endif
  return words;
}

/// Effects: runs `program_and_arguments` with the caller's environment and `environment` ("NAME=value") added,
/// waits for its end. A program that hangs is ended by SIGALRM after `seconds`.
inline outcome run(const std::vector<std::string>& program_and_arguments,
                   const std::vector<std::string>& environment, unsigned seconds) {
  std::vector<std::string> arguments = emulator();
  arguments.insert(arguments.end(), program_and_arguments.begin(), program_and_arguments.end());
  std::vector<char*> pointers;
  for (std::string& s : arguments) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  std::FILE* const streams[2] = {std::tmpfile(), std::tmpfile()};
  if (streams[0] == nullptr || streams[1] == nullptr) throw std::runtime_error("tmpfile");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) {
    ::dup2(::fileno(streams[0]), STDOUT_FILENO);
    ::dup2(::fileno(streams[1]), STDERR_FILENO);
    for (const std::string& s : environment) ::putenv(const_cast<char*>(s.c_str()));
    ::alarm(seconds);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid");
  outcome result;
  for (int i = 0; i < 2; ++i) {
    std::rewind(streams[i]);
    for (int c = 0; (c = std::fgetc(streams[i])) != EOF;)
      (i == 0 ? result.out : result.err).push_back(static_cast<char>(c));
    std::fclose(streams[i]);
  }
  result.exited = WIFEXITED(status);
  result.code = result.exited ? WEXITSTATUS(status) : WTERMSIG(status);
  return result;
}

}  // namespace support

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

support::outcome run(const face& f, const std::string& mode,
                     std::vector<std::string> environment = {}) {
  if (f.preload != nullptr) environment.push_back(std::string("LD_PRELOAD=") + f.preload);
  return support::run({f.program, mode}, environment, 60);
}

struct misuse {
  std::string mode;
  std::string call;  ///< what the line must name, as a part of the call's name on either face
};
/// What the program lists, but for its correct use.
std::vector<misuse> misuses() {
  const std::string usage = run(faces[0], "").err;
  std::istringstream words(usage.substr(std::min(usage.size(), usage.find("one of:"))));
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
std::string announced(const std::string& out) {
  const std::string label = "misused: ";
  const std::size_t at = out.find(label);
  if (at == std::string::npos) return {};
  return out.substr(at + label.size(), out.find('\n', at) - at - label.size());
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
  const support::outcome result = run(f, m.mode);
  const std::string address = announced(result.out);
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
  const support::outcome result = run(f, m.mode, {"ASHLAR_FAULT=continue"});
  const std::string address = announced(result.out);
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
  const support::outcome result = run(GetParam(), "none");
  EXPECT_TRUE(result.exited);
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
}

INSTANTIATE_TEST_SUITE_P(EveryFace, CorrectUse, testing::ValuesIn(faces),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
