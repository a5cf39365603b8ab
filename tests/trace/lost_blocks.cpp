// Keeps some blocks in each place where a pointer may lie, and loses others. Each loss has a comment
// that the test looks for.
// Usage: lost_blocks [exit | thread | _exit | child]   how it ends
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

struct node {
  node* next;
  char text[40];
};

void* volatile passed = nullptr;  // so that the compiler makes each block
node* volatile list = nullptr;
char* volatile interior = nullptr;
thread_local void* volatile of_thread = nullptr;
std::vector<void*> freed_at_exit;

[[gnu::noinline]] void* make(std::size_t size) {
  void* const block = std::malloc(size);
  passed = block;
  std::memset(passed, 0, size);
  passed = nullptr;
  return block;
}

[[gnu::noinline]] void keep() {
  for (int i = 0; i < 30; ++i) {
    auto* const n = static_cast<node*>(make(sizeof(node)));
    n->next = list;
    list = n;
  }
  interior = static_cast<char*>(make(5000)) + 3000;
  of_thread = make(777);
  for (int i = 0; i < 500; ++i) freed_at_exit.push_back(make(48));
}

[[gnu::noinline]] void lose() {
  for (int i = 0; i < 10; ++i) make(100);  // lost: small
  node* chain = nullptr;
  for (int i = 0; i < 50; ++i) {
    auto* const n = static_cast<node*>(make(sizeof(node)));  // lost: chain
    n->next = chain;
    chain = n;
  }
  auto* const a = static_cast<node*>(make(sizeof(node)));  // lost: ring
  auto* const b = static_cast<node*>(make(sizeof(node)));
  a->next = b;
  b->next = a;
  make(3u << 20);  // lost: large
}

// Blocks that were freed still have the pointers to the lost ones, and to each other.
[[gnu::noinline]] void free_some() {
  void** all[100];
  for (void**& block : all) {
    block = static_cast<void**>(make(256));
    block[4] = make(80);  // lost: behind freed
  }
  for (void** const block : all) std::free(block);
}

// What the calls have left on the stack goes.
[[gnu::noinline]] void overwrite_stack() {
  volatile char bytes[64 << 10];
  for (volatile char& byte : bytes) byte = 0;
}

struct frees_at_exit {
  ~frees_at_exit() {
    for (void* const block : freed_at_exit) std::free(block);
  }
} const last;

}  // namespace

int main(int argc, char** argv) {
  const char* const how = argc > 1 ? argv[1] : "exit";
  keep();
  lose();
  free_some();
  overwrite_stack();
  if (std::strcmp(how, "_exit") == 0) ::_exit(0);
  if (std::strcmp(how, "child") == 0) {
    const pid_t child = ::fork();
    if (child == 0) {
      make(200);  // lost: by the child
      overwrite_stack();
      std::exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }
  void* volatile on_stack = make(4444);
  if (std::strcmp(how, "thread") == 0) {
    std::thread([] { std::exit(0); }).join();
  }
  // Another thread may have a block on its stack alone.
  std::thread([] {
    void* volatile own = make(3333);
    ::sleep(1000);
    std::free(own);
  }).detach();
  ::usleep(100'000);
  std::exit(on_stack == nullptr ? 1 : 0);
}
