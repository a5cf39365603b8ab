// What pmr_before.cpp does, with ashlar's resources.
#include <cstdio>
#include <map>
#include <memory_resource>
#include <string>

#include <ashlar/ashlar.hpp>

namespace {

constinit ashlar::static_arena<4096> request_bytes;

std::size_t answer(const char* question) {
  const ashlar::arena_scope scope(request_bytes);  // its end takes back what the request allocated
  ashlar::pmr::resource request(request_bytes);
  std::pmr::string text(question, &request);
  text += ", which is longer than a small string";
  return text.size();
}

}  // namespace

int main() {
  std::printf("%zu characters\n", answer("a question"));

  ashlar::refill_lists<ashlar::process_source> lists;  // no lock, one list for each 8 bytes
  ashlar::pmr::resource pool(lists);
  std::pmr::map<int, int> squares(&pool);
  for (int i = 0; i < 100; ++i) squares[i] = i * i;
  std::printf("%zu squares\n", squares.size());

  std::pmr::set_default_resource(ashlar::pmr::process_resource());  // any thread
  {
    const std::pmr::string name("a name on the default resource");
    std::printf("%s\n", name.c_str());
  }
  std::pmr::set_default_resource(nullptr);
  return 0;
}
