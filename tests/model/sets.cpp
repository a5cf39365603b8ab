// The sets, and some of them as a memory resource.
#include <tests/model/sets.hpp>

#include <ashlar/adapt/pmr.hpp>

namespace model {
namespace {

template <class Set>
class as_resource {
 public:
  explicit as_resource(Set& set) : resource_(set) {}
  void* allocate(const request& r, draw&) try {
    return base().allocate(r.size, r.alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  void deallocate(const block& b, draw&) { base().deallocate(b.address, b.size, b.alignment); }

 private:
  std::pmr::memory_resource& base() { return resource_; }
  ashlar::pmr::resource<Set> resource_;
};

}  // namespace

std::vector<kind> set_kinds() {
  using namespace sets;
  std::vector<kind> all = sets::all();
  all.push_back(kind_of<set_face<on_source<ashlar::growing_pool_set>, as_resource>>(
      "pmr_growing_pool_set", 4));
  all.push_back(kind_of<set_face<inside<>, as_resource>>("pmr_static_pool_set", 1));
  return all;
}

}  // namespace model
