// Static objects, function-local ones and exit handlers that make each other while the process
// ends, in their order.
#include <memory>
#include <string>
#include <vector>

#include "outside.h"

struct noisy {
  std::string name;
  std::unique_ptr<char[]> room{new char[100000]};
  explicit noisy(std::string n) : name(std::move(n)) {}
  ~noisy();
};
static std::vector<std::string>& log() {
  static auto* lines = new std::vector<std::string>;  // lives for ever
  return *lines;
}
static noisy& local() {
  static noisy made("a local one");
  return made;
}
static void on_end() {
  log().push_back("atexit");
  static noisy late("made by a handler");
  std::atexit([] { log().push_back("a handler of a handler"); });
}
noisy::~noisy() {
  log().push_back("end of " + name);
  if (name == "global") {
    for (const std::string& line : log()) std::puts(line.c_str());
    use_heap(3, 500);
    std::fflush(stdout);
  }
}
static noisy global("global");
static std::vector<std::unique_ptr<noisy>> owner;

int main() {
  std::atexit(on_end);
  local();
  for (int i = 0; i < 3; ++i)
    owner.push_back(std::make_unique<noisy>("owned " + std::to_string(i)));
}
