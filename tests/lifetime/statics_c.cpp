// Static objects of the fourth file: one in a template, made when somebody first asks, and one whose
// constructor starts a thread.
#include <tests/lifetime/statics.hpp>
#include <thread>

namespace statics {

namespace {
template <int Key>
struct of_class {
  static inline holder object{Key};
};
struct threaded {
  holder* of_thread = nullptr;
  threaded() {
    std::thread([this] { of_thread = new holder(12'000); }).join();
  }
  ~threaded() {
    std::thread([this] { delete of_thread; }).join();
  }
} const starts_a_thread;
[[maybe_unused]] const holder& first = of_class<11'000>::object;
}  // namespace

}  // namespace statics
