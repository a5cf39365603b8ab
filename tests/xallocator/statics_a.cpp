// Static objects of the first file, one of them of a class with XALLOCATOR.
#include <tests/xallocator/holder.hpp>

#include "xallocator.h"

namespace {

struct node {
  XALLOCATOR
  holder inside{1};
};
const holder first{2};
const struct owner {
  owner() : owned(new node) {}
  owner(const owner&) = delete;
  owner& operator=(const owner&) = delete;
  ~owner() { delete owned; }
  node* owned;
} second;

}  // namespace
