// Tests of Allocator.h, among them programs in the style of the classic's own.

#include <tests/support/test_headers.hpp>

#include "Allocator.h"

namespace {

static_assert(std::is_same_v<UINT, unsigned> && std::is_same_v<CHAR, char> && TRUE == 1 && !FALSE);
static_assert(!std::is_copy_constructible_v<Allocator> && !std::is_convertible_v<int, Allocator>);
static_assert(Allocator::BlockSize(0) == sizeof(void*) && Allocator::BlockSize(1) == sizeof(void*));
static_assert(Allocator::BlockSize(24) == 24 && Allocator::BlockSize(25) == 24 + sizeof(void*));
static_assert(Allocator::BlockSize(SIZE_MAX) > SIZE_MAX - sizeof(void*));

// The classic declared its pools as arrays of pointers: eight times the bytes.
static_assert(sizeof(AllocatorPool<CHAR[396], 32>) <= 32 * 404 + sizeof(Allocator) + 48);
static_assert(sizeof(AllocatorPool<CHAR[8], 1000>) <= 1000 * 12 + sizeof(Allocator) + 48);

struct handler_guard {
  explicit handler_guard(std::new_handler h) : before(std::set_new_handler(h)) {}
  ~handler_guard() { std::set_new_handler(before); }
  std::new_handler before;
};

// ---- the three modes ----

TEST(CompatAllocator, heap_blocks_grow_and_are_recycled) {
  Allocator allocator(100, 0, nullptr, "frames");
  EXPECT_STREQ(allocator.GetName(), "frames");
  EXPECT_EQ(allocator.GetBlockSize(), 100u) << "as the classic, whatever lies between the blocks";
  EXPECT_EQ(Allocator(12, 10).GetBlockSize(), 12u);
  EXPECT_EQ(Allocator(1).GetBlockSize(), sizeof(void*));
  EXPECT_EQ((AllocatorPool<CHAR[396], 2>().GetBlockSize()), 396u);
  EXPECT_EQ(allocator.GetBlockCount(), 0u);
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(allocator.Allocate(100));
  EXPECT_EQ(allocator.GetBlockCount(), 1000u);
  EXPECT_EQ(allocator.GetBlocksInUse(), 1000u);

  allocator.Deallocate(blocks[3]);
  allocator.Deallocate(blocks[700]);
  EXPECT_EQ(allocator.GetBlocksInUse(), 998u);
  EXPECT_EQ(allocator.Allocate(1), blocks[700]) << "last freed, first used";
  EXPECT_EQ(allocator.Allocate(1), blocks[3]);
  EXPECT_EQ(allocator.GetBlockCount(), 1000u) << "recycled, not made";
  EXPECT_EQ(allocator.GetAllocations(), 1002u);
  EXPECT_EQ(allocator.GetDeallocations(), 2u);
}

TEST(CompatAllocator, a_heap_pool_has_as_many_blocks_as_asked_for) {
  Allocator allocator(24, 10);
  EXPECT_EQ(allocator.GetName(), nullptr);
  std::array<void*, 10> blocks{};
  for (void*& p : blocks) p = allocator.Allocate(24);
  EXPECT_EQ(allocator.Allocate(24), nullptr);
  EXPECT_EQ(allocator.TryAllocate(24), nullptr);
  EXPECT_THROW(allocator.AllocateOrThrow(24), std::bad_alloc);
  EXPECT_EQ(allocator.GetAllocations(), 10u);
  for (void* p : blocks) allocator.Deallocate(p);
  EXPECT_EQ(allocator.GetBlocksInUse(), 0u);
  EXPECT_EQ(allocator.GetBlockCount(), 10u);
}

TEST(CompatAllocator, a_static_pool_stays_inside_count_times_size_whatever_the_size) {
  constexpr std::size_t count = 20;
  for (const std::size_t size : {4u, 5u, 7u, 8u, 12u, 13u, 20u, 100u, 396u}) {
    alignas(std::max_align_t) static CHAR memory[count * 396 + 512];
    std::memset(memory, 7, sizeof memory);
    Allocator allocator(size, count, memory);
    EXPECT_EQ(allocator.GetBlockSize(), size);
    void* blocks[count];
    for (int round = 0; round < 2; ++round) {
      for (std::size_t i = 0; i < count; ++i) {
        blocks[i] = allocator.Allocate(size);
        std::memset(blocks[i], static_cast<int>(100 + i), size);
      }
      EXPECT_EQ(allocator.TryAllocate(size), nullptr) << "all " << count << ", and no more";
      for (std::size_t i = 0; i < count; ++i) {
        const auto* const bytes = static_cast<const CHAR*>(blocks[i]);
        EXPECT_EQ(std::count(bytes, bytes + size, static_cast<CHAR>(100 + i)),
                  static_cast<std::ptrdiff_t>(size));
        allocator.Deallocate(blocks[i]);
      }
    }
    EXPECT_EQ(allocator.GetBlockCount(), count);
    EXPECT_EQ(std::count(memory + count * size, memory + sizeof memory, CHAR{7}),
              static_cast<std::ptrdiff_t>(sizeof memory - count * size))
        << size;
  }
  static CHAR tiny[8];
  Allocator bytes(1, sizeof tiny, tiny);
  EXPECT_NE(bytes.TryAllocate(1), nullptr);
  EXPECT_NE(bytes.TryAllocate(1), nullptr);
  EXPECT_EQ(bytes.TryAllocate(1), nullptr) << "4 bytes each";
}

TEST(CompatAllocator, memory_that_is_not_aligned_costs_one_block_and_not_the_alignment) {
  alignas(std::max_align_t) static CHAR memory[10 * 16 + 1];
  Allocator allocator(16, 10, memory + 1);
  for (int i = 0; i < 9; ++i) {
    void* const p = allocator.Allocate(16);
    EXPECT_TRUE(ashlar::is_aligned(p, 16));
    EXPECT_GE(p, static_cast<void*>(memory + 1));
    EXPECT_LE(p, static_cast<void*>(memory + sizeof memory - 16));
  }
  EXPECT_EQ(allocator.TryAllocate(16), nullptr);
}

TEST(CompatAllocator, blocks_are_aligned_in_every_mode) {
  for (const std::size_t size : {1u, 8u, 12u, 16u, 24u, 32u, 48u, 64u, 396u, 4096u}) {
    const std::size_t due = std::min<std::size_t>(size & (~size + 1), alignof(std::max_align_t));
    Allocator heap_blocks(size), heap_pool(size, 3);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(ashlar::is_aligned(heap_blocks.Allocate(size), due)) << size;
      EXPECT_TRUE(ashlar::is_aligned(heap_pool.Allocate(size), due)) << size;
    }
  }
  struct alignas(64) line {
    char bytes[100];
  };
  static AllocatorPool<CHAR[396], 4> odd;
  static AllocatorPool<line, 5> inside;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ashlar::is_aligned(odd.Allocate(396), sizeof(void*)));
  for (int i = 0; i < 5; ++i) {
    void* const p = inside.Allocate(sizeof(line), 64);
    EXPECT_TRUE(ashlar::is_aligned(p, 64) && p >= &inside && p < &inside + 1);
  }
  EXPECT_EQ(inside.TryAllocate(1), nullptr) << "it holds as many as it says";
  Allocator wide(64, 0, nullptr, nullptr, 64);
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(ashlar::is_aligned(wide.Allocate(64, 64), 64));
}

// ---- exhaustion ----

Allocator* short_of_blocks = nullptr;
void* to_give_up = nullptr;
int handler_calls = 0;

// The document's xallocator: pools are made in arrays of pointers, found by their size, and ended
// through their base; a block's first bytes name its pool.
TEST(CompatAllocator, the_documents_xallocator_stands_on_it) {
  std::vector<Allocator*> pools;
  const auto make = [&pools]<std::size_t... Size>(std::index_sequence<Size...>) {
    ((
        [&pools] {
          static CHAR* storage[sizeof(AllocatorPool<CHAR[Size], 32>)];
          new (&storage) AllocatorPool<CHAR[Size], 32>();
          pools.push_back(reinterpret_cast<Allocator*>(&storage));
          pools.push_back(new (std::nothrow) Allocator(Size, 0, nullptr, "xallocator"));
        }(),
        ...));
  };
  make(std::index_sequence<8, 16, 32, 64, 128, 256, 396, 512, 768, 1024, 2048, 4096>());
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const std::size_t size = pools[i]->GetBlockSize();
    EXPECT_EQ(std::ranges::find(pools, size, &Allocator::GetBlockSize) - pools.begin(), i / 2 * 2);
    std::array<Allocator**, 32> blocks;
    for (auto& block : blocks) {
      block = static_cast<Allocator**>(pools[i]->Allocate(size));
      ASSERT_NE(block, nullptr);
      std::memset(block, 1, size);
      *block = pools[i];
    }
    for (Allocator** const block : blocks) (*block)->Deallocate(block);
    EXPECT_EQ(pools[i]->GetBlocksInUse(), 0u);
  }
  for (std::size_t i = 0; i < pools.size(); ++i)
    i % 2 == 0 ? pools[i]->~Allocator() : delete pools[i];
}

TEST(CompatAllocator, a_pools_new_handler_is_called_once_and_may_free_a_block) {
  Allocator allocator(16, 1);
  short_of_blocks = &allocator;
  to_give_up = allocator.Allocate(16);
  handler_calls = 0;
  const handler_guard guard([] {
    if (++handler_calls == 2) short_of_blocks->Deallocate(to_give_up);
  });
  EXPECT_EQ(allocator.Allocate(16), nullptr) << "one that only logs comes back";
  EXPECT_EQ(handler_calls, 1);
  EXPECT_EQ(allocator.Allocate(16), to_give_up);
  EXPECT_EQ(handler_calls, 2);
}

TEST(CompatAllocator, heap_blocks_follow_the_protocol_of_operator_new) {
  Allocator allocator(SIZE_MAX / 4);
  handler_calls = 0;
  const handler_guard guard([] {
    if (++handler_calls == 3) std::set_new_handler(nullptr);
  });
  EXPECT_THROW(allocator.Allocate(1), std::bad_alloc);
  EXPECT_EQ(handler_calls, 3);
}

TEST(CompatAllocator, a_new_handler_may_throw_or_leave) {
  Allocator allocator(16, 1);
  void* const p = allocator.Allocate(16);
  {
    const handler_guard guard([] { throw std::length_error("no more"); });
    EXPECT_THROW((void)allocator.Allocate(16), std::length_error);
  }
  {
    const handler_guard guard([] { std::set_new_handler(nullptr); });
    EXPECT_EQ(allocator.Allocate(16), nullptr);
  }
  EXPECT_EQ(allocator.GetBlocksInUse(), 1u);
  allocator.Deallocate(p);
  EXPECT_EQ(allocator.Allocate(16), p) << "usable after all that";
}

TEST(CompatAllocator, sizes_that_no_memory_holds_fail_and_do_not_wrap) {
  EXPECT_THROW(Allocator(SIZE_MAX / 4, 16), std::bad_alloc);
  EXPECT_THROW(Allocator(SIZE_MAX, 1), std::bad_alloc);
  Allocator blocks(SIZE_MAX - 3);
  EXPECT_THROW((void)blocks.Allocate(SIZE_MAX - 3), std::bad_alloc);
  EXPECT_EQ(blocks.TryAllocate(1), nullptr);
}

TEST(CompatAllocator, size_zero_is_a_block) {
  Allocator allocator(0);
  void* const a = allocator.Allocate(0);
  void* const b = allocator.Allocate(0);
  EXPECT_NE(a, b);
  allocator.Deallocate(a);
  allocator.Deallocate(b);
  allocator.Deallocate(nullptr);
  EXPECT_EQ(allocator.GetDeallocations(), 2u);
}

// ---- misuse ----

TEST(CompatAllocatorDeathTest, misuse_is_reported) {
  alignas(std::max_align_t) static CHAR memory[4 * 32];
  Allocator heap_blocks(32, 0, nullptr, "blocks"), heap_pool(32, 4), static_pool(32, 4, memory);
  static AllocatorPool<CHAR[32], 4> inside;
  CHAR elsewhere[32];
  for (Allocator* a : {&heap_blocks, &heap_pool, &static_pool, static_cast<Allocator*>(&inside)}) {
    auto* const p = static_cast<CHAR*>(a->Allocate(32));
    EXPECT_DEATH((void)a->Allocate(33), "ashlar: Allocate.*size or alignment.*needed 33");
    EXPECT_DEATH((void)a->TryAllocate(33), "size or alignment");
    EXPECT_DEATH((void)a->Allocate(32, 4096), "size or alignment");
    EXPECT_DEATH(a->Deallocate(elsewhere), "ashlar: Deallocate\\(0x.*not allocated here");
    EXPECT_DEATH(a->Deallocate(p + 8), "ashlar: Deallocate\\(0x.*inside a block");
    EXPECT_DEATH(a->Deallocate(p + 32), "ashlar: Deallocate\\(0x.*no block is in use");
    a->Deallocate(p);
    EXPECT_DEATH(a->Deallocate(p), "ashlar: Deallocate\\(0x.*double free");
  }
  EXPECT_DEATH((void)heap_blocks.Allocate(33), "blocks") << "the name is in the message";
  EXPECT_DEATH(Allocator(8, 0, nullptr, nullptr, 3), "argument");
  EXPECT_DEATH(Allocator(8, 0, nullptr, nullptr, 0), "argument");
}

// ---- DECLARE_ALLOCATOR, one class a mode ----

class Message {
  DECLARE_ALLOCATOR
 public:
  explicit Message(int n) : number(n) {
    if (n < 0) throw std::invalid_argument("negative");
  }
  virtual ~Message() = default;
  int number;
  static Allocator& blocks() { return _allocator; }
};
IMPLEMENT_ALLOCATOR(Message, 0, 0)

class SmallMessage : public Message {
 public:
  using Message::Message;  // no new member: fits
};
class BigMessage : public Message {
 public:
  using Message::Message;
  char text[100] = {};
};

class Packet {
  DECLARE_ALLOCATOR
 public:
  char bytes[48];
};
IMPLEMENT_ALLOCATOR(Packet, 3, nullptr)

class alignas(64) Sample {
  DECLARE_ALLOCATOR
 public:
  double values[4];
};
alignas(64) CHAR sample_memory[2 * sizeof(Sample)];
IMPLEMENT_ALLOCATOR(Sample, 2, sample_memory)

TEST(CompatAllocatorClass, objects_come_from_the_classs_own_allocator) {
  Message* const a = new Message(1);
  Message* const b = new Message(2);
  EXPECT_EQ(Message::blocks().GetBlocksInUse(), 2u);
  EXPECT_STREQ(Message::blocks().GetName(), "Message");
  delete a;
  Message* const c = new (std::nothrow) SmallMessage(3);
  EXPECT_EQ(static_cast<void*>(c), static_cast<void*>(a)) << "recycled";
  EXPECT_EQ(c->number, 3);
  delete c;
  delete b;
  std::vector<Message*> none(1);
  delete none[0];
  EXPECT_EQ(Message::blocks().GetBlocksInUse(), 0u);
  EXPECT_EQ(Message::blocks().GetBlockCount(), 2u);
}

TEST(CompatAllocatorClass, a_throwing_constructor_gives_the_block_back) {
  EXPECT_THROW(new Message(-1), std::invalid_argument);
  EXPECT_THROW(new (std::nothrow) Message(-1), std::invalid_argument);
  EXPECT_EQ(Message::blocks().GetBlocksInUse(), 0u);
}

TEST(CompatAllocatorClass, placement_and_arrays_do_not_use_the_pool) {
  alignas(Message) std::byte bytes[sizeof(Message)];
  Message* const p = new (bytes) Message(7);
  p->~Message();
  Packet* const array = new Packet[10];
  delete[] array;
  EXPECT_EQ(Message::blocks().GetBlocksInUse(), 0u);
}

TEST(CompatAllocatorClass, a_heap_pool_ends_at_its_count) {
  Packet* packets[3];
  for (Packet*& p : packets) p = new Packet;
  EXPECT_THROW((void)new Packet, std::bad_alloc);
  EXPECT_EQ(new (std::nothrow) Packet, nullptr);
  for (Packet* p : packets) delete p;
  delete new Packet;
}

TEST(CompatAllocatorClass, over_aligned_objects_are_aligned) {
  Sample* const a = new Sample;
  Sample* const b = new (std::nothrow) Sample;
  EXPECT_TRUE(ashlar::is_aligned(a, 64));
  EXPECT_TRUE(ashlar::is_aligned(b, 64));
  EXPECT_EQ(static_cast<void*>(a), sample_memory);
  EXPECT_THROW((void)new Sample, std::bad_alloc);
  delete b;
  delete a;
}

TEST(CompatAllocatorClassDeathTest, a_larger_derived_class_is_refused) {
  EXPECT_DEATH((void)new BigMessage(1), "ashlar: operator new.*size or alignment.*Message");
}

TEST(CompatAllocatorClassDeathTest, a_delete_is_named_in_its_fault) {
  void* volatile of_heap = Message::operator new(sizeof(Message));  // volatile: the compiler warns
  void* volatile of_pool = Packet::operator new(sizeof(Packet));
  Message::operator delete(of_heap);
  Packet::operator delete(of_pool);
  EXPECT_DEATH(Message::operator delete(of_heap), "ashlar: delete\\(0x.*double free");
  EXPECT_DEATH(Packet::operator delete(of_pool), "ashlar: delete\\(0x.*double free");
  EXPECT_DEATH(Packet::operator delete(of_pool, std::nothrow), "ashlar: delete\\(0x.*double free");
}

}  // namespace
