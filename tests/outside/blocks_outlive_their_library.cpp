// Blocks and objects that a closed library made are used, grown and freed by the program, and by a
// thread that the library's thread_local objects outlive; sizes and alignments of delete are told
// by either side.
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "outside.h"

struct parcel {
  char* text;
  void* aligned;
  std::vector<std::string>* words;
  long* numbers;
};
#ifdef MODULE
struct keeper {
  std::map<int, std::string> pages;
  ~keeper() { pages[3] = "the end"; }
};
static thread_local keeper own;
static keeper global;
extern "C" parcel make(int n) {
  own.pages[n] = std::string(100, 'k');
  global.pages[n] = std::string(200, 'g');
  auto* words = new std::vector<std::string>(static_cast<std::size_t>(n), std::string(40, 'w'));
  return {strdup("of a module"), ::operator new(300, std::align_val_t{512}), words, new long[50]};
}
extern "C" void take(parcel* p) {
  std::free(p->text);
  ::operator delete(p->aligned, 300, std::align_val_t{512});
  delete p->words;
  ::operator delete[](p->numbers, 50 * sizeof(long));
}
#else
int main() {
  for (int i = 1; i <= 60; ++i) {
    void* module = dlopen(MODULE_FILE, RTLD_NOW | RTLD_LOCAL);
    CHECK(module != nullptr);
    const auto make = reinterpret_cast<parcel (*)(int)>(dlsym(module, "make"));
    parcel p = make(i);
    std::thread([&] {
      parcel of_thread = make(i);
      reinterpret_cast<void (*)(parcel*)>(dlsym(module, "take"))(&of_thread);
    }).join();
    dlclose(module);
    p.text = static_cast<char*>(std::realloc(p.text, 5000));
    CHECK(strcmp(p.text, "of a module") == 0 && p.words->size() == static_cast<std::size_t>(i));
    p.words->push_back("one more");
    std::free(p.text);
    ::operator delete(p.aligned, 300, std::align_val_t{512});
    delete p.words;
    delete[] p.numbers;
  }
  std::puts("freed");
}
#endif
