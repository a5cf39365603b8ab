// Every form of operator new and delete once, and an exception that passes through one: what is recorded behind it is not lost.
#include <cstdint>
#include <cstdlib>
#include <new>

extern "C" void ashlar_record_mark(const char* text) __attribute__((weak));

namespace {

void mark(const char* text) {
  if (ashlar_record_mark != nullptr) ashlar_record_mark(text);
}

struct alignas(128) over_aligned {
  char bytes[128];
};

void* volatile shared;
void* keep(void* block) {
  shared = block;
  return block;
}

}  // namespace

int main() {
  mark("begin");
  ::operator delete(keep(::operator new(10)));
  ::operator delete[](keep(::operator new[](20)));
  ::operator delete(keep(::operator new(30, std::nothrow)), std::nothrow);
  ::operator delete[](keep(::operator new[](40, std::nothrow)), std::nothrow);
  ::operator delete(keep(::operator new(50, std::align_val_t{64})), std::align_val_t{64});
  ::operator delete[](keep(::operator new[](60, std::align_val_t{64})), std::align_val_t{64});
  ::operator delete(keep(::operator new(70)), std::size_t{70});
  ::operator delete[](keep(::operator new[](80)), std::size_t{80});
  over_aligned* const one = new over_aligned;
  keep(one);
  delete one;
  volatile std::size_t too_much = PTRDIFF_MAX;
  try {
    keep(::operator new(too_much));
    return 1;
  } catch (const std::bad_alloc&) {
    mark("thrown");
  }
  std::free(keep(std::malloc(90)));
  mark("end");
  return 0;
}
