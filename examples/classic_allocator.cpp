// The classic Allocator and its macros, in the three modes: blocks from the heap as needed, a pool taken
// from the heap at once, and static memory.
#include <cstddef>
#include <cstdio>

#include "Allocator.h"

namespace {

class Message {
  DECLARE_ALLOCATOR
 public:
  explicit Message(int number) { std::snprintf(text_, sizeof text_, "message %d", number); }
  [[nodiscard]] const char* text() const { return text_; }
  static void print_use() {
    std::printf("%s: %zu bytes a block, %u made, %u in use\n", _allocator.GetName(),
                _allocator.GetBlockSize(), _allocator.GetBlockCount(), _allocator.GetBlocksInUse());
  }

 private:
  char text_[60];
};
IMPLEMENT_ALLOCATOR(Message, 0, nullptr)

struct Sample {
  double value[4];
};
alignas(std::max_align_t) CHAR memory[2 * Allocator::BlockSize(sizeof(Sample))];

}  // namespace

int main() {
  const Message* messages[3];
  int n = 0;
  for (auto& m : messages) m = new Message(n++);
  delete messages[1];
  messages[1] = new Message(3);  // the block that was freed
  std::printf("%s\n", messages[1]->text());
  Message::print_use();
  for (const auto* m : messages) delete m;
  Message::print_use();

  Allocator samples(sizeof(Sample), 2, memory, "samples");
  void* const first = samples.Allocate(sizeof(Sample));
  void* const second = samples.Allocate(sizeof(Sample));
  if (samples.Allocate(sizeof(Sample)) == nullptr) {
    std::printf("%s: no third block in %zu bytes\n", samples.GetName(), sizeof memory);
  }
  samples.Deallocate(second);
  samples.Deallocate(first);

  AllocatorPool<Sample, 8> inside;  // its memory is in the object
  inside.Deallocate(inside.Allocate(sizeof(Sample)));
  std::printf("pool of 8: %u allocation, %u in use\n", inside.GetAllocations(),
              inside.GetBlocksInUse());
  return 0;
}
