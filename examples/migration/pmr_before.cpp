// With the standard's resources: memory for one request in a buffer, a pool, and the default.
// pmr_after.cpp does the same with ashlar.
#include <array>
#include <cstdio>
#include <map>
#include <memory_resource>
#include <string>

namespace {

std::size_t answer(const char* question) {
  static std::array<std::byte, 4096> bytes;
  std::pmr::monotonic_buffer_resource request(bytes.data(), bytes.size(),
                                              std::pmr::null_memory_resource());
  std::pmr::string text(question, &request);
  text += ", which is longer than a small string";
  return text.size();
}

}  // namespace

int main() {
  std::printf("%zu characters\n", answer("a question"));

  std::pmr::unsynchronized_pool_resource pool;
  std::pmr::map<int, int> squares(&pool);
  for (int i = 0; i < 100; ++i) squares[i] = i * i;
  std::printf("%zu squares\n", squares.size());

  std::pmr::synchronized_pool_resource shared;
  std::pmr::set_default_resource(&shared);
  {
    const std::pmr::string name("a name on the default resource");
    std::printf("%s\n", name.c_str());
  }
  std::pmr::set_default_resource(nullptr);
  return 0;
}
