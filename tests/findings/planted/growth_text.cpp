// Puts pages together, character by character.
#include <cstdio>
#include <string>

static std::string escaped(const char* text) {
  std::string out;
  for (const char* c = text; *c != 0; ++c) {
    if (*c == '<') {
      out += "&lt;";
    } else {
      out += *c;  // planted: growth
    }
  }
  return out;
}

int main() {
  std::size_t all = 0;
  for (int i = 0; i < 3000; ++i)
    all += escaped(
               "a text without any marks that is escaped all the same, one character at a time, "
               "until it is whole and some hundred characters long, which takes several steps")
               .size();
  std::printf("%zu\n", all);
  return 0;
}
