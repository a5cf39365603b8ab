// A parser whose values live in an arena, as they should.
#include <cstdio>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

struct value {
  using allocator_type = std::pmr::polymorphic_allocator<>;
  explicit value(allocator_type with) : name(with), children(with) {}
  value(value&& other, allocator_type with)
      : name(std::move(other.name), with), children(std::move(other.children), with) {}
  value(value&&) = default;
  std::pmr::string name;
  std::pmr::vector<value> children;
};

static void parse(value& into, int depth) {
  into.name = "a name that is longer than sixteen characters";
  if (depth == 0) return;
  into.children.reserve(6);
  for (int i = 0; i < 6; ++i) parse(into.children.emplace_back(), depth - 1);
}

static std::size_t names(const value& v) {
  std::size_t all = v.name.size();
  for (const value& child : v.children) all += names(child);
  return all;
}

int main() {
  std::size_t all = 0;
  for (int document = 0; document < 20; ++document) {
    std::pmr::monotonic_buffer_resource memory(64 * 1024);
    value root(&memory);
    parse(root, 4);
    all += names(root);
  }
  std::printf("%zu\n", all);
  return 0;
}
