// Tags: which part of a program holds what. This program runs on any malloc. Under the drop-in library
// with ASHLAR_SAMPLE, profiles and metrics have its parts.
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <ashlar/adapt/tags.h>

namespace {

std::vector<std::string> parse(int lines) {
  const ashlar::tag_scope here("parser");
  std::vector<std::string> words;
  for (int i = 0; i < lines; ++i) words.push_back("a long word of line " + std::to_string(i));
  return words;
}

}  // namespace

int main() {
  const std::vector<std::string> words = parse(1000);
  std::vector<std::string> copies;
  const ashlar::tag_scope here("index");
  // A thread that works for this one allocates under the same tag.
  std::thread([&, tag = ashlar::tag_handover()] {
    const ashlar::tag_scope same(tag);
    copies = words;
  }).join();
  std::printf("%zu words and %zu copies\n", words.size(), copies.size());
  return words == copies ? 0 : 1;
}
