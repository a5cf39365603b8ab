// Names that are kept once each, found while the tokens of all sources are in memory.
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

static std::vector<const char*> names;

static const char* intern(std::string_view name) {
  for (std::size_t i = names.size() < 8 ? 0 : names.size() - 8; i < names.size(); ++i)
    if (name == names[i]) return names[i];
  char* const kept = new char[name.size() + 1];  // planted: pins
  std::memcpy(kept, name.data(), name.size());
  kept[name.size()] = 0;
  return names.emplace_back(kept);
}

int main() {
  names.reserve(4000);
  std::vector<std::unique_ptr<char[]>> tokens;
  tokens.reserve(60'000);
  for (int i = 0; i < 60'000; ++i) {
    const std::size_t length = 40 + static_cast<std::size_t>(i) % 13 * 16;
    tokens.push_back(std::make_unique<char[]>(length));
    std::snprintf(tokens.back().get(), length, "name_%d", i / 30);
    intern(tokens.back().get());
  }
  for (auto& token : tokens) token.reset();
  std::size_t sum = 0;
  for (int round = 0; round < 500; ++round)
    for (const char* name : names) sum += std::strlen(name);
  std::printf("%zu\n", sum);
  for (const char* name : names) delete[] name;
  return 0;
}
