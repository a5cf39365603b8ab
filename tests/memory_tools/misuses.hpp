// memory_tools/misuses.hpp: the misuses that a tool must see, of any component. For the programs beside it.
// All of them only read, so that a program can go through them one after the other under Valgrind, which goes on.
//
//   PROGRAM list            the names of its cases, one a line
//   PROGRAM CASE...         those cases; before each its name on standard error. AddressSanitizer ends the first.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace misuses {

/// The functions that a report has to name.
template <class Component>
[[gnu::noinline]] char* allocate_here(Component& c) {
  char* const block = static_cast<char*>(c.take());
  asm volatile("" ::: "memory");  // no tail call: this function stays on the stack
  return block;
}
template <class Component>
[[gnu::noinline]] void free_here(Component& c, char* block) {
  c.give(block);
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] inline void read_here(const char* p) {
  static_cast<void>(*static_cast<const volatile char*>(p));
  asm volatile("" ::: "memory");
}

// Each of these has blocks of Component::size bytes.

/// The first byte, where a free list would have its link.
template <class Component>
void read_of_a_free_block(Component& c) {
  char* const block = allocate_here(c);
  free_here(c, block);
  read_here(block);
}
template <class Component>
void read_of_the_last_free_byte(Component& c) {
  char* const block = allocate_here(c);
  free_here(c, block);
  read_here(block + Component::size - 1);
}
/// From a used block into the free one behind it.
template <class Component>
void read_beyond_into_a_free_block(Component& c) {
  char* const lower = allocate_here(c);
  char* const upper = allocate_here(c);
  free_here(c, upper);
  read_here(lower + (upper - lower));
  free_here(c, lower);
}
/// From a used block into memory that was never a block.
template <class Component>
void read_beyond_into_fresh_memory(Component& c) {
  char* const block = allocate_here(c);
  read_here(block + Component::distance);
  free_here(c, block);
}
/// Behind a used block, before its neighbour.
template <class Component>
void read_of_slack(Component& c) {
  char* const block = allocate_here(c);
  read_here(block + Component::size);
  free_here(c, block);
}

/// What a program may do: no tool may say a word.
template <class Component>
void proper_use(Component& c) {
  char* blocks[3];
  for (int round = 0; round < 2; ++round) {
    for (char*& block : blocks) {
      block = allocate_here(c);
      std::memset(block, round, Component::size);
    }
    for (const char* block : blocks) {
      if (block[0] != round || block[Component::size - 1] != round) std::abort();
    }
    // Neither the order of allocation nor its reverse.
    for (const int i : {1, 0, 2}) free_here(c, blocks[i]);
  }
}

struct named_case {
  const char* name;
  void (*run)();
};

inline int run_cases(const named_case* first, const named_case* last, int count, char** names) {
  if (count == 2 && std::strcmp(names[1], "list") == 0) {
    for (const named_case* c = first; c != last; ++c) std::puts(c->name);
    return 0;
  }
  for (int i = 1; i < count; ++i) {
    const named_case* c = first;
    while (c != last && std::strcmp(c->name, names[i]) != 0) ++c;
    if (c == last) {
      std::fprintf(stderr, "no case '%s': '%s list' names them\n", names[i], names[0]);
      return 2;
    }
    std::fprintf(stderr, "case %s\n", c->name);
    c->run();
  }
  return 0;
}

}  // namespace misuses

// A case on a component of its own, which stays: memcheck tells of freed blocks by their address.
#define MISUSE(type, misuse)     \
  {#type "." #misuse, [] {       \
     static type component;      \
     misuses::misuse(component); \
   }}
