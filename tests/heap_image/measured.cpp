// A program for measure.py.
//   measured blocks COUNT MIB END: holds a list of so many blocks, of so much memory together
//   measured lost SEED END: loses some 1,000 blocks in chains, rings and trees, and keeps as many
//     END: abort, wait, exit
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <pthread.h>
#include <unistd.h>

namespace {

struct node {
  node* next;
  node* other;
};
node* kept;

node* make(std::size_t bytes) {
  auto* const made = static_cast<node*>(std::calloc(1, bytes));
  if (made == nullptr) std::abort();
  return made;
}

void hold_blocks(std::uint64_t count, std::uint64_t mib) {
  const std::uint64_t bytes = (mib << 20) / count;
  for (std::uint64_t i = 0; i < count; ++i) {
    node* const made = make(bytes);
    made->next = kept;
    kept = made;
  }
}

std::uint64_t state;
std::uint64_t random_number() {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}
std::size_t random_size() {
  return sizeof(node) + random_number() % (random_number() % 10 == 0 ? 200'000 : 500);
}
/// Returns: a chain; a ring of one; or what `other` makes a tree.
node* make_some(std::uint64_t shape) {
  node* first = make(random_size());
  node* last = first;
  for (std::uint64_t i = random_number() % 20; i != 0; --i) {
    node* const made = make(random_size());
    (shape == 2 && i % 2 == 0 ? last->other : last->next) = made;
    last = made;
  }
  if (shape == 1) last->next = first;
  return first;
}
void* make_all(void*) {
  for (int i = 0; i < 100; ++i) {
    make_some(random_number() % 3);
    node* const more = make_some(random_number() % 3);
    node* const root = make(sizeof(node));
    root->next = kept;
    root->other = more;
    kept = root;
  }
  return nullptr;
}
/// The C library keeps a thread's stack for the next one.
void* write_over_the_stack(void*) {
  volatile char place[64 * 1024];
  for (volatile char& each : place) each = 0;
  return nullptr;
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  if (std::string_view(words[1]) == "blocks") {
    hold_blocks(std::strtoull(words[2], nullptr, 10), std::strtoull(words[3], nullptr, 10));
  } else {
    state = std::strtoull(words[2], nullptr, 10);
    for (void* (*const work)(void*) : {make_all, write_over_the_stack}) {
      pthread_t thread;
      pthread_create(&thread, nullptr, work, nullptr);
      pthread_join(thread, nullptr);
    }
  }
  std::puts("ready");
  std::fflush(stdout);
  const std::string_view end = words[count - 1];
  if (end == "abort") std::abort();
  if (end == "wait") pause();
  return kept == nullptr ? 1 : 0;
}
